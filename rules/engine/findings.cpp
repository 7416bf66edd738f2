// findings.cpp: how findings are folded, numbered, linked to their causes and put in order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/follow_links.h"
#include "platform/hash.h"
#include "platform/text.h"
#include "rules/engine/caught_exception.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

constexpr size_t kMaxRelated = 32;  // shown in reports; the count goes on

std::string_view base_name(std::string_view file) {
  const size_t slash = file.find_last_of("/\\");
  return file.substr(slash == file.npos ? 0 : slash + 1);
}

// Rule, place and op. No line number, so that an edit above a finding leaves a baseline valid; no
// folder, no count.
uint64_t place_hash(const Finding& finding, const Run& run) {
  const SourceLine& line = best_line(finding.site);
  const OpCall* call = run.call(finding.call);
  uint64_t hash = fnv1a(finding.rule);
  for (const std::string_view part :
       {base_name(line.file), std::string_view(line.function),
        std::string_view(finding.site.module_class),
        call == nullptr ? std::string_view() : std::string_view(call->op)}) {
    hash = fnv1a_next(part, hash);
  }
  return hash;
}

uint64_t times(const OpCall& call) {
  return call.outcome == Outcome::kThrew && call.throws > 0 ? call.throws : call.count;
}

// Two findings at one place differ in their order alone.
void give_ids(std::vector<Finding>& findings, const Run& run) {
  std::unordered_map<uint64_t, int> seen;
  for (Finding& finding : findings) {
    const uint64_t hash = place_hash(finding, run);
    const int nth = ++seen[hash];
    finding.id = hash_text(hash) + (nth == 1 ? "" : fmt::format("-{}", nth));
  }
}

std::string_view without_ending(std::string_view text, std::string_view ending) {
  return text.ends_with(ending) ? text.substr(0, text.size() - ending.size()) : std::string_view();
}

// A backward of the program's own (an autograd.Function's) has lines of its own and is in no
// module: it is reported with the forward that it belongs to.
void say_forwards(std::vector<Finding>& findings, const Run& run) {
  using Function =
      std::tuple<uint32_t, std::string_view, std::string_view>;  // process, file, class
  std::map<Function, const OpCall*> forwards;
  const auto key = [](uint32_t process, const SourceLine& line, std::string_view method) {
    return Function(process, line.file, without_ending(line.function, method));
  };
  const auto is_own_backward = [](const Finding& finding) {
    return finding.site.phase == Phase::kBackward &&
           finding.site.line.function.ends_with(".backward");
  };
  if (std::ranges::none_of(findings, is_own_backward)) return;
  for (const OpCall& call : run.calls) {
    if (call.site.line.function.ends_with(".forward"))
      forwards.try_emplace(key(call.process, call.site.line, ".forward"), &call);
  }
  for (Finding& finding : findings) {
    if (!is_own_backward(finding)) continue;
    const auto found = forwards.find(key(finding.process, finding.site.line, ".backward"));
    if (found == forwards.end()) continue;
    const Site& forward = found->second->site;
    if (finding.site.module.empty()) {
      finding.site.module = forward.module;
      finding.site.module_class = forward.module_class;
    }
    finding.why += fmt::format("; its forward is{}{}", at_place(forward),
                               forward.module.empty() ? "" : ", in " + forward.module);
  }
}

bool costs_only(const std::string& rule) {
  const Rule* found = find_rule(rule);
  return found != nullptr && found->costs_only;
}

// Each cause, what to mend first before the others, and behind it its consequences, each followed
// by its own.
class TreeOrder {
  static constexpr size_t kNone = SIZE_MAX;
  static constexpr int kMaxDepth = 64;  // further up a chain nobody counts
  struct Tree {
    size_t cause = kNone;
    size_t size = 0;
    bool has_ended_run = false;
    bool costs_only = false;
  };

  auto key(size_t i) const {
    const Finding& finding = findings_[i];
    const SourceLine& line = finding.site.line;
    return std::tuple(-static_cast<int>(finding.severity), !trees_[i].has_ended_run,
                      trees_[i].costs_only, SIZE_MAX - trees_[i].size, finding.first_step,
                      finding.process, std::string_view(line.file), line.line,
                      std::string_view(finding.rule), finding.call);
  }

