// Finds: a collective that ranks bring different dtypes to, and modules that compute in other
// dtypes on one rank than on another.
// Misses: what only some calls of a rank disagree in, since ranks may see different data: each rank
// has to differ in all its calls of a place, or, of a collective, in how often it brings which
// dtype. Silent on what is sent from one rank to another, where
// each pair has its own dtype, and on a collective whose process group is not known: two groups may
// well train in a dtype of their own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "ops/arguments.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

bool is_collective(std::string_view op) {
  if (!op.starts_with("c10d::") && !op.starts_with("_c10d_functional::")) return false;
  return op.find("::send") == op.npos && op.find("::recv") == op.npos;
}

std::vector<ProcessRange> makers_of(const OpCall& call) {
  if (!call.made_by.empty()) return call.made_by;
  return {{.first = call.process, .last = call.process}};
}

// The calls of one place that have the same dtypes.
struct Variant {
  const OpCall* call = nullptr;  // the first of them
  std::vector<ProcessRange> makers;
  std::map<uint32_t, uint64_t> times;  // by process; what was merged is counted of the first

  size_t size() const {
    size_t processes = 0;
    for (const ProcessRange& range : makers) processes += range.last - range.first + 1;
    return processes;
  }
};

using PlaceOfRanks = std::tuple<std::string_view, std::string_view, std::string_view, int,
                                std::string_view, int, std::string_view, Phase, std::string_view>;
using Dtypes = std::vector<std::pair<std::string_view, uint64_t>>;  // by operand, lists as one
using Variants = std::map<Dtypes, Variant>;

PlaceOfRanks place_of(const OpCall& call) {
  const Site& site = call.site;
  return {call.op,         call.overload, site.line.file, site.line.line, site.inner.file,
          site.inner.line, site.module,   site.phase,     call.group};
}

Dtypes dtypes_of(const OpCall& call) {
  Dtypes dtypes;
  for (const Operand& operand : call.operands) {
    if (operand.kind == TensorKind::kUndefined || operand.is_wrapped_number) continue;
    if (!operand.is_floating()) continue;
    const std::string_view name = ops::list_name(operand.name);
    if (dtypes.empty() || dtypes.back().first != name) dtypes.emplace_back(name, 0);
    dtypes.back().second |= operand.dtypes.bits();
  }
  return dtypes;
}

bool overlap(const std::vector<ProcessRange>& a, const std::vector<ProcessRange>& b) {
  return std::any_of(a.begin(), a.end(), [&](const ProcessRange& x) {
    return std::any_of(b.begin(), b.end(), [&](const ProcessRange& y) {
      return x.first <= y.last && y.first <= x.last;
    });
  });
}

// No process has two of them.
bool are_apart(const Variants& variants) {
  for (auto a = variants.begin(); a != variants.end(); ++a) {
    for (auto b = std::next(a); b != variants.end(); ++b) {
      if (overlap(a->second.makers, b->second.makers)) return false;
    }
  }
  return true;
}

// The operand in which two calls differ; nothing where one of them has operands of its own, as the
// root of a gather has.
struct Difference {
  std::string name;
  DtypeSet odd, usual;
};

std::optional<Difference> difference(const Dtypes& odd, const Dtypes& usual) {
  for (const auto& [name, dtypes] : odd) {
    for (const auto& [other, usual_dtypes] : usual) {
      if (name == other && dtypes != usual_dtypes) {
        return Difference{std::string(name), DtypeSet::from_bits(dtypes),
                          DtypeSet::from_bits(usual_dtypes)};
      }
    }
  }
  return std::nullopt;
}

// What the fewest ranks do beside what the most do; of two alike the higher rank is the odd one.
struct Disagreement {
  const Variant* odd;
  const Variant* usual;
  Difference what;
};

// One process brings more of one dtype, the other more of another: whichever came first, two calls
// that were one collective differ.
bool differ_in_times(const Variants& variants, uint32_t a, uint32_t b) {
  const auto is_more = [&](uint32_t one, uint32_t other) {
    return std::any_of(variants.begin(), variants.end(), [&](const auto& variant) {
      const auto& times = variant.second.times;
      const auto own = times.find(one), its = times.find(other);
      return own != times.end() && own->second > (its == times.end() ? 0 : its->second);
    });
  };
  return is_more(a, b) && is_more(b, a);
}

