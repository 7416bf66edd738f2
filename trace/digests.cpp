#include "trace/digests.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/dtype_names.h"
#include "platform/files.h"
#include "trace/header.h"
#include "trace/tables.h"

namespace dtypecheck {
namespace trace {
namespace {

class DigestReader {
 public:
  DigestReader(const TraceBytes& bytes, const TraceRecords& records, StringTable& strings,
               SiteTable& sites, Damage& damage, DigestedProcess& process)
      : bytes_(bytes),
        records_(records),
        strings_(strings),
        sites_(sites),
        damage_(damage),
        process_(process) {}

  void read() {
    for (size_t offset : records_.offsets(RecordKind::kDigestPage)) find_entries(offset);
    for (const Entry& entry : digests_) read_digest(entry);
    for (size_t offset : records_.offsets(RecordKind::kSignature))
      signatures_.emplace(bytes_.load<SignatureRecord>(offset).id, offset);
    for (size_t offset : records_.offsets(RecordKind::kInexact)) {
      const auto record = bytes_.load<InexactRecord>(offset);
      off_.try_emplace(record.signature, record.to, record.from);
    }
    for (size_t offset : records_.offsets(RecordKind::kOpTime)) {
      const auto record = bytes_.load<OpTimeRecord>(offset);
      Times& times = times_[record.signature];
      times.sum_ns += static_cast<double>(record.time_ns);
      ++times.count;
    }
    for (const Entry& entry : calls_) read_call(entry);
  }

 private:
  struct Times {
    double sum_ns = 0, count = 0;
  };

  struct Entry {
    size_t offset, end;
    uint32_t id = 0;  // of a digest; of a call, its step
  };

  void find_entries(size_t page) {
    const auto record = bytes_.load<DigestPageRecord>(page);
    size_t offset = page + sizeof(DigestPageRecord);
    const size_t end = offset + record.room_bytes;
    uint32_t id = record.first_id;
    while (end - offset >= sizeof(EntryHeader)) {
      const auto header = bytes_.load<EntryHeader>(offset);
      if (header.size_bytes == 0) return;
      const bool is_call = header.what == kEntryIsCall;
      const Entry entry{offset, offset + header.size_bytes, is_call ? record.step : id++};
      const size_t least = is_call ? sizeof(DigestedCallEntry) : sizeof(DigestEntry);
      if (header.size_bytes % 4 != 0 || header.size_bytes < least || entry.end > end)
        return damage_.leave_out(fmt::format("the digests behind byte {}", offset));
      if ((header.flags & kEntryIsCommitted) != 0) (is_call ? calls_ : digests_).push_back(entry);
      offset = entry.end;
    }
  }

  // Of what follows in an entry; each must be there before it is read.
  template <typename T>
  T take(Entry& rest) const {
    const T value = bytes_.load<T>(rest.offset);
    rest.offset += sizeof(T);
    return value;
  }
  static bool holds(const Entry& rest, size_t bytes) { return rest.end - rest.offset >= bytes; }

  void read_digest(const Entry& entry) {
    Entry rest = entry;
    const auto record = take<DigestEntry>(rest);
    Digest digest;
    const uint8_t flags = record.header.flags;
    digest.is_gradient = (flags & kDigestIsGradient) != 0;
    digest.dtype = static_cast<Dtype>(record.header.what);
    digest.count = record.count;
    digest.shape = record.shape;
    if (!read_upper_count(flags, rest, digest) || !read_name(flags, rest, digest) ||
        !read_base(flags, rest, digest) || !read_values(flags, rest, digest) ||
        !index_.emplace(entry.id, process_.digests.size() + 1).second)
      return damage_.leave_out(fmt::format("digest {} at byte {}", entry.id, entry.offset));
    process_.digests.push_back(std::move(digest));
  }

  bool read_upper_count(uint8_t flags, Entry& rest, Digest& digest) const {
    if ((flags & kDigestIsHuge) == 0) return true;
    if (!holds(rest, sizeof(uint32_t))) return false;
    digest.count |= uint64_t{take<uint32_t>(rest)} << 32;
    return true;
  }

