#include "trace/header.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/whole_run.h"
#include "platform/error.h"
#include "trace/checks.h"
#include "trace/text_cursor.h"

namespace dtypecheck::trace {
namespace {

constexpr uint32_t kSwappedEndianMark = 0x04030201;

std::string text_of(const char* text, size_t room) {
  return std::string(text, std::find(text, text + room, '\0'));
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw InputError(fmt::format("{}: {}", name, why));
}

void take_fact(Process& process, FactKey key, std::string& to) {
  const auto fact = process.facts.find(fact_name(key));
  if (fact == process.facts.end()) return;
  to = std::move(fact->second);
  process.facts.erase(fact);
}

}  // namespace

FileHeader read_header(const TraceBytes& bytes, const std::string& name) {
  if (bytes.size_bytes() == 0) {
    refuse(name,
           "empty, expected a dtypecheck trace; the program ended before its first op, or the disk "
           "was full");
  }
  const std::string_view magic(kMagic, sizeof(kMagic));
  const std::string_view found = bytes.text(0, std::min(bytes.size_bytes(), magic.size()));
  if (found != magic.substr(0, found.size())) {
    refuse(name,
           fmt::format(
               "not a dtypecheck trace: it begins with {}, expected {}; pass a *.dtrace file or "
               "the folder of a run",
               quoted(found), quoted(magic)));
  }
  if (!bytes.holds(0, sizeof(FileHeader))) {
    refuse(name, fmt::format("cut short at byte {}, expected a header of {} bytes; record it again",
                             bytes.size_bytes(), sizeof(FileHeader)));
  }
  const auto header = bytes.load<FileHeader>(0);
  if (header.endian == kSwappedEndianMark) {
    refuse(name,
           "recorded on a machine of the other byte order; read it with a dtypecheck on such a "
           "machine");
  }
  if (header.endian != kEndianMark) {
    refuse(name,
           fmt::format(
               "byte order mark {:#010x}, expected {:#010x}; the file is damaged, record it again",
               header.endian, kEndianMark));
  }
  if (header.version != kTraceVersion) {
    refuse(name, fmt::format("version {}, this build reads {}; record it again", header.version,
                             kTraceVersion));
  }
  return header;
}

void check_header(const FileHeader& header, size_t size_bytes, Damage& damage) {
  if (header.used_bytes > size_bytes) {
    damage.note(fmt::format("cut short: {} of {} bytes are there", size_bytes, header.used_bytes));
  }
  if (size_bytes > kMaxFileBytes) {
    damage.note(fmt::format("{} bytes long, expected at most {}", size_bytes, kMaxFileBytes));
  }
  if (header.check != check_of(header) || (header.seal != 0 && header.seal != seal_of(header))) {
    damage.note("a header whose checksum is wrong");
  }
  if (header.header_bytes != kHeaderBytes) {
    damage.note(
        fmt::format("a header of {} bytes, expected {}", header.header_bytes, kHeaderBytes));
  }
  if (header.end_state > static_cast<uint32_t>(kLastEndState)) {
    damage.note(fmt::format("end state {}, expected at most {}", header.end_state,
                            static_cast<int>(kLastEndState)));
  }
  if (header.rank < -1) damage.note(fmt::format("rank {}, expected -1 or more", header.rank));
}

Process process_of(const FileHeader& header, const std::string& name) {
  Process process;
  process.file = name;
  process.host = text_of(header.host, sizeof(header.host));
  process.pid = header.pid;
  process.parent_pid = header.parent_pid;
  process.rank = std::max(header.rank, -1);
  process.libtorch = text_of(header.libtorch, sizeof(header.libtorch));
  process.python = text_of(header.python, sizeof(header.python));
  if (header.end_state <= static_cast<uint32_t>(kLastEndState)) {
    process.end = static_cast<EndState>(header.end_state);
  }
  process.started_unix_ns = std::max<int64_t>(header.start_unix_ns, 0);
  process.ended_unix_ns = std::max<int64_t>(header.end_unix_ns, 0);
  process.events = header.events;
  process.steps = header.steps;
  process.steps_traced = header.steps_traced;
  process.signatures_lost = header.signatures_lost;
  if (header.flags & kFlagKeepGoing) process.facts[fact_name(FactKey::kKeepGoing)] = "on";
  if (header.flags & kFlagFix) process.facts[fact_name(FactKey::kFix)] = "on";
  return process;
}

void put_fact(Process& process, std::string_view key, std::string_view value) {
  const std::string cell = fact_name(FactKey::kCell);
  if (key.starts_with(cell)) {
    // The first: a cell with a magic is also the call of the magic, under the same number.
    process.cells.emplace(key.substr(cell.size()), value);
  } else {
    process.facts[std::string(key)] = value;
  }
}

void take_facts(Process& process) {
  take_fact(process, FactKey::kArgv, process.command);
  take_fact(process, FactKey::kExecutable, process.executable);
  // A program that starts its ranks itself has none in its environment, or all the same.
  const PlaceInLaunch place = place_in_launch(process);
  if (place.rank >= 0 && !place.is_of_launcher) process.rank = place.rank;
}

}  // namespace dtypecheck::trace
