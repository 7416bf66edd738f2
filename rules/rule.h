// rule.h: what a rule is, and the list of all of them. A rule is one file and one line in rule_list.inc.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/run.h"

namespace dtypecheck::rules {

// Collects findings; one instance a judgement. It fills in what every finding has from the call it is about (site, step,
// count, process, id) and folds equal ones (same rule, line, module class, op, message) into one with the summed count.
class Findings {
 public:
  explicit Findings(const Run& run);

  // The finding that was added or folded into, to set odd_operand, why, fix or a site of its own on.
  Finding& add(const OpCall& call, std::string message);
  Finding& add_for_run(uint32_t process, std::string message);  // about the run as a whole

  std::vector<Finding> take();  // causes before consequences, then by severity, step and place

 private:
  friend std::vector<Finding> judge(const Run&);
  friend struct Judgement;
  const Run& run_;
  const struct Rule* rule_ = nullptr;  // the one that is running
  std::vector<Finding> findings_;
};

struct RuleDoc {
  const char* id;
  Severity severity;  // the usual one; a finding may have another
  const char* summary;
  const char* why;
  const char* fix;
};

struct Rule {
  RuleDoc doc;
  void (*check)(const OpCall& call, const Run& run, Findings& out) = nullptr;
  void (*check_run)(const Run& run, Findings& out) = nullptr;  // where the fault is in a relation between calls
  const char* example;  // trace text with # EXPECT lines: a case that fires and a near miss that does not
};

const std::vector<const Rule*>& all_rules();  // in the order of rule_list.inc
const Rule* find_rule(const std::string& id);

// Runs every rule over the run.
std::vector<Finding> judge(const Run& run);

// A suppression file: one "RULE [PLACE]  # reason" a line; PLACE is FILE, FILE:LINE or module=GLOB; the reason must be there.
// Throws InputError with file and line otherwise.
struct Suppression {
  std::string rule;
  std::string file;
  int line = 0;
  std::string module_glob;
  std::string reason;
  int text_line = 0;
};
std::vector<Suppression> read_suppressions(const std::string& path);
// Drops what a suppression accepts; returns how many. `unused` gets those that matched nothing.
size_t suppress(std::vector<Finding>& findings, const std::vector<Suppression>& suppressions,
                std::vector<Suppression>* unused = nullptr);

}  // namespace dtypecheck::rules