  bool read_name(uint8_t flags, Entry& rest, Digest& digest) {
    if ((flags & kDigestHasName) == 0) return true;
    if (!holds(rest, sizeof(DigestName))) return false;
    const auto name = take<DigestName>(rest);
    digest.parameter = strings_.text(name.parameter, "a digest's parameter");
    digest.cut = strings_.text(name.cut, "how a tensor is cut");
    return true;
  }

  bool read_base(uint8_t flags, Entry& rest, Digest& digest) const {
    if ((flags & kDigestHasBase) == 0) return true;
    if (!holds(rest, sizeof(uint32_t))) return false;
    digest.base = index_of(take<uint32_t>(rest));  // an earlier one, so that no chain is a loop
    return true;
  }

  bool read_values(uint8_t flags, Entry& rest, Digest& digest) {
    if ((flags & kDigestIsSame) != 0) return read_same(rest, digest);
    if (digest.count > kDigestPlaces && !read_numbers(flags, rest, digest)) return false;
    const size_t places = std::min<uint64_t>(digest.count, kDigestPlaces);
    const DtypeNames* names = names_of(digest.dtype);
    const size_t element_bytes = names == nullptr ? 0 : names->size_bytes;
    if (rest.end - rest.offset != (places * element_bytes + 3) / 4 * 4) return false;
    for (size_t i = 0; i < places; ++i)
      digest.places.push_back(element(digest.dtype, rest.offset + i * element_bytes));
    if (digest.count <= kDigestPlaces) sum_up(digest);
    return true;
  }

  bool read_same(Entry& rest, Digest& digest) const {
    const uint32_t index = holds(rest, sizeof(uint32_t)) ? index_of(take<uint32_t>(rest)) : 0;
    if (index == 0 || rest.offset != rest.end) return false;
    const Digest& same = process_.digests[index - 1];
    if (same.count != digest.count || same.dtype != digest.dtype) return false;
    digest.finite = same.finite;
    digest.root_mean_square = same.root_mean_square;
    digest.mean = same.mean;
    digest.largest = same.largest;
    digest.places = same.places;
    return true;
  }

  bool read_numbers(uint8_t flags, Entry& rest, Digest& digest) const {
    const bool is_wide = (flags & kDigestIsWide) != 0;
    const bool has_not_finite = (flags & kDigestHasNotFinite) != 0;
    const size_t numbers_bytes = 3 * (is_wide ? sizeof(double) : sizeof(float));
    if (!holds(rest, numbers_bytes + (has_not_finite ? sizeof(uint32_t) : 0))) return false;
    const uint32_t not_finite = has_not_finite ? take<uint32_t>(rest) : 0;
    if (not_finite > digest.count) return false;
    digest.finite = digest.count - not_finite;
    for (double* number : {&digest.root_mean_square, &digest.mean, &digest.largest})
      *number = is_wide ? take<double>(rest) : take<float>(rest);
    return true;
  }

  // Of a tensor all of whose elements are there, what other digests say.
  static void sum_up(Digest& digest) {
    double squares = 0;
    for (const double value : digest.places) {
      if (!std::isfinite(value)) continue;
      ++digest.finite;
      digest.mean += value;
      squares += value * value;
      digest.largest = std::max(digest.largest, std::fabs(value));
    }
    const double finite = static_cast<double>(std::max<uint64_t>(digest.finite, 1));
    digest.mean /= finite;
    digest.root_mean_square = std::sqrt(squares / finite);
  }

  double element(Dtype dtype, size_t offset) const {
    switch (dtype) {
      case Dtype::kDouble:
      case Dtype::kLong:
        return bytes_.load<double>(offset);
      case Dtype::kFloat:
        return bytes_.load<float>(offset);
      case Dtype::kHalf:
        return of_half(bytes_.load<uint16_t>(offset));
      case Dtype::kBFloat16:
        return std::bit_cast<float>(uint32_t{bytes_.load<uint16_t>(offset)} << 16);
      case Dtype::kInt:
        return bytes_.load<int32_t>(offset);
      case Dtype::kShort:
        return bytes_.load<int16_t>(offset);
      case Dtype::kChar:
        return bytes_.load<int8_t>(offset);
      default:  // Byte and Bool
        return bytes_.load<uint8_t>(offset);
    }
  }

