#include "trace/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "platform/error.h"
#include "trace/checks.h"
#include "trace/header.h"
#include "trace/tables.h"

namespace dtypecheck {
namespace trace {
namespace {

constexpr size_t kMaxThrows = 16;  // of one op call with different messages
// Neighbouring processes that differ in their counts alone are distinguished up to here.
constexpr size_t kMaxRanges = 64;
constexpr uint32_t kLargestDeviceId = UINT16_MAX;  // OperandRecord::device

// Step of a hash of words; both arguments are stirred into all bits.
uint64_t stirred(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

uint64_t hash_of(const std::vector<uint32_t>& words) {
  uint64_t hash = words.size();
  size_t i = 0;
  for (; i + 1 < words.size(); i += 2)
    hash = stirred(hash, words[i] | uint64_t{words[i + 1]} << 32);
  return i < words.size() ? stirred(hash, words[i]) : hash;
}

struct Makers {
  uint32_t first, last;
  uint64_t least, most;
};

// Processes come in their order, so that only the last range can grow.
void add_makers(std::vector<Makers>& all, const Makers& more) {
  if (all.empty()) return all.push_back(more);
  Makers& back = all.back();
  if (more.first <= back.last) {  // the same process once more: two op calls that are one here
    if (back.first < back.last) {
      const Makers own{back.last, back.last, back.least, back.most};
      --back.last;
      all.push_back(own);
    }
    all.back().least += more.least;
    all.back().most += more.most;
    return;
  }
  const bool touches = back.last + 1 == more.first;
  const bool alike = back.least == more.least && back.most == more.most;
  if (!touches || (!alike && all.size() < kMaxRanges)) return all.push_back(more);
  back.last = more.last;
  back.least = std::min(back.least, more.least);
  back.most = std::max(back.most, more.most);
}

struct MergedSignature {
  SignatureRecord record;
  size_t tail_at = 0;  // of its operands, scalars and results, in the arena
  size_t tail_bytes = 0;
  size_t key_at = 0;
  uint32_t key_words = 0;
  std::vector<Makers> makers;
  uint32_t group = 0;  // string
};

// What is noted of signatures after they were written, by signature: all records that name one, but
// for what a merged trace does without (times, health) and what is a part of the signature.
template <typename Record, typename... Others>
constexpr bool is_one_of = (std::is_same_v<Record, Others> || ...);
template <typename Record>
constexpr bool is_note = requires(Record record) {
  record.signature;
} && !is_one_of<Record, OpTimeRecord, GpuTimeRecord, HealthRowRecord, GroupRecord, MadeByRecord>;

template <typename Record>
using NotesOf = std::unordered_map<uint32_t, std::vector<Record>>;
#define RECORD(kind, type) NotesOf<type>,
using Notes = std::tuple<DTYPECHECK_RECORDS(RECORD) uint32_t>;
#undef RECORD

template <typename NotesOrConst, typename Visit>
void for_each_note(NotesOrConst& notes, const Visit& visit) {
#define RECORD(kind, type) \
  if constexpr (is_note<type>) visit(std::get<NotesOf<type>>(notes), RecordKind::kind);
  DTYPECHECK_RECORDS(RECORD)
#undef RECORD
}

// Adds a note to those of its kind. One that needs no care stays as it is.
template <typename Record>
void add_note(std::vector<Record>& all, const Record& more) {
  all.push_back(more);
}

void add_note(std::vector<ThrowRecord>& all, const ThrowRecord& more) {
  const bool is_known = std::ranges::any_of(all, [&](const ThrowRecord& known) {
    return known.message == more.message && known.type == more.type;
  });
  if (!is_known && all.size() < kMaxThrows) all.push_back(more);
}

void add_note(std::vector<InexactRecord>& all, const InexactRecord& more) {
  if (all.empty()) return all.push_back(more);
  if (all.front().arrival == static_cast<uint32_t>(Arrival::kProduct)) all.front() = more;
}

// One of each kind, the earliest.
void add_note(std::vector<NonFiniteRecord>& all, const NonFiniteRecord& more) {
  constexpr uint32_t kKind =
      kNonFiniteIsNan | kNonFiniteIsLoss | kNonFiniteIsRead | kNonFiniteIsAnswer;
  for (NonFiniteRecord& known : all) {
    if ((known.flags & kKind) != (more.flags & kKind)) continue;
    if (more.step < known.step) known = more;
    return;
  }
  all.push_back(more);
}

void add_note(std::vector<GpuWorkRecord>& all, const GpuWorkRecord& more) {
  for (GpuWorkRecord& known : all) {
    if (known.kind != more.kind || known.name != more.name) continue;
    known.count += more.count;
    known.time_ns += more.time_ns;
    known.bytes += more.bytes;
    return;
  }
  all.push_back(more);
}

// Texts, lines and sites of all traces, each once; ids count from 1.
class Names {
 public:
  Names() {
    // The ids of devices have room for small numbers alone.
    for (const char* device : {"cpu", "cuda", "meta", "mps", "xpu", "hip", "xla", "hpu", "npu"})
      string(device);
  }

  uint32_t string(std::string_view text) {
    if (text.empty()) return 0;
    const auto known = strings_.find(text);
    if (known != strings_.end()) return known->second;
    texts_.emplace_back(text);
    const auto id = static_cast<uint32_t>(texts_.size());
    strings_.emplace(texts_.back(), id);
    return id;
  }

  uint32_t site(const Site& site) {
    const SiteKey key{line(site.line), line(site.inner), string(site.module),
                      string(site.module_class), line(site.caller)};
    return sites_.emplace(key, static_cast<uint32_t>(sites_.size() + 1)).first->second;
  }

  uint32_t line(const SourceLine& line) {
    if (line == SourceLine{}) return 0;
    const Extent& extent = line.extent;
    const uint64_t packed =
        line.known() && extent.known()
            ? pack_extent(extent.column, extent.end_column, extent.end_line - line.line)
            : 0;
    const LineKey key{string(line.file), string(line.function), line.line, packed};
    return lines_.emplace(key, static_cast<uint32_t>(lines_.size() + 1)).first->second;
  }

  const std::deque<std::string>& texts() const { return texts_; }

  template <typename Write>
  void write_lines(const Write& write) const {
    for (const auto& [id, key] : by_id(lines_)) {
      LineRecord record{};
      record.id = id;
      std::tie(record.file, record.function, record.line, record.address) = key;
      write(record, RecordKind::kLine);
    }
  }

  template <typename Write>
  void write_sites(const Write& write) const {
    for (const auto& [id, key] : by_id(sites_)) {
      SiteRecord record{};
      record.id = id;
      std::tie(record.line, record.inner, record.module, record.module_class, record.caller) = key;
      write(record, RecordKind::kSite);
    }
  }

 private:
  using LineKey = std::tuple<uint32_t, uint32_t, int32_t, uint64_t>;             // as in LineRecord
  using SiteKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;  // as in SiteRecord

  template <typename Key>
  static std::map<uint32_t, Key> by_id(const std::map<Key, uint32_t>& ids) {
    std::map<uint32_t, Key> turned;
    for (const auto& [key, id] : ids) turned.emplace(id, key);
    return turned;
  }

  std::deque<std::string> texts_;  // by id, which do not move
  std::unordered_map<std::string_view, uint32_t> strings_;
  std::map<LineKey, uint32_t> lines_;
  std::map<SiteKey, uint32_t> sites_;
};

struct MergedProcess {
  FileHeader header{};
  uint32_t file = 0, damaged = 0, devices = 0;
  std::map<uint32_t, uint32_t> facts;  // strings
};

// Who a process is. Machines may have one name and count processes alike, but then not start them
// in the same nanosecond.
using Identity = std::tuple<std::string, int64_t, int64_t>;

Identity identity_of(const FileHeader& header) {
  const char* end = std::find(header.host, header.host + sizeof header.host, '\0');
  return {std::string(header.host, end), header.pid, header.start_unix_ns};
}

// A record as bytes, its header filled in.
template <typename Record>
void append(std::string& out, Record record, RecordKind kind, std::string_view behind = {}) {
  const size_t size = (sizeof record + behind.size() + 7) / 8 * 8;
  record.header = {static_cast<uint32_t>(size), static_cast<uint16_t>(kind), kCommitted, 0, 0};
  const size_t at = out.size();
  out.resize(at + size, '\0');
  std::memcpy(out.data() + at, &record, sizeof record);
  if (!behind.empty()) std::memcpy(out.data() + at + sizeof record, behind.data(), behind.size());
  const uint32_t checks[] = {check_of(out.data() + at), seal_of(out.data() + at)};
  std::memcpy(out.data() + at + offsetof(RecordHeader, check), checks, sizeof checks);
}

uint64_t count_records(const std::string& bytes) {
  uint64_t records = 0;
  for (size_t at = kHeaderBytes; at < bytes.size(); ++records) {
    uint32_t size_bytes;
    std::memcpy(&size_bytes, bytes.data() + at, sizeof size_bytes);
    at += size_bytes;
  }
  return records;
}

}  // namespace
}  // namespace trace

using namespace trace;

class TraceMerger::State {
 public:
  explicit State(Symbolizer* symbolizer) : symbolizer_(symbolizer) {}

