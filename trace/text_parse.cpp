// text_parse.cpp: the text form of a trace to a run; the grammar is in text.h.
#include <fmt/format.h>

#include <map>

#include "core/finding.h"
#include "platform/text.h"
#include "trace/health.h"
#include "trace/op_call_fields.h"
#include "trace/operand_fields.h"
#include "trace/text.h"
#include "trace/text_cursor.h"
#include "trace/text_syntax.h"
#include "trace/times_text.h"

namespace dtypecheck {
namespace {

// What a process line said, beside the process: what is worked out where it said nothing.
struct ParsedProcess {
  Process process;
  bool has_devices = false;
  bool has_steps_traced = false;
};

ParsedProcess unnamed_process() {
  ParsedProcess parsed;
  parsed.process.end = EndState::kExited;
  return parsed;
}

std::vector<std::string> parse_devices(TextCursor& cursor) {
  std::vector<std::string> devices;
  if (cursor.next_word() == "none" && cursor.accept("none")) return devices;
  do {
    devices.push_back(cursor.name("", "a device type (cpu, cuda)"));
  } while (cursor.accept(","));
  return devices;
}

using ProcessField = void (*)(TextCursor&, ParsedProcess&);

template <auto member>
void parse_text_field(TextCursor& cursor, ParsedProcess& parsed) {
  parsed.process.*member = cursor.at_word_end() ? "" : cursor.word("a value");
}

template <auto member>
void parse_number_field(TextCursor& cursor, ParsedProcess& parsed) {
  using Number = std::remove_reference_t<decltype(parsed.process.*member)>;
  parsed.process.*member = cursor.number<Number>("a number");
}

const std::map<std::string_view, ProcessField>& process_fields() {
  static const std::map<std::string_view, ProcessField> fields = {
      {"pid", parse_number_field<&Process::pid>},
      {"parent_pid", parse_number_field<&Process::parent_pid>},
      {"rank", parse_number_field<&Process::rank>},
      {"host", parse_text_field<&Process::host>},
      {"file", parse_text_field<&Process::file>},
      {"command", parse_text_field<&Process::command>},
      {"executable", parse_text_field<&Process::executable>},
      {"libtorch", parse_text_field<&Process::libtorch>},
      {"python", parse_text_field<&Process::python>},
      {"started", parse_number_field<&Process::started_unix_ns>},
      {"ended", parse_number_field<&Process::ended_unix_ns>},
      {"events", parse_number_field<&Process::events>},
      {"steps", parse_number_field<&Process::steps>},
      {"signatures_lost", parse_number_field<&Process::signatures_lost>},
      {"damaged", parse_text_field<&Process::damaged>},
      {"steps_traced",
       [](TextCursor& cursor, ParsedProcess& parsed) {
         parse_number_field<&Process::steps_traced>(cursor, parsed);
         parsed.has_steps_traced = true;
       }},
      {"devices",
       [](TextCursor& cursor, ParsedProcess& parsed) {
         parsed.process.devices = parse_devices(cursor);
         parsed.has_devices = true;
       }},
      {"end",
       [](TextCursor& cursor, ParsedProcess& parsed) {
         parsed.process.end = trace::parse_name(cursor, kLastEndState, end_state_name,
                                                "exited, running or replaced");
       }},
  };
  return fields;
}

void parse_fact(TextCursor& cursor, Process& process) {
  const std::string name = cursor.name(kParameterCharacters, "a fact's name");
  cursor.expect("=");
  process.facts[name] = cursor.at_word_end() ? "" : cursor.word("a value");
}

ParsedProcess parse_process(TextCursor& cursor) {
  ParsedProcess parsed = unnamed_process();
  while (!cursor.at_end()) {
    if (cursor.accept("fact:")) {
      parse_fact(cursor, parsed.process);
    } else {
      TextCursor ahead = cursor;
      const auto field = process_fields().find(ahead.name("", "pid=, rank=, steps=, fact:NAME="));
      if (field == process_fields().end()) cursor.fail("pid=, rank=, steps=, fact:NAME=");
      cursor = ahead;
      cursor.expect("=");
      field->second(cursor, parsed);
    }
    cursor.require_space("a value");
  }
  if (!parsed.has_steps_traced) parsed.process.steps_traced = parsed.process.steps;
  return parsed;
}

// FILE:LINE: severity: message [rule]
Expectation parse_expectation(std::string_view text, const TextCursor& cursor, int line_number) {
  Expectation expectation;
  expectation.text_line = line_number;
  const size_t place_end = text.find(": ");
  const size_t severity_end = place_end == text.npos ? text.npos : text.find(": ", place_end + 2);
  const size_t rule_begin = text.rfind(" [");
  if (severity_end == text.npos || rule_begin == text.npos || rule_begin < severity_end ||
      text.back() != ']') {
    cursor.fail_with("expected \"# EXPECT FILE:LINE: severity: message [rule]\"");
  }
  const std::string_view place = text.substr(0, place_end);
  if (place != "-") {
    SourceLine line;
    TextCursor place_cursor(place, cursor.source_name(), line_number);
    trace::parse_place(place_cursor, line);
    expectation.file = line.file;
    expectation.line = line.line;
  }
  expectation.severity = text.substr(place_end + 2, severity_end - place_end - 2);
  if (!parse_severity(expectation.severity)) {
    cursor.fail_with(
        fmt::format("expected error, warning or note, got {}", excerpt(expectation.severity)));
  }
  expectation.message = trimmed(text.substr(
      severity_end + 2, rule_begin < severity_end + 2 ? 0 : rule_begin - severity_end - 2));
  expectation.rule = text.substr(rule_begin + 2, text.size() - rule_begin - 3);
  return expectation;
}

// An op line as it was written: its ids are labels until all lines were read.
struct ParsedCall {
  OpCall call;
  int line_number;
};

template <typename Time>
struct ParsedTime {
  Time time;
  int line_number;
};

class TraceTextParser {
 public:
  TraceTextParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  TraceText parse() {
    while (next_line()) parse_line();
    resolve_labels();
    if (processes_.empty() && !calls_.empty()) processes_.push_back(unnamed_process());
    for (ParsedCall& parsed : calls_) result_.run.calls.push_back(std::move(parsed.call));
    for (auto& parsed : times_) result_.run.times.push_back(parsed.time);
    for (auto& parsed : gpu_times_) result_.run.gpu_times.push_back(std::move(parsed.time));
    for (auto& parsed : health_) result_.run.health.push_back(std::move(parsed.time));
    for (ParsedProcess& parsed : processes_) add(std::move(parsed));
    return std::move(result_);
  }

