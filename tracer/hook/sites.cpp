// sites.cpp: a table from what the walk saw to the id of a site record; the record is written at
// first sight.
#include "tracer/hook/sites.h"

#include <mutex>
#include <vector>

#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/tracer.h"
#include "tracer/native/native_sites.h"

namespace dtypecheck::tracer {
namespace {

// Many modules are called from one line, so lines are shared.
uint32_t write_line(const python::Line& line) {
  const uint32_t file = intern(line.file), function = intern(line.function);
  const uint64_t extent = trace::pack_extent(line.column, line.end_column, line.more_lines);
  const uint64_t place = mix(mix(file + 1, function), static_cast<uint32_t>(line.line));
  const uint64_t key = mix(place, extent) | 1;
  if (const uint32_t known = tracer.lines.find(key)) return known;
  auto* record = tracer.file.reserve<trace::LineRecord>(trace::RecordKind::kLine);
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
  auto* record = tracer.file.reserve<trace::LineRecord>(trace::RecordKind::kLine);
  if (!record) return 0;
  record->file = record->function = 0;
  record->line = static_cast<int32_t>(caller);
  record->address = address;
  tracer.file.commit(record->header);
  return record->id;
}

struct SiteModules {
  std::mutex mutex;
  std::vector<uint32_t> of;  // site's id - 1
};
SiteModules* site_modules = new SiteModules;

void note_module(uint32_t id, uint32_t module) {
  const std::lock_guard<std::mutex> lock(site_modules->mutex);
  if (site_modules->of.size() < id) site_modules->of.resize(id);
  site_modules->of[id - 1] = module;
}

uint32_t write_record(uint32_t line, uint32_t inner, uint32_t module, uint32_t module_class,
                      uint32_t caller) {
  auto* record = tracer.file.reserve<trace::SiteRecord>(trace::RecordKind::kSite);
  if (!record) return 0;
  record->line = line;
  record->inner = inner;
  record->module = module;
  record->module_class = module_class;
  record->caller = caller;
  tracer.file.commit(record->header);
  if (tracer.options.health && module) note_module(record->id, module);
  return record->id;
}

KeyedTable<uint32_t, 1 << 10> mappings_written;

void write_mapping(uint64_t address) {
  native::Mapping mapping;
  if (!native::find_mapping(address, &mapping)) return;
  if (!mappings_written.insert(mapping.begin, 1)) return;
  auto* record = tracer.file.reserve<trace::MappingRecord>(trace::RecordKind::kMapping);
  if (!record) return;
  record->begin = mapping.begin;
  record->end = mapping.end;
  record->file_offset = mapping.file_offset;
  record->path = intern(mapping.path);
  record->reserved = 0;
  tracer.file.commit(record->header);
}

// Of the innermost frame of C++; 0 where none is the user's.
uint32_t write_addresses() {
  native::rescan();
  uint64_t addresses[native::kKeyFrames];
  uint32_t line = 0;
  for (int i = native::unwind(addresses, native::kKeyFrames); i-- > 0;) {
    write_mapping(addresses[i]);
    line = write_address(addresses[i], line);
  }
  return line;
}

uint32_t native_site() {
  const uint32_t line = write_addresses();
  return line ? write_record(line, line, 0, 0, 0) : 0;
}

bool same(const python::Line& a, const python::Line& b) {
  return a.line == b.line && a.file == b.file && a.function == b.function;
}

uint32_t write_python_site(const python::Site& site, uint32_t line, uint32_t inner,
                           uint32_t caller) {
  for (const python::Cell& cell : site.new_cells)
    write_fact(FactKey::kCell, cell.name, cell.source);
  const uint32_t id =
      write_record(line, inner, intern(site.module), intern(site.module_class), caller);
  if (id == 0) return 0;
  const uint32_t work = site.work == python::Work::kOptimizer ? kSiteInOptimizer
                        : site.work == python::Work::kClosure ? kSiteInClosure
                                                              : 0;
  return id | work | (site.module_class.empty() ? 0 : kSiteInModule);
}

// By a site's line and module and the caller of these.
KeyedTable<uint32_t, 1 << 14> called_from;

uint64_t caller_key(uint32_t site, uint32_t caller) { return mix(site_id(site) + 1, caller) | 1; }

// `native`: the line of an extension that Python called, or 0.
uint32_t write_site(const python::Site& site, uint32_t native) {
  const uint32_t line = write_line(site.line);
  if (native) return write_python_site(site, native, native, line);
  const uint32_t inner = same(site.line, site.inner) ? line : write_line(site.inner);
  const uint32_t caller = site.caller.line ? write_line(site.caller) : 0;
  const uint32_t written = write_python_site(site, line, inner, caller);
  if (written) called_from.insert(caller_key(written, caller), written);
  return written;
}

uint32_t python_site(const python::FrameWalk& walk, bool in_extension) {
  python::Site site;
  if (!python::resolve(walk, &site)) return 0;
  return write_site(site, in_extension ? write_addresses() : 0);
}

}  // namespace

uint32_t write_refusal_site(const python::Site& site) {
  native::look_for_extensions();
  const uint32_t native = native::has_extensions() ? write_addresses() : 0;
  if (native == 0) return write_site(site, 0);
  return write_python_site(site, write_line(site.line), native, 0);
}

uint32_t caller_here() {
  python::FrameWalk walk;
  python::Site site;
  const bool is_known = tracer.python && python::walk(&walk) && python::resolve(walk, &site);
  return is_known && site.caller.line ? write_line(site.caller) : 0;
}

uint32_t with_caller_of_now(uint32_t site) {
  python::FrameWalk walk;
  python::Site now;
  const bool is_known = tracer.python && site_id(site) != 0 && !native::has_extensions() &&
                        called_from.has_room() && python::walk(&walk) &&
                        python::resolve(walk, &now);
  if (!is_known) return site;
  const uint64_t key = caller_key(site, now.caller.line ? write_line(now.caller) : 0);
  if (const uint32_t known = called_from.find(key)) return known;
  const uint32_t written = write_site(now, 0);
  if (!written) return site;
  called_from.insert(key, written);
  return written;
}

uint32_t module_of_site(uint32_t id) {
  const std::lock_guard<std::mutex> lock(site_modules->mutex);
  return id == 0 || id > site_modules->of.size() ? 0 : site_modules->of[id - 1];
}

void forget_sites() {
  site_modules = new SiteModules;  // the old one may have been locked by a thread that is no more
  tracer.sites.clear();
  called_from.clear();
  tracer.lines.clear();
  mappings_written.clear();
}

namespace {

struct SiteScan {
  python::FrameWalk walk;
  bool in_python = false, in_extension = false;
  uint64_t key = 0;
};

inline void find_extension(SiteScan& place) {
  const uint64_t key = native::scan_key();
  place.in_extension = key != 0;
  if (key) place.key = mix(place.walk.key, key);
}

uint32_t site_of(ThreadState* state, SiteScan& place) {
  if (const uint32_t site = tracer.sites.find(place.key)) return site;
  if (!tracer.sites.has_room()) return 0;
  BusyScope busy(state);
  if (place.in_python && !native::has_extensions()) {
    native::look_for_extensions();
    if (native::has_extensions()) find_extension(place);
  }
  const uint32_t site =
      place.in_python ? python_site(place.walk, place.in_extension) : native_site();
  if (site) tracer.sites.insert(place.key, site);
  return site;
}

}  // namespace

uint32_t site_here(ThreadState* state, Expected* expected) {
  SiteScan place;
  place.in_python = tracer.python && python::walk(&place.walk);
  if (tracer.python && !place.in_python) return 0;  // LibTorch's own thread in a Python program
  place.key = place.in_python ? place.walk.key : native::scan_key();
  if (place.key == 0) return 0;
  if (place.in_python && native::has_extensions()) find_extension(place);
  const uint64_t key = place.key;
  if (expected && expected->site_key == key) return expected->site;
  const uint32_t site = site_of(state, place);
  if (expected && site) {
    expected->site_key = key;
    expected->site = site;
  }
  return site;
}

}  // namespace dtypecheck::tracer