  class Input;

  std::string bytes() const;
  void write_signature(uint32_t id, const MergedSignature& signature, std::string& out) const;

  Symbolizer* symbolizer_;
  Names names_;
  std::vector<MergedProcess> processes_;
  std::set<Identity> identities_;
  std::vector<std::string> seen_twice_;
  std::vector<MergedSignature> signatures_;  // by id - 1
  Notes notes_;
  std::unordered_multimap<uint64_t, uint32_t> by_key_;
  std::vector<uint32_t> keys_;
  std::string tails_;
  std::vector<uint32_t> autocast_sites_;
  uint32_t flags_ = 0;
};

// One trace while it is added. Its ids are its own: they become those of the merged one here.
class TraceMerger::State::Input {
 public:
  Input(State& all, std::string_view text, const std::string& name)
      : all_(all),
        name_(name),
        bytes_(text.data(), text.size()),
        header_(read_header(bytes_, name)),
        records_(checked_records()),
        strings_(bytes_, records_, damage_),
        sites_(bytes_, records_, strings_, damage_, all.symbolizer_),
        first_process_(static_cast<uint32_t>(all.processes_.size())) {}

  void add() {
    if (!add_processes()) return all_.seen_twice_.push_back(name_);
    all_.flags_ |= header_.flags;
    const auto before = static_cast<uint32_t>(all_.signatures_.size());
    for (size_t offset : records_.offsets(RecordKind::kGroup)) {
      const auto record = bytes_.load<GroupRecord>(offset);
      groups_[record.signature] = string(record.ranks);
    }
    for (size_t offset : records_.offsets(RecordKind::kSignature)) add_signature(offset);
    for (size_t i = before; i < all_.signatures_.size(); ++i) translate_origins(i);
    if (is_merged()) add_makers_of_merged();
    add_notes();
    add_facts();
    finish_processes();
  }

