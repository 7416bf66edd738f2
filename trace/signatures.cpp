#include "trace/signatures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/cast_bill.h"
#include "trace/health.h"

namespace dtypecheck::trace {
namespace {

// A small record can name strings of 8 KiB, which each op call gets a copy of.
constexpr size_t kRoomBytes = size_t{64} << 20;
constexpr size_t kRoomPerFileByte = 16;

constexpr uint8_t kAllOperandFlags = 63;

bool is_dtype(uint8_t number) { return number < 64; }

DtypeSet dtypes_of(uint8_t number) {
  const Dtype dtype = static_cast<Dtype>(number);
  return dtype == Dtype::kUndefined ? DtypeSet() : DtypeSet(dtype);
}

bool has_possible_numbers(const OperandRecord& record) {
  return record.list_index >= -1 && is_dtype(record.dtype) &&
         record.kind <= static_cast<uint8_t>(kLastTensorKind) &&
         record.role <= static_cast<uint8_t>(kLastRole) && record.flags <= kAllOperandFlags &&
         record.dim_count <= kMaxDims && record.device_index >= -1;
}

bool has_possible_numbers(const SignatureRecord& record) {
  return record.phase <= static_cast<uint8_t>(kLastPhase) &&
         record.autocast >> kAutocastSiteShift <= kMaxAutocastSites &&
         is_dtype(record.autocast_cpu) && is_dtype(record.autocast_cuda) &&
         record.result_count <= record.result_room;
}

AutocastState autocast_of(const SignatureRecord& record) {
  AutocastState state;
  if (record.autocast & kAutocastCpu) {
    state.enabled.push_back({"cpu", static_cast<Dtype>(record.autocast_cpu)});
  }
  if (record.autocast & kAutocastCuda) {
    state.enabled.push_back({"cuda", static_cast<Dtype>(record.autocast_cuda)});
  }
  state.is_wrapper = record.autocast & kAutocastWrapper;
  state.is_inner = record.autocast & kAutocastInner;
  return state;
}

Outcome outcome_without_throw(const SignatureRecord& record) {
  if (record.flags & kSignatureServed) return Outcome::kServed;
  return record.flags & kSignatureRepaired ? Outcome::kRepaired : Outcome::kReturned;
}

void set_flags(const OperandRecord& record, Operand& operand) {
  operand.requires_grad = record.flags & kOperandRequiresGrad;
  operand.is_leaf = operand.requires_grad && (record.flags & kOperandIsLeaf);
  operand.is_written = record.flags & kOperandIsWritten;
  operand.is_wrapped_number = record.flags & kOperandIsWrappedNumber;
}

void set_shape(const OperandRecord& record, Operand& operand) {
  operand.has_shape = (record.flags & kOperandHasShape) && !(record.flags & kOperandShapeCut);
  if (operand.has_shape) operand.shape.assign(record.shape, record.shape + record.dim_count);
}

size_t memory_of(const std::vector<Operand>& operands) {
  size_t bytes = 0;
  for (const Operand& operand : operands) {
    bytes += sizeof(Operand) + operand.name.size() + operand.device.type.size() +
             operand.parameter.size() + operand.shape.size() * sizeof(int64_t);
  }
  return bytes;
}

size_t memory_of(const SourceLine& line) { return line.file.size() + line.function.size(); }

size_t memory_of(const OpCall& call) {
  size_t bytes = sizeof(OpCall) + memory_of(call.operands) + memory_of(call.results) +
                 memory_of(call.site.line) + memory_of(call.site.inner) +
                 memory_of(call.site.caller) + memory_of(call.autocast.entered) +
                 call.site.module.size() + call.site.module_class.size() + call.op.size() +
                 call.overload.size() + call.error.size() + call.error_type.size() +
                 call.group.size();
  for (const ScalarArgument& scalar : call.scalars) bytes += sizeof(scalar) + scalar.name.size();
  return bytes;
}

}  // namespace

SignatureReader::SignatureReader(const TraceBytes& bytes, const TraceRecords& records,
                                 StringTable& strings, SiteTable& sites, const FileHeader& header,
                                 EndState end, Damage& damage)
    : bytes_(bytes),
      records_(records),
      strings_(strings),
      sites_(sites),
      header_(header),
      end_(end),
      damage_(damage),
      room_bytes_(kRoomBytes + kRoomPerFileByte * bytes.size_bytes()) {}

std::vector<OpCall> SignatureReader::read(OpCallId first_id, uint32_t process, size_t merged) {
  for (size_t offset : records_.offsets(RecordKind::kSignature)) read_signature(offset);
  read_throws();
  read_inexact_values();
  read_gpu_work();
  read_groups();
  read_non_finite_results();
  if (merged > 0) read_made_by(process, merged);
  OpCallId next_id = first_id;
  for (Signature& signature : signatures_) {
    count_throws(signature);
    number(signature, next_id);
  }
  std::vector<OpCall> calls;
  calls.reserve(next_id - first_id);
  for (Signature& signature : signatures_) add_calls(signature, calls);
  uint32_t last = process;
  for (OpCall& call : calls) {
    call.id = first_id++;
    const uint32_t first = call.made_by.empty() ? last : call.made_by.front().first;
    if (first < last) damage_.note("op calls out of the order of their processes");
    call.process = last = std::max(last, first);
  }
  return calls;
}

void SignatureReader::read_signature(size_t offset) {
  Signature signature;
  signature.record = bytes_.load<SignatureRecord>(offset);
  const SignatureRecord& record = signature.record;
  OpCall& call = signature.call;
  call.op = strings_.text(record.op, "an op's name");
  if (call.op.empty() || !has_possible_numbers(record) || !read_parts(offset, record, call)) {
    damage_.leave_out(fmt::format("an impossible op call at byte {}", offset));
    return;
  }
  call.overload = strings_.text(record.overload, "an overload");
  call.site = sites_.site(record.site);
  call.site.phase = static_cast<Phase>(record.phase);
  call.autocast = autocast_of(record);
  if (const int region = record.autocast >> kAutocastSiteShift) {
    call.autocast.entered = sites_.site(header_.autocast_sites[region - 1]).line;
  }
  call.outcome = outcome_without_throw(record);
  call.first_step = record.first_step;
  call.last_step = std::max(record.first_step, record.last_step);
  call.in_compiled_region = record.flags & kSignatureInCompiled;
  read_cast_counters(offset, record, call);
  if (!take_room(memory_of(call))) {
    damage_.leave_out(
        fmt::format("more op calls than a file of {} bytes can hold", bytes_.size_bytes()));
  } else if (record.id == 0 || !index_of_id_.emplace(record.id, signatures_.size()).second) {
    damage_.leave_out(fmt::format("op call id {} appears twice at byte {}", record.id, offset));
  } else {
    signatures_.push_back(std::move(signature));
  }
}

bool SignatureReader::read_parts(size_t offset, const SignatureRecord& record, OpCall& call) {
  call.operands.resize(record.operand_count);
  call.scalars.resize(record.scalar_count);
  call.results.resize(record.result_count);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (!read_operand(operand_offset(offset, i), call.operands[i])) return false;
  }
  for (size_t i = 0; i < call.scalars.size(); ++i) {
    if (!read_scalar(scalar_offset(offset, record, i), call.scalars[i])) return false;
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!read_operand(result_offset(offset, record, i), call.results[i])) return false;
    call.results[i].name.clear();
  }
  return true;
}

