#include "core/whole_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "core/launch.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck {
namespace {

constexpr int kMostRanks = 1 << 20;

bool is_possible(const PlaceInLaunch& place) {
  return place.rank >= 0 && place.rank < place.ranks && place.ranks <= kMostRanks;
}

PlaceInLaunch place_by_launcher(const Process& process) {
  for (const LauncherVariables& launcher : kLaunchers) {
    const std::string& rank = process.fact(FactKey::kEnv, launcher.rank);
    if (rank.empty()) continue;
    const auto ranks = launcher.size ? whole_number<int>(process.fact(FactKey::kEnv, launcher.size))
                                     : std::nullopt;
    return {whole_number<int>(rank).value_or(-1), ranks.value_or(0), true};
  }
  return {};
}

struct Launch {
  int ranks = 0;
  int ranks_of_machine = 0;     // 0: not known
  bool is_of_launcher = false;  // else the program started its ranks itself
  bool is_of_program = false;   // the process that was started is one of them
  std::set<int> there;
  bool is_one_machine = false;

  bool is_disjoint(const Launch& other) const {
    return std::none_of(there.begin(), there.end(),
                        [&](int rank) { return other.there.contains(rank); });
  }
  // Those that are there may be all of one machine: as many from a multiple of their number on. One
  // alone is where it is the process that was started, and no child of it.
  bool may_be_a_machine() const {
    const int count = static_cast<int>(there.size()), first = *there.begin();
    return !is_of_launcher && ranks_of_machine == 0 && (count > 1 || is_of_program) &&
           *there.rbegin() - first + 1 == count && first % count == 0 && ranks % count == 0;
  }
  bool has_machine_of(int rank) const {
    if (ranks_of_machine <= 0) return true;
    const int first = rank - rank % ranks_of_machine;
    const auto next = there.lower_bound(first);
    return next != there.end() && *next < first + ranks_of_machine;
  }
};

std::string folder_of(const Process& process) {
  return fs::path(process.file).parent_path().lexically_normal().string();
}

const ExpectedRun* expected_in(const std::string& folder,
                               const std::vector<ExpectedRun>& expected) {
  const auto found = std::find_if(expected.begin(), expected.end(), [&](const ExpectedRun& run) {
    return fs::path(run.folder + "/x").parent_path().lexically_normal().string() == folder;
  });
  return found == expected.end() ? nullptr : &*found;
}

// A launch over several machines was traced into a folder on each, as a rule: folders whose ranks
// are not the same belong together.
std::vector<Launch> launches_of(const Run& run, const std::vector<ExpectedRun>& expected) {
  std::map<std::pair<std::string, int>, Launch> by_folder;
  for (const Process& process : run.processes) {
    const PlaceInLaunch place = place_in_launch(process);
    const int ranks = is_possible(place) && place.rank == process.rank ? place.ranks : 0;
    const std::string folder = folder_of(process);
    const ExpectedRun* of_folder = expected_in(folder, expected);
    if (ranks == 0 || (of_folder && of_folder->is_one_rank)) continue;
    Launch& launch = by_folder[{folder, ranks}];
    launch.ranks = ranks;
    launch.ranks_of_machine =
        whole_number<int>(process.fact(FactKey::kEnv, "LOCAL_WORLD_SIZE")).value_or(0);
    launch.is_one_machine = of_folder && of_folder->is_one_machine;
    launch.is_of_launcher |= place.is_of_launcher;
    launch.is_of_program |= of_folder && of_folder->pid == process.pid;
    launch.there.insert(process.rank);
  }
  std::vector<Launch> launches;
  for (const auto& [folder, launch] : by_folder) {
    const auto same = std::find_if(launches.begin(), launches.end(), [&](const Launch& other) {
      return other.ranks == launch.ranks && other.is_disjoint(launch);
    });
    if (same == launches.end())
      launches.push_back(launch);
    else
      same->there.insert(launch.there.begin(), launch.there.end());
  }
  return launches;
}

// "0, 2-7"
std::string numbers_text(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (end > i + 1) text += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return text;
}

std::string ranks_sentence(const std::vector<int>& missing, int ranks, const char* what) {
  return fmt::format("{} {} of {} {}", missing.size() == 1 ? "rank" : "ranks",
                     numbers_text(missing), ranks, what);
}

void add_ranks(const Launch& launch, std::vector<std::string>& out) {
  std::vector<int> here, elsewhere;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    if (launch.there.contains(rank)) continue;
    (launch.has_machine_of(rank) ? here : elsewhere).push_back(rank);
  }
  if (launch.may_be_a_machine()) {
    if (!here.empty() && !launch.is_one_machine)
      out.push_back(ranks_sentence(here, launch.ranks,
                                   "left no trace here; if they ran on other machines, name the "
                                   "folders of their traces too"));
    return;
  }
  if (!here.empty()) out.push_back(ranks_sentence(here, launch.ranks, "left no trace"));
  if (!elsewhere.empty() && !launch.is_one_machine) {
    out.push_back(ranks_sentence(elsewhere, launch.ranks,
                                 "ran on other machines; name the folders of their traces too"));
  }
}

