#include "core/health.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "core/enum_names.h"
#include "core/run.h"

namespace dtypecheck {
namespace {

// What one launcher starts in turn, as a sweep does, are trainings of their own. An end is not
// known of one that was killed.
bool is_continued_by(const Process& before, const Process& process) {
  if (before.rank != process.rank || before.steps == 0 || process.parent_pid == before.pid ||
      process.parent_pid == before.parent_pid)
    return false;
  if (before.executable != process.executable) return false;
  return before.ended_unix_ns != 0 ? before.ended_unix_ns <= process.started_unix_ns
                                   : before.started_unix_ns < process.started_unix_ns;
}

// Rank, role, dtype, place, and which one of those of a process: a line may have several.
using RowKey = std::tuple<int, HealthRole, Dtype, std::string, uint32_t>;

}  // namespace

const char* health_role_name(HealthRole role) {
  return name_of<kLastHealthRole>(role, {"", "activations", "gradients", "weights", "states"});
}

std::string place_of(const HealthRow& row, const Run& run) {
  if (!row.module.empty()) return row.module;
  const OpCall* call = run.call(row.call);
  if (call == nullptr || call->site.line.file.empty()) return "unnamed";
  const std::string op = call->op.substr(call->op.rfind(':') + 1);
  return std::filesystem::path(call->site.line.file).filename().string() + ":" +
         std::to_string(call->site.line.line) + " (" + op + ")";
}

Health health_of(const Run& run) {
  Health health;
  std::set<uint32_t> recorded;
  for (const HealthStep& step : run.health_steps) recorded.insert(step.process);
  std::map<uint32_t, uint32_t> steps_before, skipped, skipped_before;
  for (const HealthStep& step : run.health_steps)
    skipped[step.process] = std::max(skipped[step.process], step.skipped);
  for (const uint32_t index : recorded) {
    for (const uint32_t other : recorded) {
      if (other == index || !is_continued_by(run.processes[other], run.processes[index])) continue;
      steps_before[index] += static_cast<uint32_t>(run.processes[other].steps);
      skipped_before[index] += skipped[other];
    }
    if (steps_before[index] > 0) health.resumed_at.push_back(steps_before[index]);
  }
  for (HealthStep step : run.health_steps) {
    step.step += steps_before[step.process];
    step.skipped += skipped_before[step.process];
    health.steps.push_back(step);
  }
  std::map<RowKey, size_t> known;
  std::map<std::pair<uint32_t, RowKey>, uint32_t> alike;  // by process
  for (const HealthRow& row : run.health) {
    const int rank = run.processes[row.process].rank;
    // Two lines outside of modules are two rows, whatever they are called by.
    RowKey key{rank, row.role, row.dtype, place_of(row, run), 0};
    std::get<uint32_t>(key) = alike[{row.process, key}]++;
    const auto [at, is_new] = known.emplace(key, health.rows.size());
    if (is_new) {
      health.rows.push_back(row);
      health.rows.back().points.clear();
    }
    for (HealthPoint point : row.points) {
      point.step += steps_before[row.process];
      health.rows[at->second].points.push_back(point);
    }
  }
  const auto by_step = [](const auto& a, const auto& b) { return a.step < b.step; };
  for (HealthRow& row : health.rows)
    std::stable_sort(row.points.begin(), row.points.end(), by_step);
  std::stable_sort(health.steps.begin(), health.steps.end(), by_step);
  std::sort(health.resumed_at.begin(), health.resumed_at.end());
  return health;
}

}  // namespace dtypecheck
