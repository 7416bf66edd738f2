// weight_moves.cpp: see weight_moves.h. Reads values, and writes none; the first steps are all
// looked at, and then one in sixteen. What lies on a GPU is copied before the step's first write
// and at the step's end, and summed up when it has arrived.
#include "tracer/hook/weight_moves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/codes.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/health.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer {
namespace {

constexpr int kSampled = 32;           // elements of a weight
constexpr int kPiecesOfWeight = 4;     // that these lie in
constexpr size_t kMostWeights = 2048;  // of a process

using Bits = std::array<uint16_t, kSampled>;

struct Weight {
  uint8_t dtype = 0;
  int64_t numel = 0;
  int count = 0;       // elements that are looked at
  uint32_t step = 0;   // whose write is not summed up yet; 0: none
  uint32_t asked = 0;  // the last step whose samples were asked for, on a GPU
  Bits first{}, before{}, after{};
  uint32_t tried = 0, ever_tried = 0;     // a bit an element: its gradient is not 0
  uint32_t last_step = 0, last_lost = 0;  // that was summed up
};

struct Sums {
  uint64_t steps = 0, updates = 0, lost = 0, zero = 0;
  double moved = 0;      // by how much, all updates together
  double most_lost = 0;  // what those that changed nothing can have been: half a gap each
  uint32_t last_step = 0;
};

// Kept alive, so that nothing else takes its address.
using Kept = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

Kept keep(const c10::TensorImpl* impl) {
  return Kept::unsafe_reclaim_from_nonowning(const_cast<c10::TensorImpl*>(impl));
}

struct WeightMoves {
  std::mutex mutex;
  std::vector<Kept> stepped_on_gpu;  // in this step
  std::unordered_map<const c10::TensorImpl*, Weight> weights;
  Sums sums[2];  // Half, BFloat16
  std::set<std::string> optimizers;
};
WeightMoves* moves = new WeightMoves;

// The weights of the op that this thread is in, until it is over. Never destroyed: ops run while
// threads end, too.
struct Written {
  const void* op = nullptr;
  std::vector<Kept> weights;
};
thread_local Written* written = nullptr;

bool is_half(uint8_t dtype) { return dtype == static_cast<uint8_t>(Dtype::kHalf); }

bool is_here(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->device().is_cpu() && impl->is_non_overlapping_and_dense() &&
         impl->numel() > 0 && data_of(impl);
}

bool is_trained_weight(const c10::TensorImpl* impl) {
  return is_of_16_bits(dtype_of(impl)) && is_plain(impl) && is_leaf(impl) &&
         (is_here(impl) || is_on_gpu(impl));
}

int64_t position(const Weight& weight, int i) {
  constexpr int kInPiece = kSampled / kPiecesOfWeight;
  return weight.numel <= kSampled ? i
                                  : i / kInPiece * (weight.numel / kPiecesOfWeight) + i % kInPiece;
}

void read_bits(const Weight& weight, const c10::TensorImpl* impl, Bits& bits) {
  const auto* data = reinterpret_cast<const uint16_t*>(first_byte(impl));
  for (int i = 0; i < weight.count; ++i) bits[i] = data[position(weight, i)];
}

bool is_zero(const char* number, size_t size) {
  uint16_t half;
  float whole;
  switch (size) {
    case 2:
      return std::memcpy(&half, number, size), (half & 0x7fff) == 0;
    case 4:
      return std::memcpy(&whole, number, size), whole == 0;
    default:
      return false;
  }
}

// Null where there is none whose strides are those of the weight.
const c10::TensorImpl* gradient_of(const c10::TensorImpl* impl) {
  const at::Tensor& gradient = impl->grad();
  if (!gradient.defined()) return nullptr;
  const c10::TensorImpl* grad = gradient.unsafeGetTensorImpl();
  const bool is_read = impl->device().is_cpu() ? is_here(grad) : is_on_gpu(grad);
  const bool is_alike = is_read && grad->device() == impl->device() &&
                        grad->numel() == impl->numel() && grad->strides() == impl->strides();
  return is_alike ? grad : nullptr;
}

// The elements whose gradient is not 0.
uint32_t tried_by(const Weight& weight, const c10::TensorImpl* impl) {
  const c10::TensorImpl* grad = gradient_of(impl);
  if (!grad) return 0;
  const size_t size = grad->dtype().itemsize();
  uint32_t tried = 0;
  for (int i = 0; i < weight.count; ++i)
    if (!is_zero(first_byte(grad) + position(weight, i) * size, size)) tried |= 1u << i;
  return tried;
}

bool same(const Weight& weight, const Bits& a, const Bits& b) {
  return std::equal(a.begin(), a.begin() + weight.count, b.begin());
}

// True where it is the weight that was there before.
bool describe(Weight& weight, const c10::TensorImpl* impl) {
  const bool is_same = weight.dtype == dtype_of(impl) && weight.numel == impl->numel();
  weight.dtype = dtype_of(impl);
  weight.numel = impl->numel();
  weight.count = static_cast<int>(std::min<int64_t>(kSampled, weight.numel));
  return is_same;
}

// A weight that another part of the program wrote in between, or another one at its address, begins
// anew.
void begin_step(Weight& weight, uint32_t step, bool is_same, const Bits& before, uint32_t tried) {
  weight.step = step;
  weight.before = before;
  weight.tried = tried;
  if (!is_same || !same(weight, weight.before, weight.after)) {
    weight.first = weight.before;
    weight.ever_tried = 0;
  }
  weight.ever_tried |= weight.tried;
  weight.after = weight.before;
}

bool looks_at_step(uint32_t step) {
  return step <= kEveryStepUntil || step % kEveryStepUntil == 0 || is_health_step(step);
}

int count_bits(uint32_t bits) { return __builtin_popcount(bits); }

bool is_finite(uint16_t bits, uint8_t dtype) {
  const uint16_t exponent = is_half(dtype) ? 0x7c00 : 0x7f80;
  return (bits & exponent) != exponent;
}

double number(uint16_t bits, uint8_t dtype) {
  return is_half(dtype) ? static_cast<float>(c10::Half(bits, c10::Half::from_bits()))
                        : static_cast<float>(c10::BFloat16(bits, c10::BFloat16::from_bits()));
}

double half_gap(uint16_t bits, uint8_t dtype) {
  return std::fabs(number(static_cast<uint16_t>(bits + 1), dtype) - number(bits, dtype)) / 2;
}

void sum_up(Weight& weight) {
  Sums& sums = moves->sums[is_half(weight.dtype) ? 0 : 1];
  sums.steps += weight.step != sums.last_step ? 1 : 0;
  sums.last_step = weight.last_step = weight.step;
  weight.step = 0;
  weight.last_lost = 0;
  sums.zero += weight.count - count_bits(weight.tried);
  sums.updates += count_bits(weight.tried);
  for (int i = 0; i < weight.count; ++i) {
    if (!(weight.tried >> i & 1)) continue;
    const uint16_t before = weight.before[i], after = weight.after[i];
    sums.lost += before == after ? 1 : 0;
    weight.last_lost += before == after ? 1 : 0;
    const double by = before == after
                          ? half_gap(before, weight.dtype)
                          : std::fabs(number(after, weight.dtype) - number(before, weight.dtype));
    if (std::isfinite(by)) (before == after ? sums.most_lost : sums.moved) += by;
  }
}

// Weights on a GPU, before or behind a step. Nothing is known of them any more but their addresses
// when their samples arrive.
struct AskedWeight {
  const c10::TensorImpl* weight;
  bool is_same;
  size_t gradient_size;  // of an element; 0: there is none
};

Weight* find_weight(const c10::TensorImpl* impl) {
  const auto found = moves->weights.find(impl);
  return found == moves->weights.end() ? nullptr : &found->second;
}

Bits bits_at(const Weight& weight, const char* arrived) {
  Bits bits{};
  std::memcpy(bits.data(), arrived, weight.count * sizeof(uint16_t));
  return bits;
}

uint32_t tried_at(const Weight& weight, const char* arrived, size_t size) {
  uint32_t tried = 0;
  for (int i = 0; size && i < weight.count; ++i)
    if (!is_zero(arrived + i * size, size)) tried |= 1u << i;
  return tried;
}

void ask_before(const std::vector<const c10::TensorImpl*>& weights, uint32_t step) {
  std::vector<GpuPart> parts;
  std::vector<AskedWeight> all;
  for (const c10::TensorImpl* impl : weights) {
    if (impl->device() != weights.front()->device()) continue;
    Weight& weight = moves->weights[impl];
    weight.asked = step;
    const c10::TensorImpl* grad = gradient_of(impl);
    all.push_back({impl, describe(weight, impl), grad ? grad->dtype().itemsize() : 0});
    for (const c10::TensorImpl* tensor : {impl, grad ? grad : impl})
      parts.push_back(gpu_part(tensor, kSampled, kPiecesOfWeight));
    moves->stepped_on_gpu.push_back(keep(impl));
  }
  copy_sample(weights.front()->device().index(), parts,
              [all, step](const std::vector<const char*>& arrived) {
                const std::lock_guard<std::mutex> lock(moves->mutex);
                for (size_t i = 0; i < all.size() && 2 * i + 1 < arrived.size(); ++i) {
                  Weight* weight = find_weight(all[i].weight);
                  if (!weight) continue;
                  begin_step(*weight, step, all[i].is_same, bits_at(*weight, arrived[2 * i]),
                             tried_at(*weight, arrived[2 * i + 1], all[i].gradient_size));
                }
              });
}

void ask_after(const std::vector<Kept>& weights, uint32_t step) {
  std::vector<GpuPart> parts;
  std::vector<const c10::TensorImpl*> all;
  const c10::Device device = weights.front()->device();
  for (const Kept& weight : weights) {
    const auto found = moves->weights.find(weight.get());
    if (found == moves->weights.end() || weight->device() != device || !is_on_gpu(weight.get()) ||
        found->second.numel != weight->numel())
      continue;
    all.push_back(weight.get());
    parts.push_back(gpu_part(weight.get(), kSampled, kPiecesOfWeight));
  }
  copy_sample(device.index(), parts, [all, step](const std::vector<const char*>& arrived) {
    const std::lock_guard<std::mutex> lock(moves->mutex);
    for (size_t i = 0; i < all.size() && i < arrived.size(); ++i) {
      Weight* weight = find_weight(all[i]);
      if (!weight || weight->step != step) continue;
      weight->after = bits_at(*weight, arrived[i]);
      sum_up(*weight);
    }
  });
}

// Of the sum of all updates, at most.
uint64_t thousandths_gone(const Sums& sums) {
  const double all = sums.moved + sums.most_lost;
  return all == 0 ? 0 : static_cast<uint64_t>(std::lround(1000 * sums.most_lost / all));
}

std::string text_of_sums(uint8_t dtype, const Sums& sums) {
  uint64_t tensors = 0, elements = 0, unmoved = 0, looked = 0, non_finite = 0;
  for (const auto& [impl, weight] : moves->weights) {
    if (weight.dtype != dtype) continue;
    ++tensors;
    for (int i = 0; i < weight.count; ++i) {
      ++looked;
      non_finite += is_finite(weight.after[i], dtype) ? 0 : 1;
      if (!(weight.ever_tried >> i & 1)) continue;
      ++elements;
      unmoved += weight.first[i] == weight.after[i] ? 1 : 0;
    }
  }
  std::string text;
  for (const auto& [name, value] : {std::pair<const char*, uint64_t>{"steps", sums.steps},
                                    {"tensors", tensors},
                                    {"elements", elements},
                                    {"unmoved", unmoved},
                                    {"updates", sums.updates},
                                    {"lost", sums.lost},
                                    {"zero", sums.zero},
                                    {"gone", thousandths_gone(sums)},
                                    {"looked", looked},
                                    {"non_finite", non_finite}})
    text += std::string(text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

void write_sums() {
  std::vector<std::pair<const char*, std::string>> sums_by_dtype;
  std::string optimizers;
  {
    const std::lock_guard<std::mutex> lock(moves->mutex);
    for (const Dtype dtype : {Dtype::kHalf, Dtype::kBFloat16}) {
      const auto number = static_cast<uint8_t>(dtype);
      const Sums& sums = moves->sums[is_half(number) ? 0 : 1];
      if (sums.steps > 0)
        sums_by_dtype.emplace_back(is_half(number) ? "Half" : "BFloat16",
                                   text_of_sums(number, sums));
    }
    for (const std::string& name : moves->optimizers)
      optimizers += (optimizers.empty() ? "" : ",") + name;
  }
  for (const auto& [dtype, text] : sums_by_dtype) write_fact(FactKey::kWeights, dtype, text);
  if (!sums_by_dtype.empty() && !optimizers.empty()) write_fact(FactKey::kOptimizer, optimizers);
}

}  // namespace

void look_at_weights(ThreadState* state, const Frame& frame,
                     c10::ArrayRef<const c10::IValue> inputs) {
  const uint32_t step = tracer.step.load(std::memory_order_relaxed) + 1;
  if (!looks_at_step(step)) return;
  const BusyScope busy(state);
  try {
    const std::lock_guard<std::mutex> lock(moves->mutex);
    if (!written) written = new Written;
    written->op = nullptr;
    written->weights.clear();
    std::vector<const c10::TensorImpl*> on_gpu;
    if (frame.op->tensors.empty()) return;
    for_each_tensor(inputs[frame.op->tensors.front().index], [&](const c10::TensorImpl* impl) {
      if (!is_trained_weight(impl)) return;
      const bool is_known = moves->weights.count(impl) != 0;
      if (!is_known && moves->weights.size() >= kMostWeights) return;
      Weight& weight = moves->weights[impl];
      if (!impl->device().is_cpu()) {
        if (weight.asked != step) on_gpu.push_back(impl);
        return;
      }
      weight.asked = 0;
      if (weight.step != step) {
        const bool is_same = describe(weight, impl);
        Bits before{};
        read_bits(weight, impl, before);
        begin_step(weight, step, is_same, before, tried_by(weight, impl));
      }
      written->weights.push_back(keep(impl));
    });
    if (!on_gpu.empty()) ask_before(on_gpu, step);
    if (!written->weights.empty()) written->op = frame.record;
  } catch (...) {  // no memory: this step is not looked at
  }
}

void look_at_written(const Frame& frame) {
  if (!written || written->op == nullptr || written->op != frame.record) return;
  {
    const std::lock_guard<std::mutex> lock(moves->mutex);
    for (const Kept& impl : written->weights) {
      const auto found = moves->weights.find(impl.get());
      if (found != moves->weights.end() && found->second.numel == impl->numel())
        read_bits(found->second, impl.get(), found->second.after);
    }
  }
  written->op = nullptr;
  written->weights.clear();
}

void add_last_moves(const c10::TensorImpl* weight, uint32_t step, uint64_t& updates,
                    uint64_t& lost) {
  const std::lock_guard<std::mutex> lock(moves->mutex);
  const Weight* known = find_weight(weight);
  if (!known || known->last_step != step) return;
  updates += count_bits(known->tried);
  lost += known->last_lost;
}

void note_weight_moves() {
  const uint32_t step = tracer.step.load(std::memory_order_relaxed) + 1;
  if (!looks_at_step(step)) return;
  {
    const std::lock_guard<std::mutex> lock(moves->mutex);
    const std::vector<Kept> on_gpu = std::move(moves->stepped_on_gpu);
    moves->stepped_on_gpu.clear();
    if (!on_gpu.empty()) ask_after(on_gpu, step);
    bool is_stepped = !on_gpu.empty();
    for (auto& [impl, weight] : moves->weights) {
      if (weight.step == 0 || weight.asked) continue;
      sum_up(weight);
      is_stepped = true;
    }
    if (!is_stepped) return;
  }
  const bool is_power = (step & (step - 1)) == 0;  // a killed run keeps what was written last
  if (step <= 4 || is_power) write_sums();
}

void write_weight_moves() {
  try {
    write_sums();
  } catch (...) {
  }
}

void note_optimizer(const char* scope) {
  const char* name = std::strchr(scope, '#');
  if (!name) return;
  std::string text = name + 1;
  text = text.substr(0, text.find('.'));
  const std::lock_guard<std::mutex> lock(moves->mutex);
  if (moves->optimizers.size() < 8) moves->optimizers.insert(text);
}

void forget_weight_moves() { moves = new WeightMoves; }

}  // namespace dtypecheck::tracer
