#include "trace/with_checks.h"

#include <cstring>

#include "trace/checks.h"

namespace dtypecheck::test {

using namespace trace;

static bool is_whole(const RecordHeader& record, const char* at, size_t room_bytes) {
  const auto kind = static_cast<RecordKind>(record.kind);
  return kind > RecordKind::kNone && kind < RecordKind::kEnd && record.size_bytes <= room_bytes &&
         record.size_bytes >= fixed_bytes(kind) && record.size_bytes == bytes_by_counts(at);
}

std::string with_checks(std::string bytes) {
  FileHeader header;
  if (bytes.size() < sizeof header) return bytes;
  char* at = bytes.data() + kHeaderBytes;
  char* const end = bytes.data() + bytes.size();
  while (static_cast<size_t>(end - at) >= sizeof(RecordHeader)) {
    RecordHeader record;
    std::memcpy(&record, at, sizeof record);
    const auto room_bytes = static_cast<size_t>(end - at);
    if (is_whole(record, at, room_bytes)) {
      record.check = check_of(at);
      record.seal = seal_of(at);
      std::memcpy(at, &record, sizeof record);
    }
    const bool leads_on = record.size_bytes >= sizeof record && record.size_bytes <= room_bytes;
    at += leads_on ? record.size_bytes : 8;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  header.check = check_of(header);
  if (header.seal != 0) header.seal = seal_of(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace dtypecheck::test
