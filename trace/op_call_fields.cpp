#include "trace/op_call_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/arguments.h"
#include "trace/operand_fields.h"
#include "trace/text_syntax.h"
#include "trace/times_text.h"

namespace dtypecheck::trace {
namespace {

using Json = nlohmann::ordered_json;

// The functions of each field stand together; the table below lists them.

bool is_key(std::string_view word);

// A word that stands alone: quoted too when it would be taken for the next key.
std::string free_word(std::string_view text) {
  return text == "->" || is_key(text) ? dtypecheck::quoted(text)
                                      : bare_or_quoted(text, kFreeWordCharacters);
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

// The op and its overload.

void print_op(const OpCall& call, std::string& out) {
  const bool dotted = has_dotted_name(call.op);
  const bool usual = call.op.find("::") != std::string::npos && !(dotted && !call.overload.empty());
  out += usual ? bare_or_quoted(call.op, dotted ? kDottedOpCharacters : kOpCharacters)
               : dtypecheck::quoted(call.op);
  if (!call.overload.empty()) out += '.' + bare_or_quoted(call.overload, "");
}

void parse_op(TextCursor& cursor, OpCall& call) {
  const bool is_quoted = cursor.peek() == '"';
  const bool is_dotted = has_dotted_name(cursor.rest());
  call.op = cursor.name(is_dotted ? kDottedOpCharacters : kOpCharacters,
                        "an op's name, as in aten::addmm");
  if (!is_quoted && call.op.find("::") == std::string::npos) {
    cursor.fail_with(fmt::format("expected an op with its namespace, as in aten::addmm, got {}",
                                 excerpt(call.op)));
  }
  if ((is_quoted || !is_dotted) && cursor.accept(".")) {
    call.overload = cursor.name("", "an overload, as in aten::add.Tensor");
  }
}

void op_json(const OpCall& call, Json& json) {
  json["op"] = text_or_null(call.op);
  json["overload"] = text_or_null(call.overload);
}

std::string op_cell(const OpCall& call, const PathText&) {
  return call.overload.empty() ? call.op : call.op + "." + call.overload;
}

// Operands, results and numbers.

void operands_json(const OpCall& call, Json& json) {
  json["operands"] = Json::array();
  for (const Operand& operand : call.operands) json["operands"].push_back(operand_json(operand));
}

void results_json(const OpCall& call, Json& json) {
  json["results"] = Json::array();
  for (const Operand& result : call.results) json["results"].push_back(result_json(result));
}

void print_scalars(const OpCall& call, std::string& out) {
  for (const ScalarArgument& scalar : call.scalars) {
    out += fmt::format(" {}:=", bare_or_quoted(scalar.name, kArgumentCharacters));
    out += scalar.dtype ? dtype_name(*scalar.dtype) : fmt::format("{}", scalar.value);
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

void scalars_json(const OpCall& call, Json& json) {
  json["scalars"] = Json::object();
  for (const ScalarArgument& scalar : call.scalars) {
    json["scalars"][scalar.name] =
        scalar.dtype ? Json(dtype_name(*scalar.dtype)) : number_json(scalar.value);
  }
}

constexpr size_t kMaxCellBytes = 400;

// "input Half, weight Float"; the elements of a list that have the same dtype as one: "tensors
// Half ×320".
std::string tensors_cell(const std::vector<Operand>& tensors) {
  std::string out;
  for (size_t i = 0; i < tensors.size() && out.size() < kMaxCellBytes;) {
    const Operand& first = tensors[i];
    size_t end = i + 1;
    while (end < tensors.size() && tensors[end].dtypes == first.dtypes &&
           ops::list_name(tensors[end].name) == ops::list_name(first.name)) {
      ++end;
    }
    if (first.kind != TensorKind::kUndefined) {
      out += out.empty() ? "" : ", ";
      if (!first.name.empty()) out += fmt::format("{} ", ops::list_name(first.name));
      out += first.dtypes.to_string();
      if (end - i > 1) out += fmt::format(" ×{}", end - i);
    }
    i = end;
  }
  return out;
}

std::string operands_cell(const OpCall& call, const PathText&) {
  return tensors_cell(call.operands);
}
std::string results_cell(const OpCall& call, const PathText&) { return tensors_cell(call.results); }

std::string shapes_cell(const OpCall& call, const PathText&) {
  std::string out;
  for (const Operand& tensor : call.operands) {
    if (tensor.kind == TensorKind::kUndefined || out.size() > kMaxCellBytes) continue;
    if (!out.empty()) out += ' ';
    out += tensor.has_shape ? shape_text(tensor) : "?";
  }
  return out;
}

// From here on the fields that have a key in the text. Printing one appends what stands behind the
// key, and is false where the call is as usual and the key is left out.

template <auto member>
bool print_id(const OpCall& call, std::string& out) {
  if (call.*member == kNoOpCall) return false;
  out += fmt::format("#{}", call.*member);
  return true;
}

template <auto member>
void parse_id_of(TextCursor& cursor, OpCall& call) {
  call.*member = parse_id(cursor);
}

Json id_or_null(OpCallId id) { return id == kNoOpCall ? Json() : Json(id); }

// What became of it. A call that raised and was not repaired threw.

bool print_raised(const OpCall& call, std::string& out) {
  out += dtypecheck::quoted(call.error);
  if (!call.error_type.empty()) out += ' ' + free_word(call.error_type);
  return call.outcome == Outcome::kThrew || !call.error.empty() || !call.error_type.empty();
}

void parse_raised(TextCursor& cursor, OpCall& call) {
  call.error = cursor.quoted_text();
  call.error_type = optional_word(cursor);
  if (call.outcome == Outcome::kReturned) call.outcome = Outcome::kThrew;
}

void error_json(const OpCall& call, Json& json) {
  json["error"] = text_or_null(call.error);
  json["error_type"] = text_or_null(call.error_type);
}

bool print_repaired(const OpCall& call, std::string&) { return call.outcome == Outcome::kRepaired; }
void parse_repaired(TextCursor&, OpCall& call) { call.outcome = Outcome::kRepaired; }
bool print_served(const OpCall& call, std::string&) { return call.outcome == Outcome::kServed; }
void parse_served(TextCursor&, OpCall& call) { call.outcome = Outcome::kServed; }
void outcome_json(const OpCall& call, Json& json) { json["outcome"] = outcome_name(call.outcome); }
std::string outcome_cell(const OpCall& call, const PathText&) { return outcome_name(call.outcome); }

// Where it was called.

bool print_place(const SourceLine& line, std::string& out) {
  out += fmt::format("{}:{}", bare_or_quoted(line.file, kFreeWordCharacters), line.line);
  const Extent& extent = line.extent;
  if (extent.known()) {
    const int more_lines = extent.end_line - line.line;
    out += fmt::format("[{}-{}", extent.column, extent.end_column);
    out += more_lines == 0 ? "]" : fmt::format("+{}]", more_lines);
  }
  if (!line.function.empty()) out += ' ' + free_word(line.function);
  return line != SourceLine{};
}

bool print_at(const OpCall& call, std::string& out) { return print_place(call.site.line, out); }
void parse_at(TextCursor& cursor, OpCall& call) { parse_place(cursor, call.site.line); }

bool print_inside(const OpCall& call, std::string& out) {
  print_place(call.site.inner, out);
  return call.site.inner != call.site.line;
}
void parse_inside(TextCursor& cursor, OpCall& call) { parse_place(cursor, call.site.inner); }

bool print_caller(const OpCall& call, std::string& out) {
  return print_place(call.site.caller, out);
}
void parse_caller(TextCursor& cursor, OpCall& call) { parse_place(cursor, call.site.caller); }

std::string at_cell(const OpCall& call, const PathText& path) {
  return place_text(call.site.line, path);
}
std::string inside_cell(const OpCall& call, const PathText& path) {
  return has_inner(call.site) ? place_text(call.site.inner, path) : "";
}

bool print_module(const OpCall& call, std::string& out) {
  const Site& site = call.site;
  out += bare_or_quoted(site.module, kFreeWordCharacters);
  if (site.module_class.empty()) return !site.module.empty();
  out += fmt::format(" ({})", bare_or_quoted(site.module_class, kFreeWordCharacters));
  return true;
}

void parse_module(TextCursor& cursor, OpCall& call) {
  call.site.module = cursor.word("a module, as in unet.conv_in");
  TextCursor ahead = cursor;
  if (!ahead.skip_spaces() || !ahead.accept("(")) return;
  cursor = ahead;
  call.site.module_class = cursor.name(kFreeWordCharacters, "a module's class, as in (Conv2d)");
  cursor.expect(")");
}

std::string module_cell(const OpCall& call, const PathText&) { return call.site.module; }

bool print_phase(const OpCall& call, std::string& out) {
  out += phase_name(call.site.phase);
  return call.site.phase != Phase::kUnknown;
}

void parse_phase(TextCursor& cursor, OpCall& call) {
  const char* what = "a phase (forward, backward, load)";
  call.site.phase = parse_name(cursor, kLastPhase, phase_name, what);
}

std::string phase_cell(const OpCall& call, const PathText&) { return phase_name(call.site.phase); }

bool print_steps(const OpCall& call, std::string& out) {
  out += std::to_string(call.first_step);
  if (call.last_step == call.first_step) return call.first_step != 0;
  out += fmt::format("-{}", call.last_step);
  return true;
}

void parse_steps(TextCursor& cursor, OpCall& call) {
  call.first_step = cursor.number<uint32_t>("a step");
  call.last_step = call.first_step;
  if (cursor.accept("-")) call.last_step = cursor.number<uint32_t>("the last step, as in 1-3");
}

std::string steps_cell(const OpCall& call, const PathText&) {
  if (call.first_step == call.last_step) return std::to_string(call.first_step);
  return fmt::format("{}–{}", call.first_step, call.last_step);
}

std::string as_recorded(const std::string& file) { return file; }

// With the module, the phase, the first step and the innermost line.
void site_json(const OpCall& call, Json& json) {
  json["location"] = location_json(call.site, call.first_step, as_recorded);
}

void last_step_json(const OpCall& call, Json& json) { json["last_step"] = call.last_step; }

// How often.

bool print_count(const OpCall& call, std::string& out) {
  out += std::to_string(call.count);
  return call.count != 1;
}

void parse_count(TextCursor& cursor, OpCall& call) {
  call.count = cursor.number<uint64_t>("how many calls");
}

void count_json(const OpCall& call, Json& json) { json["count"] = call.count; }

uint64_t usual_throws(const OpCall& call) {
  return call.outcome == Outcome::kThrew ? call.count : 0;
}

bool print_throws(const OpCall& call, std::string& out) {
  out += std::to_string(call.throws);
  return call.throws != usual_throws(call);
}

void parse_throws(TextCursor& cursor, OpCall& call) {
  call.throws = cursor.number<uint64_t>("how many throws");
}

void throws_json(const OpCall& call, Json& json) {
  json["throws"] = call.throws > 0 ? Json(call.throws) : Json();
}

// What autocast did.

bool print_entered(const OpCall& call, std::string& out) {
  return print_place(call.autocast.entered, out);
}
void parse_entered(TextCursor& cursor, OpCall& call) { parse_place(cursor, call.autocast.entered); }

void entered_json(const OpCall& call, Json& json) {
  json["autocast_entered"] = line_json(call.autocast.entered, as_recorded);
}

bool print_autocast(const OpCall& call, std::string& out) {
  const AutocastState& autocast = call.autocast;
  if (autocast.enabled.empty()) out += "off";
  for (size_t i = 0; i < autocast.enabled.size(); ++i) {
    const AutocastState::Region& region = autocast.enabled[i];
    out += fmt::format("{}{}:{}", i == 0 ? "" : ",", bare_or_quoted(region.device, ""),
                       dtype_name(region.dtype));
  }
  if (autocast.is_wrapper) out += " wrapper";
  if (autocast.is_inner) out += " inner";
  return !autocast.enabled.empty() || autocast.is_wrapper || autocast.is_inner;
}

void parse_autocast(TextCursor& cursor, OpCall& call) {
  if (cursor.next_word() == "off") {
    cursor.expect("off");
  } else {
    do {
      AutocastState::Region region;
      region.device = cursor.name("", "a device, as in autocast cpu:BFloat16");
      cursor.expect(":");
      region.dtype = parse_dtype_here(cursor);
      call.autocast.enabled.push_back(std::move(region));
    } while (cursor.accept(","));
  }
  call.autocast.is_wrapper = optional_flag(cursor, "wrapper");
  call.autocast.is_inner = optional_flag(cursor, "inner");
}

std::string autocast_cell(const OpCall& call, const PathText&) {
  std::string out;
  for (const AutocastState::Region& region : call.autocast.enabled)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", region.device, dtype_name(region.dtype));
  return out;
}

// For each device that takes part: the dtype that autocast would cast to, or null when it was off.
void autocast_json(const OpCall& call, Json& json) {
  Json& states = json["autocast"] = Json::object();
  for (const Operand& operand : call.operands) {
    if (operand.kind != TensorKind::kUndefined) states[operand.device.type] = nullptr;
  }
  for (const AutocastState::Region& region : call.autocast.enabled) {
    states[region.device] = dtype_name(region.dtype);
  }
  const AutocastState& state = call.autocast;
  json["autocast_call"] = text_or_null(state.is_wrapper ? "wrapper"
                                       : state.is_inner ? "inner"
                                                        : "");
}

// What became of the values.

bool print_non_finite(const OpCall& call, std::string& out) {
  for (const NonFinite& found : call.non_finite) {
    if (!out.empty() && out.back() != ' ') out += ' ';
    out += found.is_answer ? (found.is_nan ? "yes" : "no") : found.is_nan ? "nan" : "inf";
    if (found.operands_were_finite)
      out += " clean";
    else if (found.operands_had_no_nan)
      out += " infinite";
    if (found.is_loss) out += " loss";
    if (found.is_read && !found.is_answer) out += " read";
    if (found.order > 0) out += fmt::format(" {} {}", found.step, found.order);
  }
  return !call.non_finite.empty();
}

// The word that one begins with; nothing where none does.
std::optional<NonFinite> parse_value(TextCursor& cursor, bool is_first) {
  for (const char* word : {"nan", "inf", "yes", "no"}) {
    if (!(is_first ? cursor.accept(word) : optional_flag(cursor, word))) continue;
    const bool is_answer = word[0] == 'y' || word == std::string_view("no");
    return NonFinite{.is_nan = word[0] == 'y' || word == std::string_view("nan"),
                     .is_read = is_answer,
                     .is_answer = is_answer};
  }
  return std::nullopt;
}

void parse_one_non_finite(TextCursor& cursor, NonFinite found, OpCall& call) {
  found.operands_were_finite = optional_flag(cursor, "clean");
  found.operands_had_no_nan = found.operands_were_finite || optional_flag(cursor, "infinite");
  found.is_loss = optional_flag(cursor, "loss");
  found.is_read = found.is_read || optional_flag(cursor, "read");
  const std::string_view rest = cursor.rest();
  const size_t digit = rest.find_first_not_of(' ');
  if (digit != rest.npos && rest[digit] >= '0' && rest[digit] <= '9') {
    found.step = cursor.next_number<uint32_t>("the step, as in non-finite nan 3 1");
    found.order = cursor.next_number<uint32_t>("the order, as in non-finite nan 3 1");
  }
  call.non_finite.push_back(found);
}

void parse_non_finite(TextCursor& cursor, OpCall& call) {
  constexpr size_t kKinds = 8;
  while (call.non_finite.size() < kKinds) {
    const auto value = parse_value(cursor, call.non_finite.empty());
    if (!value && call.non_finite.empty()) cursor.fail("nan, inf, yes or no");
    if (!value) return;
    parse_one_non_finite(cursor, *value, call);
  }
}

void non_finite_json(const OpCall& call, Json& json) {
  Json& all = json["non_finite"] = nullptr;
  const auto is_seen = [](const NonFinite& found) { return !found.is_answer; };
  const auto seen = std::ranges::find_if(call.non_finite, is_seen);
  if (seen == call.non_finite.end()) return;
  const NonFinite& first = *seen;
  all["value"] = call.first_nan() != nullptr || first.is_nan ? "nan" : "inf";
  all["operands_were_finite"] = first.operands_were_finite;
  Json& each = all["first"] = Json::array();
  for (const NonFinite& found : call.non_finite) {
    if (found.is_answer) continue;
    each.push_back({{"value", found.is_nan ? "nan" : "inf"},
                    {"step", found.step},
                    {"operands_were_finite", found.operands_were_finite},
                    {"of_loss", found.is_loss},
                    {"read_by_program", found.is_read}});
  }
}

bool print_inexact(const OpCall& call, std::string& out) {
  if (!call.inexact) return false;
  const InexactValue& value = *call.inexact;
  out += fmt::format("{} {}", value.from, value.to);
  if (value.rounded_at != kNoOpCall) out += fmt::format(" by #{}", value.rounded_at);
  if (value.arrival == Arrival::kUnknown) return true;
  out += fmt::format(" {} {}", arrival_name(value.arrival), value.off);
  if (value.arrived_at != kNoOpCall) out += fmt::format(" #{}", value.arrived_at);
  return true;
}

void parse_inexact(TextCursor& cursor, OpCall& call) {
  InexactValue value;
  value.from = cursor.number<double>("the value before, as in inexact 1365 1368");
  value.to = cursor.next_number<double>("the value after, as in inexact 1365 1368");
  if (optional_flag(cursor, "by")) {
    cursor.skip_spaces();
    value.rounded_at = parse_id(cursor);
  }
  for (auto code = static_cast<int>(Arrival::kUnknown) + 1; code <= static_cast<int>(kLastArrival);
       ++code) {
    const auto arrival = static_cast<Arrival>(code);
    if (!optional_flag(cursor, arrival_name(arrival))) continue;
    value.arrival = arrival;
    value.off = cursor.next_number<double>("how far it is off, as in loss 0.03");
    TextCursor ahead = cursor;
    if (ahead.skip_spaces() && !ahead.at_end() && ahead.peek() == '#') {
      cursor = ahead;
      value.arrived_at = parse_id(cursor);
    }
    break;
  }
  call.inexact = value;
}

void inexact_json(const OpCall& call, Json& json) {
  Json& value = json["inexact"] = nullptr;
  if (!call.inexact) return;
  value["from"] = number_json(call.inexact->from);
  value["to"] = number_json(call.inexact->to);
  const bool arrived = call.inexact->arrival != Arrival::kUnknown;
  value["arrives_as"] = arrived ? Json(arrival_name(call.inexact->arrival)) : Json();
  value["off"] = arrived ? number_json(call.inexact->off) : Json();
}

bool print_gpu(const OpCall& call, std::string& out) {
  for (const GpuWork& work : call.gpu) {
    out += fmt::format("{}{} {} {} {} {}", &work == call.gpu.data() ? "" : " , ",
                       gpu_work_name(work.kind), work.device, work.count, work.time_ns, work.bytes);
    if (!work.name.empty()) out += " " + dtypecheck::quoted(work.name);
  }
  return !call.gpu.empty();
}

// Whether `text` comes next, after spaces: then it is behind the cursor, or at it.
bool takes_next(TextCursor& cursor, std::string_view text, bool and_keeps = false) {
  TextCursor ahead = cursor;
  ahead.skip_spaces();
  if (!ahead.rest().starts_with(text)) return false;
  cursor = ahead;
  return and_keeps || cursor.accept(text);
}

void parse_gpu(TextCursor& cursor, OpCall& call) {
  do {
    cursor.skip_spaces();
    GpuWork& work = call.gpu.emplace_back();
    work.kind = parse_gpu_kind(cursor);
    work.device = cursor.next_number<int>("the number of a GPU");
    for (uint64_t* number : {&work.count, &work.time_ns, &work.bytes})
      *number =
          cursor.next_number<uint64_t>("a count, nanoseconds and bytes, as in kernel 0 3 1200 0");
    if (takes_next(cursor, "\"", /*and_keeps=*/true)) work.name = cursor.quoted_text();
  } while (takes_next(cursor, ","));
}

bool print_cast(const OpCall& call, std::string& out) {
  if (!call.cast) return false;
  out += fmt::format("{} {} {}", call.cast->elements, call.cast->timed, call.cast->time_ns);
  if (call.cast->looked > 0)
    out +=
        fmt::format(" looked {} {} {}", call.cast->looked, call.cast->clipped, call.cast->flushed);
  return true;
}

void parse_cast(TextCursor& cursor, OpCall& call) {
  CastWork& work = call.cast.emplace();
  for (uint64_t* number : {&work.elements, &work.timed, &work.time_ns})
    *number =
        cursor.next_number<uint64_t>("elements, timed calls and nanoseconds, as in cast 64 1 900");
  if (!cursor.accept(" looked")) return;
  for (uint64_t* number : {&work.looked, &work.clipped, &work.flushed})
    *number = cursor.next_number<uint64_t>("numbers, clipped ones and zeros, as in looked 64 16 0");
}

void cast_json(const OpCall& call, Json& json) {
  Json& value = json["cast"] = nullptr;
  if (!call.cast) return;
  value["elements"] = call.cast->elements;
  value["timed"] = call.cast->timed;
  value["time_ns"] = call.cast->time_ns;
  value["looked"] = call.cast->looked;
  value["clipped"] = call.cast->clipped;
  value["flushed"] = call.cast->flushed;
}

void gpu_json(const OpCall& call, Json& json) {
  Json& all = json["gpu"] = nullptr;
  for (const GpuWork& work : call.gpu) {
    Json& one = all.emplace_back();
    one["kind"] = gpu_work_name(work.kind);
    one["device"] = work.device;
    one["count"] = work.count;
    one["time_ns"] = work.time_ns;
    one["bytes"] = work.bytes;
    if (!work.name.empty()) one["name"] = work.name;
  }
}

bool print_compiled(const OpCall& call, std::string&) { return call.in_compiled_region; }
void parse_compiled(TextCursor&, OpCall& call) { call.in_compiled_region = true; }
void compiled_json(const OpCall& call, Json& json) { json["compiled"] = call.in_compiled_region; }

// In a merged run, which of its processes made it: FIRST[-LAST]xLEAST[-MOST],…

bool print_made_by(const OpCall& call, std::string& out) {
  for (const ProcessRange& range : call.made_by) {
    out += fmt::format("{}{}", &range == call.made_by.data() ? "" : ",", range.first);
    if (range.last != range.first) out += fmt::format("-{}", range.last);
    out += fmt::format("x{}", range.least);
    if (range.most != range.least) out += fmt::format("-{}", range.most);
  }
  return !call.made_by.empty();
}

void parse_made_by(TextCursor& cursor, OpCall& call) {
  constexpr const char* kWhat = "processes and how often each called, as in 0-7x3,8x1-2";
  do {
    ProcessRange& range = call.made_by.emplace_back();
    range.first = range.last = cursor.number<uint32_t>(kWhat);
    if (cursor.accept("-")) range.last = cursor.number<uint32_t>(kWhat);
    if (!cursor.accept("x")) cursor.fail(kWhat);
    range.least = range.most = cursor.number<uint64_t>(kWhat);
    if (cursor.accept("-")) range.most = cursor.number<uint64_t>(kWhat);
    const bool in_order = call.made_by.size() == 1 || (&range)[-1].last < range.first;
    if (!in_order || range.last < range.first || range.most < range.least) cursor.fail(kWhat);
  } while (cursor.accept(","));
}

void made_by_json(const OpCall& call, Json& json) {
  Json& all = json["made_by"] = nullptr;
  for (const ProcessRange& range : call.made_by) {
    all.push_back({{"first", range.first},
                   {"last", range.last},
                   {"least", range.least},
                   {"most", range.most}});
  }
}

// The process group of a collective.

bool print_group(const OpCall& call, std::string& out) {
  out += bare_or_quoted(call.group, kFreeWordCharacters);
  return !call.group.empty();
}
void parse_group(TextCursor& cursor, OpCall& call) {
  call.group = cursor.word("ranks, as in 0-2,5");
}
void group_json(const OpCall& call, Json& json) { json["group"] = text_or_null(call.group); }

// Its id and those of other calls.
void parent_json(const OpCall& call, Json& json) { json["parent_id"] = id_or_null(call.parent); }
void follows_json(const OpCall& call, Json& json) { json["follows_id"] = id_or_null(call.follows); }
void id_json(const OpCall& call, Json& json) { json["id"] = call.id; }

enum Value { kValue, kFlag };              // a flag's key stands alone
enum Audience { kReport, kLines, kText };  // who reads its JSON: report and lines, lines, nobody

struct Field {
  const char* key;  // of the text form; "" for what stands before all keys
  Value value;
  bool (*print)(const OpCall& call, std::string& out);
  void (*parse)(TextCursor& cursor, OpCall& call);
  Audience audience;
  void (*json)(const OpCall& call, Json& json);
  const char* column = nullptr;  // of the table for people; null for what it does not show
  std::string (*cell)(const OpCall& call, const PathText& path) = nullptr;
};

// In the order of the JSON; text has the fields without a key first, as parse_op_call() reads them.
// clang-format off
constexpr Field kFields[] = {
    {"",           kValue, nullptr,          nullptr,          kReport, op_json,          "op",       op_cell},
    {"raised",     kValue, print_raised,     parse_raised,     kReport, error_json},
    {"repaired",   kFlag,  print_repaired,   parse_repaired,   kReport, outcome_json,     "outcome",  outcome_cell},
    {"served",     kFlag,  print_served,     parse_served,     kText,   nullptr},
    {"at",         kValue, print_at,         parse_at,         kLines,  site_json,        "place",    at_cell},
    {"inside",     kValue, print_inside,     parse_inside,     kText,   nullptr,          "inner",    inside_cell},
    {"caller",     kValue, print_caller,     parse_caller,     kText,   nullptr},
    {"in",         kValue, print_module,     parse_module,     kText,   nullptr,          "module",   module_cell},
    {"phase",      kValue, print_phase,      parse_phase,      kText,   nullptr,          "phase",    phase_cell},
    {"step",       kValue, print_steps,      parse_steps,      kLines,  last_step_json,   "steps",    steps_cell},
    {"count",      kValue, print_count,      parse_count,      kLines,  count_json},
    {"by",         kValue, print_made_by,    parse_made_by,    kLines,  made_by_json},
    {"group",      kValue, print_group,      parse_group,      kLines,  group_json},
    {"throws",     kValue, print_throws,     parse_throws,     kLines,  throws_json},
    {"entered",    kValue, print_entered,    parse_entered,    kLines,  entered_json},
    {"autocast",   kValue, print_autocast,   parse_autocast,   kReport, autocast_json,    "autocast", autocast_cell},
    {"",           kValue, nullptr,          nullptr,          kReport, operands_json,    "operands", operands_cell},
    {"",           kValue, nullptr,          nullptr,          kText,   nullptr,          "shapes",   shapes_cell},
    {"",           kValue, nullptr,          nullptr,          kReport, results_json,     "results",  results_cell},
    {"",           kValue, nullptr,          nullptr,          kReport, scalars_json},
    {"non-finite", kValue, print_non_finite, parse_non_finite, kReport, non_finite_json},
    {"inexact",    kValue, print_inexact,    parse_inexact,    kReport, inexact_json},
    {"gpu",        kValue, print_gpu,        parse_gpu,        kLines,  gpu_json},
    {"cast",       kValue, print_cast,       parse_cast,       kLines,  cast_json},
    {"compiled",   kFlag,  print_compiled,   parse_compiled,   kLines,  compiled_json},
    {"parent",     kValue, print_id<&OpCall::parent>,  parse_id_of<&OpCall::parent>,  kLines, parent_json},
    {"follows",    kValue, print_id<&OpCall::follows>, parse_id_of<&OpCall::follows>, kLines, follows_json},
    {"id",         kValue, print_id<&OpCall::id>,      parse_id_of<&OpCall::id>,      kLines, id_json},
};
// clang-format on

const Field* find_field(std::string_view key) {
  for (const Field& field : kFields) {
    if (!key.empty() && field.key == key) return &field;
  }
  return nullptr;
}

bool is_key(std::string_view word) { return find_field(word) != nullptr; }

std::string all_keys() {
  std::string keys;
  for (const Field& field : kFields) {
    if (field.parse != nullptr) keys += (keys.empty() ? "" : ", ") + std::string(field.key);
  }
  return keys;
}

// ARG=…, ARG:=…; false when a key or -> stands here.
bool parse_operand_or_scalar(TextCursor& cursor, OpCall& call) {
  if (cursor.at_end() || cursor.rest().starts_with("->")) return false;
  TextCursor ahead = cursor;
  const std::string name = ahead.name(kArgumentCharacters, "ARG=DTYPE[shape], ->, or a key");
  if (ahead.accept(":=")) {
    cursor = ahead;
    call.scalars.push_back(parse_scalar(cursor, name));
  } else if (ahead.accept("=")) {
    cursor = ahead;
    parse_argument(cursor, name, call.operands);
  } else {
    return false;
  }
  return true;
}

void parse_key(TextCursor& cursor, OpCall& call, std::set<std::string_view>& keys) {
  const Field* field = find_field(cursor.next_word());
  if (field == nullptr) cursor.fail(fmt::format("one of {}", all_keys()));
  if (!keys.insert(field->key).second)
    cursor.fail_with(fmt::format("\"{}\" appears twice", field->key));
  cursor.expect(field->key);
  if (field->value == kValue && !cursor.skip_spaces())
    cursor.fail(fmt::format("a value after \"{}\"", field->key));
  field->parse(cursor, call);
}

bool says_nothing(const Json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         (value.is_object() && value.empty());
}

Json without_nothing(const Json& value) {
  if (!value.is_structured()) return value;
  Json kept = value.is_array() ? Json::array() : Json::object();
  for (const auto& [key, element] : value.items()) {
    Json one = without_nothing(element);
    if (value.is_array()) {
      kept.push_back(std::move(one));
    } else if (!says_nothing(one)) {
      kept[key] = std::move(one);
    }
  }
  return kept;
}

void add_operand_ids(const std::vector<Operand>& operands, Json& json) {
  for (size_t i = 0; i < operands.size(); ++i) {
    json[i]["origin_id"] = id_or_null(operands[i].origin);
  }
}

// The results of a call with what they share with operands: a result may need a gradient.
void add_result_details(const std::vector<Operand>& results, Json& json) {
  for (size_t i = 0; i < results.size(); ++i) {
    Json all = operand_json(results[i]);
    all.erase("name");
    all.erase("role");
    json[i] = std::move(all);
  }
}

}  // namespace

std::string place_text(const SourceLine& line, const PathText& path) {
  if (!line.known()) return line.function;
  return line.line > 0 ? fmt::format("{}:{}", path(line.file), line.line) : path(line.file);
}

// "[17-45]", and "[17-9+2]" where the call ends two lines below.
static void parse_extent(TextCursor& cursor, SourceLine& line) {
  line.extent.column = cursor.number<int>("a column");
  cursor.expect("-");
  line.extent.end_column = cursor.number<int>("the column behind the call");
  line.extent.end_line = line.line;
  if (cursor.accept("+")) {
    const int more = cursor.number<int>("how many lines below the call ends");
    if (more < 0 || line.line > INT_MAX - more) cursor.fail("fewer lines");
    line.extent.end_line += more;
  }
  cursor.expect("]");
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
  if (cursor.accept("[")) parse_extent(cursor, line);
  line.function = optional_word(cursor);
}

void print_op_call(const OpCall& call, std::string& out) {
  out += "op ";
  print_op(call, out);
  print_operands(call.operands, out);
  print_scalars(call, out);
  print_results(call.results, out);
  for (const Field& field : kFields) {
    std::string value;
    if (field.print == nullptr || !field.print(call, value)) continue;
    out += fmt::format(" {}{}{}", field.key, field.value == kFlag ? "" : " ", value);
  }
}

OpCall parse_op_call(TextCursor& cursor) {
  OpCall call;
  std::set<std::string_view> keys;
  parse_op(cursor, call);
  cursor.require_space("the op's name");
  while (parse_operand_or_scalar(cursor, call)) cursor.require_space("an operand");
  if (cursor.accept("->")) {
    parse_results(cursor, call.results);
    cursor.require_space("the results");
  }
  while (!cursor.at_end()) {
    parse_key(cursor, call, keys);
    cursor.require_space("a value");
  }
  if (!keys.contains("inside")) call.site.inner = call.site.line;
  if (!keys.contains("throws")) call.throws = usual_throws(call);
  return call;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json line_json(const SourceLine& line, const PathText& path) {
  return {{"file", text_or_null(path(line.file))},
          {"line", line.line > 0 ? Json(line.line) : Json()},
          {"function", text_or_null(line.function)}};
}

Json location_json(const Site& site, uint32_t step, const PathText& path) {
  Json location = line_json(site.line, path);
  location["module"] = text_or_null(site.module);
  location["module_class"] = text_or_null(site.module_class);
  location["phase"] = phase_name(site.phase);
  location["step"] = step;
  location["inner"] = has_inner(site) ? line_json(site.inner, path) : Json();
  if (site.caller.known()) location["caller"] = line_json(site.caller, path);
  return location;
}

void add_call_json(const OpCall& call, Json& json) {
  for (const Field& field : kFields) {
    if (field.audience == kReport) field.json(call, json);
  }
}

void add_no_call_json(Json& json) {
  add_call_json(OpCall(), json);
  json["outcome"] = json["autocast"] = nullptr;
}

std::string op_call_json_line(const OpCall& call, const Run& run) {
  Json json = {{"id", call.id}};
  for (const Field& field : kFields) {
    if (field.json != nullptr) field.json(call, json);
  }
  add_result_details(call.results, json["results"]);
  add_operand_ids(call.operands, json["operands"]);
  add_operand_ids(call.results, json["results"]);
  json["process"] = call.process;
  if (call.process < run.processes.size()) json["pid"] = run.process_of(call).pid;
  return without_nothing(json).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::vector<std::string> op_call_columns() {
  std::vector<std::string> columns;
  for (const Field& field : kFields) {
    if (field.column != nullptr) columns.emplace_back(field.column);
  }
  return columns;
}

std::vector<std::string> op_call_cells(const OpCall& call, const PathText& path) {
  std::vector<std::string> cells;
  for (const Field& field : kFields) {
    if (field.cell != nullptr) cells.push_back(field.cell(call, path));
  }
  return cells;
}

}  // namespace dtypecheck::trace
