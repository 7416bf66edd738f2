// health.cpp: see health.h. Reads values, and writes none. Nothing is done in steps that are not
// looked at but to read the two numbers of a GradScaler.
#include "tracer/hook/health.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/codes.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/digests.h"
#include "tracer/hook/gpu_digests.h"
#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/option_text.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/tracer.h"
#include "tracer/hook/weight_moves.h"

namespace dtypecheck::tracer {
namespace {

constexpr uint32_t kUsualPercent = 8;  // of the steps so far, to the next: 100 in 10,000 steps
constexpr size_t kMostRows = 16000;    // a sample of all of them is a record
constexpr uint32_t kMostLooks = 16;    // at one row in one step
constexpr int64_t kMostCopied = 4096;  // elements of a tensor, where no kernel can read all
constexpr int64_t kMostKnownNumbers = 1 << 16;  // … on a pretended GPU
constexpr int64_t kPiecesOfNumbers = 16;
constexpr size_t kMostStates = 1 << 15;  // of an optimizer

using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

WeakTensor weak(const c10::TensorImpl* impl) {
  using Strong = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  return WeakTensor(Strong::unsafe_reclaim_from_nonowning(const_cast<c10::TensorImpl*>(impl)));
}

// One row in the step that is looked at.
struct RowInStep {
  uint32_t looks = 0;
  uint64_t count = 0, zero = 0, beyond = 0;
  double largest = 0, worst_zero = 0;  // share of one tensor
  uint64_t updates = 0, lost = 0;      // of weights in 16 bits
};

struct Row {
  HealthRole role;
  RowInStep seen;
};

struct Stepped {  // by an optimizer
  WeakTensor tensor;
  uint32_t module = 0;                     // string
  uint32_t row = 0;                        // of a weight
  uint32_t first_seen = 0, looked_at = 0;  // steps
};

struct Health {
  std::mutex mutex;
  std::unordered_map<uint64_t, uint32_t> row_of;
  std::vector<Row> rows;
  std::unordered_map<const c10::TensorImpl*, Stepped> weights, states;
  std::unordered_map<const c10::TensorImpl*, uint32_t> gradients;  // to their module, of `step`
  uint32_t gradients_of = 0;                                       // step
  uint32_t step = 0;                                               // that is looked at; 0: none
  bool is_over = false;                                            // the step is
  uint32_t under_way = 0, left_out = 0;
  uint32_t skipped = 0;
  double scale = 0;
  uint64_t bytes = 0;  // of all records
  std::vector<trace::HealthSampleRecord*> samples, free;
};
Health* health = new Health;

struct Pace {
  uint32_t every = 0;  // 0: it grows
  uint32_t percent = kUsualPercent;
  uint32_t asked_every = 0;
  std::atomic<uint32_t> next{1};  // step that is looked at
};
Pace* pace = new Pace;

uint32_t step_after(uint32_t step) {
  if (pace->every) return step / pace->every * pace->every + pace->every;
  return step + std::max(1u, step * pace->percent / 100);
}

// The upper half of a float, rounded to nearest.
uint16_t bfloat16_of(double value) {
  const auto narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return static_cast<uint16_t>(std::min<uint32_t>((bits + 0x8000) >> 16, 0x7f7f));
}

// What there is of it is at least 1, and what is not all less than 255.
uint8_t share_of(double part, double all) {
  if (part <= 0 || all <= 0) return 0;
  return part >= all ? 255 : static_cast<uint8_t>(std::clamp(255 * part / all, 1.0, 254.0));
}

trace::HealthPoint point_of(const Row& row) {
  const RowInStep& seen = row.seen;
  if (seen.count == 0) return {trace::kNoPoint, 0, 0};
  const auto count = static_cast<double>(seen.count);
  uint8_t zero = share_of(static_cast<double>(seen.zero), count);
  if (row.role == HealthRole::kState) zero = share_of(seen.worst_zero, 1);
  if (row.role == HealthRole::kWeight)
    zero = share_of(static_cast<double>(seen.lost), static_cast<double>(seen.updates));
  return {bfloat16_of(seen.largest), zero, share_of(static_cast<double>(seen.beyond), count)};
}

void add_sums(uint32_t row, uint32_t step, uint64_t count, const DigestSums& sums) {
  if (step != health->step || row >= health->rows.size() || count == 0) return;
  RowInStep& seen = health->rows[row].seen;
  seen.count += count;
  seen.zero += sums.zeros;
  seen.beyond += count - sums.finite;
  seen.largest = std::max(seen.largest, sums.largest);
  seen.worst_zero = std::max(seen.worst_zero, double(sums.zeros) / double(count));
}

// Counts what has not arrived yet, whatever becomes of it.
class UnderWayHere {
 public:
  explicit UnderWayHere(uint32_t step) : step_(step) {
    const std::lock_guard<std::mutex> lock(health->mutex);
    ++health->under_way;
  }
  ~UnderWayHere() {
    const std::lock_guard<std::mutex> lock(health->mutex);
    if (health->under_way > 0) --health->under_way;
    if (!arrived_ && step_ == health->step) ++health->left_out;
  }
  UnderWayHere(const UnderWayHere&) = delete;
  UnderWayHere& operator=(const UnderWayHere&) = delete;

