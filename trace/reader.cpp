// trace_reader.cpp: what a trace says of its process, or of the many of a merged one; the header is
// for trace_header, records are for trace_records, trace_tables and trace_signatures. Files and
// folders are in trace_inputs.cpp.
#include "trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "platform/error.h"
#include "platform/text.h"
#include "trace/header.h"
#include "trace/signatures.h"
#include "trace/tables.h"

namespace dtypecheck {
namespace trace {

void read_facts(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                Damage& damage, Process& process) {
  for (size_t offset : records.offsets(RecordKind::kFact)) {
    const auto record = bytes.load<FactRecord>(offset);
    const std::string_view key = strings.text(record.key, "a fact");
    if (key.empty()) {
      damage.leave_out(fmt::format("a fact without a name at byte {}", offset));
    } else {
      put_fact(process, key, strings.text(record.value, "a fact's value"));
    }
  }
  take_facts(process);
}

namespace {

// The processes of a merged trace, with their facts.
std::vector<Process> read_processes(const TraceBytes& bytes, const TraceRecords& records,
                                    StringTable& strings, Damage& damage) {
  std::vector<Process> processes;
  for (size_t offset : records.offsets(RecordKind::kProcess)) {
    const auto record = bytes.load<ProcessRecord>(offset);
    FileHeader header;
    std::memcpy(&header, record.file_header, sizeof header);
    processes.push_back(
        process_of(header, std::string(strings.text(record.file, "a process' file"))));
    Process& process = processes.back();
    process.damaged = strings.text(record.damaged, "a process' damage");
    std::string_view devices = strings.text(record.devices, "a process' devices");
    while (!devices.empty()) process.devices.emplace_back(next_piece(devices, ','));
  }
  for (size_t offset : records.offsets(RecordKind::kProcessFact)) {
    const auto record = bytes.load<ProcessFactRecord>(offset);
    if (record.process >= processes.size()) {
      damage.leave_out(fmt::format("a fact of process {}, which is not there, at byte {}",
                                   record.process, offset));
      continue;
    }
    put_fact(processes[record.process], strings.text(record.key, "a fact"),
             strings.text(record.value, "a fact's value"));
  }
  for (Process& process : processes) take_facts(process);
  if (processes.empty()) processes.emplace_back().damaged = "no process is there";
  return processes;
}

void read(const TraceBytes& bytes, const std::string& name, Run& run, Symbolizer* symbolizer) {
  const FileHeader header = read_header(bytes, name);
  Damage damage;
  check_header(header, bytes.size_bytes(), damage);
  const TraceRecords records = find_records(bytes, header, damage);
  StringTable strings(bytes, records, damage);
  SiteTable sites(bytes, records, strings, damage, symbolizer);
  const bool is_merged = header.flags & kFlagMerged;
  std::vector<Process> processes;
  if (is_merged) {
    processes = read_processes(bytes, records, strings, damage);
  } else {
    processes.push_back(process_of(header, name));
    read_facts(bytes, records, strings, damage, processes.front());
  }
  const auto index = static_cast<uint32_t>(run.processes.size());
  const auto first_id = static_cast<OpCallId>(run.calls.size() + 1);
  const bool all_ended = std::ranges::all_of(
      processes, [](const Process& process) { return process.end != EndState::kRunning; });
  const EndState end = all_ended ? EndState::kExited : EndState::kRunning;
  SignatureReader signatures(bytes, records, strings, sites, header, end, damage);
  std::vector<OpCall> calls = signatures.read(first_id, index, is_merged ? processes.size() : 0);
  signatures.read_times(index, run);
  signatures.read_health(index, run);
  if (processes.front().damaged.empty()) processes.front().damaged = damage.to_string();
  run.calls.insert(run.calls.end(), std::make_move_iterator(calls.begin()),
                   std::make_move_iterator(calls.end()));
  run.processes.insert(run.processes.end(), std::make_move_iterator(processes.begin()),
                       std::make_move_iterator(processes.end()));
  if (!is_merged) run.processes.back().devices = run.device_types_of(index);
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
