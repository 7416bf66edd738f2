// sites.cpp: a table from what the walk saw to the id of a site record; the record is written at
// first sight.
#include "tracer/hook/sites.h"

#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/tracer.h"
#include "tracer/native/native_sites.h"

namespace dtypecheck {
namespace tracer {
namespace {

// Many modules are called from one line, so lines are shared.
uint32_t write_line(const python::Line& line) {
  const uint32_t file = intern(line.file), function = intern(line.function);
  const uint64_t extent = trace::pack_extent(line.column, line.end_column, line.more_lines);
  const uint64_t place = mix(mix(file + 1, function), static_cast<uint32_t>(line.line));
  const uint64_t key = mix(place, extent) | 1;
  if (const uint32_t known = tracer.lines.find(key)) return known;
  auto* record = tracer.file.reserve<trace::LineRecord>(trace::Kind::kLine);
  if (!record) return 0;
  record->file = file;
  record->function = function;
  record->line = line.line;
  record->address = extent;
  tracer.file.commit(record->header);
  tracer.lines.insert(key, record->id);
  return record->id;
}

uint32_t write_address(uint64_t address, uint32_t caller) {
  auto* record = tracer.file.reserve<trace::LineRecord>(trace::Kind::kLine);
  if (!record) return 0;
  record->file = record->function = 0;
  record->line = static_cast<int32_t>(caller);
  record->address = address;
  tracer.file.commit(record->header);
  return record->id;
}

uint32_t write_record(uint32_t line, uint32_t inner, uint32_t module, uint32_t module_class) {
  auto* record = tracer.file.reserve<trace::SiteRecord>(trace::Kind::kSite);
  if (!record) return 0;
  record->line = line;
  record->inner = inner;
  record->module = module;
  record->module_class = module_class;
  record->reserved = 0;
  tracer.file.commit(record->header);
  return record->id;
}

KeyedTable<uint32_t, 1 << 10> mappings_written;

void write_mapping(uint64_t address) {
  native::Mapping mapping;
  if (!native::find_mapping(address, &mapping)) return;
  if (!mappings_written.insert(mapping.begin, 1)) return;
  auto* record = tracer.file.reserve<trace::MappingRecord>(trace::Kind::kMapping);
  if (!record) return;
  record->begin = mapping.begin;
  record->end = mapping.end;
  record->file_offset = mapping.file_offset;
  record->path = intern(mapping.path);
  record->reserved = 0;
  tracer.file.commit(record->header);
}

uint32_t native_site() {
  native::rescan();
  uint64_t addresses[native::kKeyFrames];
  uint32_t line = 0;
  for (int i = native::unwind(addresses, native::kKeyFrames); i-- > 0;) {
    write_mapping(addresses[i]);
    line = write_address(addresses[i], line);
  }
  return line ? write_record(line, line, 0, 0) : 0;
}

uint32_t python_site(const python::Walk& walk) {
  python::Site site;
  return python::resolve(walk, &site) ? write_site(site) : 0;
}

bool same(const python::Line& a, const python::Line& b) {
  return a.line == b.line && a.file == b.file && a.function == b.function;
}

}  // namespace

uint32_t write_site(const python::Site& site) {
  for (const python::Cell& cell : site.new_cells)
    write_fact(FactKey::kCell, cell.name, cell.source);
  const uint32_t line = write_line(site.line);
  const uint32_t inner = same(site.line, site.inner) ? line : write_line(site.inner);
  const uint32_t id = write_record(line, inner, intern(site.module), intern(site.module_class));
  if (id == 0) return 0;
  const uint32_t work = site.work == python::Work::kOptimizer ? kSiteInOptimizer
                        : site.work == python::Work::kClosure ? kSiteInClosure
                                                              : 0;
  return id | work | (site.module_class.empty() ? 0 : kSiteInModule);
}

void forget_sites() {
  tracer.sites.clear();
  tracer.lines.clear();
  mappings_written.clear();
}

namespace {

uint32_t site_of(ThreadState* state, uint64_t key, const python::Walk* walk) {
  if (const uint32_t site = tracer.sites.find(key)) return site;
  if (!tracer.sites.has_room()) return 0;
  BusyScope busy(state);
  const uint32_t site = walk ? python_site(*walk) : native_site();
  if (site) tracer.sites.insert(key, site);
  return site;
}

}  // namespace

uint32_t site_here(ThreadState* state, Expected* expected) {
  python::Walk walk;
  const bool in_python = tracer.python && python::walk(&walk);
  if (tracer.python && !in_python) return 0;  // a thread of LibTorch's own in a Python program
  const uint64_t key = in_python ? walk.key : native::scan_key();
  if (key == 0) return 0;
  if (expected && expected->site_key == key) return expected->site;
  const uint32_t site = site_of(state, key, in_python ? &walk : nullptr);
  if (expected && site) {
    expected->site_key = key;
    expected->site = site;
  }
  return site;
}

}  // namespace tracer
}  // namespace dtypecheck