  void arrive(uint32_t row, uint64_t count, const DigestSums& sums) {
    const std::lock_guard<std::mutex> lock(health->mutex);
    arrived_ = true;
    add_sums(row, step_, count, sums);
  }

 private:
  uint32_t step_;
  bool arrived_ = false;
};

// All of it by the kernel; where there is none, elements are copied.
void look_on_gpu(const c10::TensorImpl* impl, uint32_t row, uint32_t step) {
  const auto under_way = std::make_shared<UnderWayHere>(step);
  const auto count = static_cast<uint64_t>(impl->numel());
  if (!tracer.options.pretended && !why_no_gpu_digests()) {
    digest_on_gpu(
        impl, 0,
        [=](const DigestSums& sums, const double*) { under_way->arrive(row, count, sums); },
        /*may_wait=*/false);
    return;
  }
  if (!is_on_gpu(impl)) return;
  const uint8_t dtype = dtype_of(impl);
  const size_t size = impl->dtype().itemsize();
  const GpuPart part =
      gpu_part(impl, tracer.options.pretended ? kMostKnownNumbers : kMostCopied, kPiecesOfNumbers);
  const uint64_t copied = part.bytes() / size;
  copy_sample(impl->device().index(), {part}, [=](const std::vector<const char*>& arrived) {
    under_way->arrive(row, copied, digest_sums(dtype, arrived[0], static_cast<int64_t>(copied)));
  });
}

void look_at_numbers(const c10::TensorImpl* impl, uint32_t row, uint32_t step) {
  DigestSums sums;
  if (impl->device().is_cuda()) return look_on_gpu(impl, row, step);
  if (!digest_sums(impl, sums)) return;
  const std::lock_guard<std::mutex> lock(health->mutex);
  add_sums(row, step, static_cast<uint64_t>(impl->numel()), sums);
}

bool has_health_numbers(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->numel() > 0 && impl->layout() == c10::Layout::Strided &&
         !impl->is_quantized() && c10::isFloatingType(c10::typeMetaToScalarType(impl->dtype())) &&
         impl->dtype().itemsize() > 1;
}

bool has_room(uint64_t bytes) { return health->bytes + bytes <= trace::kMostHealthBytes; }

// The row's index, and a look at it that is still free; nothing where there is neither.
bool find_row(HealthRole role, uint32_t name, const Frame& frame, uint8_t dtype, uint32_t& row) {
  const uint64_t place = name ? name : uint64_t{1} << 32 | site_id(frame.site);
  const uint64_t key = mix(mix(place, static_cast<uint64_t>(role)), dtype);
  const std::lock_guard<std::mutex> lock(health->mutex);
  const auto known = health->row_of.find(key);
  if (known == health->row_of.end()) {
    if (health->rows.size() >= kMostRows) return false;
    auto* record = tracer.file.reserve<trace::HealthRowRecord>(trace::RecordKind::kHealthRow);
    if (!record) return false;
    record->name = name;
    record->signature = frame.signature->id;
    record->role = static_cast<uint8_t>(role);
    record->dtype = dtype;
    tracer.file.commit(record->header);
    health->bytes += sizeof *record;
    row = static_cast<uint32_t>(health->rows.size());
    health->rows.push_back({role, {}});
    health->row_of.emplace(key, row);
  } else {
    row = known->second;
  }
  return health->rows[row].seen.looks++ < kMostLooks || role != HealthRole::kActivation;
}

// False where another step is looked at, or none.
bool begin_look(uint32_t step) {
  if (!is_health_step(step)) return false;
  const std::lock_guard<std::mutex> lock(health->mutex);
  if (health->step == step) return true;
  health->step = step;
  health->is_over = false;
  health->left_out = 0;
  for (Row& row : health->rows) row.seen = {};
  return true;
}

template <typename Visit>
void for_elements(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) return visit(value.unsafeToTensorImpl(), size_t{0});
  if (!value.isList()) return;
  size_t index = 0;
  for (const c10::IValue& element : value.toListRef()) {
    if (element.isTensor()) visit(element.unsafeToTensorImpl(), index);
    ++index;
  }
}

bool is_weight(const c10::TensorImpl* impl) { return is_leaf(impl) && has_health_numbers(impl); }

// A gradient is another tensor in each step, and is known by the weight that it is of.
void note_gradients(uint32_t step) {
  const std::lock_guard<std::mutex> lock(health->mutex);
  if (health->gradients_of == step) return;
  health->gradients_of = step;
  health->gradients.clear();
  for (auto at = health->weights.begin(); at != health->weights.end();) {
    const auto weight = at->second.tensor.lock();
    if (!weight) {
      at = health->weights.erase(at);
      continue;
    }
    if (weight->grad().defined())
      health->gradients[weight->grad().unsafeGetTensorImpl()] = at->second.module;
    ++at;
  }
  for (auto at = health->states.begin(); at != health->states.end();)
    at = at->second.tensor.expired() ? health->states.erase(at) : std::next(at);
}

bool find_module(const c10::TensorImpl* impl, uint32_t& module) {
  const std::lock_guard<std::mutex> lock(health->mutex);
  const auto known = health->weights.find(impl);
  if (known == health->weights.end() || known->second.tensor.expired()) return false;
  module = known->second.module;
  return true;
}

void look_at_weight(const Frame& frame, const c10::TensorImpl* impl, uint32_t step) {
  uint32_t row = 0, module = 0;
  if (!find_module(impl, module)) module = module_of_parameter(impl);  // takes the GIL: no lock
  {
    const std::lock_guard<std::mutex> lock(health->mutex);
    const auto [at, is_new] = health->weights.try_emplace(impl, Stepped{weak(impl), module});
    if (!is_new && at->second.tensor.expired()) at->second = {weak(impl), module};
    if (at->second.looked_at == step) return;
    at->second.looked_at = step;
  }
  if (find_row(HealthRole::kWeight, module, frame, dtype_of(impl), row)) {
    {
      const std::lock_guard<std::mutex> lock(health->mutex);
      health->weights.at(impl).row = row;
    }
    look_at_numbers(impl, row, step);
  }
  const at::Tensor& gradient = impl->grad();
  if (!gradient.defined() || !has_health_numbers(gradient.unsafeGetTensorImpl())) return;
  const c10::TensorImpl* grad = gradient.unsafeGetTensorImpl();
  if (find_row(HealthRole::kGradient, module, frame, dtype_of(grad), row))
    look_at_numbers(grad, row, step);
}

// The module of the weight or gradient that stands at this place of an argument of the op.
bool find_partner(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs, size_t place,
                  uint32_t& module) {
  bool found = false;
  const std::lock_guard<std::mutex> lock(health->mutex);
  for (const Argument& argument : frame.op->tensors) {
    for_elements(inputs[argument.index], [&](const c10::TensorImpl* impl, size_t index) {
      if (index != place || found) return;
      const auto gradient = health->gradients.find(impl);
      const auto weight = health->weights.find(impl);
      found = gradient != health->gradients.end() || weight != health->weights.end();
      if (found)
        module = gradient != health->gradients.end() ? gradient->second : weight->second.module;
    });
  }
  return found;
}

// What an optimizer computes for a moment is not there in another step.
void look_at_state(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs,
                   const c10::TensorImpl* impl, size_t place, uint32_t step) {
  uint32_t module = 0, row = 0;
  {
    const std::lock_guard<std::mutex> lock(health->mutex);
    if (health->gradients.count(impl)) return;
    const auto known = health->states.find(impl);
    if (known != health->states.end() && !known->second.tensor.expired()) {
      Stepped& state = known->second;
      if (state.first_seen == step || state.looked_at == step) return;
      state.looked_at = step;
      module = state.module;
      row = 1;
    }
  }
  if (row) {
    if (find_row(HealthRole::kState, module, frame, dtype_of(impl), row))
      look_at_numbers(impl, row, step);
    return;
  }
  if (!find_partner(frame, inputs, place, module)) return;
  const std::lock_guard<std::mutex> lock(health->mutex);
  if (health->states.size() < kMostStates)
    health->states.insert_or_assign(impl, Stepped{weak(impl), module, 0, step, 0});
}

void look_at_step(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs, uint32_t step) {
  note_gradients(step);
  for (const Argument& argument : frame.op->tensors) {
    for_elements(inputs[argument.index], [&](const c10::TensorImpl* impl, size_t) {
      if (is_weight(impl)) look_at_weight(frame, impl, step);
    });
  }
  for (const Argument& argument : frame.op->tensors) {
    for_elements(inputs[argument.index], [&](const c10::TensorImpl* impl, size_t place) {
      if (has_health_numbers(impl) && impl->numel() > 1 && !is_leaf(impl))
        look_at_state(frame, inputs, impl, place, step);
    });
  }
}

// _amp_update_scale_(scale, growth_tracker, found_inf, …), once a step.
void look_at_scale(c10::ArrayRef<const c10::IValue> inputs) {
  const auto note = [](float scale, float found) {
    const std::lock_guard<std::mutex> lock(health->mutex);
    health->scale = scale;
    if (found == 0) return;
    ++health->skipped;
    pace->next.store(
        std::min(pace->next.load(), tracer.current_step()));  // to see what was infinite
  };
  if (inputs.size() < 3 || !inputs[0].isTensor() || !inputs[2].isTensor()) return;
  const c10::TensorImpl* both[] = {inputs[0].unsafeToTensorImpl(), inputs[2].unsafeToTensorImpl()};
  for (const c10::TensorImpl* impl : both)
    if (!has_health_numbers(impl) || impl->dtype().itemsize() != sizeof(float) || !data_of(impl))
      return;
  float scale = 0, found = 0;
  if (both[0]->device().is_cpu() && both[1]->device().is_cpu()) {
    std::memcpy(&scale, first_byte(both[0]), sizeof scale);
    std::memcpy(&found, first_byte(both[1]), sizeof found);
    return note(scale, found);
  }
  if (!is_on_gpu(both[0]) || !is_on_gpu(both[1]) || both[0]->device() != both[1]->device()) return;
  copy_sample(both[0]->device().index(), {gpu_part(both[0], 1, 1), gpu_part(both[1], 1, 1)},
              [note](const std::vector<const char*>& arrived) {
                float numbers[2];
                for (int i = 0; i < 2; ++i) std::memcpy(&numbers[i], arrived[i], sizeof(float));
                note(numbers[0], numbers[1]);
              });
}

// Every second one makes room for later ones: of those in the first quarter of the steps, for
// growth is seen in the others; where these are few of all, and the next ones are then further
// apart.
void thin_out() {
  constexpr size_t kFewOld = 6;
  std::vector<trace::HealthSampleRecord*>& all = health->samples;
  if (all.empty()) return;
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->step < b->step; });
  const uint32_t last = all.back()->step;
  const auto is_old = [last](const auto* sample) { return sample->step < last / 4; };
  const auto old = static_cast<size_t>(std::count_if(all.begin(), all.end(), is_old));
  const bool is_of_all = old < kFewOld;
  const size_t end = is_of_all ? all.size() : old;
  std::vector<trace::HealthSampleRecord*> kept;
  for (size_t i = 0; i < all.size(); ++i)
    (i % 2 == 0 || i >= end ? kept : health->free).push_back(all[i]);
  for (trace::HealthSampleRecord* sample : health->free)
    __atomic_store_n(&sample->step, 0, __ATOMIC_RELEASE);
  all = std::move(kept);
  if (!is_of_all) return;
  if (pace->every) pace->every = std::min(pace->every * 2, 1u << 30);
  pace->percent = std::min(pace->percent * 2, 100u);
}

