#include "trace/digests.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "platform/error.h"
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
    for (size_t offset : records_.of(Kind::kDigest)) read_digest(offset);
    for (size_t offset : records_.of(Kind::kSignature))
      signatures_.emplace(bytes_.load<SignatureRecord>(offset).id, offset);
    for (size_t offset : records_.of(Kind::kOpTime)) {
      const auto record = bytes_.load<OpTimeRecord>(offset);
      Times& times = times_[record.signature];
      times.sum_ns += static_cast<double>(record.time_ns);
      ++times.count;
    }
    for (size_t offset : records_.of(Kind::kCallDigests)) read_call(offset);
  }

 private:
  struct Times {
    double sum_ns = 0, count = 0;
  };

  static bool is_possible(const DigestRecord& record) {
    return record.dtype < 64 && record.finite <= record.count &&
           record.place_count == std::min<uint64_t>(record.count, kDigestPlaces);
  }

  void read_digest(size_t offset) {
    const auto record = bytes_.load<DigestRecord>(offset);
    const uint32_t base = index_of(record.base);  // an earlier one, so that no chain is a loop
    if (!is_possible(record) || !index_.emplace(record.id, process_.digests.size() + 1).second)
      return damage_.leave_out(fmt::format("digest {} at byte {}", record.id, offset));
    Digest& digest = process_.digests.emplace_back();
    digest.parameter = strings_.text(record.parameter, "a digest's parameter");
    digest.cut = strings_.text(record.cut, "how a tensor is cut");
    digest.is_gradient = record.is_gradient != 0;
    digest.dtype = static_cast<Dtype>(record.dtype);
    digest.count = record.count;
    digest.finite = record.finite;
    digest.root_mean_square = record.root_mean_square;
    digest.mean = record.mean;
    digest.largest = record.largest;
    digest.shape = record.shape;
    digest.base = base;
    for (int i = 0; i < record.place_count; ++i) digest.places.push_back(place(record, offset, i));
  }

  double place(const DigestRecord& record, size_t offset, int i) const {
    const size_t begin = offset + sizeof(DigestRecord);
    return record.is_wide != 0 ? bytes_.load<double>(begin + i * sizeof(double))
                               : bytes_.load<float>(begin + i * sizeof(float));
  }

  uint32_t index_of(uint32_t id) const {
    const auto found = index_.find(id);
    return found == index_.end() ? 0 : found->second;
  }

  void read_call(size_t offset) {
    const auto record = bytes_.load<CallDigestsRecord>(offset);
    const auto found = signatures_.find(record.signature);
    if (found == signatures_.end())
      return damage_.leave_out(fmt::format("digests of op call {}, which is not there, at byte {}",
                                           record.signature, offset));
    const auto signature = bytes_.load<SignatureRecord>(found->second);
    if (signature.phase > static_cast<uint8_t>(kLastPhase))
      return damage_.leave_out(fmt::format("digests of op call {}, whose phase is none, at byte {}",
                                           record.signature, offset));
    DigestedCall& call = process_.calls.emplace_back();
    call.op = strings_.text(signature.op, "an op");
    call.site = sites_.site(signature.site);
    call.site.phase = static_cast<Phase>(signature.phase);
    call.step = record.step;
    if (const auto times = times_.find(record.signature); times != times_.end())
      call.time_ns = times->second.sum_ns / times->second.count;
    for (int i = 0; i < record.operand_count + record.result_count; ++i) {
      const auto id =
          bytes_.load<uint32_t>(offset + sizeof(CallDigestsRecord) + i * sizeof(uint32_t));
      (i < record.operand_count ? call.operands : call.results).push_back(index_of(id));
    }
  }

  const TraceBytes& bytes_;
  const TraceRecords& records_;
  StringTable& strings_;
  SiteTable& sites_;
  Damage& damage_;
  DigestedProcess& process_;
  std::unordered_map<uint32_t, uint32_t> index_;
  std::unordered_map<uint32_t, size_t> signatures_;
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
