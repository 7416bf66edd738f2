#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtypecheck::trace {
namespace {

size_t rounded_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

bool is_known(uint16_t kind) {
  return kind >= static_cast<uint16_t>(Kind::kString) && kind <= static_cast<uint16_t>(kLastKind);
}

// By kind, of those that are known.
constexpr size_t kFixedBytes[] = {0,
                                  sizeof(StringRecord),
                                  sizeof(LineRecord),
                                  sizeof(SiteRecord),
                                  sizeof(SignatureRecord),
                                  sizeof(ThrowRecord),
                                  sizeof(FactRecord),
                                  sizeof(MappingRecord),
                                  sizeof(InexactRecord),
                                  sizeof(NonFiniteRecord),
                                  sizeof(GpuWorkRecord),
                                  sizeof(ProcessRecord),
                                  sizeof(ProcessFactRecord),
                                  sizeof(MadeByRecord),
                                  sizeof(OpTimeRecord),
                                  sizeof(GpuTimeRecord),
                                  sizeof(GroupRecord)};
size_t fixed_bytes(Kind kind) { return kFixedBytes[static_cast<size_t>(kind)]; }

enum class Fault { kNone, kKind, kState, kSize, kEnd, kCounts };

class Walk {
 public:
  Walk(const TraceBytes& bytes, uint64_t used_bytes, Damage& damage)
      : bytes_(bytes), used_bytes_(used_bytes), damage_(damage) {}

  TraceRecords run(size_t begin) {
    size_t offset = begin;
    while (!is_end(offset)) {
      const Fault fault = fault_of(offset);
      if (fault == Fault::kNone) {
        add(offset);
        offset += header(offset).size_bytes;
      } else {
        damage_.leave_out(fmt::format("{} at byte {}", describe(fault, offset), offset));
        offset = next_sound(offset + sizeof(RecordHeader));
      }
    }
    return std::move(records_);
  }

 private:
  RecordHeader header(size_t offset) const { return bytes_.load<RecordHeader>(offset); }

  // Zeros where the header says that nothing is.
  bool is_end(size_t offset) const {
    if (!bytes_.holds(offset, sizeof(RecordHeader))) return true;
    return offset >= used_bytes_ && header(offset).size_bytes == 0;
  }

  Fault fault_of(size_t offset) const {
    const RecordHeader found = header(offset);
    if (!is_known(found.kind)) return Fault::kKind;
    if (found.state != kReserved && found.state != kCommitted) return Fault::kState;
    const Kind kind = static_cast<Kind>(found.kind);
    if (found.size_bytes % 8 != 0 || found.size_bytes < fixed_bytes(kind)) return Fault::kSize;
    if (!bytes_.holds(offset, found.size_bytes)) return Fault::kEnd;
    if (found.state == kReserved) return Fault::kNone;  // its counts may not be there yet
    return found.size_bytes == bytes_by_counts(offset, kind) ? Fault::kNone : Fault::kCounts;
  }

  std::string describe(Fault fault, size_t offset) const {
    const RecordHeader found = header(offset);
    const Kind kind = static_cast<Kind>(found.kind);
    switch (fault) {
      case Fault::kNone:
        break;
      case Fault::kKind:
        return fmt::format("a record of unknown kind {}", found.kind);
      case Fault::kState:
        return fmt::format("a record in unknown state {}", found.state);
      case Fault::kSize:
        return fmt::format("a record of {} bytes, expected at least {},", found.size_bytes,
                           fixed_bytes(kind));
      case Fault::kEnd:
        return fmt::format("a record of {} bytes, of which {} are there,", found.size_bytes,
                           bytes_.size_bytes() - offset);
      case Fault::kCounts:
        return fmt::format("a record of {} bytes, expected {} by its counts,", found.size_bytes,
                           bytes_by_counts(offset, kind));
    }
    return "";
  }

  size_t bytes_by_counts(size_t offset, Kind kind) const {
    if (kind == Kind::kString) {
      const auto record = bytes_.load<StringRecord>(offset);
      return rounded_up(sizeof(record) + size_t{record.length_bytes});
    }
    if (kind != Kind::kSignature) return fixed_bytes(kind);
    const auto record = bytes_.load<SignatureRecord>(offset);
    return rounded_up(result_offset(0, record, record.result_room)) +
           (record.flags & kSignatureCast ? sizeof(CastCounters) : 0);
  }

  bool is_sound(size_t offset) const {
    return bytes_.holds(offset, sizeof(RecordHeader)) && fault_of(offset) == Fault::kNone;
  }

  // A committed record that another sound one, or nothing more, comes after.
  bool is_sound_pair(size_t offset) const {
    if (!is_sound(offset) || header(offset).state != kCommitted) return false;
    const size_t next = offset + header(offset).size_bytes;
    return is_end(next) || is_sound(next);
  }

  size_t next_sound(size_t offset) const {
    while (bytes_.holds(offset, sizeof(RecordHeader)) && !is_sound_pair(offset)) offset += 8;
    return offset;
  }

  void add(size_t offset) {
    const RecordHeader found = header(offset);
    if (found.state == kCommitted) records_.of_kind[found.kind].push_back(offset);
  }

  const TraceBytes& bytes_;
  uint64_t used_bytes_;
  Damage& damage_;
  TraceRecords records_;
};

}  // namespace

void Damage::note(std::string cause) {
  if (first_cause_.empty()) first_cause_ = std::move(cause);
}

void Damage::leave_out(std::string cause) {
  note(std::move(cause));
  ++left_out_;
}

std::string Damage::to_string() const {
  if (left_out_ == 0) return first_cause_;
  return fmt::format("{}; {} record{} left out", first_cause_, left_out_,
                     left_out_ == 1 ? "" : "s");
}

TraceRecords find_records(const TraceBytes& bytes, size_t begin, uint64_t used_bytes,
                          Damage& damage) {
  return Walk(bytes, used_bytes, damage).run(begin);
}

}  // namespace dtypecheck::trace
