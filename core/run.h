// run.h: what was recorded of one run: its processes and their op calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/health.h"
#include "core/op_call.h"
#include "core/process_facts.h"

namespace dtypecheck {

const char* end_state_name(EndState end);  // "running", "exited", "replaced"

struct Process {
  std::string file;  // the trace file it was read from
  std::string host;
  int64_t pid = 0;
  int64_t parent_pid = 0;
  int rank = -1;        // RANK of a distributed launch; -1: none
  std::string command;  // argv joined, for people
  std::string executable;
  std::string libtorch;              // "2.11.0"
  std::string python;                // "3.11.7", empty in a C++ program
  std::vector<std::string> devices;  // device types that its tensors were on
  EndState end = EndState::kRunning;
  int signal = 0;               // that ended it, where the run's folder says so
  int64_t started_unix_ns = 0;  // 0: not known
  int64_t ended_unix_ns = 0;    // 0: no end was recorded
  std::string damaged;  // why the trace is partial: "cut short at byte 4096", …; empty when whole
  uint64_t events = 0;  // dispatcher events seen, dropped ones included
  uint64_t steps = 0;
  uint64_t steps_traced = 0;     // < steps with --steady
  uint64_t signatures_lost = 0;  // full records that found no room (disk full)
  // What no op call shows of the program: "accelerate.mixed_precision" = "fp16". Asked for by
  // fact().
  std::map<std::string, std::string> facts;
  std::map<std::string, std::string> cells;  // of a notebook: what stood in "In [2]" when it ran

  // "" where it is not known. `rest` says which one of a family, and facts_of() gives all of it,
  // by that.
  const std::string& fact(FactKey key, std::string_view rest = {}) const;
  std::vector<std::pair<std::string, std::string>> facts_of(FactKey family) const;

  bool ended_badly() const;  // by an exception, or with a status of failure
  bool complete() const { return damaged.empty() && signatures_lost == 0; }
  bool has_gpu() const {
    return std::any_of(devices.begin(), devices.end(),
                       [](const std::string& type) { return type != "cpu" && type != "meta"; });
  }
  bool operator==(const Process&) const = default;
};

// When one op call began, and how long it took: with a time line (trace --timeline), of its steps.
struct OpTime {
  OpCallId call = kNoOpCall;
  uint32_t process = 0;  // index into Run::processes
  uint32_t thread = 0;   // as LibTorch numbers them
  uint32_t step = 0;
  uint64_t begin_unix_ns = 0;
  uint64_t time_ns = 0;

  bool operator==(const OpTime&) const = default;
};

// The same of one piece of work of a GPU.
struct GpuTime {
  OpCallId call = kNoOpCall;  // that launched it; none: launched outside of every op
  uint32_t process = 0;
  GpuWorkKind kind = GpuWorkKind::kKernel;
  std::string name;  // of a kernel, mangled
  int device = 0;
  uint32_t stream = 0;
  uint64_t begin_unix_ns = 0;
  uint64_t time_ns = 0;

  bool operator==(const GpuTime&) const = default;
};

struct Run {
  std::vector<Process> processes;
  std::vector<OpCall> calls;  // calls[id - 1]; in the order of their processes
  std::vector<OpTime> times;  // in the order of their processes; within one, as they ended
  std::vector<GpuTime> gpu_times;
  std::vector<HealthRow> health;  // in the order of their processes, as the steps
  std::vector<HealthStep> health_steps;
  bool values_checked = false;

  const OpCall* call(OpCallId id) const {
    return id == kNoOpCall || id > calls.size() ? nullptr : &calls[id - 1];
  }
  const Process& process_of(const OpCall& call) const { return processes.at(call.process); }

  // The device types that the operands and results of a process were on, sorted: what
  // Process::devices holds.
  std::vector<std::string> device_types_of(uint32_t process) const;
  bool operator==(const Run&) const = default;
};

// "rank 1", "ranks 0, 2-7"; processes without a rank are counted: "3 processes".
std::string ranks_text(const Run& run, const std::vector<ProcessRange>& processes);

}  // namespace dtypecheck
