// lint_report.h: what `lint` found as a report: ids that survive edits, what comments accept, what
// was seen of the sources.
#pragma once

#include <string>
#include <vector>

#include "analyzer/facts.h"
#include "analyzer/lint_sources.h"
#include "analyzer/parse/compile_command.h"
#include "reports/report.h"

namespace dtypecheck::judging {

// The findings of each file, those of a header once.
std::vector<Finding> judge(const std::vector<analyzer::SourceFacts>& all);

void give_ids(reports::Report& report, analyzer::SourceTexts& sources);
void drop_allowed(reports::Report& report, analyzer::SourceTexts& sources, bool all);
// What cures insert stands as deep as the line it is inserted before, in tabs where that is; within
// a line it stays on that.
void indent_edits(reports::Report& report, analyzer::SourceTexts& sources);
// What one decision caused is one finding, the others are places of it: those of a check that are as
// loud, in one function or one file, as the check says. Last of all: comments, baselines and cures
// are about each by itself.
void fold_alike(reports::Report& report);
void describe_scan(reports::Report& report, const std::vector<analyzer::SourceFacts>& all,
                   const analyzer::Toolkits& toolkits);

}  // namespace dtypecheck::judging
