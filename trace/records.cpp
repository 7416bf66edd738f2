#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/checks.h"

namespace dtypecheck::trace {
namespace {

bool is_known(uint16_t kind) {
  return kind > static_cast<uint16_t>(RecordKind::kNone) &&
         kind < static_cast<uint16_t>(RecordKind::kEnd);
}

enum class Fault { kNone, kKind, kState, kSize, kEnd, kCounts, kCheck };

class RecordWalk {
 public:
  RecordWalk(const TraceBytes& bytes, const FileHeader& header, Damage& damage)
      : bytes_(bytes),
        used_bytes_(header.used_bytes),
        expected_(expected_of(header)),
        is_sealed_(header.seal != 0),
        damage_(damage) {}

  TraceRecords run() {
    size_t offset = kHeaderBytes, found = 0, faults = 0;
    while (!is_end(offset)) {
      const Fault fault = fault_of(offset);
      if (fault == Fault::kNone) {
        ++found;
        add(offset);
        offset += header(offset).size_bytes;
      } else {
        ++faults;
        damage_.note(fmt::format("{} at byte {}", describe(fault, offset), offset));
        offset = next_sound(offset + sizeof(RecordHeader));
      }
    }
    const size_t missing = expected_ > found ? expected_ - found : 0;
    if (missing + faults > 0) {
      damage_.note(fmt::format("{} of {} records are there", found, expected_));
      damage_.leave_out(std::max(missing, faults), missing >= faults ? expected_ : 0);
    }
    return std::move(records_);
  }

 private:
  // A number that a file so long can have; 0 where it is none.
  static size_t expected_of(const FileHeader& header) {
    const uint64_t most =
        std::min<uint64_t>(header.used_bytes, kMaxFileBytes) / sizeof(RecordHeader);
    return header.records <= most ? header.records : 0;
  }

  RecordHeader header(size_t offset) const { return bytes_.load<RecordHeader>(offset); }

  // Zeros where the header says that nothing is.
  bool is_end(size_t offset) const {
    if (!bytes_.holds(offset, sizeof(RecordHeader))) return true;
    return offset >= used_bytes_ && header(offset).size_bytes == 0;
  }

  Fault fault_of(size_t offset) const {
    const RecordHeader found = header(offset);
    if (!is_known(found.kind)) return Fault::kKind;
    if (found.state != kCommitted && found.state != kAbandoned &&
        (is_sealed_ || found.state != kReserved))
      return Fault::kState;
    const RecordKind kind = static_cast<RecordKind>(found.kind);
    if (found.size_bytes % 8 != 0 || found.size_bytes < fixed_bytes(kind)) return Fault::kSize;
    if (!bytes_.holds(offset, found.size_bytes)) return Fault::kEnd;
    if (found.state != kCommitted) return Fault::kNone;  // its counts may not be there yet
    if (found.size_bytes != counted_bytes(offset)) return Fault::kCounts;
    return is_unchanged(offset, found) ? Fault::kNone : Fault::kCheck;
  }

  bool is_unchanged(size_t offset, const RecordHeader& found) const {
    const char* record = bytes_.text(offset, found.size_bytes).data();
    return found.check == check_of(record) && (!is_sealed_ || found.seal == seal_of(record));
  }

  std::string describe(Fault fault, size_t offset) const {
    const RecordHeader found = header(offset);
    const RecordKind kind = static_cast<RecordKind>(found.kind);
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
                           counted_bytes(offset));
      case Fault::kCheck:
        return fmt::format("a record of kind {} whose checksum is wrong", found.kind);
    }
    return "";
  }

  // Its fixed part is there.
  size_t counted_bytes(size_t offset) const {
    return bytes_by_counts(bytes_.text(offset, sizeof(RecordHeader)).data());
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
  size_t expected_;  // records; 0: not known
  bool is_sealed_;   // the process is over, and nothing changes any more
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

void Damage::leave_out(size_t records, size_t of_all) {
  left_out_ += records;
  all_ = of_all;
}

std::string Damage::to_string() const {
  if (left_out_ == 0) return first_cause_;
  const std::string all = all_ == 0 ? "" : fmt::format(" of {}", all_);
  return fmt::format("{}; {}{} record{} left out", first_cause_, left_out_, all,
                     left_out_ == 1 && all.empty() ? "" : "s");
}

TraceRecords find_records(const TraceBytes& bytes, const FileHeader& header, Damage& damage) {
  return RecordWalk(bytes, header, damage).run();
}

}  // namespace dtypecheck::trace