 private:
  // One line, with those that it goes on in after a backslash.
  bool next_line() {
    if (position_ >= text_.size()) return false;
    line_.clear();
    line_number_ = next_line_number_;
    bool goes_on = true;
    while (goes_on && position_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', position_), text_.size());
      std::string_view part = trimmed(text_.substr(position_, end - position_));
      goes_on = part.ends_with('\\') && !part.starts_with('#');
      if (goes_on) part.remove_suffix(1);
      line_ += part;
      position_ = end + 1;
      ++next_line_number_;
    }
    return true;
  }

  void parse_line() {
    TextCursor cursor(line_, name_, line_number_);
    if (cursor.at_end()) return;
    if (cursor.accept("#")) {
      parse_comment(cursor);
    } else if (line_ == "values-checked") {
      result_.run.values_checked = true;
    } else if (cursor.next_word() == "process") {
      cursor.expect("process");
      cursor.skip_spaces();
      processes_.push_back(parse_process(cursor));
    } else if (cursor.next_word() == "op") {
      cursor.expect("op");
      cursor.skip_spaces();
      add({trace::parse_op_call(cursor), line_number_});
    } else if (cursor.next_word() == "time") {
      cursor.expect("time");
      add({trace::parse_op_time(cursor), line_number_}, times_);
      cursor.require_space("a time");
    } else if (cursor.next_word() == "gpu-time") {
      cursor.expect("gpu-time");
      add({trace::parse_gpu_time(cursor), line_number_}, gpu_times_);
      cursor.require_space("a time");
    } else if (cursor.next_word() == "health") {
      cursor.expect("health");
      HealthRow row = trace::parse_health_row(cursor);
      row.process = current_process();
      health_.push_back({std::move(row), line_number_});
    } else if (cursor.next_word() == "health-step") {
      cursor.expect("health-step");
      HealthStep step = trace::parse_health_step(cursor);
      step.process = current_process();
      result_.run.health_steps.push_back(step);
    } else {
      cursor.fail("op, process, time, gpu-time, health, health-step, values-checked or #");
    }
  }