trace::HealthSampleRecord* take_record() {
  const size_t points = health->rows.size();
  const uint64_t bytes = sizeof(trace::HealthSampleRecord) + (points * 4 + 7) / 8 * 8;
  if (health->free.empty() && has_room(bytes)) {
    auto* record = tracer.file.reserve<trace::HealthSampleRecord>(
        trace::RecordKind::kHealthSample, points * sizeof(trace::HealthPoint));
    if (!record) return nullptr;
    record->point_count = static_cast<uint32_t>(points);
    health->bytes += bytes;
    return record;
  }
  if (health->free.empty()) thin_out();
  if (health->free.empty()) return nullptr;
  const auto widest = std::max_element(
      health->free.begin(), health->free.end(),
      [](const auto* a, const auto* b) { return a->point_count < b->point_count; });
  trace::HealthSampleRecord* record = *widest;
  health->free.erase(widest);
  return record;
}

void add_moves() {
  for (auto& [impl, weight] : health->weights) {
    if (weight.looked_at != health->step || weight.row >= health->rows.size()) continue;
    RowInStep& seen = health->rows[weight.row].seen;
    add_last_moves(impl, health->step, seen.updates, seen.lost);
  }
}

void write_sample() {
  if (health->step == 0) return;
  add_moves();
  trace::HealthSampleRecord* record = take_record();
  const uint32_t step = std::exchange(health->step, 0);
  if (!record) return;
  auto* points = reinterpret_cast<trace::HealthPoint*>(record + 1);
  for (size_t i = 0; i < record->point_count; ++i)
    points[i] = i < health->rows.size() ? point_of(health->rows[i])
                                        : trace::HealthPoint{trace::kNoPoint, 0, 0};
  record->skipped = health->skipped;
  record->left_out = health->left_out;
  record->scale = health->scale;
  const bool is_new = record->header.state != trace::kCommitted;
  __atomic_store_n(&record->step, step, __ATOMIC_RELEASE);
  if (is_new) tracer.file.commit(record->header);
  health->samples.push_back(record);
}