bool SignatureReader::read_operand(size_t offset, Operand& operand) {
  const auto record = bytes_.load<OperandRecord>(offset);
  if (!has_possible_numbers(record)) return false;
  operand.name = strings_.text(record.name, "an operand");
  if (record.list_index >= 0) operand.name += fmt::format("[{}]", record.list_index);
  operand.role = static_cast<Role>(record.role);
  operand.kind = static_cast<TensorKind>(record.kind);
  if (operand.kind == TensorKind::kUndefined) {
    operand.has_shape = false;
    return true;
  }
  operand.dtypes = dtypes_of(record.dtype);
  operand.device = {std::string(strings_.text(record.device, "a device")), record.device_index};
  operand.parameter = strings_.text(record.parameter, "a parameter");
  operand.origin = record.origin;
  set_flags(record, operand);
  set_shape(record, operand);
  return true;
}

bool SignatureReader::read_scalar(size_t offset, ScalarArgument& scalar) {
  const auto record = bytes_.load<ScalarRecord>(offset);
  scalar.name = strings_.text(record.name, "a number's name");
  if (record.is_dtype == 0) {
    scalar.value = record.value;
    return true;
  }
  const bool possible = record.is_dtype == 1 && record.value >= 0 && record.value < 64 &&
                        record.value == std::floor(record.value);
  if (possible) scalar.dtype = static_cast<Dtype>(record.value);
  return possible;
}

