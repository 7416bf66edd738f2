// make_ranks FOLDER RANKS SIGNATURES: the run folder of a made-up distributed run, for measuring
// `dtypecheck merge`. Each rank has the same op calls but for one in a thousand, in other numbers,
// and a tenth of the ranks in another order.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "core/codes.h"
#include "core/process_facts.h"
#include "trace/writer.h"

namespace dtypecheck {
namespace {

using namespace trace;

struct Ids {
  uint32_t op, input, weight, bias, cpu, alpha;
};

class Rank {
 public:
  Rank(const char* folder, int rank, uint32_t signatures) : rank_(rank), count_(signatures) {
    const std::string host = fmt::format("node{:04}", rank / 8);
    if (file_->create(folder, host.c_str(), 10'000 + rank, rank) != 0) std::abort();
    file_->header()->start_unix_ns = 1'700'000'000'000'000'000 + rank;
    file_->header()->steps = file_->header()->steps_traced = 1000;
  }
  ~Rank() { file_->close(); }

  void write() {
    const Ids ids{string("aten::addmm"), string("input"), string("weight"),
                  string("bias"),        string("cuda"),  string("alpha")};
    // A tenth of the ranks come to things in another order, so that their ids are others.
    const uint32_t shift = rank_ % 10 == 9 ? count_ / 3 : 0;
    for (uint32_t i = 0; i < count_; ++i) add((i + shift) % count_, ids);
    fact(FactKey::kArgv, "python train.py --config large");
    fact(FactKey::kEnv, std::to_string(rank_), "RANK");
    file_->finish(static_cast<uint32_t>(EndState::kExited));
  }

 private:
  uint32_t string(const std::string& text) { return file_->intern(text.data(), text.size()); }

  void fact(FactKey key, const std::string& value, const char* rest = "") {
    auto* record = file_->reserve<FactRecord>(RecordKind::kFact);
    record->key = string(fact_name(key, rest));
    record->value = string(value);
    TraceFile::commit(record->header);
  }

  // Eight op calls a module, as in a large model.
  uint32_t site(uint32_t i) {
    const uint32_t module = i / 8;
    uint32_t& known = sites_[module % kSites];
    if (known != 0 && site_modules_[module % kSites] == module) return known;
    auto* line = file_->reserve<LineRecord>(RecordKind::kLine);
    line->file = string(fmt::format("/work/model/layers/part{}.py", module % 50));
    line->function = string(fmt::format("Layer{}.forward", module % 50));
    line->line = static_cast<int32_t>(module % 400 + 1);
    const uint32_t line_id = line->id;
    TraceFile::commit(line->header);
    auto* site = file_->reserve<SiteRecord>(RecordKind::kSite);
    site->line = site->inner = line_id;
    site->module = string(fmt::format("model.layers.{}.blocks.{}.proj", module / 64, module % 64));
    site->module_class = string("Linear");
    known = site->id;
    site_modules_[module % kSites] = module;
    TraceFile::commit(site->header);
    return known;
  }

  static void fill(OperandRecord& operand, uint32_t name, Role role, Dtype dtype, const Ids& ids) {
    operand.name = name;
    operand.device = static_cast<uint16_t>(ids.cpu);
    operand.device_index = 0;
    operand.list_index = -1;
    operand.dtype = static_cast<uint8_t>(dtype);
    operand.role = static_cast<uint8_t>(role);
    operand.flags = kOperandHasShape;
    operand.dim_count = 2;
    operand.shape[0] = operand.shape[1] = 4096;
  }

  void add(uint32_t i, const Ids& ids) {
    const uint32_t place = site(i);
    constexpr size_t kOperands = 3, kResults = 1;
    auto* record = file_->reserve<SignatureRecord>(
        RecordKind::kSignature,
        (kOperands + kResults) * sizeof(OperandRecord) + sizeof(ScalarRecord));
    record->op = ids.op;
    record->site = place;
    record->phase = static_cast<uint8_t>(i % 2 == 0 ? Phase::kForward : Phase::kBackward);
    record->operand_count = kOperands;
    record->scalar_count = 1;
    record->result_room = record->result_count = kResults;
    record->first_step = 1;
    record->last_step = 1000;
    record->count = 1000 + (i % 1000 == 0 ? static_cast<uint64_t>(rank_) : 0);
    auto* operands = reinterpret_cast<OperandRecord*>(record + 1);
    const bool is_odd = i % 1000 == 7 && rank_ % 100 == 3;
    const Dtype dtype = is_odd ? Dtype::kHalf : static_cast<Dtype>(i % 8 / 2 + 3);
    fill(operands[0], ids.bias, Role::kBias, Dtype::kFloat, ids);
    fill(operands[1], ids.input, Role::kInput, dtype, ids);
    fill(operands[2], ids.weight, Role::kWeight, Dtype::kFloat, ids);
    auto* scalar = reinterpret_cast<ScalarRecord*>(operands + kOperands);
    scalar->name = ids.alpha;
    scalar->value = 1;
    fill(*reinterpret_cast<OperandRecord*>(scalar + 1), 0, Role::kOut, Dtype::kFloat, ids);
    if (i > 0) operands[1].origin = record->id - 1;
    TraceFile::commit(record->header);
  }

  static constexpr uint32_t kSites = 1 << 14;

  int rank_;
  uint32_t count_;
  std::unique_ptr<TraceFile> file_ = std::make_unique<TraceFile>();
  std::unique_ptr<uint32_t[]> sites_ = std::make_unique<uint32_t[]>(kSites);
  std::unique_ptr<uint32_t[]> site_modules_ = std::make_unique<uint32_t[]>(kSites);
};

}  // namespace
}  // namespace dtypecheck

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: make_ranks FOLDER RANKS SIGNATURES\n");
    return 2;
  }
  const int ranks = std::atoi(argv[2]), signatures = std::atoi(argv[3]);
  for (int rank = 0; rank < ranks; ++rank)
    dtypecheck::Rank(argv[1], rank, static_cast<uint32_t>(signatures)).write();
}
