#include "trace/times_text.h"

#include <fmt/format.h>

#include "trace/operand_fields.h"

namespace dtypecheck::trace {
namespace {

void parse_span(TextCursor& cursor, uint64_t& begin_unix_ns, uint64_t& time_ns) {
  begin_unix_ns = cursor.next_number<uint64_t>("when it began, in nanoseconds since 1970");
  time_ns = cursor.next_number<uint64_t>("how long it took, in nanoseconds");
}

}  // namespace

std::string to_text(const OpTime& time) {
  return fmt::format("time #{} {} {} {} {}", time.call, time.thread, time.step, time.begin_unix_ns,
                     time.time_ns);
}

std::string to_text(const GpuTime& time) {
  const std::string call = time.call == kNoOpCall ? "none" : fmt::format("#{}", time.call);
  const std::string name = time.name.empty() ? "" : ' ' + dtypecheck::quoted(time.name);
  return fmt::format("gpu-time {} {} {} {} {} {}{}", call, gpu_work_name(time.kind), time.device,
                     time.stream, time.begin_unix_ns, time.time_ns, name);
}

OpTime parse_op_time(TextCursor& cursor) {
  OpTime time;
  cursor.skip_spaces();
  time.call = parse_id(cursor);
  time.thread = cursor.next_number<uint32_t>("a thread's number");
  time.step = cursor.next_number<uint32_t>("a step");
  parse_span(cursor, time.begin_unix_ns, time.time_ns);
  cursor.skip_spaces();
  return time;
}

GpuTime parse_gpu_time(TextCursor& cursor) {
  GpuTime time;
  cursor.skip_spaces();
  if (!cursor.accept("none")) time.call = parse_id(cursor);
  cursor.skip_spaces();
  time.kind = parse_gpu_kind(cursor);
  time.device = cursor.next_number<int>("the number of a GPU");
  time.stream = cursor.next_number<uint32_t>("the number of a stream");
  parse_span(cursor, time.begin_unix_ns, time.time_ns);
  cursor.skip_spaces();
  if (cursor.peek() == '"') time.name = cursor.quoted_text();
  return time;
}

GpuWorkKind parse_gpu_kind(TextCursor& cursor) {
  constexpr const char* kWhat = "kernel, copy or fill";
  if (cursor.next_word().starts_with('"')) cursor.fail(kWhat);  // 0 is called ""
  return parse_name(cursor, kLastGpuWorkKind, gpu_work_name, kWhat);
}

}  // namespace dtypecheck::trace
