// trace_records.h: finds the records in the bytes of a trace. What comes out of here has a known
// kind, lies within the bytes and is as long as its own counts say; ids and enums in it are still
// anybody's guess. Private to the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"

namespace dtypecheck::trace {

// The first thing that was wrong with a trace, and how many records it and others cost.
class Damage {
 public:
  void note(std::string cause);                   // no record was lost, or the number is not known
  void leave_out(std::string cause);              // one record was lost
  void leave_out(size_t records, size_t of_all);  // as many more; 0: nobody knows of how many
  std::string to_string() const;                  // empty when nothing was wrong

 private:
  std::string first_cause_;
  size_t left_out_ = 0, all_ = 0;
};

class TraceBytes {
 public:
  TraceBytes(const void* data, size_t size_bytes)
      : data_(static_cast<const char*>(data)), size_bytes_(size_bytes) {}

  size_t size_bytes() const { return size_bytes_; }
  bool holds(size_t offset, size_t bytes) const {
    return offset <= size_bytes_ && bytes <= size_bytes_ - offset;
  }
  // The bytes may lie anywhere in memory, so they are copied. The caller knows that they are there.
  template <typename Record>
  Record load(size_t offset) const {
    Record record;
    std::memcpy(&record, data_ + offset, sizeof(Record));
    return record;
  }
  std::string_view text(size_t offset, size_t bytes) const { return {data_ + offset, bytes}; }

 private:
  const char* data_;
  size_t size_bytes_;
};

// Offsets of the committed records, kind by kind, in the order of the file.
struct TraceRecords {
  std::vector<size_t> of_kind[static_cast<int>(RecordKind::kEnd)];

  const auto& offsets(RecordKind kind) const { return of_kind[static_cast<int>(kind)]; }
};

// Walks through what follows the header. Its used_bytes is not believed where it is less than what
// can be walked; its count of records tells how many are lost. After a record that cannot be, goes
// on at the next place where two sound ones follow each other.
TraceRecords find_records(const TraceBytes& bytes, const FileHeader& header, Damage& damage);

// Of a signature's parts, from the start of its record.
inline size_t operand_offset(size_t record, size_t index) {
  return record + sizeof(SignatureRecord) + index * sizeof(OperandRecord);
}
inline size_t scalar_offset(size_t record, const SignatureRecord& signature, size_t index) {
  return operand_offset(record, signature.operand_count) + index * sizeof(ScalarRecord);
}
inline size_t result_offset(size_t record, const SignatureRecord& signature, size_t index) {
  return scalar_offset(record, signature, signature.scalar_count) + index * sizeof(OperandRecord);
}

}  // namespace dtypecheck::trace
