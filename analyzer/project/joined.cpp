#include "analyzer/project/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/project/tree.h"

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxSources = 12;  // that are read before a file

class Index {
 public:
  explicit Index(const std::vector<SourceFacts>& all) : all_(all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].parsed || is_cuda(all[i].file)) continue;
      for (const std::string& function : all[i].defined) defined_[function].push_back(i);
    }
  }

  // The files that define what this one calls, and what they call in their turn.
  std::set<size_t> below(size_t file) const {
    std::set<size_t> found;
    std::vector<size_t> open = {file};
    while (!open.empty() && found.size() < kMaxSources) {
      const SourceFacts& facts = all_[open.back()];
      open.pop_back();
      for (const auto* functions : {&facts.module_functions, &facts.tensor_functions}) {
        for (const std::string& function : *functions) {
          const auto at = definer(function, facts.file);
          if (at && *at != file && found.insert(*at).second) open.push_back(*at);
        }
      }
    }
    return found;
  }

  // Where no floating dtype is named but what models have by default, each file by itself says as
  // much, as a rule: an integer is refused by the first layer, which is judged at the call.
  bool names_other_dtype(size_t file, const std::set<size_t>& sources) const {
    DtypeSet named = all_[file].named_dtypes;
    for (const size_t source : sources) named |= all_[source].named_dtypes;
    return !named.within(DtypeSet(Dtype::kFloat) | Dtype::kLong | Dtype::kBool);
  }

 private:
  // Of several, as programs of one repository have, the nearest.
  std::optional<size_t> definer(const std::string& function, const std::string& from) const {
    const auto files = defined_.find(function);
    if (files == defined_.end()) return std::nullopt;
    std::optional<size_t> best;
    bool is_one = false;
    for (const size_t file : files->second) {
      const size_t near = nearness(all_[file].file, from);
      const size_t so_far = best ? nearness(all_[*best].file, from) : 0;
      if (best && near < so_far) continue;
      is_one = !best || near > so_far;
      best = file;
    }
    return is_one ? best : std::nullopt;
  }

  const std::vector<SourceFacts>& all_;
  std::map<std::string, std::vector<size_t>> defined_;
};

}  // namespace

// What the source defines for itself, as others do under the same name, has another one.
static std::string inclusion(const SourceFacts& source, size_t number,
                             std::set<std::string>& known) {
  std::string before, after;
  const std::set<std::string> own(source.internal.begin(), source.internal.end());
  for (const std::string& name : own) {
    if (known.insert(name).second) continue;
    before += fmt::format("#define {0} {0}_{1}\n", name, number);
    after += fmt::format("#undef {}\n", name);
  }
  return fmt::format("{}#include \"{}\"\n{}", before, source.file, after);
}

static bool is_program(const SourceFacts& facts) {
  return std::ranges::any_of(facts.defined,
                             [](const std::string& name) { return name.starts_with("main/"); });
}

static bool runs_modules(const SourceFacts& facts) {
  return facts.casts_modules || !facts.module_functions.empty() || !facts.layer_inputs.empty();
}

std::vector<Joined> sources_to_join(const std::vector<SourceFacts>& all, size_t judged) {
  const Index index(all);
  std::map<size_t, std::set<size_t>> below;
  std::set<size_t> called;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].parsed || is_cuda(all[i].file)) continue;
    std::set<size_t> sources = index.below(i);
    const bool has_modules =
        is_program(all[i]) || runs_modules(all[i]) ||
        std::ranges::any_of(sources, [&](size_t at) { return runs_modules(all[at]); });
    if (!has_modules) continue;
    called.insert(sources.begin(), sources.end());
    below[i] = std::move(sources);
  }
  std::vector<Joined> joined;
  for (const auto& [file, sources] : below) {
    const bool is_wanted = file < judged && !sources.empty() && !called.contains(file);
    if (!is_wanted || !index.names_other_dtype(file, sources)) continue;
    joined.push_back({file, {}});
    std::set<std::string> known(all[file].internal.begin(), all[file].internal.end());
    for (const size_t source : sources) {
      joined.back().sources.push_back(all[source].file);
      joined.back().text += inclusion(all[source], joined.back().sources.size(), known);
    }
  }
  return joined;
}

void take_joined(std::vector<SourceFacts>& all, const Joined& join, SourceFacts found) {
  SourceFacts& facts = all[join.file];
  uint64_t errors = facts.error_count;
  for (const SourceFacts& one : all) {
    if (std::find(join.sources.begin(), join.sources.end(), one.file) != join.sources.end())
      errors += one.error_count;
  }
  if (!found.parsed || found.error_count > errors) return;
  std::set<std::string> left;
  for (const SourceOp& call : found.module_calls) left.insert(call.op);
  for (const SourceOp& call : facts.module_calls) {
    if (!left.contains(call.op)) facts.walked.push_back(call.op);
  }
  // What stands in its headers is judged without them, too.
  std::erase_if(facts.ops, [&](const SourceOp& op) { return op.place.file == facts.file; });
  for (SourceOp& op : found.ops) facts.ops.push_back(std::move(op));
  std::set<Place> known;  // what a file saw by itself
  for (const SourceFacts& one : all) {
    for (const CutNumbers& numbers : one.cut_numbers) known.insert(numbers.place);
  }
  for (CutNumbers& numbers : found.cut_numbers) {
    if (known.insert(numbers.place).second) facts.cut_numbers.push_back(std::move(numbers));
  }
}

}  // namespace dtypecheck::analyzer
