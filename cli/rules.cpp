// dtypecheck rules: every rule in a line, or all there is to know about one.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "platform/error.h"
#include "platform/nearest.h"
#include "platform/output.h"
#include "platform/terminal.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cli {

static std::string list_of_rules() {
  std::string text;
  for (const rules::Rule* rule : rules::all_rules()) {
    text += fmt::format("{:<22}{:<9}{}\n", rule->doc.id, severity_name(rule->doc.severity),
                        rule->doc.summary);
  }
  return text + "\ndtypecheck rules ID shows the reason, the cure and an example of one\n";
}

// The example is a trace in text form; what the rule says to it stands below its lines.
static std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

static std::string page_of(const rules::Rule& rule) {
  return fmt::format("{} ({})\n{}\nwhy\n{}\nfix\n{}\nexample\n{}", rule.doc.id,
                     severity_name(rule.doc.severity), wrapped(rule.doc.summary, 2),
                     wrapped(rule.doc.why, 2), wrapped(rule.doc.fix, 2), indented(rule.example));
}

static const rules::Rule& rule_of(const std::string& id) {
  if (const rules::Rule* rule = rules::find_rule(id)) return *rule;
  std::vector<std::string> ids;
  for (const rules::Rule* rule : rules::all_rules()) ids.push_back(rule->doc.id);
  throw InputError(
      fmt::format("unknown rule {}{}", id, suggestion(id, ids, "dtypecheck rules lists them all")));
}

static int run(const std::string& id) {
  const std::string text = id.empty() ? list_of_rules() : page_of(rule_of(id));
  Output output = open_output("");
  output.stream() << text;
  output.finish();
  return kClean;
}

static std::function<int()> set_up(CLI::App& app) {
  auto id = std::make_shared<std::string>();
  app.add_option("ID", *id, "a rule's id, for all there is to know about it")->type_name("");
  return [id] { return run(*id); };
}

extern const Command rules_command = {
    .name = "rules",
    .summary = "list the rules, or explain one",
    .arguments = "[ID]",
    .examples =
        "  dtypecheck rules\n"
        "  dtypecheck rules mixed-operands\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