 public:
  TreeOrder(std::vector<Finding> findings, const Run& run)
      : findings_(std::move(findings)), trees_(findings_.size()) {
    std::unordered_map<std::string_view, size_t> by_id;
    for (size_t i = 0; i < findings_.size(); ++i) by_id[findings_[i].id] = i;
    for (size_t i = 0; i < findings_.size(); ++i) {
      const OpCall* call = run.call(findings_[i].call);
      const auto cause = by_id.find(findings_[i].follows);
      const bool is_root = cause == by_id.end();
      trees_[i] = {.cause = is_root ? kNone : cause->second,
                   .size = 1,
                   .has_ended_run = call != nullptr && call->outcome == Outcome::kThrew,
                   .costs_only = costs_only(findings_[i].rule)};
    }
    for (size_t i = 0; i < findings_.size(); ++i) hand_up(i);
  }

  std::vector<Finding> ordered() {
    std::vector<size_t> order(findings_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
    std::vector<std::vector<size_t>> consequences(findings_.size());
    for (const size_t i : order) {
      if (trees_[i].cause != kNone) consequences[trees_[i].cause].push_back(i);
    }
    std::vector<bool> is_placed(findings_.size());
    std::vector<Finding> ordered;
    const auto place = [&](size_t root) {
      std::vector<size_t> next = {root};
      while (!next.empty()) {
        const size_t i = next.back();
        next.pop_back();
        if (is_placed[i]) continue;
        is_placed[i] = true;
        ordered.push_back(std::move(findings_[i]));
        next.insert(next.end(), consequences[i].rbegin(), consequences[i].rend());
      }
    };
    for (const size_t i : order) {
      if (trees_[i].cause == kNone) place(i);
    }
    for (const size_t i : order) place(i);  // causes that form a ring
    return ordered;
  }

 private:
  // A cause is as bad as what came of it.
  void hand_up(size_t from) {
    size_t cause = trees_[from].cause;
    for (int depth = 0; cause != kNone && cause != from && depth < kMaxDepth; ++depth) {
      findings_[cause].severity = std::max(findings_[cause].severity, findings_[from].severity);
      trees_[cause].has_ended_run |= trees_[from].has_ended_run;
      trees_[cause].costs_only &= trees_[from].costs_only;
      ++trees_[cause].size;
      cause = trees_[cause].cause;
    }
  }

  std::vector<Finding> findings_;
  std::vector<Tree> trees_;
};

}  // namespace

// "aten::sin gives #, and # in Double": which numbers a call lost is no other fault of its line.
static std::string without_numbers(const std::string& message) {
  std::string words;
  for (std::string_view rest = message; !rest.empty();) {
    const std::string_view word = next_piece(rest, ' ');
    const bool is_number = word.find_first_of("0123456789") != word.npos &&
                           word.find_first_not_of("0123456789.,;+-e") == word.npos;
    words += is_number ? "#" : word;
    words += ' ';
  }
  return words;
}

std::optional<size_t> Findings::add_call(const OpCall& call, std::string message,
                                         const std::string& cause) {
  const SourceLine& line = call.site.line;
  // Two calls of one line that are refused take two changes.
  const int column = was_refused(call) ? line.extent.end_column : 0;
  const std::string key =
      fmt::format("{}\n{}:{}:{}\n{}\n{}\n{}\n{}", rule_->doc.id, line.file, line.line, column,
                  call.site.module_class, call.op, without_numbers(message), cause);
  const auto [entry, is_new] = folded_.try_emplace(key, findings_.size());
  const size_t at = entry->second;
  about_.try_emplace(about_call(rule_, call.id), at);
  about_.try_emplace(about_process(rule_, call.process), at);
  if (is_new) {
    findings_.push_back({.rule = rule_->doc.id,
                         .severity = rule_->doc.severity,
                         .message = std::move(message),
                         .call = call.id,
                         .site = call.site,
                         .count = times(call),
                         .first_step = call.first_step,
                         .process = call.process});
    return at;
  }
  Finding& first = findings_[at];
  first.count += times(call);
  first.first_step = std::min(first.first_step, call.first_step);
  if (first.related.size() < kMaxRelated) first.related.push_back(call.id);
  return std::nullopt;
}

