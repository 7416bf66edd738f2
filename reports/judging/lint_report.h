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
// A line that a cure inserts is indented like the line it is inserted before, with its tabs; what
// is inserted within a line stays on it.
void indent_edits(reports::Report& report, analyzer::SourceTexts& sources);
// Makes one finding, with further places, of the findings that have one cause: those of a check and
// a severity in one function or file, as the check says. Called last, since comments, baselines and
// cures are about each of them.
void fold_alike(reports::Report& report);
void describe_scan(reports::Report& report, const std::vector<analyzer::SourceFacts>& all,
                   const analyzer::Toolkits& toolkits);

}  // namespace dtypecheck::judging