SignatureReader::Signature* SignatureReader::signature_of(uint32_t id, const char* what,
                                                          size_t offset) {
  const auto found = index_of_id_.find(id);
  if (found != index_of_id_.end()) return &signatures_[found->second];
  damage_.leave_out(
      fmt::format("{} of op call {}, which is not there, at byte {}", what, id, offset));
  return nullptr;
}

void SignatureReader::read_throws() {
  for (size_t offset : records_.offsets(RecordKind::kThrow)) {
    const auto record = bytes_.load<ThrowRecord>(offset);
    if (record.signature == 0) continue;  // thrown outside of every op
    Signature* signature = signature_of(record.signature, "a throw", offset);
    if (signature == nullptr || signature->throws.size() == kMessagesPerSignature) continue;
    const bool is_known = std::ranges::any_of(signature->throws, [&](const ThrowRecord& known) {
      return known.message == record.message && known.type == record.type;
    });
    const size_t bytes = memory_of(signature->call) +
                         strings_.text(record.message, "an error's message").size() +
                         strings_.text(record.type, "an error's type").size();
    if (!is_known && take_room(bytes)) signature->throws.push_back(record);
  }
}

void SignatureReader::read_inexact_values() {
  for (size_t offset : records_.offsets(RecordKind::kInexact)) {
    const auto record = bytes_.load<InexactRecord>(offset);
    Signature* signature = signature_of(record.signature, "an inexact value", offset);
    if (signature == nullptr ||
        (signature->call.inexact && signature->call.inexact->arrival != Arrival::kProduct))
      continue;
    if (record.arrival > static_cast<uint32_t>(kLastArrival)) {
      damage_.leave_out(
          fmt::format("an arrival of unknown kind {} at byte {}", record.arrival, offset));
      continue;
    }
    signature->call.inexact =
        InexactValue{record.from, record.to,         static_cast<Arrival>(record.arrival),
                     record.off,  record.arrived_at, record.rounded_at};
  }
}

void SignatureReader::read_cast_counters(size_t offset, const SignatureRecord& record,
                                         OpCall& call) const {
  if (!(record.flags & kSignatureCast) || !dtype_change(call)) return;
  const size_t end = offset + record.header.size_bytes;
  const auto counters = bytes_.load<CastCounters>(end - sizeof(CastCounters));
  call.cast = CastWork{counters.elements, counters.timed,   counters.time_ns,
                       counters.looked,   counters.clipped, counters.flushed};
}

std::optional<GpuWorkKind> SignatureReader::gpu_kind_of(uint8_t kind, size_t offset) {
  if (kind > 0 && kind <= static_cast<uint8_t>(kLastGpuWorkKind))
    return static_cast<GpuWorkKind>(kind);
  damage_.leave_out(fmt::format("work of a GPU of unknown kind {} at byte {}", kind, offset));
  return std::nullopt;
}

void SignatureReader::read_times(uint32_t process, Run& run) {
  for (size_t offset : records_.offsets(RecordKind::kOpTime)) {
    const auto record = bytes_.load<OpTimeRecord>(offset);
    const Signature* signature = signature_of(record.signature, "a time", offset);
    if (signature == nullptr) continue;
    run.times.push_back({signature->returned_id(), process, record.thread, record.step,
                         record.begin_unix_ns, record.time_ns});
  }
  for (size_t offset : records_.offsets(RecordKind::kGpuTime)) {
    const auto record = bytes_.load<GpuTimeRecord>(offset);
    const auto kind = gpu_kind_of(record.kind, offset);
    const Signature* signature =
        record.signature ? signature_of(record.signature, "a time of a GPU", offset) : nullptr;
    const std::string name(strings_.text(record.name, "a kernel's name"));
    if (!kind || !take_room(sizeof(GpuTime) + name.size())) continue;
    run.gpu_times.push_back({signature ? signature->returned_id() : kNoOpCall, process, *kind, name,
                             record.device, record.stream, record.begin_unix_ns, record.time_ns});
  }
}

void SignatureReader::read_health(uint32_t process, Run& run) {
  const auto call_of_row = [this](uint32_t signature) {
    return call_of(signature, "a row of the run's health");
  };
  trace::read_health(bytes_, records_, strings_, call_of_row, damage_, process, run);
}

