#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/dump.h"
#include "rules/kernel_names/kernel_name.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kStepsTrack = 0;  // threads are numbered from 1

// "Half", or "Half+Float" where operands and results disagree: seen at a glance.
std::string dtypes_text(const OpCall& call) {
  DtypeSet dtypes;
  for (const auto* tensors : {&call.operands, &call.results})
    for (const Operand& tensor : *tensors)
      if (tensor.is_floating()) dtypes |= tensor.dtypes;
  std::string text = dtypes.to_string();
  std::replace(text.begin(), text.end(), '|', '+');
  return dtypes.empty() ? "" : text;
}

std::string tensors_text(const std::vector<Operand>& tensors) {
  std::string text;
  for (const Operand& tensor : tensors) {
    text +=
        fmt::format("{}{}{}{}{}", text.empty() ? "" : ", ", tensor.name,
                    tensor.name.empty() ? "" : "=", tensor.dtypes.to_string(), shape_text(tensor));
    if (!tensor.parameter.empty()) text += fmt::format(" ({})", tensor.parameter);
  }
  return text;
}

std::string same(const std::string& file) { return file; }

Json call_args(const OpCall& call) {
  Json args = {{"operands", tensors_text(call.operands)},
               {"results", tensors_text(call.results)},
               {"line", trace::place_text(call.site.line, same)},
               {"phase", phase_name(call.site.phase)},
               {"calls", call.count},
               {"outcome", outcome_name(call.outcome)}};
  if (has_inner(call.site)) args["inner"] = trace::place_text(call.site.inner, same);
  if (!call.site.module.empty()) args["module"] = call.site.module;
  if (call.autocast.is_wrapper) args["autocast"] = "wrapper";
  if (call.autocast.is_inner) args["autocast"] = "inner";
  if (!call.error.empty()) args["error"] = call.error;
  return args;
}

std::string name_of(const OpCall& call) {
  const std::string dtypes = dtypes_text(call);
  return dtypes.empty() ? call.op : call.op + " " + dtypes;
}

std::string name_of(const GpuTime& time) {
  return time.name.empty() ? gpu_work_name(time.kind) : time.name;
}

class PerfettoWriter {
 public:
  PerfettoWriter(const Run& run, std::ostream& out) : run_(run), out_(out) {}

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (uint32_t process = 0; process < run_.processes.size(); ++process) write_times(process);
    out_ << "\n]}\n";
  }

 private:
  // Microseconds with three digits, as integers, for a double cannot hold those of today.
  struct Microseconds {
    uint64_t time_ns;
    std::string to_string() const {
      return fmt::format("{}.{:03}", time_ns / 1000, time_ns % 1000);
    }
  };

  void event(const Json& json, const std::string& times = "") {
    std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (!times.empty()) text.insert(text.size() - 1, times);
    out_ << (is_first_ ? "\n" : ",\n") << text;
    is_first_ = false;
  }

  void slice(uint32_t pid, uint32_t tid, const std::string& name, const char* category,
             uint64_t begin_ns, uint64_t time_ns, Json args) {
    event({{"ph", "X"},
           {"pid", pid},
           {"tid", tid},
           {"name", name},
           {"cat", category},
           {"args", std::move(args)}},
          fmt::format(",\"ts\":{},\"dur\":{}", Microseconds{begin_ns}.to_string(),
                      Microseconds{time_ns}.to_string()));
  }

  void name_track(const char* what, uint32_t pid, uint32_t tid, const std::string& name) {
    event({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", what}, {"args", {{"name", name}}}});
  }

  std::string label(uint32_t process) const {
    const Process& of = run_.processes[process];
    const std::string rank = of.rank < 0 ? "" : fmt::format("rank {}, ", of.rank);
    return fmt::format("{} ({}pid {})", of.command.empty() ? "process" : of.command, rank, of.pid);
  }

  // Processes of one host may share a pid over time, so they are numbered.
  uint32_t pid_of(uint32_t process) const { return process + 1; }
  uint32_t gpu_pid_of(uint32_t process, int device) const {
    return static_cast<uint32_t>(run_.processes.size()) * (static_cast<uint32_t>(device) + 1) +
           process + 1;
  }

  uint64_t first_begin() const {
    uint64_t begin = std::numeric_limits<uint64_t>::max();
    for (const OpTime& time : run_.times) begin = std::min(begin, time.begin_unix_ns);
    for (const GpuTime& time : run_.gpu_times) begin = std::min(begin, time.begin_unix_ns);
    return begin;
  }

  void write_times(uint32_t process) {
    struct Span {
      uint64_t begin, end;
    };
    std::map<uint32_t, Span> steps;
    std::set<uint32_t> threads;
    const uint64_t begin = first_begin();
    name_track("process_name", pid_of(process), 0, label(process));
    for (const OpTime& time : run_.times) {
      const OpCall* call = run_.call(time.call);
      if (time.process != process || call == nullptr) continue;
      if (threads.insert(time.thread).second)
        name_track("thread_name", pid_of(process), time.thread,
                   fmt::format("thread {}", time.thread));
      const uint64_t at = time.begin_unix_ns - begin, end = at + time.time_ns;
      auto [span, is_new] = steps.try_emplace(time.step, Span{at, end});
      span->second = {std::min(span->second.begin, at), std::max(span->second.end, end)};
      slice(pid_of(process), time.thread, name_of(*call), "op", at, time.time_ns, call_args(*call));
    }
    name_track("thread_name", pid_of(process), kStepsTrack, "steps");
    for (const auto& [step, span] : steps)
      slice(pid_of(process), kStepsTrack, fmt::format("step {}", step), "step", span.begin,
            span.end - span.begin, Json::object());
    write_gpu_times(process, begin);
  }

  void write_gpu_times(uint32_t process, uint64_t begin) {
    std::set<std::pair<int, uint32_t>> tracks;
    for (const GpuTime& time : run_.gpu_times) {
      if (time.process != process) continue;
      const uint32_t pid = gpu_pid_of(process, time.device);
      if (tracks.insert({time.device, time.stream}).second) {
        name_track("process_name", pid, 0,
                   fmt::format("GPU {} of {}", time.device, label(process)));
        name_track("thread_name", pid, time.stream, fmt::format("stream {}", time.stream));
      }
      Json args = Json::object();
      if (const OpCall* call = run_.call(time.call)) {
        args = call_args(*call);
        args["op"] = name_of(*call);
      }
      if (const auto arithmetic = gpu::read_kernel_name(time.name))
        args["arithmetic"] = gpu::in_words(*arithmetic);
      slice(pid, time.stream, name_of(time), gpu_work_name(time.kind), time.begin_unix_ns - begin,
            time.time_ns, std::move(args));
    }
  }

  const Run& run_;
  std::ostream& out_;
  bool is_first_ = true;
};

}  // namespace

void write_perfetto(const Run& run, std::ostream& out) { PerfettoWriter(run, out).write(); }

}  // namespace dtypecheck::cli
