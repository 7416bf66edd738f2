#include "compare/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "compare/compare.h"
#include "compare/distance.h"
#include "core/dtype_set.h"
#include "ops/ops.h"
#include "platform/error.h"

namespace dtypecheck::compare {
namespace {

constexpr double kRoundings = 4;  // as a place has to add, to be told from rounding
constexpr size_t kMostModules = 4;

bool is_in(std::string_view module, std::string_view outer) {
  return module.starts_with(outer) &&
         (module.size() == outer.size() || module[outer.size()] == '.');
}

struct Tree {
  std::map<std::string, size_t, std::less<>> by_name;
  std::vector<Tree> parts;  // by their first calls
  bool computes = false;
};

void add_in_post_order(const Tree& tree, const std::string& path, std::vector<std::string>& out) {
  std::vector<const std::string*> names(tree.parts.size());
  for (const auto& [name, index] : tree.by_name) names[index] = &name;
  for (size_t i = 0; i < names.size(); ++i)
    add_in_post_order(tree.parts[i], path.empty() ? *names[i] : path + "." + *names[i], out);
  if (tree.computes) out.push_back(path);
}

class Search {
 public:
  Search(const std::vector<std::string>& modules,
         const std::function<bool(const std::vector<std::string>&)>& holds)
      : modules_(modules), holds_(holds) {}

  std::optional<std::vector<std::string>> run(const std::string& guess) {
    size_t first = 0, last = modules_.size();
    const auto guessed = std::find(modules_.begin(), modules_.end(), guess);
    if (guessed != modules_.end() && holds({guess})) {
      last = static_cast<size_t>(guessed - modules_.begin()) + 1;
      first = first_in(last - 1);
      if (last - first == 1 || !holds(range(first, last - 1))) return outermost({guess});
      --last;  // what is in it is enough
    } else if (!holds(range(first, last))) {
      return std::nullopt;
    }
    std::vector<std::string> needed;
    while (needed.size() < kMostModules) {
      const size_t end = shortest(first, last, needed);
      if (end == first) return outermost(needed);  // what is kept is enough
      needed.push_back(modules_[end - 1]);
      if (holds(outermost(needed))) return outermost(needed);
      last = first_in(end - 1);
    }
    return joined(first, last, needed);
  }

 private:
  // Of the modules in that one, the place of the first.
  size_t first_in(size_t module) const {
    size_t first = module;
    while (first > 0 && is_in(modules_[first - 1], modules_[module])) --first;
    return first;
  }

