#include "cli/lint_pages.h"

#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "analyzer/check.h"
#include "cli/exit_status.h"
#include "platform/error.h"
#include "platform/nearest.h"
#include "platform/output.h"
#include "platform/terminal.h"

namespace dtypecheck::cli {

int list_checks() {
  std::string text;
  for (const analyzer::Check* check : analyzer::all_checks()) {
    text += fmt::format("{:<33}{:<9}{}\n", check->doc.id, severity_name(check->doc.severity),
                        check->doc.summary);
  }
  return print_text(text +
                    "\ndtypecheck lint --explain ID shows the reason, the cure and an example\n");
}

int explain_check(const std::string& id) {
  const analyzer::Check* check = analyzer::find_check(id);
  if (check == nullptr) {
    std::vector<std::string> ids;
    for (const analyzer::Check* one : analyzer::all_checks()) ids.push_back(one->doc.id);
    throw InputError(
        fmt::format("unknown check {}{}", id,
                    suggestion(id, ids, "dtypecheck lint --list-checks shows them all")));
  }
  const analyzer::CheckDoc& doc = check->doc;
  std::string example;
  std::istringstream lines(check->example);
  for (std::string line; std::getline(lines, line);) {
    example += line.empty() ? "\n" : fmt::format("  {}\n", line);
  }
  return print_text(fmt::format("{} ({})\n{}\nwhy\n{}\nfix\n{}\nexample\n{}", doc.id,
                                severity_name(doc.severity), wrapped(doc.summary, 2),
                                wrapped(doc.why, 2), wrapped(doc.fix, 2), example));
}

}  // namespace dtypecheck::cli
