#include "compare/wrappers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

namespace dtypecheck::compare {
namespace {

constexpr std::array<std::string_view, 3> kWrapped = {"_checkpoint_wrapped_module",
                                                      "_fsdp_wrapped_module", "_orig_mod"};

template <typename Visit>
void for_names(DigestedProcess& process, const Visit& visit) {
  for (DigestedCall& call : process.calls)
    for (std::string* name : {&call.site.module, &call.owner})
      if (!name->empty()) visit(*name);
  for (Digest& digest : process.digests)
    if (!digest.parameter.empty()) visit(digest.parameter);
}

std::string_view root_of(std::string_view name) { return name.substr(0, name.find('.')); }

std::set<std::string> roots_of(DigestedProcess& process) {
  std::set<std::string> roots;
  for_names(process, [&](const std::string& name) { roots.emplace(root_of(name)); });
  return roots;
}

// The one that is not among the others; "": there is none, or several.
std::string only_in(const std::set<std::string>& roots, const std::set<std::string>& others) {
  std::vector<std::string> only;
  std::set_difference(roots.begin(), roots.end(), others.begin(), others.end(),
                      std::back_inserter(only));
  return only.size() == 1 ? only.front() : "";
}

}  // namespace

std::string without_wrappers(const std::string& name) {
  std::string short_name(root_of(name));
  bool is_behind_model = true;
  for (std::string_view rest = std::string_view(name).substr(short_name.size()); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view part = root_of(rest);
    rest.remove_prefix(part.size());
    const bool wraps = std::find(kWrapped.begin(), kWrapped.end(), part) != kWrapped.end() ||
                       (part == "module" && is_behind_model);
    if (wraps) continue;
    is_behind_model = false;
    short_name.append(".").append(part);
  }
  return short_name;
}

void unify_names(DigestedProcess& a, DigestedProcess& b) {
  for (DigestedProcess* process : {&a, &b})
    for_names(*process, [](std::string& name) { name = without_wrappers(name); });
  const std::set<std::string> roots_a = roots_of(a), roots_b = roots_of(b);
  const std::string from = only_in(roots_b, roots_a), to = only_in(roots_a, roots_b);
  if (from.empty() || to.empty()) return;
  for_names(b, [&](std::string& name) {
    if (root_of(name) == from) name.replace(0, from.size(), to);
  });
}

}  // namespace dtypecheck::compare