bool are_uneven(const Variants& variants) {
  std::set<uint32_t> processes;
  for (const auto& [dtypes, variant] : variants) {
    if (!variant.call->made_by.empty() || !is_collective(variant.call->op)) return false;
    for (const auto& [process, times] : variant.times) processes.insert(process);
  }
  return std::any_of(processes.begin(), processes.end(), [&](uint32_t one) {
    return differ_in_times(variants, *processes.begin(), one);
  });
}

std::optional<Disagreement> disagreement(const Variants& variants) {
  if (variants.size() < 2 || !(are_apart(variants) || are_uneven(variants))) return std::nullopt;
  const auto key = [](const auto& one) {  // of two that all ranks bring Double is the odd one
    const auto& [dtypes, variant] = one;
    const bool is_double = std::any_of(dtypes.begin(), dtypes.end(), [](const auto& operand) {
      return DtypeSet::from_bits(operand.second).contains(Dtype::kDouble);
    });
    return std::tuple(variant.size(), -int64_t{variant.makers.front().first}, !is_double);
  };
  const auto order = [&](const auto& a, const auto& b) { return key(a) < key(b); };
  const auto odd = std::min_element(variants.begin(), variants.end(), order);
  const auto usual = std::max_element(variants.begin(), variants.end(), order);
  const auto what = difference(odd->first, usual->first);
  if (!what) return std::nullopt;
  return Disagreement{&odd->second, &usual->second, *what};
}

class Ranks {
 public:
  explicit Ranks(const RunIndex& index) : run_(index.run()) {
    std::set<int> ranks;
    for (const Process& process : run_.processes) {
      if (process.rank >= 0) ranks.insert(process.rank);
    }
    if (ranks.size() < 2) return;
    for (const OpCall& call : index.judged_calls()) {
      const bool counts = is_collective(call.op) ? !call.group.empty() : !call.site.module.empty();
      if (!counts || call.process >= run_.processes.size() || run_.process_of(call).rank < 0)
        continue;
      const Dtypes dtypes = dtypes_of(call);
      if (dtypes.empty()) continue;
      Variant& variant = places_[place_of(call)][dtypes];
      if (variant.call == nullptr) variant.call = &call;
      variant.times[call.process] += call.count;
      for (const ProcessRange& makers : makers_of(call)) add(variant.makers, makers);
    }
  }

  // In the order in which the usual ranks came to them.
  std::vector<Disagreement> disagreements() const {
    std::vector<Disagreement> all;
    for (const auto& [place, variants] : places_) {
      if (const auto found = disagreement(variants)) all.push_back(*found);
    }
    std::sort(all.begin(), all.end(), [](const Disagreement& a, const Disagreement& b) {
      return a.usual->call->id < b.usual->call->id;
    });
    return all;
  }

 private:
  static void add(std::vector<ProcessRange>& all, const ProcessRange& more) {
    if (!all.empty() && more.first <= all.back().last + 1 && more.first >= all.back().first) {
      all.back().last = std::max(all.back().last, more.last);
    } else {
      all.push_back(more);
    }
  }

  const Run& run_;
  std::map<PlaceOfRanks, Variants> places_;
};

std::string sides(const Run& run, const Disagreement& found) {
  if (overlap(found.odd->makers, found.usual->makers)) {
    std::vector<std::string> by_rank;
    for (const auto& [process, times] : found.odd->times)
      by_rank.push_back(fmt::format("{} {} on {}", times, times == 1 ? "time" : "times",
                                    ranks_text(run, {{.first = process, .last = process}})));
    return fmt::format("{} {}", found.what.odd.to_string(), fmt::join(by_rank, ", "));
  }
  return fmt::format("{} on {}, {} on {}", found.what.odd.to_string(),
                     ranks_text(run, found.odd->makers), found.what.usual.to_string(),
                     ranks_text(run, found.usual->makers));
}

std::string odd_operand(const Disagreement& found) {
  for (const Operand& operand : found.odd->call->operands) {
    if (ops::list_name(operand.name) == found.what.name) return operand.name;
  }
  return "";
}

// Where the odd rank makes it, as the others do.
std::vector<Cure> made_alike(const RunIndex& index, const JudgeOptions& options,
                             const Disagreement& found) {
  const OpCall& call = *found.odd->call;
  const Operand* odd = call.operand(odd_operand(found));
  const auto dtype = found.what.usual.single();
  const OpCall* maker = odd == nullptr ? nullptr : index.provenance().trace_back(call, *odd).maker;
  auto cure = maker != nullptr && dtype ? CureProposer(index, options).cast_result(*maker, *dtype)
                                        : std::nullopt;
  return cure ? std::vector{*std::move(cure)} : std::vector<Cure>();
}