 private:
  bool is_merged() const { return header_.flags & kFlagMerged; }

  TraceRecords checked_records() {
    check_header(header_, bytes_.size_bytes(), damage_);
    return find_records(bytes_, header_, damage_);
  }

  // False where they are all there already.
  bool add_processes() {
    std::vector<MergedProcess> more;
    if (is_merged()) {
      for (size_t offset : records_.offsets(RecordKind::kProcess)) {
        const auto record = bytes_.load<ProcessRecord>(offset);
        MergedProcess& process = more.emplace_back();
        std::memcpy(&process.header, record.file_header, sizeof process.header);
        process.file = string(record.file);
        process.damaged = string(record.damaged);
        process.devices = string(record.devices);
      }
    } else {
      more.push_back({.header = header_, .file = all_.names_.string(name_)});
    }
    size_t known = 0;
    for (const MergedProcess& process : more)
      known += all_.identities_.contains(identity_of(process.header));
    if (known == more.size()) return false;
    if (known > 0) {
      throw InputError(
          fmt::format("{}: {} of its {} processes are in another trace that is named; name the "
                      "others alone",
                      name_, known, more.size()));
    }
    for (MergedProcess& process : more) {
      if (process.header.pid != 0) all_.identities_.insert(identity_of(process.header));
      all_.processes_.push_back(std::move(process));
    }
    return true;
  }

  uint32_t string(uint32_t id) {
    if (id == 0) return 0;
    if (id >= string_ids_.size()) string_ids_.resize(id < kMaxIds ? id + id / 2 + 64 : kMaxIds);
    if (id >= string_ids_.size()) return 0;
    uint32_t& known = string_ids_[id];
    if (known == 0) known = all_.names_.string(strings_.text(id, "an op call"));
    return known;
  }

  uint32_t site(uint32_t id) {
    if (id == 0) return 0;
    const auto [place, is_new] = site_ids_.try_emplace(id, 0);
    if (is_new) place->second = all_.names_.site(sites_.site(id));
    return place->second;
  }

