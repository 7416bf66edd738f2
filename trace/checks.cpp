#include "trace/checks.h"

#include <string.h>

#include "platform/crc32c.h"

namespace dtypecheck::trace {
namespace {

template <typename T>
T load(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

// By kind, of those that are known.
constexpr size_t kFixedBytes[] = {0,
#define RECORD(kind, type) sizeof(type),
                                  DTYPECHECK_RECORDS(RECORD)
#undef RECORD
};

size_t rounded_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

// Of a record, from its start: constant is [sizeof(RecordHeader), changing) and [behind, results),
// the rest changes.
struct Parts {
  size_t changing, behind, results, end;
};

size_t results_of_signature(const char* record) {
  const auto operands = load<uint16_t>(record + offsetof(SignatureRecord, operand_count));
  const auto scalars = load<uint16_t>(record + offsetof(SignatureRecord, scalar_count));
  return sizeof(SignatureRecord) + operands * sizeof(OperandRecord) +
         scalars * sizeof(ScalarRecord);
}

Parts parts_of(const char* record) {
  const auto header = load<RecordHeader>(record);
  const size_t end = header.size_bytes;
  switch (static_cast<RecordKind>(header.kind)) {
    case RecordKind::kSignature:
      return {offsetof(SignatureRecord, autocast), sizeof(SignatureRecord),
              results_of_signature(record), end};
    case RecordKind::kDigestPage:
      return {sizeof(DigestPageRecord), end, end, end};
    case RecordKind::kGpuWork:
      return {offsetof(GpuWorkRecord, count), end, end, end};
    case RecordKind::kHealthSample:
      return {offsetof(HealthSampleRecord, step), end, end, end};
    default:
      return {end, end, end, end};
  }
}

}  // namespace

size_t fixed_bytes(RecordKind kind) { return kFixedBytes[static_cast<size_t>(kind)]; }

size_t bytes_by_counts(const char* record) {
  const auto kind = static_cast<RecordKind>(load<RecordHeader>(record).kind);
  if (kind == RecordKind::kString) {
    const auto length = load<uint32_t>(record + offsetof(StringRecord, length_bytes));
    return rounded_up(sizeof(StringRecord) + size_t{length});
  }
  if (kind == RecordKind::kDigestPage)
    return sizeof(DigestPageRecord) +
           load<uint32_t>(record + offsetof(DigestPageRecord, room_bytes));
  if (kind == RecordKind::kHealthSample) {
    const auto points = load<uint32_t>(record + offsetof(HealthSampleRecord, point_count));
    return rounded_up(sizeof(HealthSampleRecord) + size_t{points} * sizeof(HealthPoint));
  }
  if (kind != RecordKind::kSignature) return fixed_bytes(kind);
  const auto results = load<uint16_t>(record + offsetof(SignatureRecord, result_room));
  const auto flags = load<uint32_t>(record + offsetof(SignatureRecord, flags));
  return rounded_up(results_of_signature(record) + results * sizeof(OperandRecord)) +
         (flags & kSignatureCast ? sizeof(CastCounters) : 0);
}

uint32_t check_of(const char* record) {
  const Parts parts = parts_of(record);
  uint32_t crc = crc32c(record, offsetof(RecordHeader, state));
  crc = crc32c(record + sizeof(RecordHeader), parts.changing - sizeof(RecordHeader), crc);
  return crc32c(record + parts.behind, parts.results - parts.behind, crc);
}

uint32_t seal_of(const char* record) {
  const Parts parts = parts_of(record);
  if (parts.changing == parts.end) return 0;
  const uint32_t crc = crc32c(record + parts.changing, parts.behind - parts.changing);
  const uint32_t all = crc32c(record + parts.results, parts.end - parts.results, crc);
  return all == 0 ? 1 : all;
}

uint32_t check_of(const FileHeader& header) {
  uint32_t crc = crc32c(&header, offsetof(FileHeader, end_state));
  crc = crc32c(&header.pid, offsetof(FileHeader, end_unix_ns) - offsetof(FileHeader, pid), crc);
  return crc32c(&header.rank, offsetof(FileHeader, autocast_sites) - offsetof(FileHeader, rank),
                crc);
}

uint32_t seal_of(const FileHeader& header) {
  const uint32_t crc = crc32c(&header, offsetof(FileHeader, seal));
  return crc == 0 ? 1 : crc;
}

void seal_records(char* from, char* to) {
  while (from < to) {
    auto* header = reinterpret_cast<RecordHeader*>(from);
    if (header->state == kCommitted)
      header->seal = seal_of(from);
    else
      header->state = kAbandoned;
    from += header->size_bytes;
  }
}

}  // namespace dtypecheck::trace
