// lint_report.h: what `lint` found as a report: ids that survive edits, what comments accept, what
// was seen of the sources.
#pragma once

#include <string>
#include <vector>

#include "analyzer/compile_command.h"
#include "analyzer/facts.h"
#include "cli/lint_sources.h"
#include "reports/report.h"

namespace dtypecheck::cli {

// The findings of each file, those of a header once.
std::vector<Finding> judge(const std::vector<analyzer::SourceFacts>& all);

void give_ids(reports::Report& report, SourceTexts& sources);
void drop_allowed(reports::Report& report, SourceTexts& sources, bool all);
void describe_scan(reports::Report& report, const std::vector<analyzer::SourceFacts>& all,
                   const analyzer::Toolkits& toolkits);

// The documents of the rules that found something.
std::vector<reports::RuleText> texts_of(const std::vector<Finding>& findings);

}  // namespace dtypecheck::cli