void write_what_was_seen() {
  try {
    write_sample();
  } catch (...) {  // no memory: there is no sample of this step
  }
}

}  // namespace

bool start_health(const char* options) {
  if (!read_option(options, "health")) return false;
  pace->asked_every = number_of_option(options, "health");
  pace->every = pace->asked_every;
  return true;
}

bool is_health_step(uint32_t step) {
  return tracer.options.health && step > 0 && step == pace->next.load(std::memory_order_relaxed);
}

void note_health_operands(ThreadState* state, const Frame& frame,
                          c10::ArrayRef<const c10::IValue> inputs) {
  const bool steps = frame.phase == static_cast<uint8_t>(Phase::kOptimizer);
  const uint32_t step = tracer.current_step();
  if (!frame.op->updates_scale && !(steps && is_health_step(step))) return;
  const BusyScope busy(state);
  try {
    if (frame.op->updates_scale) return look_at_scale(inputs);
    if (begin_look(step)) look_at_step(frame, inputs, step);
  } catch (...) {  // no memory: this step is not looked at
  }
}

void note_health_results(ThreadState* state, const Frame& frame,
                         const std::vector<c10::IValue>& outputs) {
  const uint32_t step = tracer.current_step();
  if (!is_health_step(step) || frame.phase != static_cast<uint8_t>(Phase::kForward)) return;
  const OpInfo& op = *frame.op;
  const Frame* parent = state->innermost();
  if ((parent && parent->op) || op.converts || op.makes_garbage || op.tensors.empty()) return;
  const BusyScope busy(state);
  try {
    if (!begin_look(step)) return;
    const uint32_t module = module_of_site(site_id(frame.site));
    for (const c10::IValue& value : outputs) {
      for_elements(value, [&](const c10::TensorImpl* impl, size_t) {
        if (!has_health_numbers(impl)) return;
        const bool is_view = frame.first_storage == impl->unsafe_storage().unsafeGetStorageImpl();
        uint32_t row = 0;
        if ((is_view && !op.writes_first_tensor) ||
            !find_row(HealthRole::kActivation, module, frame, dtype_of(impl), row))
          return;
        look_at_numbers(impl, row, step);
      });
    }
  } catch (...) {  // as above
  }
}

void note_health_step(uint32_t step) {
  const std::lock_guard<std::mutex> lock(health->mutex);
  if (step >= pace->next.load(std::memory_order_relaxed)) pace->next.store(step_after(step));
  health->is_over |= step >= health->step;
  if (health->is_over && health->under_way == 0) write_what_was_seen();
}

void write_health() {
  const std::lock_guard<std::mutex> lock(health->mutex);
  write_what_was_seen();
}

void forget_health() {
  health = new Health;  // the old one may have been locked by a thread that is no more
  pace->every = pace->asked_every;
  pace->percent = kUsualPercent;
  pace->next.store(1);
}

}  // namespace dtypecheck::tracer