  uint32_t device(uint32_t id) {
    const uint32_t known = string(id);
    return known <= kLargestDeviceId ? known : 0;
  }

  uint32_t merged(uint32_t signature) const {
    return signature < signature_ids_.size() ? signature_ids_[signature] : 0;
  }

  void add_operand_key(const OperandRecord& operand) {
    constexpr uint8_t kKeyFlags =
        kOperandRequiresGrad | kOperandIsLeaf | kOperandIsWritten | kOperandIsWrappedNumber;
    const uint32_t device_id = device(operand.device);
    if (device_id != 0 && device_id != last_device_) {
      devices_.insert(device_id);
      last_device_ = device_id;
    }
    key_.push_back(string(operand.name));
    key_.push_back(operand.dtype | uint32_t{operand.kind} << 8 | uint32_t{operand.role} << 16 |
                   uint32_t{static_cast<uint8_t>(operand.flags & kKeyFlags)} << 24);
    key_.push_back(device_id | uint32_t{static_cast<uint16_t>(operand.list_index)} << 16);
  }

  uint32_t group_of(uint32_t signature) const {
    const auto known = groups_.find(signature);
    return known == groups_.end() ? 0 : known->second;
  }

  static uint32_t dtype_word(double value) {
    constexpr uint32_t kDtype = 1u << 31, kNone = 255;
    return kDtype | (value >= 0 && value < kNone ? static_cast<uint32_t>(value) : kNone);
  }

  void make_key(size_t offset, const SignatureRecord& record) {
    key_.clear();
    constexpr uint32_t kKeyFlags =
        kSignatureRepaired | kSignatureServed | kSignatureInCompiled | kSignatureCast;
    const uint32_t low_autocast = record.autocast & ((1u << kAutocastSiteShift) - 1);
    for (const uint32_t word :
         {string(record.op), string(record.overload), site(record.site), merged(record.parent),
          record.phase | low_autocast << 8 | uint32_t{record.autocast_cpu} << 16 |
              uint32_t{record.autocast_cuda} << 24,
          record.operand_count | uint32_t{record.scalar_count} << 16, record.flags & kKeyFlags,
          group_of(record.id)}) {
      key_.push_back(word);
    }
    for (size_t i = 0; i < record.operand_count; ++i)
      add_operand_key(bytes_.load<OperandRecord>(operand_offset(offset, i)));
    for (size_t i = 0; i < record.scalar_count; ++i) {
      const auto scalar = bytes_.load<ScalarRecord>(scalar_offset(offset, record, i));
      key_.push_back(string(scalar.name));
      if (scalar.is_dtype != 0) key_.push_back(dtype_word(scalar.value));
    }
    for (size_t i = 0; i < record.result_count; ++i) {
      const uint32_t id =
          device(bytes_.load<OperandRecord>(result_offset(offset, record, i)).device);
      if (id != 0 && id != last_device_) devices_.insert(id);
    }
  }

  // 0 where there is none.
  uint32_t find(uint64_t hash) const {
    const auto [begin, end] = all_.by_key_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      const MergedSignature& signature = all_.signatures_[known->second - 1];
      if (std::equal(key_.begin(), key_.end(), all_.keys_.begin() + signature.key_at,
                     all_.keys_.begin() + signature.key_at + signature.key_words)) {
        return known->second;
      }
    }
    return 0;
  }

  void add_signature(size_t offset) {
    auto record = bytes_.load<SignatureRecord>(offset);
    if (record.id == 0 || record.id > bytes_.size_bytes() / sizeof record ||
        record.result_count > record.result_room) {
      damage_.leave_out(fmt::format("an impossible op call at byte {}", offset));
      return;
    }
    if (record.id >= signature_ids_.size()) signature_ids_.resize(record.id + record.id / 2 + 64);
    if (signature_ids_[record.id] != 0) {
      damage_.leave_out(fmt::format("op call id {} appears twice at byte {}", record.id, offset));
      return;
    }
    record.count = std::max<uint64_t>(record.count, 1);
    make_key(offset, record);
    const uint64_t hash = hash_of(key_);
    uint32_t id = find(hash);
    if (id == 0) {
      id = add_new(offset, record, hash);
    } else {
      add_to(all_.signatures_[id - 1], offset, record);
    }
    signature_ids_[record.id] = id;
    if (!is_merged()) {
      add_makers(all_.signatures_[id - 1].makers,
                 {first_process_, first_process_, record.count, record.count});
    }
  }

