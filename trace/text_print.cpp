// text_print.cpp: a run to text that parse_trace_text() reads back as the same run.
#include <fmt/format.h>

#include "trace/health.h"
#include "trace/op_call_fields.h"
#include "trace/text.h"
#include "trace/text_cursor.h"
#include "trace/text_syntax.h"
#include "trace/times_text.h"

namespace dtypecheck {
namespace {

void print_devices(const Process& process, const Run& run, uint32_t index, std::string& out) {
  if (process.devices == run.device_types_of(index)) return;
  out += process.devices.empty() ? " devices=none" : " devices=";
  for (size_t i = 0; i < process.devices.size(); ++i) {
    const std::string& type = process.devices[i];
    if (i > 0) out += ',';
    out += type == "none" ? dtypecheck::quoted(type) : bare_or_quoted(type, "");
  }
}

void print_process(const Process& process, const Run& run, uint32_t index, std::string& out) {
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) {
      out += fmt::format(" {}={}", key, bare_or_quoted(value, kFreeWordCharacters));
    }
  };
  const auto number = [&](const char* key, auto value, decltype(value) usual) {
    if (value != usual) out += fmt::format(" {}={}", key, value);
  };
  out += "process";
  number("pid", process.pid, 0);
  number("parent_pid", process.parent_pid, 0);
  number("rank", process.rank, -1);
  text("host", process.host);
  text("file", process.file);
  text("command", process.command);
  text("executable", process.executable);
  text("libtorch", process.libtorch);
  text("python", process.python);
  print_devices(process, run, index, out);
  number("started", process.started_unix_ns, 0);
  number("ended", process.ended_unix_ns, 0);
  number("events", process.events, 0);
  number("steps", process.steps, 0);
  number("steps_traced", process.steps_traced, process.steps);
  number("signatures_lost", process.signatures_lost, 0);
  if (process.end != EndState::kExited) out += fmt::format(" end={}", end_state_name(process.end));
  if (!process.damaged.empty()) out += " damaged=" + dtypecheck::quoted(process.damaged);
  for (const auto& [name, value] : process.facts) {
    out += fmt::format(" fact:{}={}", bare_or_quoted(name, kParameterCharacters),
                       dtypecheck::quoted(value));
  }
  out += '\n';
}

}  // namespace

std::string to_text(const OpCall& call) {
  std::string out;
  trace::print_op_call(call, out);
  return out;
}

std::string to_text(const Run& run) {
  std::string out = run.values_checked ? "values-checked\n" : "";
  for (uint32_t process = 0; process < run.processes.size(); ++process) {
    print_process(run.processes[process], run, process, out);
    for (const OpCall& call : run.calls) {
      if (call.process == process) out += to_text(call) + '\n';
    }
    for (const OpTime& time : run.times) {
      if (time.process == process) out += trace::to_text(time) + '\n';
    }
    for (const GpuTime& time : run.gpu_times) {
      if (time.process == process) out += trace::to_text(time) + '\n';
    }
    for (const HealthRow& row : run.health) {
      if (row.process == process) out += trace::to_text(row) + '\n';
    }
    for (const HealthStep& step : run.health_steps) {
      if (step.process == process) out += trace::to_text(step) + '\n';
    }
  }
  return out;
}

}  // namespace dtypecheck
