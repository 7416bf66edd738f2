// trace_text_parse.cpp: the text form of a trace to a run; the grammar is in trace_text.h.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "core/finding.h"
#include "platform/error.h"
#include "platform/text.h"
#include "trace/text.h"
#include "trace/text_cursor.h"
#include "trace/words.h"

namespace dtypecheck {
namespace {

// The enum value, of those up to `last`, whose name stands here.
template <typename Enum>
Enum named(TextCursor& cursor, Enum last, const char* (*name_of)(Enum), std::string_view what) {
  TextCursor ahead = cursor;
  const std::string word = ahead.name("", what);
  for (int number = 0; number <= static_cast<int>(last); ++number) {
    if (word != name_of(static_cast<Enum>(number))) continue;
    cursor = ahead;
    return static_cast<Enum>(number);
  }
  cursor.fail(what);
}

Dtype parse_dtype_here(TextCursor& cursor) {
  TextCursor ahead = cursor;
  const std::optional<Dtype> dtype = parse_dtype(ahead.name(".#", "a dtype (Half, float16)"));
  if (!dtype) cursor.fail("a dtype (Half, float16)");
  cursor = ahead;
  return *dtype;
}

DtypeSet parse_dtypes(TextCursor& cursor) {
  if (cursor.take("none")) return {};
  DtypeSet dtypes = parse_dtype_here(cursor);
  while (cursor.take("|")) dtypes |= parse_dtype_here(cursor);
  return dtypes;
}

std::vector<int64_t> parse_shape(TextCursor& cursor) {
  std::vector<int64_t> shape;
  if (cursor.take("]")) return shape;
  do {
    shape.push_back(cursor.number<int64_t>("a size, as in [2,320]"));
  } while (cursor.take(","));
  cursor.expect("]");
  return shape;
}

bool digit_follows(const TextCursor& cursor) {
  const std::string_view rest = cursor.rest();
  return rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9';
}

Device parse_device(TextCursor& cursor) {
  Device device;
  device.type = cursor.name("", "a device, as in @cuda:0");
  if (cursor.peek() == ':' && digit_follows(cursor)) {
    cursor.expect(":");
    device.index = cursor.number<int>("a device index");
  }
  return device;
}

OpCallId parse_id(TextCursor& cursor) {
  cursor.expect("#");
  const auto id = cursor.number<OpCallId>("the id of an op call, as in #7");
  if (id == kNoOpCall) cursor.fail_with("op call ids start at #1");
  return id;
}

bool parse_suffix(TextCursor& cursor, Operand& operand) {
  if (cursor.take("[")) {
    operand.shape = parse_shape(cursor);
    operand.has_shape = true;
  } else if (cursor.take("@")) {
    operand.device = parse_device(cursor);
  } else if (cursor.take("%")) {
    operand.parameter = cursor.name(kParameterCharacters, "a parameter's name");
  } else if (cursor.take("<")) {
    operand.origin = parse_id(cursor);
  } else if (cursor.take("!out")) {
    operand.is_written = true;
  } else if (cursor.take("^")) {
    operand.requires_grad = true;
    operand.is_leaf = cursor.take("^");
  } else if (cursor.take("$")) {
    operand.is_wrapped_number = true;
  } else if (cursor.take("~")) {
    operand.kind = named(cursor, kLastTensorKind, tensor_kind_name, "a kind (sparse, fake)");
  } else if (cursor.take(":")) {
    operand.role = named(cursor, kLastRole, role_name, "a role (input, weight, bias, state, out)");
  } else {
    return false;
  }
  return true;
}

Operand parse_operand(TextCursor& cursor, std::string name) {
  Operand operand;
  operand.name = std::move(name);
  operand.role = default_role(operand.name);
  operand.dtypes = parse_dtypes(cursor);
  operand.kind = default_kind(operand.dtypes);
  operand.has_shape = false;
  while (parse_suffix(cursor, operand)) {
  }
  return operand;
}

void parse_argument(TextCursor& cursor, const std::string& name, std::vector<Operand>& operands) {
  const size_t first = operands.size();
  operands.push_back(parse_operand(cursor, name));
  if (cursor.peek() != ',') return;
  const auto element = [&](size_t index) { return fmt::format("{}[{}]", name, index); };
  operands[first].name = element(0);
  while (cursor.take(",") && !cursor.at_word_end()) {
    operands.push_back(parse_operand(cursor, element(operands.size() - first)));
  }
}

ScalarArgument parse_scalar(TextCursor& cursor, std::string name) {
  ScalarArgument scalar;
  scalar.name = std::move(name);
  scalar.dtype = parse_dtype(cursor.next_word());
  if (scalar.dtype) {
    parse_dtype_here(cursor);
  } else {
    scalar.value = cursor.number<double>("a number or a dtype");
  }
  return scalar;
}

void parse_results(TextCursor& cursor, std::vector<Operand>& results) {
  if (!cursor.skip_spaces()) cursor.fail("a space after ->");
  do {
    results.push_back(parse_operand(cursor, ""));
  } while (cursor.take(","));
}

// A function or a type after what it belongs to; empty when the next key, or nothing, stands here.
std::string optional_word(TextCursor& cursor) {
  TextCursor ahead = cursor;
  if (!ahead.skip_spaces() || ahead.at_end()) return "";
  if (ahead.peek() != '"' && is_key(ahead.next_word())) return "";
  cursor = ahead;
  return cursor.word("a name");
}

bool optional_flag(TextCursor& cursor, std::string_view flag) {
  TextCursor ahead = cursor;
  if (!ahead.skip_spaces() || ahead.next_word() != flag) return false;
  ahead.expect(flag);
  cursor = ahead;
  return true;
}

void parse_place(TextCursor& cursor, SourceLine& line) {
  if (cursor.peek() == '"') {
    line.file = cursor.quoted_text();
  } else {
    const std::string_view word = cursor.next_word();
    const size_t colon = word.rfind(':');
    if (colon == word.npos || colon == 0) cursor.fail("FILE:LINE, as in train.py:91");
    line.file = word.substr(0, colon);
    cursor.expect(line.file);
  }
  cursor.expect(":");
  line.line = cursor.number<int>("a line number");
  line.function = optional_word(cursor);
}

void parse_module(TextCursor& cursor, Site& site) {
  site.module = cursor.word("a module, as in unet.conv_in");
  TextCursor ahead = cursor;
  if (!ahead.skip_spaces() || !ahead.take("(")) return;
  cursor = ahead;
  site.module_class = cursor.name(kFreeWordCharacters, "a module's class, as in (Conv2d)");
  cursor.expect(")");
}

void parse_autocast(TextCursor& cursor, AutocastState& autocast) {
  if (!optional_flag(cursor, "off")) {
    cursor.skip_spaces();
    do {
      AutocastState::Region region;
      region.device = cursor.name("", "a device, as in autocast cpu:BFloat16");
      cursor.expect(":");
      region.dtype = parse_dtype_here(cursor);
      autocast.enabled.push_back(std::move(region));
    } while (cursor.take(","));
  }
  autocast.is_wrapper = optional_flag(cursor, "wrapper");
  autocast.is_inner = optional_flag(cursor, "inner");
}

void parse_steps(TextCursor& cursor, OpCall& call) {
  call.first_step = cursor.number<uint32_t>("a step");
  call.last_step = call.first_step;
  if (cursor.take("-")) call.last_step = cursor.number<uint32_t>("the last step, as in 1-3");
}

void parse_non_finite(TextCursor& cursor, OpCall& call) {
  call.result_non_finite = true;
  call.result_nan = cursor.take("nan");
  if (!call.result_nan && !cursor.take("inf")) cursor.fail("nan or inf");
  call.operands_were_finite = optional_flag(cursor, "clean");
}

void parse_inexact(TextCursor& cursor, OpCall& call) {
  InexactValue value;
  value.from = cursor.number<double>("the value before, as in inexact 1365 1368");
  cursor.skip_spaces();
  value.to = cursor.number<double>("the value after, as in inexact 1365 1368");
  call.inexact = value;
}

// An op line as it was written: its ids are labels until all lines were read.
struct ParsedCall {
  OpCall call;
  int line_number = 0;
  bool has_site_inner = false;
  bool has_throws = false;
  std::set<std::string> keys;
};

void parse_value_of_key(TextCursor& cursor, const std::string& key, ParsedCall& parsed) {
  OpCall& call = parsed.call;
  if (key == "raised") {
    call.error = cursor.quoted_text();
    call.error_type = optional_word(cursor);
  } else if (key == "at") {
    parse_place(cursor, call.site.line);
  } else if (key == "inside") {
    parse_place(cursor, call.site.inner);
    parsed.has_site_inner = true;
  } else if (key == "in") {
    parse_module(cursor, call.site);
  } else if (key == "entered") {
    parse_place(cursor, call.autocast.entered);
  } else if (key == "phase") {
    call.site.phase = named(cursor, kLastPhase, phase_name, "a phase (forward, backward, load)");
  } else if (key == "step") {
    parse_steps(cursor, call);
  } else if (key == "count") {
    call.count = cursor.number<uint64_t>("how many calls");
  } else if (key == "throws") {
    call.throws = cursor.number<uint64_t>("how many throws");
    parsed.has_throws = true;
  } else if (key == "id") {
    call.id = parse_id(cursor);
  } else if (key == "parent") {
    call.parent = parse_id(cursor);
  } else if (key == "follows") {
    call.follows = parse_id(cursor);
  } else if (key == "non-finite") {
    parse_non_finite(cursor, call);
  } else if (key == "inexact") {
    parse_inexact(cursor, call);
  }
}

void parse_key(TextCursor& cursor, ParsedCall& parsed) {
  const std::string key(cursor.next_word());
  if (!is_key(key)) cursor.fail(fmt::format("one of {}", fmt::join(kKeys, ", ")));
  if (!parsed.keys.insert(key).second) cursor.fail_with(fmt::format("\"{}\" stands twice", key));
  cursor.expect(key);
  if (key == "compiled") {
    parsed.call.in_compiled_region = true;
  } else if (key == "autocast") {
    parse_autocast(cursor, parsed.call.autocast);
  } else if (key != "repaired") {
    if (!cursor.skip_spaces()) cursor.fail(fmt::format("a value after \"{}\"", key));
    parse_value_of_key(cursor, key, parsed);
  }
}

void parse_op_name(TextCursor& cursor, OpCall& call) {
  const bool is_quoted = cursor.peek() == '"';
  const bool is_dotted = has_dotted_name(cursor.rest());
  call.op = cursor.name(is_dotted ? kDottedOpCharacters : kOpCharacters,
                        "an op's name, as in aten::addmm");
  if (!is_quoted && call.op.find("::") == std::string::npos) {
    cursor.fail_with(fmt::format("expected an op with its namespace, as in aten::addmm, got {}",
                                 excerpt(call.op)));
  }
  if ((is_quoted || !is_dotted) && cursor.take(".")) {
    call.overload = cursor.name("", "an overload, as in aten::add.Tensor");
  }
}

// ARG=…, ARG:=…; false when a key or -> stands here.
bool parse_operand_or_scalar(TextCursor& cursor, OpCall& call) {
  if (cursor.at_end() || cursor.rest().starts_with("->")) return false;
  TextCursor ahead = cursor;
  const std::string name = ahead.name(kArgumentCharacters, "ARG=DTYPE[shape], ->, or a key");
  if (ahead.take(":=")) {
    cursor = ahead;
    call.scalars.push_back(parse_scalar(cursor, name));
  } else if (ahead.take("=")) {
    cursor = ahead;
    parse_argument(cursor, name, call.operands);
  } else {
    return false;
  }
  return true;
}

void require_space(TextCursor& cursor, std::string_view what) {
  if (!cursor.at_word_end()) cursor.fail(fmt::format("a space or the end after {}", what));
  cursor.skip_spaces();
}

void complete(ParsedCall& parsed) {
  OpCall& call = parsed.call;
  if (parsed.keys.contains("repaired")) {
    call.outcome = Outcome::kRepaired;
  } else if (parsed.keys.contains("raised")) {
    call.outcome = Outcome::kThrew;
  }
  if (!parsed.has_site_inner) call.site.inner = call.site.line;
  if (!parsed.has_throws && call.outcome == Outcome::kThrew) call.throws = call.count;
}

ParsedCall parse_op(TextCursor& cursor) {
  ParsedCall parsed;
  parse_op_name(cursor, parsed.call);
  require_space(cursor, "the op's name");
  while (parse_operand_or_scalar(cursor, parsed.call)) require_space(cursor, "an operand");
  if (cursor.take("->")) {
    parse_results(cursor, parsed.call.results);
    require_space(cursor, "the results");
  }
  while (!cursor.at_end()) {
    parse_key(cursor, parsed);
    require_space(cursor, "a value");
  }
  complete(parsed);
  return parsed;
}

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
  if (cursor.next_word() == "none" && cursor.take("none")) return devices;
  do {
    devices.push_back(cursor.name("", "a device type (cpu, cuda)"));
  } while (cursor.take(","));
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
         parsed.process.end =
             named(cursor, kLastEndState, end_state_name, "exited, running or replaced");
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
    if (cursor.take("fact:")) {
      parse_fact(cursor, parsed.process);
    } else {
      TextCursor ahead = cursor;
      const auto field = process_fields().find(ahead.name("", "pid=, rank=, steps=, fact:NAME="));
      if (field == process_fields().end()) cursor.fail("pid=, rank=, steps=, fact:NAME=");
      cursor = ahead;
      cursor.expect("=");
      field->second(cursor, parsed);
    }
    require_space(cursor, "a value");
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
    parse_place(place_cursor, line);
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

class TraceTextParser {
 public:
  TraceTextParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  TraceText parse() {
    while (next_line()) parse_line();
    resolve_labels();
    if (processes_.empty() && !calls_.empty()) processes_.push_back(unnamed_process());
    for (ParsedCall& parsed : calls_) result_.run.calls.push_back(std::move(parsed.call));
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
    if (cursor.take("#")) {
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
      add(parse_op(cursor));
    } else {
      cursor.fail("op, process, values-checked or #");
    }
  }