  uint32_t current_process() {
    if (processes_.empty()) processes_.push_back(unnamed_process());
    return static_cast<uint32_t>(processes_.size() - 1);
  }

  void add(ParsedCall parsed) {
    parsed.call.process = current_process();
    calls_.push_back(std::move(parsed));
  }

  template <typename Time>
  void add(ParsedTime<Time> parsed, std::vector<ParsedTime<Time>>& to) {
    parsed.time.process = current_process();
    to.push_back(std::move(parsed));
  }

  void add(ParsedProcess parsed) {
    const auto index = static_cast<uint32_t>(result_.run.processes.size());
    if (!parsed.has_devices) parsed.process.devices = result_.run.device_types_of(index);
    result_.run.processes.push_back(std::move(parsed.process));
  }

  void parse_comment(TextCursor& cursor) {
    cursor.skip_spaces();
    const std::string_view word = cursor.next_word();
    if (!word.starts_with("EXPECT")) return;
    const std::string_view value = trimmed(cursor.rest().substr(word.size()));
    if (word == "EXPECT") {
      result_.expectations.push_back(parse_expectation(value, cursor, line_number_));
    } else if (word != "EXPECT-WHY" && word != "EXPECT-FIX" && word != "EXPECT-ODD" &&
               word != "EXPECT-CURE") {
      cursor.fail("EXPECT, EXPECT-WHY, EXPECT-FIX, EXPECT-CURE or EXPECT-ODD");
    } else if (result_.expectations.empty()) {
      cursor.fail_with(fmt::format("{} needs an EXPECT line before it", word));
    } else if (word == "EXPECT-CURE") {
      result_.expectations.back().cures.emplace_back(value);
    } else {
      Expectation& last = result_.expectations.back();
      (word == "EXPECT-WHY"   ? last.why
       : word == "EXPECT-FIX" ? last.fix
                              : last.odd_operand) = value;
    }
  }

  // Labels, and places of calls that have none, become indices + 1 into Run::calls.
  void resolve_labels() {
    std::map<OpCallId, OpCallId> ids;
    for (size_t i = 0; i < calls_.size(); ++i) {
      const auto id = static_cast<OpCallId>(i + 1);
      const OpCallId label = calls_[i].call.id == kNoOpCall ? id : calls_[i].call.id;
      if (!ids.emplace(label, id).second) {
        fail(calls_[i], fmt::format("op call #{} appears twice", label));
      }
      calls_[i].call.id = id;
    }
    for (ParsedCall& parsed : calls_) {
      resolve(parsed, ids, parsed.call.parent);
      resolve(parsed, ids, parsed.call.follows);
      if (auto& inexact = parsed.call.inexact) {
        resolve(parsed, ids, inexact->arrived_at);
        resolve(parsed, ids, inexact->rounded_at);
      }
      for (Operand& operand : parsed.call.operands) resolve(parsed, ids, operand.origin);
      for (Operand& result : parsed.call.results) resolve(parsed, ids, result.origin);
    }
    for (auto& parsed : times_) resolve(parsed, ids, parsed.time.call);
    for (auto& parsed : gpu_times_) resolve(parsed, ids, parsed.time.call);
    for (auto& parsed : health_) resolve(parsed, ids, parsed.time.call);
  }

  template <typename Parsed>
  void resolve(const Parsed& parsed, const std::map<OpCallId, OpCallId>& ids, OpCallId& id) {
    if (id == kNoOpCall) return;
    const auto found = ids.find(id);
    if (found == ids.end()) fail(parsed, fmt::format("there is no op call #{}", id));
    id = found->second;
  }

  template <typename Parsed>
  [[noreturn]] void fail(const Parsed& parsed, const std::string& message) const {
    TextCursor("", name_, parsed.line_number).fail_with(message);
  }

  std::string_view text_;
  const std::string& name_;
  size_t position_ = 0;
  std::string line_;
  int line_number_ = 0;
  int next_line_number_ = 1;
  std::vector<ParsedProcess> processes_;
  std::vector<ParsedCall> calls_;
  std::vector<ParsedTime<OpTime>> times_;
  std::vector<ParsedTime<GpuTime>> gpu_times_;
  std::vector<ParsedTime<HealthRow>> health_;
  TraceText result_;
};

}  // namespace

TraceText parse_trace_text(std::string_view text, const std::string& name) {
  return TraceTextParser(text, name).parse();
}

}  // namespace dtypecheck
