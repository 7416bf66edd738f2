// trace_text_print.cpp: op calls to text that parse_trace_text() reads back as the same op calls.
#include <fmt/format.h>

#include <algorithm>

#include "trace/text.h"
#include "trace/text_cursor.h"
#include "trace/words.h"

namespace dtypecheck {
namespace {

// A word that stands alone: quoted too when it would be taken for the next key.
std::string free_word(std::string_view text) {
  return text == "->" || is_key(text) ? quoted(text) : bare_or_quoted(text, kFreeWordCharacters);
}

std::string op_name(const OpCall& call) {
  const bool dotted = has_dotted_name(call.op);
  const bool usual = call.op.find("::") != std::string::npos && !(dotted && !call.overload.empty());
  std::string text = usual ? bare_or_quoted(call.op, dotted ? kDottedOpCharacters : kOpCharacters)
                           : quoted(call.op);
  if (!call.overload.empty()) text += '.' + bare_or_quoted(call.overload, "");
  return text;
}

std::string shape_text(const Operand& operand) {
  return operand.has_shape ? fmt::format("[{}]", fmt::join(operand.shape, ",")) : "";
}

std::string device_text(const Device& device) {
  if (device == Device{}) return "";
  std::string text = '@' + bare_or_quoted(device.type, "");
  return device.index < 0 ? text : text + ':' + std::to_string(device.index);
}

std::string operand_text(const Operand& operand) {
  std::string text = operand.dtypes.empty() ? "none" : operand.dtypes.to_string();
  text += shape_text(operand);
  if (operand.kind != default_kind(operand.dtypes)) {
    text += fmt::format("~{}", tensor_kind_name(operand.kind));
  }
  text += device_text(operand.device);
  if (!operand.parameter.empty()) {
    text += '%' + bare_or_quoted(operand.parameter, kParameterCharacters);
  }
  if (operand.origin != kNoOpCall) text += fmt::format("<#{}", operand.origin);
  if (operand.is_written) text += "!out";
  if (operand.requires_grad) text += operand.is_leaf ? "^^" : "^";
  if (operand.is_wrapped_number) text += '$';
  if (operand.role != default_role(operand.name)) {
    text += fmt::format(":{}", role_name(operand.role));
  }
  return text;
}

// How many operands from `first` on are list[0], list[1], … of one list.
size_t list_length(const std::vector<Operand>& operands, size_t first, std::string_view list) {
  size_t length = 0;
  while (first + length < operands.size() &&
         operands[first + length].name == fmt::format("{}[{}]", list, length)) {
    ++length;
  }
  return length;
}

void print_operands(const std::vector<Operand>& operands, std::string& out) {
  for (size_t i = 0; i < operands.size();) {
    const std::string& name = operands[i].name;
    const bool starts_list = name.ends_with("[0]");
    const std::string_view list = std::string_view(name).substr(0, name.size() - 3 * starts_list);
    const size_t length = starts_list ? list_length(operands, i, list) : 1;
    out += fmt::format(" {}=", bare_or_quoted(list, starts_list ? "" : kArgumentCharacters));
    for (size_t k = 0; k < length; ++k) {
      if (k > 0) out += ',';
      out += operand_text(operands[i + k]);
    }
    if (starts_list && length == 1) out += ',';
    i += length;
  }
}

void print_scalars(const std::vector<ScalarArgument>& scalars, std::string& out) {
  for (const ScalarArgument& scalar : scalars) {
    out += fmt::format(" {}:=", bare_or_quoted(scalar.name, kArgumentCharacters));
    out += scalar.dtype ? dtype_name(*scalar.dtype) : fmt::format("{}", scalar.value);
  }
}

void print_results(const std::vector<Operand>& results, std::string& out) {
  for (size_t i = 0; i < results.size(); ++i) {
    out += i == 0 ? " -> " : ",";
    out += operand_text(results[i]);
  }
}

void print_line(const char* key, const SourceLine& line, std::string& out) {
  out += fmt::format(" {} {}:{}", key, bare_or_quoted(line.file, kFreeWordCharacters), line.line);
  if (!line.function.empty()) out += ' ' + free_word(line.function);
}

void print_site(const Site& site, std::string& out) {
  if (site.line != SourceLine{}) print_line("at", site.line, out);
  if (site.inner != site.line) print_line("inside", site.inner, out);
  if (!site.module.empty() || !site.module_class.empty()) {
    out += " in " + bare_or_quoted(site.module, kFreeWordCharacters);
  }
  if (!site.module_class.empty()) {
    out += fmt::format(" ({})", bare_or_quoted(site.module_class, kFreeWordCharacters));
  }
  if (site.phase != Phase::kUnknown) out += fmt::format(" phase {}", phase_name(site.phase));
}

void print_outcome(const OpCall& call, std::string& out) {
  if (call.outcome == Outcome::kThrew || !call.error.empty() || !call.error_type.empty()) {
    out += " raised " + quoted(call.error);
    if (!call.error_type.empty()) out += ' ' + free_word(call.error_type);
  }
  if (call.outcome == Outcome::kRepaired) out += " repaired";
}

void print_autocast(const AutocastState& autocast, std::string& out) {
  if (autocast.entered != SourceLine{}) print_line("entered", autocast.entered, out);
  if (autocast.enabled.empty() && !autocast.is_wrapper && !autocast.is_inner) return;
  out += " autocast ";
  if (autocast.enabled.empty()) out += "off";
  for (size_t i = 0; i < autocast.enabled.size(); ++i) {
    const AutocastState::Region& region = autocast.enabled[i];
    out += fmt::format("{}{}:{}", i == 0 ? "" : ",", bare_or_quoted(region.device, ""),
                       dtype_name(region.dtype));
  }
  if (autocast.is_wrapper) out += " wrapper";
  if (autocast.is_inner) out += " inner";
}

void print_steps_and_counts(const OpCall& call, std::string& out) {
  if (call.first_step != call.last_step) {
    out += fmt::format(" step {}-{}", call.first_step, call.last_step);
  } else if (call.first_step != 0) {
    out += fmt::format(" step {}", call.first_step);
  }
  if (call.count != 1) out += fmt::format(" count {}", call.count);
  const uint64_t usual_throws = call.outcome == Outcome::kThrew ? call.count : 0;
  if (call.throws != usual_throws) out += fmt::format(" throws {}", call.throws);
}

void print_values(const OpCall& call, std::string& out) {
  if (call.result_non_finite) {
    out += call.result_nan ? " non-finite nan" : " non-finite inf";
    if (call.operands_were_finite) out += " clean";
  }
  if (call.inexact) out += fmt::format(" inexact {} {}", call.inexact->from, call.inexact->to);
}

void print_devices(const Process& process, const Run& run, uint32_t index, std::string& out) {
  if (process.devices == run.device_types_of(index)) return;
  out += process.devices.empty() ? " devices=none" : " devices=";
  for (size_t i = 0; i < process.devices.size(); ++i) {
    const std::string& type = process.devices[i];
    if (i > 0) out += ',';
    out += type == "none" ? quoted(type) : bare_or_quoted(type, "");
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
  number("events", process.events, 0);
  number("steps", process.steps, 0);
  number("steps_traced", process.steps_traced, process.steps);
  number("signatures_lost", process.signatures_lost, 0);
  if (process.end != EndState::kExited) out += fmt::format(" end={}", end_state_name(process.end));
  if (!process.damaged.empty()) out += " damaged=" + quoted(process.damaged);
  for (const auto& [name, value] : process.facts) {
    out += fmt::format(" fact:{}={}", bare_or_quoted(name, kParameterCharacters), quoted(value));
  }
  out += '\n';
}

}  // namespace

std::string to_text(const OpCall& call) {
  std::string out = "op " + op_name(call);
  print_operands(call.operands, out);
  print_scalars(call.scalars, out);
  print_results(call.results, out);
  print_outcome(call, out);
  print_site(call.site, out);
  print_steps_and_counts(call, out);
  print_autocast(call.autocast, out);
  print_values(call, out);
  if (call.in_compiled_region) out += " compiled";
  if (call.parent != kNoOpCall) out += fmt::format(" parent #{}", call.parent);
  if (call.follows != kNoOpCall) out += fmt::format(" follows #{}", call.follows);
  if (call.id != kNoOpCall) out += fmt::format(" id #{}", call.id);
  return out;
}

std::string to_text(const Run& run) {
  std::string out = run.values_checked ? "values-checked\n" : "";
  for (uint32_t process = 0; process < run.processes.size(); ++process) {
    print_process(run.processes[process], run, process, out);
    for (const OpCall& call : run.calls) {
      if (call.process == process) out += to_text(call) + '\n';
    }
  }
  return out;
}

}  // namespace dtypecheck
