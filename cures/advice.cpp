#include "cures/advice.h"

#include <algorithm>

#include "cures/patch.h"
#include "platform/error.h"
#include "platform/program.h"

namespace dtypecheck::cures {

// Of a change in words alone, and of a build, nothing is to be found in the source.
static bool has_place(const Cure& cure) {
  return cure.where.known() && cure.where.file.ends_with(".py") && !is_installed(cure.where);
}

void put_placed_first(std::vector<Finding>& findings, const judging::RecordedRun& recorded) {
  constexpr size_t kMost = 4;           // of a finding's cures
  constexpr size_t kMostFindings = 32;  // whoever has more reads the first
  std::vector<std::vector<Part>> lists;
  std::vector<Finding*> asked;
  for (Finding& finding : findings) {
    const bool is_said = finding.severity >= Severity::kWarning && finding.cures.size() > 1 &&
                         finding.fix == finding.cures.front().text;
    if (!is_said || !has_place(finding.cures.front()) || asked.size() == kMostFindings) continue;
    asked.push_back(&finding);
    for (size_t i = 0; i < std::min(kMost, finding.cures.size()); ++i)
      lists.push_back({{&finding, &finding.cures[i]}});
  }
  if (asked.empty()) return;
  std::string python;
  try {
    python = find_program("python3");
  } catch (const InputError&) {
    return;  // what the rules say first stays
  }
  const auto patches = make_patches(lists, recorded.run, recorded.sources, {.python = python}, {},
                                    /*counts_demerits=*/false);
  auto its = patches.begin();
  for (Finding* finding : asked) {
    const auto end = its + std::min(kMost, finding->cures.size());
    const auto placed = std::find_if(
        its, end, [](const std::vector<Patch>& ways) { return ways.front().is_placed(); });
    const auto cures = finding->cures.begin();
    if (placed != end && its->front().was_sought) {
      std::rotate(cures, cures + (placed - its), cures + (placed - its) + 1);
      finding->fix = finding->cures.front().text;
    }
    its = end;
  }
}

}  // namespace dtypecheck::cures