std::optional<size_t> Findings::add_process(uint32_t process, std::string message) {
  const std::string key = fmt::format("{}\nrun\n{}", rule_->doc.id, message);
  const auto [entry, is_new] = folded_.try_emplace(key, findings_.size());
  about_.try_emplace(about_process(rule_, process), entry->second);
  if (!is_new) return std::nullopt;
  findings_.push_back({.rule = rule_->doc.id,
                       .severity = rule_->doc.severity,
                       .message = std::move(message),
                       .process = process});
  return entry->second;
}

void Findings::fill(size_t finding, Details details) {
  Finding& added = findings_[finding];
  added.odd_operand = std::move(details.odd);
  added.why = details.why.empty() ? rule_->doc.why : std::move(details.why);
  added.cures = std::move(details.cures);
  added.fix = details.fix.empty() ? rule_->doc.fix : std::move(details.fix);
  if (!added.cures.empty()) added.fix = added.cures.front().text;
  added.severity = details.severity.value_or(added.severity);
  added.is_asked_for = details.is_asked_for;
  added.is_loaded_low = details.is_loaded_low;
  if (details.site) added.site = *std::move(details.site);
  say_provenance(added);
  for (const Cause& cause : details.follows) {
    links_.push_back({finding, cause.call == kNoOpCall ? about_process(cause.rule, added.process)
                                                       : about_call(cause.rule, cause.call)});
  }
}

// The tensors of a list may have been made at several lines: ", others at train.py:44".
static std::string others_in_list(const ProvenanceIndex& index, const OpCall& call,
                                  const Operand& odd, const std::string& line) {
  constexpr size_t kMaxLines = 3;
  std::vector<std::string> lines;
  for (const Operand& other : call.operands) {
    const bool is_beside = &other != &odd && other.dtypes == odd.dtypes &&
                           list_name(other.name) == list_name(odd.name);
    const OpCall* maker = is_beside ? index.trace_back(call, other).maker : nullptr;
    const std::string its_line = maker == nullptr ? "" : place(maker->site);
    const bool is_new =
        its_line != line && std::find(lines.begin(), lines.end(), its_line) == lines.end();
    if (!its_line.empty() && is_new && lines.size() < kMaxLines) lines.push_back(its_line);
  }
  return lines.empty() ? "" : fmt::format(", others at {}", fmt::join(lines, ", "));
}

// Whatever the rule: where the odd operand got its dtype is a part of the reason, and the line that
// gave a parameter its dtype is a part of the cure, unless the rule's own words say so.
void Findings::say_provenance(Finding& finding) const {
  const OpCall* call = run_.call(finding.call);
  const Operand* odd = call == nullptr ? nullptr : call->operand(finding.odd_operand);
  if (odd == nullptr) return;
  const Provenance provenance = provenance_.trace_back(*call, *odd);
  const std::string made = how_made(provenance);
  if (made.empty()) return;
  const std::string& name = is_parameter(*odd) ? odd->parameter : odd->name;
  const OpCall& known =
      provenance.maker == nullptr ? *provenance.steps.front().call : *provenance.maker;
  const std::string line = place(known.site);
  if (!(known.site.line == finding.site.line)) finding.origin = known.site.line;
  const bool is_said = finding.why.find(made_by(known)) != std::string::npos ||
                       (provenance.is_gradient && finding.why.find(made) != std::string::npos);
  if (!is_said)
    finding.why +=
        fmt::format("; {} {}{}", name, made, others_in_list(provenance_, *call, *odd, line));
  const Operand* parameter = is_parameter(*odd) ? odd : provenance.parameter;
  if (parameter == nullptr || line.empty()) return;
  const std::string became = fmt::format("; {} became {} at {}", parameter->parameter,
                                         provenance.dtypes.to_string(), line);
  for (Cure& cure : finding.cures) {
    const bool says_where = cure.where.known() && (cure.kind != CureKind::kMasterWeights ||
                                                   cure.where == known.site.line);
    if (!says_where) cure.text += became;
  }
  if (!finding.cures.empty()) {
    finding.fix = finding.cures.front().text;
  } else if (finding.fix.find(line) == std::string::npos) {
    finding.fix += became;
  }
}

