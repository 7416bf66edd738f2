#include "trace/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/dtype_names.h"
#include "core/dtype_range.h"
#include "trace/operand_fields.h"
#include "trace/text_syntax.h"

namespace dtypecheck::trace {
namespace {

// It was rounded, and is no number that the dtype lacks.
double value_of(uint16_t bfloat16, Dtype dtype) {
  const uint32_t bits = static_cast<uint32_t>(bfloat16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  const DtypeRange* range = narrow_range(dtype);
  return range == nullptr ? value : std::min<double>(value, range->largest);
}

}  // namespace

void read_health(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                 const std::function<OpCallId(uint32_t signature)>& call_of, Damage& damage,
                 uint32_t process, Run& run) {
  const size_t first = run.health.size();
  std::unordered_map<uint32_t, size_t> row_of;  // by id
  uint64_t bytes_read = 0;
  const auto is_too_much = [&](size_t offset) {  // a small file must not become a large run
    bytes_read += bytes.load<RecordHeader>(offset).size_bytes;
    if (bytes_read <= kMostHealthBytes) return false;
    damage.leave_out(fmt::format("more of the run's health than there may be, at byte {}", offset));
    return true;
  };
  for (size_t offset : records.offsets(RecordKind::kHealthRow)) {
    if (is_too_much(offset)) break;
    const auto record = bytes.load<HealthRowRecord>(offset);
    const bool is_possible = record.role > 0 && record.dtype < 64 &&
                             record.role <= static_cast<uint8_t>(kLastHealthRole);
    if (!is_possible || !row_of.emplace(record.id, run.health.size()).second) {
      damage.leave_out(fmt::format("row {} of the run's health at byte {}", record.id, offset));
      continue;
    }
    run.health.push_back({process,
                          static_cast<HealthRole>(record.role),
                          static_cast<Dtype>(record.dtype),
                          std::string(strings.text(record.name, "a row of the run's health")),
                          call_of(record.signature),
                          {}});
  }
  for (size_t offset : records.offsets(RecordKind::kHealthSample)) {
    if (is_too_much(offset)) break;
    const auto record = bytes.load<HealthSampleRecord>(offset);
    if (record.step == 0) continue;  // used again
    run.health_steps.push_back(
        {process, record.step, record.skipped, record.left_out, record.scale});
    for (uint32_t i = 0; i < record.point_count; ++i) {
      const auto point = bytes.load<trace::HealthPoint>(offset + sizeof(HealthSampleRecord) +
                                                        i * sizeof(trace::HealthPoint));
      const auto row = row_of.find(i + 1);
      if (point.largest == kNoPoint || row == row_of.end()) continue;
      HealthRow& of = run.health[row->second];
      of.points.push_back({record.step, value_of(point.largest, of.dtype), point.zero / 255.0,
                           point.beyond / 255.0});
    }
  }
  for (size_t i = first; i < run.health.size(); ++i) {
    std::sort(run.health[i].points.begin(), run.health[i].points.end(),
              [](const auto& a, const auto& b) { return a.step < b.step; });
  }
  std::ranges::sort(run.health_steps, [](const auto& a, const auto& b) {
    return std::pair(a.process, a.step) < std::pair(b.process, b.step);
  });
}

std::string to_text(const HealthRow& row) {
  const std::string call = row.call == kNoOpCall ? "none" : fmt::format("#{}", row.call);
  std::string out =
      fmt::format("health {} {} {} {}", call, health_role_name(row.role), dtype_name(row.dtype),
                  row.module.empty() ? "\"\"" : bare_or_quoted(row.module, kParameterCharacters));
  for (const dtypecheck::HealthPoint& point : row.points)
    out += fmt::format(" {} {} {} {}", point.step, point.largest, point.zero, point.beyond);
  return out;
}

std::string to_text(const HealthStep& step) {
  return fmt::format("health-step {} {} {} {}", step.step, step.skipped, step.left_out, step.scale);
}

HealthRow parse_health_row(TextCursor& cursor) {
  HealthRow row;
  cursor.skip_spaces();
  if (!cursor.accept("none")) row.call = parse_id(cursor);
  cursor.skip_spaces();
  row.role = parse_name(cursor, kLastHealthRole, health_role_name,
                        "activations, gradients, weights or states");
  cursor.skip_spaces();
  row.dtype = parse_dtype_here(cursor);
  cursor.skip_spaces();
  row.module = cursor.peek() == '"' ? cursor.quoted_text()
                                    : cursor.name(kParameterCharacters, "the name of a module");
  for (cursor.skip_spaces(); !cursor.at_end(); cursor.skip_spaces()) {
    dtypecheck::HealthPoint point;
    point.step = cursor.next_number<uint32_t>("a step");
    point.largest = cursor.next_number<double>("the largest number of a step");
    point.zero = cursor.next_number<double>("the share that is 0");
    point.beyond = cursor.next_number<double>("the share that is not finite");
    row.points.push_back(point);
  }
  return row;
}

HealthStep parse_health_step(TextCursor& cursor) {
  HealthStep step;
  step.step = cursor.next_number<uint32_t>("a step");
  step.skipped = cursor.next_number<uint32_t>("how many steps were left out");
  step.left_out = cursor.next_number<uint32_t>("how many tensors were left out");
  step.scale = cursor.next_number<double>("the scale of the loss");
  cursor.skip_spaces();
  return step;
}

}  // namespace dtypecheck::trace