void SignatureReader::read_gpu_work() {
  for (size_t offset : records_.offsets(RecordKind::kGpuWork)) {
    const auto record = bytes_.load<GpuWorkRecord>(offset);
    if (record.signature == 0) continue;  // launched outside of every op
    Signature* signature = signature_of(record.signature, "work of a GPU", offset);
    if (signature == nullptr) continue;
    const auto kind = gpu_kind_of(record.kind, offset);
    if (!kind) continue;
    GpuWork work;
    work.kind = *kind;
    work.name = strings_.text(record.name, "a kernel's name");
    work.device = record.device;
    work.count = record.count;
    work.time_ns = record.time_ns;
    work.bytes = record.bytes;
    if (take_room(sizeof work + work.name.size())) signature->call.gpu.push_back(std::move(work));
  }
}

void SignatureReader::read_groups() {
  for (size_t offset : records_.offsets(RecordKind::kGroup)) {
    const auto record = bytes_.load<GroupRecord>(offset);
    Signature* signature = signature_of(record.signature, "a process group", offset);
    if (signature == nullptr) continue;
    const std::string_view ranks = strings_.text(record.ranks, "the ranks of a process group");
    if (take_room(ranks.size())) signature->call.group = ranks;
  }
}

// Op calls stand in the order of the processes that made them first.
void SignatureReader::read_made_by(uint32_t process, size_t merged) {
  for (size_t offset : records_.offsets(RecordKind::kMadeBy)) {
    const auto record = bytes_.load<MadeByRecord>(offset);
    Signature* signature = signature_of(record.signature, "the makers", offset);
    if (signature == nullptr) continue;
    auto& made_by = signature->call.made_by;
    const bool in_order = made_by.empty() || record.first + process > made_by.back().last;
    if (!in_order || record.last < record.first || record.last >= merged ||
        record.least > record.most) {
      damage_.leave_out(fmt::format("makers {} to {} of an op call, of {} processes, at byte {}",
                                    record.first, record.last, merged, offset));
    } else if (take_room(sizeof(ProcessRange))) {
      made_by.push_back({process + record.first, process + record.last, record.least, record.most});
    }
  }
}

void SignatureReader::read_non_finite_results() {
  constexpr size_t kKinds = 8;  // inf and NaN, of a result, of the loss, or read; yes and no
  for (size_t offset : records_.offsets(RecordKind::kNonFinite)) {
    const auto record = bytes_.load<NonFiniteRecord>(offset);
    Signature* signature = signature_of(record.signature, "a non-finite result", offset);
    if (signature == nullptr) continue;
    const NonFinite found{
        .is_nan = (record.flags & kNonFiniteIsNan) != 0,
        .operands_were_finite = (record.flags & kNonFiniteOperandsWereFinite) != 0,
        .operands_had_no_nan = (record.flags & kNonFiniteOperandsHadNoNan) != 0,
        .is_loss = (record.flags & kNonFiniteIsLoss) != 0,
        .is_read = (record.flags & kNonFiniteIsRead) != 0,
        .is_answer = (record.flags & kNonFiniteIsAnswer) != 0,
        .step = record.step,
        .order = record.order};
    auto& all = signature->call.non_finite;
    if (all.size() < kKinds) all.push_back(found);
  }
}

// The counters may be one step behind: a process that dies of an exception nobody catches runs
// nothing after the throw, and one that is killed may have written a record and not yet counted it.
void SignatureReader::count_throws(Signature& signature) const {
  SignatureRecord& record = signature.record;
  record.count = std::max<uint64_t>(record.count, 1);
  record.throws = std::min(record.throws, record.count);
  const bool never_returned = record.result_room > 0 && record.result_count == 0;
  if (record.throws == 0 && never_returned && end_ == EndState::kRunning &&
      !signature.throws.empty()) {
    record.throws = 1;
  }
}

void SignatureReader::number(Signature& signature, OpCallId& next_id) const {
  const SignatureRecord& record = signature.record;
  const bool was_repaired = signature.call.outcome != Outcome::kReturned;
  if (record.throws > 0 && !(was_repaired && record.throws == record.count)) {
    const size_t messages = std::max<size_t>(signature.throws.size(), 1);
    signature.threw_calls = std::min<uint64_t>(messages, record.throws);
  }
  signature.returned_calls = signature.threw_calls == 0 || record.throws < record.count ? 1 : 0;
  signature.first_id = next_id;
  next_id += static_cast<OpCallId>(signature.returned_calls + signature.threw_calls);
}

