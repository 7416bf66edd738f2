// trace_tables.h: what the ids in a trace stand for: strings, sites and, by way of the mappings,
// addresses. An id that was never defined stands for nothing, and is noted as damage. Private to
// the reader.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/site.h"
#include "trace/reader.h"
#include "trace/records.h"

namespace dtypecheck::trace {

// Id to the place of the record that has it. An id is no larger than the records that fit into the
// file.
class IdTable {
 public:
  // False when the id cannot be, or is taken.
  bool add(uint32_t id, size_t offset, size_t largest_id);
  // 0 when there is none.
  size_t offset_of(uint32_t id) const { return id < offsets_.size() ? offsets_[id] : 0; }

 private:
  std::vector<size_t> offsets_;
};

class StringTable {
 public:
  StringTable(const TraceBytes& bytes, const TraceRecords& records, Damage& damage);
  // Empty for id 0. An id without a string is damage, reported as `what` it was for.
  std::string_view text(uint32_t id, const char* what);

 private:
  const TraceBytes& bytes_;
  IdTable ids_;
  Damage& damage_;
};

// The facts of a process, of a trace that is not merged.
void read_facts(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                Damage& damage, Process& process);

class SiteTable {
 public:
  SiteTable(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
            Damage& damage, Symbolizer* symbolizer);
  // Without a phase, which belongs to the op call. Empty for id 0.
  const Site& site(uint32_t id);
  const SourceLine& line(uint32_t id);

 private:
  Site read_site(size_t offset);
  SourceLine read_line(size_t offset);
  SourceLine read_address(const LineRecord& innermost);
  const SourceLine& resolve_once(uint64_t address);
  SourceLine resolve(uint64_t address);
  const MappingRecord* mapping_of(uint64_t address) const;

  const TraceBytes& bytes_;
  StringTable& strings_;
  Damage& damage_;
  Symbolizer* symbolizer_;
  IdTable site_ids_;
  IdTable line_ids_;
  std::map<uint64_t, MappingRecord> mappings_;  // by begin
  std::unordered_map<uint32_t, Site> sites_;
  std::unordered_map<uint32_t, SourceLine> lines_;
  std::unordered_map<uint64_t, SourceLine> addresses_;
};

}  // namespace dtypecheck::trace
