// rule.h: what a rule is, and the list of all of them. A rule is one file and one line in
// rule_list.inc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/doc.h"
#include "core/finding.h"
#include "core/line_text.h"
#include "core/provenance.h"
#include "core/run.h"
#include "rules/contracts/contracts.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

struct Rule;
struct TargetAnswers;  // target.h

// What a judgement knows besides the run.
struct JudgeOptions {
  const contracts::Contracts* contracts = &contracts::Contracts::shipped();
  const TargetAnswers* target = nullptr;  // what the contracts of --target say to the run's calls
  // As the run was recorded. Where it knows no line, cures are in words, without the line's names.
  LineText line_text = [](const std::string&, int) { return std::string(); };
  bool is_source = false;  // the calls were read in source: only rules that judge source are asked
};

// What a finding is a consequence of: what a rule says about a call, or, where no call is given,
// about anything in the same process. It is nothing where that rule says nothing.
struct Cause {
  const Rule* rule;
  OpCallId call = kNoOpCall;
};

// What a finding says beyond its message. What is left empty is the rule's document's.
struct Details {
  std::string odd;  // the operand to change
  std::string why;
  std::string fix;               // said where there is no cure
  std::vector<Cure> cures = {};  // the likeliest first
  std::optional<Severity> severity = std::nullopt;
  std::optional<Site> site = std::nullopt;
  std::vector<Cause> follows = {};  // the first of them that was found is the cause
  bool is_asked_for = false;        // Finding::is_asked_for
  bool is_loaded_low = false;       // Finding::is_loaded_low
};

// Collects findings; one instance a judgement. It fills in what every finding has from the call it
// is about (site, step, count, process) and folds equal ones (same rule, line, module class, op and
// message, but for the numbers in it) into one with the summed count. Ids are given when all is
// said, in ordered().
class Findings {
 public:
  Findings(const Run& run, const JudgeOptions& options)
      : run_(run), provenance_(run), options_(options) {}

  // `describe` returns the Details. It is called where the finding is new and not where it is
  // folded into an equal one, whose words stay. Findings with different words in `cause` are never
  // equal.
  template <typename Describe>
  void add(const OpCall& call, std::string message, const Describe& describe,
           const std::string& cause = "") {
    if (const auto added = add_call(call, std::move(message), cause)) fill(*added, describe());
  }
  // About the run as a whole: one finding, however many processes it is true of.
  template <typename Describe>
  void add_for_run(uint32_t process, std::string message, const Describe& describe) {
    if (const auto added = add_process(process, std::move(message))) fill(*added, describe());
  }
  // A rule has spoken of this call, the one that is running included; `but` does not count.
  bool is_reported(const OpCall& call, const Rule* but = nullptr) const;
  bool is_reported_by(const Rule& rule, const OpCall& call) const {
    return about_.contains(about_call(&rule, call.id));
  }
  // The call belongs to what this rule said of `reported`, and is no finding of its own.
  void relate(OpCallId reported, const OpCall& call);

  const JudgeOptions& options() const { return options_; }

  // Each cause with its consequences behind it: first what to mend first, by severity, whether it
  // ended the run, how much came of it, step and place. A cause is as severe as what came of it.
  // What is said of a call that keep-going repaired follows from what is said of the repair before.
  std::vector<Finding> ordered();

 private:
  friend std::vector<Finding> judge(const RunIndex&, const JudgeOptions&);
  // A rule, and the call or else the process that it spoke about.
  using About = std::tuple<const Rule*, OpCallId, uint32_t>;
  struct Link {
    size_t finding;
    About cause;
  };
  static About about_call(const Rule* rule, OpCallId call) { return {rule, call, 0}; }
  static About about_process(const Rule* rule, uint32_t process) {
    return {rule, kNoOpCall, process};
  }
  // The place of the finding in findings_ when it is new.
  std::optional<size_t> add_call(const OpCall& call, std::string message, const std::string& cause);
  std::optional<size_t> add_process(uint32_t process, std::string message);
  void fill(size_t finding, Details details);
  void say_provenance(Finding& finding) const;
  void lower_caught();
  void link_repairs();
  void resolve_links();
  void take_over_cures();

  const Run& run_;
  ProvenanceIndex provenance_;
  JudgeOptions options_;
  const Rule* rule_ = nullptr;  // the one that is running
  std::vector<Finding> findings_;
  std::unordered_map<std::string, size_t> folded_;  // what makes two findings one
  std::map<About, size_t> about_;
  std::vector<Link> links_;
};

// One of the two functions is given. They see the judged calls alone: see RunIndex.
struct Rule {
  Doc doc;
  void (*check)(const OpCall& call, const RunIndex& index, Findings& out) = nullptr;
  // Where the fault is in a relation between calls.
  void (*check_run)(const RunIndex& index, Findings& out) = nullptr;
  // One op call tells enough, without values and the calls around it, so that the op calls that the
  // analyzer reads in source are judged too.
  bool judges_source = false;
  bool costs_only = false;   // time and memory: the numbers are right, where nothing is refused
  bool loses_steps = false;  // weights or sums stand still: what such a run prints is no reference
  bool says_shares = false;  // its messages have measured shares, which differ from run to run
};

#define RULE(name) extern const Rule name;
#include "rules/rule_list.inc"
#undef RULE

const std::vector<const Rule*>& all_rules();  // in the order of rule_list.inc
const Rule* find_rule(std::string_view id);

// Runs every rule over the run. Calls of a compiler's fake tensors are never judged.
std::vector<Finding> judge(const RunIndex& index, const JudgeOptions& options = {});
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
// Drops them, and the names of those that others followed; returns how many.
size_t drop_findings(std::vector<Finding>& findings,
                     const std::function<bool(const Finding&)>& is_accepted);
// Drops what a suppression accepts; returns how many. `unused` gets those that matched nothing.
size_t suppress(std::vector<Finding>& findings, const std::vector<Suppression>& suppressions,
                std::vector<Suppression>* unused = nullptr);

}  // namespace dtypecheck::rules