  static double of_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    const double size = exponent == 0   ? std::ldexp(mantissa, -24)
                        : exponent < 31 ? std::ldexp(mantissa + 0x400, exponent - 25)
                        : mantissa == 0 ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000) != 0 ? -size : size;
  }

  uint32_t index_of(uint32_t id) const {
    const auto found = index_.find(id);
    return found == index_.end() ? 0 : found->second;
  }

  void read_call(const Entry& entry) {
    Entry rest = entry;
    const auto record = take<DigestedCallEntry>(rest);
    const size_t tensors = size_t{record.operand_count} + record.result_count;
    if (rest.end - rest.offset != tensors * sizeof(uint32_t))
      return damage_.leave_out(fmt::format("digests of an op call at byte {}", entry.offset));
    const auto found = signatures_.find(record.signature);
    if (found == signatures_.end())
      return damage_.leave_out(fmt::format("digests of op call {}, which is not there, at byte {}",
                                           record.signature, entry.offset));
    const auto signature = bytes_.load<SignatureRecord>(found->second);
    if (signature.phase > static_cast<uint8_t>(kLastPhase))
      return damage_.leave_out(fmt::format("digests of op call {}, whose phase is none, at byte {}",
                                           record.signature, entry.offset));
    DigestedCall& call = process_.calls.emplace_back();
    call.op = strings_.text(signature.op, "an op");
    call.site = sites_.site(signature.site);
    call.site.phase = static_cast<Phase>(signature.phase);
    call.step = entry.id;
    if (const auto off = off_.find(record.signature); off != off_.end()) call.off = off->second;
    if (const auto times = times_.find(record.signature); times != times_.end())
      call.time_ns = times->second.sum_ns / times->second.count;
    for (size_t i = 0; i < tensors; ++i)
      (i < record.operand_count ? call.operands : call.results)
          .push_back(index_of(take<uint32_t>(rest)));
  }

  const TraceBytes& bytes_;
  const TraceRecords& records_;
  StringTable& strings_;
  SiteTable& sites_;
  Damage& damage_;
  DigestedProcess& process_;
  std::vector<Entry> digests_, calls_;
  std::unordered_map<uint32_t, uint32_t> index_;
  std::unordered_map<uint32_t, size_t> signatures_;
  std::unordered_map<uint32_t, std::pair<double, double>> off_;  // of a signature
  std::unordered_map<uint32_t, Times> times_;
};

}  // namespace
}  // namespace trace

DigestedProcess read_digest_bytes(const void* data, size_t size_bytes, const std::string& name,
                                  Symbolizer* symbolizer) {
  const trace::TraceBytes bytes(data, size_bytes);
  const trace::FileHeader header = trace::read_header(bytes, name);
  DigestedProcess process;
  process.file = name;
  process.rank = header.rank;
  process.steps = header.steps;
  process.is_recorded = header.flags & trace::kFlagValues;
  process.is_merged = header.flags & trace::kFlagMerged;
  process.is_full = header.used_bytes >= trace::kMostDigestFileBytes;
  if (!process.is_recorded) return process;
  trace::Damage damage;
  trace::check_header(header, size_bytes, damage);
  const trace::TraceRecords records = trace::find_records(bytes, header, damage);
  trace::StringTable strings(bytes, records, damage);
  trace::SiteTable sites(bytes, records, strings, damage, symbolizer);
  Process facts = trace::process_of(header, name);  // a program may have started its ranks itself
  trace::read_facts(bytes, records, strings, damage, facts);
  process.rank = facts.rank;
  trace::DigestReader(bytes, records, strings, sites, damage, process).read();
  process.damaged = damage.to_string();
  return process;
}

std::vector<DigestedProcess> read_digests(const std::string& input, Symbolizer* symbolizer) {
  std::vector<DigestedProcess> processes;
  for (const std::string& path : trace_files(input)) {
    const std::string bytes = read_file(path, trace::kMaxFileBytes);
    processes.push_back(read_digest_bytes(bytes.data(), bytes.size(), path, symbolizer));
  }
  return processes;
}

}  // namespace dtypecheck
