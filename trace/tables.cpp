#include "trace/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

namespace dtypecheck::trace {
namespace {

constexpr std::string_view kLibraryNamespaces[] = {
    "at::", "c10::", "torch::", "std::", "pybind11::"};

// Fills a table with the records of one kind; those with an id that cannot be are left out.
template <typename Record>
void add_ids(const TraceBytes& bytes, const TraceRecords& records, RecordKind kind,
             const char* what, IdTable& ids, Damage& damage) {
  const size_t largest_id = bytes.size_bytes() / sizeof(Record);
  for (size_t offset : records.offsets(kind)) {
    const uint32_t id = bytes.load<Record>(offset).id;
    if (ids.add(id, offset, largest_id)) continue;
    const char* why = ids.offset_of(id) == 0 ? "is impossible" : "appears twice";
    damage.leave_out(fmt::format("{} id {} {} at byte {}", what, id, why, offset));
  }
}

}  // namespace

bool IdTable::add(uint32_t id, size_t offset, size_t largest_id) {
  if (id == 0 || id > largest_id || offset_of(id) != 0) return false;
  if (id >= offsets_.size()) offsets_.resize(size_t{id} + 1);
  offsets_[id] = offset;
  return true;
}

StringTable::StringTable(const TraceBytes& bytes, const TraceRecords& records, Damage& damage)
    : bytes_(bytes), damage_(damage) {
  add_ids<StringRecord>(bytes, records, RecordKind::kString, "string", ids_, damage);
}

std::string_view StringTable::text(uint32_t id, const char* what) {
  if (id == 0) return {};
  const size_t offset = ids_.offset_of(id);
  if (offset == 0) {
    damage_.note(fmt::format("the string {} of {} is not there", id, what));
    return {};
  }
  const uint32_t length = bytes_.load<StringRecord>(offset).length_bytes;
  if (length > kMaxStringBytes)
    damage_.note(fmt::format("the string {} is {} bytes long", id, length));
  return bytes_.text(offset + sizeof(StringRecord), std::min(length, kMaxStringBytes));
}

SiteTable::SiteTable(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
                     Damage& damage, Symbolizer* symbolizer)
    : bytes_(bytes), strings_(strings), damage_(damage), symbolizer_(symbolizer) {
  add_ids<SiteRecord>(bytes, records, RecordKind::kSite, "site", site_ids_, damage);
  add_ids<LineRecord>(bytes, records, RecordKind::kLine, "line", line_ids_, damage);
  for (size_t offset : records.offsets(RecordKind::kMapping)) {
    const auto mapping = bytes.load<MappingRecord>(offset);
    if (mapping.begin < mapping.end) {
      mappings_[mapping.begin] = mapping;  // the later one wins: libraries come and go
    } else {
      damage.leave_out(fmt::format("a mapping that ends before it begins at byte {}", offset));
    }
  }
}

const Site& SiteTable::site(uint32_t id) {
  const auto [place, is_new] = sites_.try_emplace(id);
  if (!is_new || id == 0) return place->second;
  const size_t offset = site_ids_.offset_of(id);
  if (offset == 0) {
    damage_.note(fmt::format("the site {} of an op call is not there", id));
  } else {
    place->second = read_site(offset);
  }
  return place->second;
}

Site SiteTable::read_site(size_t offset) {
  const auto record = bytes_.load<SiteRecord>(offset);
  Site site;
  site.line = line(record.line);
  site.inner = line(record.inner);
  site.caller = line(record.caller);
  if (site.caller.known() && !site.line.known()) site.line = std::exchange(site.caller, {});
  site.module = strings_.text(record.module, "a module");
  site.module_class = strings_.text(record.module_class, "a module's class");
  return site;
}

const SourceLine& SiteTable::line(uint32_t id) {
  const auto [place, is_new] = lines_.try_emplace(id);
  if (!is_new || id == 0) return place->second;
  const size_t offset = line_ids_.offset_of(id);
  if (offset == 0) {
    damage_.note(fmt::format("the line {} of a site is not there", id));
  } else {
    place->second = read_line(offset);
  }
  return place->second;
}

// What pack_extent() made. A column that no extent has makes it unknown.
static Extent unpack_extent(uint64_t packed, int line) {
  const auto part = [&](int shift) { return static_cast<int>(packed >> shift & 0xffff); };
  if (part(0) == 0 || part(16) == 0) return {};
  return {part(0), line > INT_MAX - part(32) ? line : line + part(32), part(16)};
}

SourceLine SiteTable::read_line(size_t offset) {
  const auto record = bytes_.load<LineRecord>(offset);
  if (record.file == 0 && record.address != 0) return read_address(record);
  SourceLine line;
  line.file = strings_.text(record.file, "a source file");
  line.function = strings_.text(record.function, "a function");
  line.line = std::max(record.line, 0);
  line.extent = unpack_extent(record.address, line.line);
  return line;
}

// "plugin.so: at::zeros+0x1a2": of a header of LibTorch or the C++ library, compiled into the
// plugin.
static bool is_function_of_library(std::string_view text) {
  const size_t colon = text.find(": ");
  if (colon == text.npos) return false;
  const std::string_view name = text.substr(colon + 2);
  return std::any_of(std::begin(kLibraryNamespaces), std::end(kLibraryNamespaces),
                     [&](std::string_view space) { return name.starts_with(space); });
}

// The first address from the innermost on that has a line; when none has, what is known of the
// first that is not a library's.
SourceLine SiteTable::read_address(const LineRecord& innermost) {
  constexpr int kMaxCallers = 16;
  LineRecord record = innermost;
  uint64_t of_user = 0;
  for (int i = 0; i < kMaxCallers && record.address != 0; ++i) {
    const SourceLine& line = resolve_once(record.address);
    if (line.known()) return line;
    if (of_user == 0 && !is_function_of_library(line.function)) of_user = record.address;
    const uint32_t caller = static_cast<uint32_t>(std::max(record.line, 0));
    const size_t offset = caller < record.id ? line_ids_.offset_of(caller) : 0;
    if (offset == 0) break;
    record = bytes_.load<LineRecord>(offset);
  }
  return resolve_once(of_user ? of_user : innermost.address);
}

const SourceLine& SiteTable::resolve_once(uint64_t address) {
  const auto [place, is_new] = addresses_.try_emplace(address);
  if (is_new) place->second = resolve(address);
  return place->second;
}

SourceLine SiteTable::resolve(uint64_t address) {
  const MappingRecord* mapping = mapping_of(address);
  if (mapping == nullptr) return {"", 0, fmt::format("{:#x}", address)};
  const std::string path(strings_.text(mapping->path, "a mapping"));
  if (symbolizer_ != nullptr) {
    return symbolizer_->resolve(path, mapping->begin, mapping->file_offset, address);
  }
  const uint64_t offset = address - mapping->begin + mapping->file_offset;
  return {"", 0, fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), offset)};
}

const MappingRecord* SiteTable::mapping_of(uint64_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  const MappingRecord& last = std::prev(after)->second;
  return address < last.end ? &last : nullptr;
}

}  // namespace dtypecheck::trace