  void add_to(MergedSignature& known, size_t offset, const SignatureRecord& record) {
    known.record.count += record.count;
    known.record.throws += record.throws;
    known.record.first_step = std::min(known.record.first_step, record.first_step);
    known.record.last_step = std::max(known.record.last_step, record.last_step);
    known.record.flags |= record.flags;
    if (record.flags & kSignatureCast) add_cast_counters(known, offset, record);
    // It threw in every process before this one, or was cut off in it.
    const bool brings_results = known.record.result_count == 0 && record.result_count > 0 &&
                                known.record.result_room == record.result_room;
    if (!brings_results) return;
    const size_t at = result_offset(0, record, 0) - sizeof record;
    known.record.result_count = record.result_count;
    for (size_t i = 0; i < record.result_count; ++i)
      store_operand(known.tail_at + at + i * sizeof(OperandRecord),
                    bytes_.load<OperandRecord>(result_offset(offset, record, i)),
                    /*keeps_origin=*/false);
  }

  // They end the record of both, since the key tells whether there are any.
  void add_cast_counters(const MergedSignature& known, size_t offset,
                         const SignatureRecord& record) {
    char* at = all_.tails_.data() + known.tail_at + known.tail_bytes - sizeof(CastCounters);
    const size_t end = offset + record.header.size_bytes;
    const auto more = bytes_.load<CastCounters>(end - sizeof(CastCounters));
    CastCounters sum;
    std::memcpy(&sum, at, sizeof sum);
    sum.elements += more.elements;
    sum.timed += more.timed;
    sum.time_ns += more.time_ns;
    sum.looked += more.looked;
    sum.clipped += more.clipped;
    sum.flushed += more.flushed;
    std::memcpy(at, &sum, sizeof sum);
  }

  uint32_t add_new(size_t offset, SignatureRecord record, uint64_t hash) {
    MergedSignature& signature = all_.signatures_.emplace_back();
    const auto id = static_cast<uint32_t>(all_.signatures_.size());
    signature.key_at = all_.keys_.size();
    signature.key_words = static_cast<uint32_t>(key_.size());
    all_.keys_.insert(all_.keys_.end(), key_.begin(), key_.end());
    all_.by_key_.emplace(hash, id);
    signature.group = group_of(record.id);
    signature.tail_at = all_.tails_.size();
    signature.tail_bytes = record.header.size_bytes - sizeof record;
    all_.tails_ += bytes_.text(offset + sizeof record, signature.tail_bytes);
    const auto operands = [&](size_t at, size_t count) {
      for (size_t i = 0; i < count; ++i)
        store_operand(signature.tail_at + at - sizeof record + i * sizeof(OperandRecord),
                      bytes_.load<OperandRecord>(offset + at + i * sizeof(OperandRecord)),
                      /*keeps_origin=*/true);
    };
    operands(operand_offset(0, 0), record.operand_count);
    operands(result_offset(0, record, 0), record.result_count);
    for (size_t i = 0; i < record.scalar_count; ++i) {
      auto scalar = bytes_.load<ScalarRecord>(scalar_offset(offset, record, i));
      scalar.name = string(scalar.name);
      const size_t at = scalar_offset(0, record, i) - sizeof record;
      std::memcpy(all_.tails_.data() + signature.tail_at + at, &scalar, sizeof scalar);
    }
    record.id = id;
    record.op = string(record.op);
    record.overload = string(record.overload);
    record.site = site(record.site);
    record.parent = merged(record.parent);
    record.follows = merged(record.follows);
    record.autocast = static_cast<uint8_t>((record.autocast & ((1u << kAutocastSiteShift) - 1)) |
                                           autocast_site(record.autocast >> kAutocastSiteShift)
                                               << kAutocastSiteShift);
    signature.record = record;
    return id;
  }

  // The number of the region's site in the merged trace; 0 where that has no room.
  uint32_t autocast_site(uint32_t region) {
    if (region == 0 || region > kMaxAutocastSites) return 0;
    const uint32_t id = site(header_.autocast_sites[region - 1]);
    auto& all = all_.autocast_sites_;
    const auto known = std::find(all.begin(), all.end(), id);
    if (known != all.end()) return static_cast<uint32_t>(known - all.begin() + 1);
    if (id == 0 || all.size() == kMaxAutocastSites) return 0;
    all.push_back(id);
    return static_cast<uint32_t>(all.size());
  }