  std::vector<std::string> range(size_t first, size_t end) const {
    return {modules_.begin() + static_cast<std::ptrdiff_t>(first),
            modules_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  std::vector<std::string> joined(size_t first, size_t end,
                                  const std::vector<std::string>& needed) const {
    std::vector<std::string> all = range(first, end);
    all.insert(all.end(), needed.begin(), needed.end());
    return outermost(all);
  }

  // The end of the shortest range from `first` on that holds beside what is needed; that to `last`
  // does.
  size_t shortest(size_t first, size_t last, const std::vector<std::string>& needed) {
    size_t less = first;
    while (last - less > 1) {
      const size_t middle = less + (last - less) / 2;
      (holds(joined(first, middle, needed)) ? last : less) = middle;
    }
    return last;
  }

  bool holds(const std::vector<std::string>& modules) {
    const std::vector<std::string> outer = outermost(modules);
    const auto known = known_.find(outer);
    if (known != known_.end()) return known->second;
    return known_[outer] = holds_(outer);
  }

  const std::vector<std::string>& modules_;
  const std::function<bool(const std::vector<std::string>&)>& holds_;
  std::map<std::vector<std::string>, bool> known_;
};

double apart(const End& a, const std::optional<End>& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return b ? distance(*a.digest, *b->digest).value_or(kInfinity) : kInfinity;
}

}  // namespace

std::optional<End> end_of(const DigestedProcess& process, uint32_t step) {
  std::optional<End> last, number;
  for (const DigestedCall& call : process.calls) {
    if (call.step != step) continue;
    if (call.site.phase == Phase::kBackward && number) return number;
    if (call.site.phase != Phase::kForward || call.results.size() != 1 || call.results[0] == 0)
      continue;
    const Digest& digest = process.digests[call.results[0] - 1];
    // ones_like(loss) begins the backward pass.
    if (!is_floating(digest.dtype) || ops::takes_no_values(call.op)) continue;
    last = End{&call, &digest};
    if (digest.count == 1) number = last;
  }
  return last;
}

std::vector<std::string> modules_in_16_bits(const DigestedProcess& process) {
  Tree root;
  for (const DigestedCall& call : process.calls) {
    if (call.site.module.empty() || call.site.phase != Phase::kForward) continue;
    const auto is_low = [&](uint32_t index) {
      return index != 0 && kLowPrecision.contains(process.digests[index - 1].dtype);
    };
    if (std::ranges::none_of(call.operands, is_low) && std::ranges::none_of(call.results, is_low))
      continue;
    Tree* at = &root;
    for (std::string_view rest = call.site.module; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(name.size() + 1, rest.size()));
      const auto [found, is_new] = at->by_name.emplace(name, at->parts.size());
      if (is_new) at->parts.emplace_back();
      at = &at->parts[found->second];
    }
    at->computes = true;
  }
  std::vector<std::string> modules;
  add_in_post_order(root, "", modules);
  return modules;
}

std::vector<std::string> outermost(const std::vector<std::string>& modules) {
  std::set<std::string> all(modules.begin(), modules.end());
  std::vector<std::string> outer;
  for (const std::string& module : all) {
    bool is_inner = false;
    for (size_t dot = module.find('.'); dot != module.npos && !is_inner;
         dot = module.find('.', dot + 1))
      is_inner = all.contains(module.substr(0, dot));
    if (!is_inner) outer.push_back(module);
  }
  return outer;
}

Share share_of(const DigestedProcess& process, uint32_t step,
               const std::vector<std::string>& modules) {
  double all = 0, in = 0, time_of_all = 0, time_in = 0;
  for (const DigestedCall& call : process.calls) {
    if (call.step != step) continue;
    ++all;
    time_of_all += call.time_ns;
    if (std::ranges::none_of(
            modules, [&](const std::string& module) { return is_in(call.site.module, module); }))
      continue;
    ++in;
    time_in += call.time_ns;
  }
  Share share;
  if (all > 0) share.of_calls = in / all;
  if (time_of_all > 0) share.of_time = time_in / time_of_all;
  return share;
}

std::optional<std::vector<std::string>> smallest_set(
    const std::vector<std::string>& modules, const std::string& guess,
    const std::function<bool(const std::vector<std::string>&)>& holds) {
  return Search(modules, holds).run(guess);
}

Bisection bisect(const DigestedProcess& a, const DigestedProcess& b,
                 const std::vector<uint32_t>& steps, const std::string& guess,
                 const std::function<std::vector<DigestedProcess>(
                     const std::vector<std::string>& modules, uint32_t step)>& run) {
  Bisection bisection;
  bisection.allowed = kRoundings * lowest_roundoff(b);
  std::optional<End> end;
  for (const uint32_t step : steps) {
    const auto in_a = end_of(a, step);
    if (!in_a) continue;
    end = in_a;
    bisection.step = step;
    bisection.before = apart(*in_a, end_of(b, step));
    if (bisection.before > bisection.allowed) break;
  }
  if (!end || end->digest->finite != end->digest->count)
    throw InputError(fmt::format(
        "{}: no step ends in a number to compare with; give the run whose numbers are right first",
        a.file));
  bisection.op = end->call->op;
  bisection.site = end->call->site;
  const std::vector<std::string> modules = modules_in_16_bits(b);
  bisection.modules = modules.size();
  if (modules.empty())
    throw InputError(
        fmt::format("{}: no module computes in 16 bits, so none can be put in Float", b.file));
  if (!bisection.is_apart()) return bisection;
  const auto found = smallest_set(modules, guess, [&](const std::vector<std::string>& in_float) {
    const std::vector<DigestedProcess> made = run(in_float, bisection.step);
    const double left =
        apart(*end, end_of(main_process(made, "a run with --in-float"), bisection.step));
    bisection.runs.push_back({in_float, left});
    return left <= bisection.allowed;
  });
  if (!found) return bisection;
  bisection.found = *found;
  for (const Bisection::Run& made : bisection.runs)
    if (made.modules == bisection.found) bisection.after = made.distance;
  bisection.share = share_of(b, bisection.step, bisection.found);
  return bisection;
}

}  // namespace dtypecheck::compare