void add_listed(const Run& run, const ExpectedRun& expected, std::vector<std::string>& out) {
  for (const std::string& name : expected.traces) {
    const bool is_read = std::any_of(
        run.processes.begin(), run.processes.end(),
        [&](const Process& process) { return fs::path(process.file).filename().string() == name; });
    std::error_code none;
    // One that is there and cannot be read is reported by who reads it.
    if (is_read || fs::exists(fs::path(expected.folder) / name, none)) continue;
    out.push_back(fmt::format("{}/{}: was there when the run ended and is missing now",
                              expected.folder, name));
  }
}

// That the program which was started ran no op says nothing: launchers run none. But where it
// failed, and nothing that was traced says why, what it did is not here.
void add_silent_failure(const Run& run, const ExpectedRun& expected,
                        std::vector<std::string>& out) {
  if (expected.pid == 0 || (expected.status == 0 && expected.signal == 0)) return;
  bool has_child = false;
  for (const Process& process : run.processes) {
    const bool failed =
        process.ended_badly() || process.signal != 0 || process.end == EndState::kRunning;
    if (process.pid == expected.pid || failed) return;
    has_child |= process.parent_pid == expected.pid;
  }
  if (!has_child) return;
  out.push_back(
      fmt::format("{}: process {}, which was started, {} and left no trace, though processes "
                  "that it started did",
                  expected.folder, expected.pid,
                  expected.signal != 0 ? fmt::format("was killed by signal {}", expected.signal)
                                       : fmt::format("ended with status {}", expected.status)));
}

// By the program itself: it sent a signal to it, or to a group. Or with the program by preflight,
// whose steps were done.
bool was_ended(const Run& run, const Process& process) {
  return std::any_of(run.processes.begin(), run.processes.end(), [&](const Process& other) {
    if (other.host != process.host || other.pid == process.pid) return false;
    if (!other.fact(FactKey::kPretendedEnd).empty()) return true;
    const auto killed = other.facts_of(FactKey::kKilled);
    return std::any_of(killed.begin(), killed.end(), [&](const auto& one) {
      return one.first.starts_with('-') || one.first == std::to_string(process.pid);
    });
  });
}

}  // namespace

PlaceInLaunch place_in_launch(const Process& process) {
  const PlaceInLaunch by_launcher = place_by_launcher(process);
  const PlaceInLaunch by_program = {
      whole_number<int>(process.fact(FactKey::kRank)).value_or(-1),
      whole_number<int>(process.fact(FactKey::kWorldSize)).value_or(0), false};
  if (!is_possible(by_program) ||
      (is_possible(by_launcher) && by_launcher.ranks > by_program.ranks))
    return by_launcher;
  const bool agree = by_launcher.ranks == by_program.ranks && by_launcher.rank == by_program.rank;
  return agree ? by_launcher : by_program;
}

bool has_no_end(const Run& run, const Process& process) {
  return process.end == EndState::kRunning && !was_ended(run, process);
}

std::vector<std::string> missing_processes(const Run& run,
                                           const std::vector<ExpectedRun>& expected) {
  std::vector<std::string> out;
  for (const Launch& launch : launches_of(run, expected)) add_ranks(launch, out);
  for (const ExpectedRun& folder : expected) {
    const size_t before = out.size();
    add_listed(run, folder, out);
    if (out.size() == before) add_silent_failure(run, folder, out);
  }
  return out;
}

}  // namespace dtypecheck
