// findings.cpp: how findings are folded, numbered, linked to their causes and put in order.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "platform/hash.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

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
  const SourceLine& line = finding.site.line.known() ? finding.site.line : finding.site.inner;
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

auto order_of(const Finding& finding) {
  const SourceLine& line = finding.site.line;
  return std::tuple(-static_cast<int>(finding.severity), finding.first_step, finding.process,
                    std::string_view(line.file), line.line, std::string_view(finding.rule),
                    finding.call);
}

uint64_t times(const OpCall& call) {
  return call.outcome == Outcome::kThrew && call.throws > 0 ? call.throws : call.count;
}

uint64_t rule_number(std::string_view id) {
  const auto& rules = all_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule* candidate) { return candidate->doc.id == id; });
  return static_cast<uint64_t>(rule - rules.begin());
}

constexpr uint64_t kProcessKey = uint64_t{1} << 32;
uint64_t call_key(std::string_view rule, OpCallId call) { return rule_number(rule) << 33 | call; }
uint64_t process_key(std::string_view rule, uint32_t process) {
  return rule_number(rule) << 33 | kProcessKey | process;
}

// Two findings at one place differ in their order alone.
void give_ids(std::vector<Finding>& findings, const Run& run) {
  std::unordered_map<uint64_t, int> seen;
  for (Finding& finding : findings) {
    const uint64_t hash = place_hash(finding, run);
    const int nth = ++seen[hash];
    finding.id = nth == 1 ? fmt::format("{:016x}", hash) : fmt::format("{:016x}-{}", hash, nth);
  }
}

class CausesFirst {
 public:
  explicit CausesFirst(std::vector<Finding> findings) : findings_(std::move(findings)) {
    for (size_t i = 0; i < findings_.size(); ++i) by_id_[findings_[i].id] = i;
    placed_.assign(findings_.size(), false);
  }

  std::vector<Finding> take() {
    for (size_t i = 0; i < findings_.size(); ++i) place(i);
    return std::move(ordered_);
  }

 private:
  void place(size_t first) {
    std::vector<size_t> chain;  // a consequence, its cause, the cause's cause
    for (size_t i = first; !placed_[i];) {
      placed_[i] = true;
      chain.push_back(i);
      const auto cause = by_id_.find(findings_[i].follows);
      if (cause == by_id_.end()) break;
      i = cause->second;
    }
    for (auto i = chain.rbegin(); i != chain.rend(); ++i)
      ordered_.push_back(std::move(findings_[*i]));
  }

  std::vector<Finding> findings_;
  std::vector<Finding> ordered_;
  std::vector<bool> placed_;
  std::unordered_map<std::string, size_t> by_id_;
};

}  // namespace

Findings::Findings(const Run& run, const JudgeOptions& options)
    : run_(run), options_(options), index_(std::make_unique<RunIndex>(run)) {}
Findings::~Findings() = default;

Finding& Findings::fold(const std::string& key, Finding finding) {
  const auto [entry, is_new] = folded_.try_emplace(key, findings_.size());
  if (is_new) {
    findings_.push_back(std::move(finding));
    return findings_.back();
  }
  Finding& first = findings_[entry->second];
  first.count += finding.count;
  first.first_step = std::min(first.first_step, finding.first_step);
  if (finding.call != kNoOpCall && first.related.size() < kMaxRelated) {
    first.related.push_back(finding.call);
  }
  return first;
}

Finding& Findings::add(const OpCall& call, std::string message, const std::string& cause) {
  const SourceLine& line = call.site.line;
  const std::string key = fmt::format("{}\n{}:{}\n{}\n{}\n{}\n{}", rule_->doc.id, line.file, line.line,
                                      call.site.module_class, call.op, message, cause);
  Finding& finding = fold(key, {.rule = rule_->doc.id,
                                .severity = rule_->doc.severity,
                                .message = std::move(message),
                                .call = call.id,
                                .site = call.site,
                                .count = times(call),
                                .first_step = call.first_step,
                                .process = call.process});
  const size_t at = static_cast<size_t>(&finding - findings_.data());
  about_.try_emplace(call_key(rule_->doc.id, call.id), at);
  about_.try_emplace(process_key(rule_->doc.id, call.process), at);
  return finding;
}

Finding& Findings::add_for_run(uint32_t process, std::string message) {
  const std::string key = fmt::format("{}\nrun\n{}", rule_->doc.id, message);
  Finding& finding = fold(key, {.rule = rule_->doc.id,
                                .severity = rule_->doc.severity,
                                .message = std::move(message),
                                .process = process});
  about_.try_emplace(process_key(rule_->doc.id, process),
                     static_cast<size_t>(&finding - findings_.data()));
  return finding;
}

void Findings::relate(OpCallId told, const OpCall& call) {
  const auto at = about_.find(call_key(rule_->doc.id, told));
  if (at == about_.end()) return;
  std::vector<OpCallId>& related = findings_[at->second].related;
  if (related.size() < kMaxRelated) related.push_back(call.id);
  about_.try_emplace(call_key(rule_->doc.id, call.id), at->second);
}

void Findings::follows(const Finding& finding, const char* rule_id, OpCallId cause) {
  links_.push_back({static_cast<size_t>(&finding - findings_.data()), call_key(rule_id, cause)});
}

void Findings::follows_any(const Finding& finding, const char* rule_id) {
  links_.push_back(
      {static_cast<size_t>(&finding - findings_.data()), process_key(rule_id, finding.process)});
}

void Findings::link_repairs() {
  for (size_t i = 0; i < findings_.size(); ++i) {
    const OpCall* call = run_.call(findings_[i].call);
    if (call == nullptr || call->follows == kNoOpCall) continue;
    for (const Rule* rule : all_rules())
      links_.push_back({i, call_key(rule->doc.id, call->follows)});
  }
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

std::vector<Finding> Findings::take() {
  for (Finding& finding : findings_) {
    const Rule* rule = find_rule(finding.rule);
    if (rule != nullptr && finding.why.empty()) finding.why = rule->doc.why;
    if (rule != nullptr && finding.fix.empty()) finding.fix = rule->doc.fix;
  }
  give_ids(findings_, run_);
  link_repairs();
  resolve_links();
  std::sort(findings_.begin(), findings_.end(),
            [](const Finding& a, const Finding& b) { return order_of(a) < order_of(b); });
  folded_.clear();
  about_.clear();
  links_.clear();
  return CausesFirst(std::exchange(findings_, {})).take();
}

}  // namespace dtypecheck::rules
