// trace_reader.cpp: the header of a trace and what it says of the process; records are for
// trace_records, trace_tables and trace_signatures. Files and folders are in trace_inputs.cpp.
#include "trace/reader.h"

#include <fmt/format.h>

#include <cstring>

#include <algorithm>
#include <new>

#include "platform/error.h"
#include "trace/signatures.h"
#include "trace/tables.h"
#include "trace/text_cursor.h"

namespace dtypecheck {
namespace trace {
namespace {

constexpr uint32_t kSwappedEndianMark = 0x04030201;

std::string text_of(const char* text, size_t room) {
  return std::string(text, std::find(text, text + room, '\0'));
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw InputError(fmt::format("{}: {}", name, why));
}

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
  return process;
}

// Facts that Process has members for move there.
void take_fact(Process& process, const char* key, std::string& to) {
  const auto fact = process.facts.find(key);
  if (fact == process.facts.end()) return;
  to = std::move(fact->second);
  process.facts.erase(fact);
}

void read_facts(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                Damage& damage, Process& process) {
  for (size_t offset : records.of(Kind::kFact)) {
    const auto record = bytes.load<FactRecord>(offset);
    const std::string_view key = strings.text(record.key, "a fact");
    if (key.empty()) {
      damage.leave_out(fmt::format("a fact without a name at byte {}", offset));
    } else if (key.starts_with(kCellFact)) {
      process.cells[std::string(key.substr(std::strlen(kCellFact)))] =
          strings.text(record.value, "a cell");
    } else {
      process.facts[std::string(key)] = strings.text(record.value, "a fact's value");
    }
  }
  take_fact(process, "argv", process.command);
  take_fact(process, "executable", process.executable);
}

void read(const TraceBytes& bytes, const std::string& name, Run& run, Symbolizer* symbolizer) {
  const FileHeader header = read_header(bytes, name);
  Damage damage;
  check_header(header, bytes.size_bytes(), damage);
  Process process = process_of(header, name);
  const TraceRecords records = find_records(bytes, kHeaderBytes, header.used_bytes, damage);
  StringTable strings(bytes, records, damage);
  SiteTable sites(bytes, records, strings, damage, symbolizer);
  read_facts(bytes, records, strings, damage, process);
  if (header.flags & kFlagKeepGoing) process.facts["keep-going"] = "on";
  const auto index = static_cast<uint32_t>(run.processes.size());
  const auto first_id = static_cast<OpCallId>(run.calls.size() + 1);
  SignatureReader signatures(bytes, records, strings, sites, header, process.end, damage);
  std::vector<OpCall> calls = signatures.read(first_id, index);
  process.damaged = damage.to_string();
  run.calls.insert(run.calls.end(), std::make_move_iterator(calls.begin()),
                   std::make_move_iterator(calls.end()));
  run.processes.push_back(std::move(process));
  run.processes.back().devices = run.device_types_of(index);
  run.values_checked = run.values_checked || (header.flags & kFlagValuesChecked);
}

}  // namespace
}  // namespace trace

void read_trace_bytes(const void* data, size_t size_bytes, const std::string& name, Run& run,
                      Symbolizer* symbolizer) {
  try {
    trace::read(trace::TraceBytes(data, size_bytes), name, run, symbolizer);
  } catch (const std::bad_alloc&) {
    throw InputError(fmt::format("{}: {} bytes need more memory than there is", name, size_bytes));
  }
}

}  // namespace dtypecheck
