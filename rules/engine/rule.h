// rule.h: what a rule is, and the list of all of them. A rule is one file and one line in
// rule_list.inc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/finding.h"
#include "core/run.h"
#include "rules/contracts/contracts.h"

namespace dtypecheck::rules {

struct Rule;
class RunIndex;  // run_index.h

// What a judgement knows besides the run.
struct JudgeOptions {
  const contracts::Contracts* contracts = &contracts::Contracts::shipped();
  std::optional<size_t> target = std::nullopt;  // --target: number of a runtime of the contracts
};

// Collects findings; one instance a judgement. It fills in what every finding has from the call it
// is about (site, step, count, process) and folds equal ones (same rule, line, module class, op and
// message) into one with the summed count. Ids are given when all is said, in take().
class Findings {
 public:
  Findings(const Run& run, const JudgeOptions& options);
  ~Findings();

  // The finding that was added or folded into, to set odd_operand, why, fix or a site of its own
  // on. One that was folded into has its `why` already: the first call's words stay.
  // A rule that leaves why or fix empty gets those of its documentation.
  // Findings with different words in `cause` are never equal.
  Finding& add(const OpCall& call, std::string message, const std::string& cause = "");
  Finding& add_for_run(uint32_t process, std::string message);  // about the run as a whole
  // The call belongs to what this rule said of `told`, and is no finding of its own.
  void relate(OpCallId told, const OpCall& call);

  // The finding is a consequence of what the rule `rule_id` says about `cause`, or about anything
  // in the same process. Nothing happens where that rule says nothing. What is said of a call that
  // keep-going repaired follows, without being told, from what is said of the repair before it.
  void follows(const Finding& finding, const char* rule_id, OpCallId cause);
  void follows_any(const Finding& finding, const char* rule_id);

  const RunIndex& index() const { return *index_; }
  const JudgeOptions& options() const { return options_; }

  std::vector<Finding> take();  // causes before consequences, then by severity, step and place

 private:
  friend std::vector<Finding> judge(const Run&, const JudgeOptions&);
  struct Link {
    size_t finding;
    uint64_t cause;  // key into about_
  };
  Finding& fold(const std::string& key, Finding finding);
  void link_repairs();
  void resolve_links();

  const Run& run_;
  JudgeOptions options_;
  std::unique_ptr<RunIndex> index_;
  const Rule* rule_ = nullptr;  // the one that is running
  std::vector<Finding> findings_;
  std::unordered_map<std::string, size_t> folded_;  // what makes two findings one
  std::unordered_map<uint64_t, size_t> about_;      // (rule, call) and (rule, process)
  std::vector<Link> links_;
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
  // Where the fault is in a relation between calls.
  void (*check_run)(const Run& run, Findings& out) = nullptr;
  // Trace text with # EXPECT lines: a case that fires and a near miss that does not.
  const char* example;
};

#define RULE(name) extern const Rule name;
#include "rules/rule_list.inc"
#undef RULE

const std::vector<const Rule*>& all_rules();  // in the order of rule_list.inc
const Rule* find_rule(std::string_view id);

// Runs every rule over the run. Calls of a compiler's fake tensors are never judged.
std::vector<Finding> judge(const Run& run, const JudgeOptions& options = {});

// A suppression file: one "RULE [PLACE]  # reason" a line; PLACE is FILE, FILE:LINE or module=GLOB;
// the reason must be there. Throws InputError with file and line otherwise.
struct Suppression {
  std::string rule;
  std::string file;  // a path or the end of one: "train.py" accepts /home/me/train.py
  int line = 0;
  std::string module_glob;
  std::string reason;
  int text_line = 0;
};
std::vector<Suppression> read_suppressions(const std::string& path);
// The same from text; `name` stands for the path in messages.
std::vector<Suppression> parse_suppressions(std::string_view text, const std::string& name);
// Drops what a suppression accepts; returns how many. `unused` gets those that matched nothing.
size_t suppress(std::vector<Finding>& findings, const std::vector<Suppression>& suppressions,
                std::vector<Suppression>* unused = nullptr);

}  // namespace dtypecheck::rules