  // Origins are ids of this trace still; translate_origins() comes when all of them are known.
  void store_operand(size_t at, OperandRecord operand, bool keeps_origin) {
    operand.name = string(operand.name);
    operand.parameter = string(operand.parameter);
    operand.device = static_cast<uint16_t>(device(operand.device));
    if (!keeps_origin) operand.origin = merged(operand.origin);
    std::memcpy(all_.tails_.data() + at, &operand, sizeof operand);
  }

  void translate_origins(size_t index) {
    const MergedSignature& signature = all_.signatures_[index];
    const SignatureRecord& record = signature.record;
    const auto translate = [&](size_t at, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        char* origin = all_.tails_.data() + signature.tail_at + at - sizeof record +
                       i * sizeof(OperandRecord) + offsetof(OperandRecord, origin);
        uint32_t id;
        std::memcpy(&id, origin, sizeof id);
        id = merged(id);
        std::memcpy(origin, &id, sizeof id);
      }
    };
    translate(operand_offset(0, 0), record.operand_count);
    translate(result_offset(0, record, 0), record.result_count);
  }

  void add_makers_of_merged() {
    const uint64_t here = all_.processes_.size() - first_process_;
    for (size_t offset : records_.offsets(RecordKind::kMadeBy)) {
      const auto record = bytes_.load<MadeByRecord>(offset);
      const uint32_t id = merged(record.signature);
      if (id == 0 || record.first > record.last || record.last >= here) {
        damage_.leave_out(fmt::format("makers of an op call that is not there at byte {}", offset));
        continue;
      }
      auto& makers = all_.signatures_[id - 1].makers;
      if (!makers.empty() && first_process_ + record.first < makers.back().last) continue;
      add_makers(makers, {first_process_ + record.first, first_process_ + record.last, record.least,
                          record.most});
    }
  }

  void add_notes() {
    for_each_note(all_.notes_, [&]<typename Record>(NotesOf<Record>& notes, RecordKind kind) {
      for (size_t offset : records_.offsets(kind)) {
        auto record = bytes_.load<Record>(offset);
        record.signature = merged(record.signature);
        if (record.signature == 0) continue;
        translate(record);
        add_note(notes[record.signature], record);
      }
    });
  }

  // The ids of a note beside its signature's.
  template <typename Record>
  void translate(Record&) {}
  void translate(ThrowRecord& record) {
    record.message = string(record.message);
    record.type = string(record.type);
    if (record.caller != 0) record.caller = all_.names_.line(sites_.line(record.caller));
  }
  void translate(InexactRecord& record) {
    record.arrived_at = merged(record.arrived_at);
    record.rounded_at = merged(record.rounded_at);
  }
  void translate(GpuWorkRecord& record) { record.name = string(record.name); }

  void add_facts() {
    for (size_t offset : records_.offsets(RecordKind::kFact)) {
      const auto record = bytes_.load<FactRecord>(offset);
      all_.processes_[first_process_].facts[string(record.key)] = string(record.value);
    }
    const size_t here = all_.processes_.size() - first_process_;
    for (size_t offset : records_.offsets(RecordKind::kProcessFact)) {
      const auto record = bytes_.load<ProcessFactRecord>(offset);
      if (!is_merged() || record.process >= here) continue;
      all_.processes_[first_process_ + record.process].facts[string(record.key)] =
          string(record.value);
    }
  }

  void finish_processes() {
    MergedProcess& first = all_.processes_[first_process_];
    if (first.damaged == 0) first.damaged = all_.names_.string(damage_.to_string());
    if (is_merged()) return;
    std::set<std::string> names;
    for (const uint32_t id : devices_) names.insert(all_.names_.texts()[id - 1]);
    first.devices = all_.names_.string(fmt::format("{}", fmt::join(names, ",")));
  }

  static constexpr uint32_t kMaxIds = kMaxFileBytes / sizeof(StringRecord);