void report_collective(const RunIndex& index, const Disagreement& found, Findings& out) {
  const Run& run = index.run();
  const OpCall& call = *found.odd->call;
  out.add(call,
          fmt::format("ranks bring different dtypes to {}: {}", call.short_op(), sides(run, found)),
          [&] {
            return Details{
                .odd = odd_operand(found),
                .why =
                    "a collective takes the bytes of every rank for the same dtype: NCCL hangs "
                    "or fails, and where the sizes agree the sum is made of wrong numbers",
                .fix = fmt::format("bring {} on every rank", found.what.usual.to_string()),
                .cures = made_alike(index, out.options(), found)};
          });
}

void report_module(const Run& run, const Disagreement& found, size_t others, Findings& out) {
  const OpCall& call = *found.odd->call;
  out.add(call,
          fmt::format("{} of {} differs by rank: {}", found.what.name, call.site.module,
                      sides(run, found)),
          [&] {
            return Details{
                .odd = odd_operand(found),
                .why = fmt::format(
                    "every rank runs the same model, so one of them was loaded, cast "
                    "or configured in another way{}",
                    others == 0 ? "" : fmt::format("; {} more op calls differ after it", others)),
                .fix = "set the dtype on every rank, before the model is wrapped",
                .severity = Severity::kWarning};
          });
}

void check_run(const RunIndex& index, Findings& out) {
  const Ranks ranks(index);
  const std::vector<Disagreement> all = ranks.disagreements();
  std::vector<Disagreement> modules;
  for (const Disagreement& found : all) {
    if (is_collective(found.odd->call->op)) {
      report_collective(index, found, out);
    } else {
      modules.push_back(found);
    }
  }
  if (modules.empty()) return;
  // What comes after the first is made of what it gave.
  report_module(index.run(), modules.front(), modules.size() - 1, out);
  for (size_t i = 1; i < modules.size(); ++i)
    out.relate(modules.front().odd->call->id, *modules[i].odd->call);
}

}  // namespace

const Rule rank_disagreement = {
    .doc = {.id = "rank-disagreement",
            .severity = Severity::kError,
            .summary = "ranks of one run bring different dtypes to a collective, or run a module "
                       "in different dtypes",
            .why = "A collective takes the bytes of every rank for the same dtype: NCCL hangs or "
                   "fails, and where the sizes agree the sum is made of wrong numbers.",
            .fix = "Give every rank the same dtype, before the model is wrapped.",
            .example = R"(
process pid=1 rank=0
op c10d::allreduce_ tensors=Float[4], -> Float[4] at train.py:20 group 0-1
process pid=2 rank=1
op c10d::allreduce_ tensors=BFloat16[8], -> BFloat16[8] at train.py:20 group 0-1
# EXPECT train.py:20: error: ranks bring different dtypes to allreduce_: BFloat16 on rank 1, Float on rank 0 [rank-disagreement]
# Ranks that reduce one tensor after the other in two dtypes agree.
process pid=1 rank=0
op c10d::allreduce_ tensors=Float[4], -> Float[4] at train.py:30 group 0-1
op c10d::allreduce_ tensors=Half[4], -> Half[4] at train.py:30 group 0-1
process pid=2 rank=1
op c10d::allreduce_ tensors=Half[4], -> Half[4] at train.py:30 group 0-1
# One has reduced in Double twice and in Float once, the other in Float twice and in Double once.
process pid=1 rank=0
op c10d::allreduce_ tensors=Float[2], -> Float[2] at train.py:40 group 0-1
op c10d::allreduce_ tensors=Double[2], -> Double[2] at train.py:40 count 2 group 0-1
process pid=2 rank=1
op c10d::allreduce_ tensors=Float[2], -> Float[2] at train.py:40 count 2 group 0-1
op c10d::allreduce_ tensors=Double[2], -> Double[2] at train.py:40 group 0-1
# EXPECT train.py:40: error: ranks bring different dtypes to allreduce_: Double 2 times on rank 0, 1 time on rank 1 [rank-disagreement]
# One of them has ended before the last.
process pid=1 rank=0
op c10d::allreduce_ tensors=Float[2], -> Float[2] at train.py:50 count 2 group 0-1
op c10d::allreduce_ tensors=Double[2], -> Double[2] at train.py:50 count 2 group 0-1
process pid=2 rank=1
op c10d::allreduce_ tensors=Float[2], -> Float[2] at train.py:50 count 2 group 0-1
op c10d::allreduce_ tensors=Double[2], -> Double[2] at train.py:50 group 0-1
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
