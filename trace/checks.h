// checks.h: how long the records of a trace file are, and their checksums (format.h says where they
// stand), in one place for those who write and those who read.
//
// C++17, either C++ ABI, the C library alone.
#pragma once

#include "trace/format.h"

namespace dtypecheck::trace {

// Of a record of this kind, before what is counted in it.
size_t fixed_bytes(RecordKind kind);
// How long the record is by what it counts; its fixed part lies at `record`.
size_t bytes_by_counts(const char* record);

// A record begins at `record` and lies there as long as its size and its counts say; the bytes need
// not be aligned.
//
// RecordHeader::check: of all that never changes once the record is committed.
uint32_t check_of(const char* record);
// RecordHeader::seal: of what changes until the process ends. 0 for a record in which nothing does.
uint32_t seal_of(const char* record);

// FileHeader::check: of what stands there from the beginning.
uint32_t check_of(const FileHeader& header);
// FileHeader::seal: of the whole header, at the end. Never 0.
uint32_t seal_of(const FileHeader& header);

// What a process does with its records [from, to) when it ends: nobody counts in them any more, and
// what was not committed will never be.
void seal_records(char* from, char* to);

}  // namespace dtypecheck::trace
