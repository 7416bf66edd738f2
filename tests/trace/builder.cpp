#include "trace/builder.h"

#include <algorithm>
#include <cstring>

#include "core/dtype_set.h"

namespace dtypecheck::test {

using namespace trace;

template <typename Record>
uint32_t TraceBuilder::add(RecordKind kind, Record record) {
  auto* room = file_.reserve<Record>(kind);
  record.header = room->header;
  uint32_t id = 0;
  if constexpr (requires { record.id; }) id = record.id = room->id;
  *room = record;
  TraceFile::commit(room->header);
  return id;
}

uint32_t TraceBuilder::line(const std::string& path, int line, const std::string& function) {
  return add(RecordKind::kLine,
             LineRecord{.file = string(path), .function = string(function), .line = line});
}

uint32_t TraceBuilder::address(uint64_t address, uint32_t caller) {
  return add(RecordKind::kLine,
             LineRecord{.line = static_cast<int32_t>(caller), .address = address});
}

uint32_t TraceBuilder::site(uint32_t line, uint32_t inner, const std::string& module,
                            const std::string& module_class) {
  return add(RecordKind::kSite, SiteRecord{.line = line,
                                           .inner = inner,
                                           .module = string(module),
                                           .module_class = string(module_class)});
}

OperandRecord TraceBuilder::operand(const OperandSpec& spec) {
  OperandRecord record = {};
  record.name = string(spec.name);
  record.list_index = spec.list_index;
  record.dtype = spec.dtype;
  record.kind = spec.kind;
  record.role = spec.role;
  record.flags = static_cast<uint8_t>(spec.flags | kOperandHasShape);
  record.dim_count = static_cast<uint8_t>(spec.shape.size());
  record.device_index = -1;
  record.device = string("cpu");
  record.parameter = string(spec.parameter);
  record.origin = spec.origin;
  std::copy(spec.shape.begin(), spec.shape.end(), record.shape);
  return record;
}

uint32_t TraceBuilder::signature(const SignatureSpec& spec) {
  std::vector<OperandRecord> operands;
  for (const OperandSpec& operand_spec : spec.operands) operands.push_back(operand(operand_spec));
  const size_t inputs = operands.size();
  for (const OperandSpec& result_spec : spec.results) operands.push_back(operand(result_spec));
  const uint32_t op = string(spec.op), overload = string(spec.overload), alpha = string("alpha");
  const size_t room = std::max<size_t>(spec.result_room, spec.results.size());
  size_t behind = (inputs + room) * sizeof(OperandRecord) + sizeof(ScalarRecord);
  if (spec.flags & kSignatureCast) behind = (behind + 7) / 8 * 8 + sizeof(CastCounters);
  auto* record = file_.reserve<SignatureRecord>(RecordKind::kSignature, behind);
  if (record == nullptr) return 0;
  last_ = record;
  record->op = op;
  record->overload = overload;
  record->site = spec.site;
  record->parent = spec.parent;
  record->phase = 2;
  record->autocast = spec.autocast;
  record->autocast_cpu = static_cast<uint8_t>(Dtype::kBFloat16);
  record->operand_count = static_cast<uint16_t>(inputs);
  record->scalar_count = 1;
  record->result_room = static_cast<uint16_t>(room);
  record->result_count = static_cast<uint16_t>(spec.results.size());
  record->first_step = spec.first_step;
  record->last_step = spec.last_step;
  record->count = spec.count;
  record->throws = spec.throws;
  record->flags = spec.flags;
  record->follows = spec.follows;
  char* to = reinterpret_cast<char*>(record + 1);
  const ScalarRecord scalar = {alpha, 0, {}, 1.0};
  if (inputs > 0) std::memcpy(to, operands.data(), inputs * sizeof(OperandRecord));
  to += inputs * sizeof(OperandRecord);
  std::memcpy(to, &scalar, sizeof(scalar));
  to += sizeof(scalar);
  if (inputs < operands.size()) {
    std::memcpy(to, &operands[inputs], (operands.size() - inputs) * sizeof(OperandRecord));
  }
  TraceFile::commit(record->header);
  return record->id;
}

void TraceBuilder::threw(uint32_t signature, const std::string& message, const std::string& type,
                         uint32_t step) {
  add(RecordKind::kThrow,
      ThrowRecord{
          .signature = signature, .message = string(message), .type = string(type), .step = step});
}

void TraceBuilder::fact(const std::string& key, const std::string& value) {
  add(RecordKind::kFact, FactRecord{.key = string(key), .value = string(value)});
}

void TraceBuilder::mapping(uint64_t begin, uint64_t end, uint64_t file_offset,
                           const std::string& path) {
  add(RecordKind::kMapping,
      MappingRecord{.begin = begin, .end = end, .file_offset = file_offset, .path = string(path)});
}

void TraceBuilder::inexact(uint32_t signature, double from, double to) {
  add(RecordKind::kInexact, InexactRecord{.signature = signature, .from = from, .to = to});
}

void TraceBuilder::non_finite(uint32_t signature, uint32_t flags) {
  add(RecordKind::kNonFinite, NonFiniteRecord{.signature = signature, .flags = flags});
}

void TraceBuilder::cast_work(uint32_t elements, uint32_t timed, uint32_t time_ns) {
  char* end = reinterpret_cast<char*>(last_) + last_->header.size_bytes;
  reinterpret_cast<CastCounters*>(end)[-1] = {elements, timed, time_ns};
}

void TraceBuilder::gpu_work(uint32_t signature, uint8_t kind, const std::string& name,
                            uint64_t time_ns) {
  add(RecordKind::kGpuWork, GpuWorkRecord{.signature = signature,
                                          .name = string(name),
                                          .kind = kind,
                                          .count = 1,
                                          .time_ns = time_ns});
}

void TraceBuilder::group(uint32_t signature, const std::string& ranks) {
  add(RecordKind::kGroup, GroupRecord{.signature = signature, .ranks = string(ranks)});
}

uint32_t TraceBuilder::health_row(const std::string& name, uint32_t signature, uint8_t role,
                                  uint8_t dtype) {
  return add(
      RecordKind::kHealthRow,
      HealthRowRecord{.name = string(name), .signature = signature, .role = role, .dtype = dtype});
}

void TraceBuilder::health_sample(uint32_t step, const std::vector<trace::HealthPoint>& points) {
  const size_t bytes = points.size() * sizeof(trace::HealthPoint);
  auto* record = file_.reserve<HealthSampleRecord>(RecordKind::kHealthSample, bytes);
  record->point_count = static_cast<uint32_t>(points.size());
  record->step = step;
  record->skipped = 1;
  record->scale = 1024;
  std::memcpy(record + 1, points.data(), bytes);
  TraceFile::commit(record->header);
}

void TraceBuilder::op_time(uint32_t signature, uint64_t begin_unix_ns, uint64_t time_ns) {
  add(RecordKind::kOpTime, OpTimeRecord{.signature = signature,
                                        .thread = 1,
                                        .step = 2,
                                        .begin_unix_ns = begin_unix_ns,
                                        .time_ns = time_ns});
}

void TraceBuilder::gpu_time(uint32_t signature, uint8_t kind, const std::string& name,
                            uint64_t begin_unix_ns) {
  add(RecordKind::kGpuTime, GpuTimeRecord{.signature = signature,
                                          .name = string(name),
                                          .kind = kind,
                                          .stream = 7,
                                          .begin_unix_ns = begin_unix_ns,
                                          .time_ns = 20});
}

std::string sample_trace() {
  const TemporaryFolder folder;
  const auto file = new_trace_file();
  if (file->create(folder.path().c_str(), "host", 4711, 0) != 0)
    throw std::runtime_error("no trace file");
  std::strcpy(file->header()->libtorch, "2.11.0");
  std::strcpy(file->header()->python, "3.11.7");
  file->header()->steps = file->header()->steps_traced = 3;
  file->header()->parent_pid = 4710;
  constexpr uint8_t kHalf = 5, kFloat = 6;
  TraceBuilder build(*file);
  build.fact("argv", "train.py --fp16");
  build.fact("accelerate.mixed_precision", "fp16");
  build.mapping(0x1000, 0x2000, 0x400, "/opt/trainer");
  const uint32_t user = build.line("train.py", 12, "main");
  const uint32_t site = build.site(user, build.address(0x1234), "unet.linear", "Linear");
  const uint32_t cast = build.signature({.op = "aten::_to_copy",
                                         .operands = {{"self", kFloat, {2, 4}}},
                                         .results = {{"", kHalf, {2, 4}}},
                                         .site = site,
                                         .flags = kSignatureCast});
  build.cast_work(800, 3, 900);
  const uint32_t linear =
      build.signature({.op = "aten::linear", .site = site, .count = 2, .throws = 1});
  const uint32_t addmm =
      build.signature({.op = "aten::addmm",
                       .overload = "out",
                       .operands = {{"mat1", kHalf, {2, 4}, 0, "", cast},
                                    {"weight", kFloat, {4}, 3, "unet.weight", 0, -1, 1},
                                    {"more", kFloat, {}, 0, "", 0, 0}},
                       .results = {{"", kHalf, {2, 4}}},
                       .site = site,
                       .parent = linear,
                       .count = 5,
                       .throws = 2,
                       .autocast = kAutocastCpu,
                       .first_step = 1,
                       .last_step = 3});
  build.threw(linear, "dtypes differ", "c10::Error", 2);
  build.threw(addmm, "dtypes differ", "c10::Error", 2);
  build.inexact(cast, 1365, 1368);
  build.non_finite(addmm, 7);
  build.gpu_work(addmm, 1, "gemm", 300);
  build.group(linear, "0-2,5");
  build.op_time(addmm, 1000, 50);
  build.gpu_time(addmm, 1, "gemm", 1020);
  build.gpu_time(0, 2, "", 1030);
  build.health_row("unet.linear", addmm, 1, kHalf);
  build.health_row("", cast, 3, kFloat);
  build.health_sample(3, {{0x4780, 0, 255}, {0x3f80, 51, 0}});  // 65536 of Half, 1
  build.health_sample(1, {{kNoPoint, 0, 0}, {0x3f00, 0, 0}});
  build.health_sample(0, {{0x4480, 0, 0}});  // used again
  file->finish(1);
  return read_bytes(file->path());
}

}  // namespace dtypecheck::test