bool Findings::is_reported(const OpCall& call, const Rule* but) const {
  const auto& rules = all_rules();
  return std::ranges::any_of(rules, [&](const Rule* rule) {
    return rule != but && about_.contains(about_call(rule, call.id));
  });
}

void Findings::relate(OpCallId reported, const OpCall& call) {
  const auto at = about_.find(about_call(rule_, reported));
  if (at == about_.end()) return;
  std::vector<OpCallId>& related = findings_[at->second].related;
  if (related.size() < kMaxRelated) related.push_back(call.id);
  about_.try_emplace(about_call(rule_, call.id), at->second);
}

static OpCallId outermost_of(const Run& run, const OpCall& call) {
  OpCallId outermost = call.id;
  follow_links(&call, [&](const OpCall& inner) {
    outermost = inner.id;
    return run.call(inner.parent);
  });
  return outermost;
}

// What an op repairs inside of it for one operand and for another is one refusal: an LSTM makes its
// first states in the dtype of its input.
void Findings::link_repairs() {
  std::map<OpCallId, OpCallId> followed;
  for (const OpCall& call : run_.calls)
    if (call.follows != kNoOpCall && call.parent != kNoOpCall)
      followed.try_emplace(outermost_of(run_, call), call.follows);
  std::vector<Link> first;  // before what its own rule holds for a cause
  for (size_t i = 0; i < findings_.size(); ++i) {
    const OpCall* call = run_.call(findings_[i].call);
    if (call == nullptr) continue;
    const bool is_inner = call->parent != kNoOpCall && was_let_through(*call);
    const auto beside = is_inner ? followed.find(outermost_of(run_, *call)) : followed.end();
    for (const Rule* rule : all_rules()) {
      if (call->follows != kNoOpCall)
        links_.push_back({i, about_call(rule, call->follows)});
      else if (beside != followed.end())
        first.push_back({i, about_call(rule, beside->second)});
    }
  }
  links_.insert(links_.begin(), first.rbegin(), first.rend());
}

// The first link that leads somewhere wins.
void Findings::resolve_links() {
  for (const Link& link : links_) {
    const auto cause = about_.find(link.cause);
    if (cause == about_.end() || cause->second == link.finding) continue;
    std::string& follows = findings_[link.finding].follows;
    if (follows.empty()) follows = findings_[cause->second].id;
  }
}

// A cause for which nothing is known to try but what holds of any is cured where what follows from
// it is.
void Findings::take_over_cures() {
  for (const Finding& finding : findings_) {
    if (finding.follows.empty() || finding.cures.empty()) continue;
    for (Finding& cause : findings_) {
      const bool is_its = cause.id == finding.follows && cause.cures.empty();
      if (is_its && cause.fix == find_rule(cause.rule)->doc.fix) cause.fix = finding.fix;
    }
  }
}

// A refusal that the program caught did no harm: a test that wants the error, a fallback.
void Findings::lower_caught() {
  for (Finding& finding : findings_) {
    const OpCall* call = run_.call(finding.call);
    if (call == nullptr || !was_caught(run_, *call)) continue;
    finding.severity = Severity::kNote;
    finding.why += "; the program caught the exception and went on";
  }
}

std::vector<Finding> Findings::ordered() {
  lower_caught();
  say_forwards(findings_, run_);
  give_ids(findings_, run_);
  link_repairs();
  resolve_links();
  take_over_cures();
  folded_.clear();
  about_.clear();
  links_.clear();
  return TreeOrder(std::exchange(findings_, {}), run_).ordered();
}

}  // namespace dtypecheck::rules