  State& all_;
  const std::string& name_;
  TraceBytes bytes_;
  Damage damage_;
  FileHeader header_;
  TraceRecords records_;
  StringTable strings_;
  SiteTable sites_;
  uint32_t first_process_;
  std::vector<uint32_t> string_ids_, signature_ids_;  // of this trace to those of the merged
  std::unordered_map<uint32_t, uint32_t> site_ids_;
  std::unordered_map<uint32_t, uint32_t> groups_;  // signature, of this trace, to a string
  std::vector<uint32_t> key_;
  std::set<uint32_t> devices_;
  uint32_t last_device_ = 0;
};

void TraceMerger::State::write_signature(uint32_t id, const MergedSignature& signature,
                                         std::string& out) const {
  append(out, signature.record, RecordKind::kSignature,
         std::string_view(tails_).substr(signature.tail_at, signature.tail_bytes));
  if (signature.group != 0) append(out, GroupRecord{{}, id, signature.group}, RecordKind::kGroup);
  for_each_note(notes_, [&](const auto& notes, RecordKind kind) {
    const auto known = notes.find(id);
    if (known == notes.end()) return;
    for (const auto& record : known->second) append(out, record, kind);
  });
  for (const Makers& makers : signature.makers) {
    MadeByRecord record{};
    record.signature = id;
    record.first = makers.first;
    record.last = makers.last;
    record.least = makers.least;
    record.most = makers.most;
    append(out, record, RecordKind::kMadeBy);
  }
}

std::string TraceMerger::State::bytes() const {
  std::string out(kHeaderBytes, '\0');
  uint32_t id = 0;
  for (const std::string& text : names_.texts()) {
    StringRecord record{};
    record.id = ++id;
    record.length_bytes = static_cast<uint32_t>(text.size());
    append(out, record, RecordKind::kString, text);
  }
  const auto write = [&](const auto& record, RecordKind kind) { append(out, record, kind); };
  names_.write_lines(write);
  names_.write_sites(write);
  for (size_t i = 0; i < processes_.size(); ++i) {
    const MergedProcess& process = processes_[i];
    ProcessRecord record{};
    record.file = process.file;
    record.damaged = process.damaged;
    record.devices = process.devices;
    std::memcpy(record.file_header, &process.header, sizeof process.header);
    append(out, record, RecordKind::kProcess);
    for (const auto& [key, value] : process.facts) {
      ProcessFactRecord fact{};
      fact.process = static_cast<uint32_t>(i);
      fact.key = key;
      fact.value = value;
      append(out, fact, RecordKind::kProcessFact);
    }
  }
  for (size_t i = 0; i < signatures_.size(); ++i)
    write_signature(static_cast<uint32_t>(i + 1), signatures_[i], out);
  if (out.size() > kMaxFileBytes) {
    throw InputError(
        fmt::format("the merged trace has {} bytes, and a trace at most {}; merge fewer at a time",
                    out.size(), kMaxFileBytes));
  }
  FileHeader header = processes_.empty() ? FileHeader{} : processes_.front().header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.endian = kEndianMark;
  header.version = kTraceVersion;
  header.header_bytes = kHeaderBytes;
  header.end_state = static_cast<uint32_t>(EndState::kExited);
  header.used_bytes = out.size();
  header.rank = -1;
  header.flags = flags_ | kFlagMerged;
  std::fill(std::begin(header.autocast_sites), std::end(header.autocast_sites), 0u);
  std::copy(autocast_sites_.begin(), autocast_sites_.end(), header.autocast_sites);
  header.records = count_records(out);
  header.check = check_of(header);
  header.seal = seal_of(header);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

TraceMerger::TraceMerger(Symbolizer* symbolizer) : state_(std::make_unique<State>(symbolizer)) {}
TraceMerger::~TraceMerger() = default;

void TraceMerger::add(std::string_view bytes, const std::string& name) {
  State::Input(*state_, bytes, name).add();
}

void TraceMerger::add_missing(const std::string& name, const std::string& why) {
  MergedProcess& process = state_->processes_.emplace_back();
  process.header.rank = -1;
  process.header.end_state = static_cast<uint32_t>(EndState::kExited);  // what is said is enough
  process.file = state_->names_.string(name);
  process.damaged = state_->names_.string(why);
}

size_t TraceMerger::process_count() const { return state_->processes_.size(); }
size_t TraceMerger::op_call_count() const { return state_->signatures_.size(); }
const std::vector<std::string>& TraceMerger::seen_twice() const { return state_->seen_twice_; }
std::string TraceMerger::bytes() const { return state_->bytes(); }

}  // namespace dtypecheck