  void add(ParsedCall parsed) {
    if (processes_.empty()) processes_.push_back(unnamed_process());
    parsed.line_number = line_number_;
    parsed.call.process = static_cast<uint32_t>(processes_.size() - 1);
    calls_.push_back(std::move(parsed));
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
    } else if (word != "EXPECT-WHY" && word != "EXPECT-FIX" && word != "EXPECT-ODD") {
      cursor.fail("EXPECT, EXPECT-WHY, EXPECT-FIX or EXPECT-ODD");
    } else if (result_.expectations.empty()) {
      cursor.fail_with(fmt::format("{} needs an EXPECT line before it", word));
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
        fail(calls_[i], fmt::format("op call #{} stands twice", label));
      }
      calls_[i].call.id = id;
    }
    for (ParsedCall& parsed : calls_) {
      resolve(parsed, ids, parsed.call.parent);
      resolve(parsed, ids, parsed.call.follows);
      for (Operand& operand : parsed.call.operands) resolve(parsed, ids, operand.origin);
      for (Operand& result : parsed.call.results) resolve(parsed, ids, result.origin);
    }
  }

  void resolve(const ParsedCall& parsed, const std::map<OpCallId, OpCallId>& ids, OpCallId& id) {
    if (id == kNoOpCall) return;
    const auto found = ids.find(id);
    if (found == ids.end()) fail(parsed, fmt::format("there is no op call #{}", id));
    id = found->second;
  }

  [[noreturn]] void fail(const ParsedCall& parsed, const std::string& message) const {
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
  TraceText result_;
};

}  // namespace

TraceText parse_trace_text(std::string_view text, const std::string& name) {
  return TraceTextParser(text, name).parse();
}

}  // namespace dtypecheck