void SignatureReader::add_calls(Signature& signature, std::vector<OpCall>& calls) {
  resolve_origins(signature.call.operands);
  resolve_origins(signature.call.results);
  if (auto& inexact = signature.call.inexact) {
    inexact->arrived_at = call_of(inexact->arrived_at, "where an inexact value arrived");
    inexact->rounded_at = call_of(inexact->rounded_at, "what rounded an inexact value");
  }
  if (signature.returned_calls > 0) add_returned_call(signature, calls);
  for (size_t i = 0; i < signature.threw_calls; ++i) add_threw_call(signature, i, calls);
}

OpCallId SignatureReader::call_of(uint32_t signature, const char* what) {
  if (signature == 0) return kNoOpCall;
  const auto found = index_of_id_.find(signature);
  if (found != index_of_id_.end()) return signatures_[found->second].returned_id();
  damage_.note(fmt::format("op call {}, {}, is not there", signature, what));
  return kNoOpCall;
}

void SignatureReader::resolve_origins(std::vector<Operand>& operands) {
  for (Operand& operand : operands)
    operand.origin = call_of(operand.origin, "the origin of an operand");
}

// A parent's record is written before its children run, so it comes earlier in the file; parents
// therefore never form a loop.
OpCallId SignatureReader::parent_of(const Signature& child, bool child_threw) {
  const uint32_t id = child.record.parent;
  if (id == 0) return kNoOpCall;
  const auto found = index_of_id_.find(id);
  if (found == index_of_id_.end() || &signatures_[found->second] >= &child) {
    damage_.note(fmt::format("op call {}, the parent of op call {}, does not come before it", id,
                             child.record.id));
    return kNoOpCall;
  }
  const Signature& parent = signatures_[found->second];
  return child_threw ? parent.threw_id() : parent.returned_id();
}

// A repair is written down before what comes of it.
OpCallId SignatureReader::cause_of(const Signature& consequence) {
  const uint32_t id = consequence.record.follows;
  if (id == 0) return kNoOpCall;
  const auto found = index_of_id_.find(id);
  if (found != index_of_id_.end() && &signatures_[found->second] < &consequence) {
    return signatures_[found->second].returned_id();
  }
  damage_.note(fmt::format("op call {}, which op call {} follows, does not come before it", id,
                           consequence.record.id));
  return kNoOpCall;
}

void SignatureReader::add_returned_call(const Signature& signature, std::vector<OpCall>& calls) {
  OpCall& call = calls.emplace_back(signature.call);
  const uint64_t throws_told_apart = signature.threw_calls > 0 ? signature.record.throws : 0;
  call.count = signature.record.count - throws_told_apart;
  call.throws = signature.record.throws - throws_told_apart;
  call.parent = parent_of(signature, false);
  call.follows = cause_of(signature);
  if (call.outcome != Outcome::kReturned) set_error(signature, 0, call);
}

void SignatureReader::add_threw_call(const Signature& signature, size_t index,
                                     std::vector<OpCall>& calls) {
  OpCall& call = calls.emplace_back(signature.call);
  call.outcome = Outcome::kThrew;
  call.results.clear();
  call.inexact.reset();
  call.gpu.clear();
  call.cast.reset();
  call.non_finite.clear();
  call.count = index == 0 ? signature.record.throws - (signature.threw_calls - 1) : 1;
  call.throws = call.count;
  call.parent = parent_of(signature, true);
  set_error(signature, index, call);
}

void SignatureReader::set_error(const Signature& signature, size_t index, OpCall& call) {
  if (index >= signature.throws.size()) return;
  const ThrowRecord& record = signature.throws[index];
  call.error = strings_.text(record.message, "an error's message");
  call.error_type = strings_.text(record.type, "an error's type");
  if (call.outcome != Outcome::kThrew) return;
  if (record.caller != 0) call.site.caller = sites_.line(record.caller);
  call.first_step = std::clamp(record.step, call.first_step, call.last_step);
  if (call.count == 1) call.last_step = call.first_step;
}

bool SignatureReader::take_room(size_t bytes) {
  if (bytes > room_bytes_) return false;
  room_bytes_ -= bytes;
  return true;
}

}  // namespace dtypecheck::trace
