// header.h: the header of a trace: whether it can be read at all, and what it says of its process.
// Private to those who read traces.
#pragma once

#include <string>
#include <string_view>

#include "core/run.h"
#include "trace/records.h"

namespace dtypecheck::trace {

// Throws InputError for bytes that are no trace, or one that this build cannot read.
FileHeader read_header(const TraceBytes& bytes, const std::string& name);
// What of it cannot be.
void check_header(const FileHeader& header, size_t size_bytes, Damage& damage);

// `file` is where it was read from.
Process process_of(const FileHeader& header, const std::string& file);
void put_fact(Process& process, std::string_view key, std::string_view value);
// Facts that Process has members for move there; to be called when all are put.
void take_facts(Process& process);

}  // namespace dtypecheck::trace
