// weight_moves.cpp: see weight_moves.h. Reads values, and writes none; the first steps are all
// looked at, and then one in sixteen.
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
#include "tracer/hook/looking.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck {
namespace tracer {
namespace {

constexpr int kSampled = 32;                    // elements of a weight
constexpr size_t kMostWeights = 2048;           // of a process
constexpr uint32_t kEveryWeightStepUntil = 16;  // and then one step in as many

using Bits = std::array<uint16_t, kSampled>;

struct Weight {
  uint8_t dtype = 0;
  int64_t numel = 0;
  int count = 0;      // elements that are looked at
  uint32_t step = 0;  // whose write is not summed up yet; 0: none
  Bits first{}, before{}, after{};
  uint32_t tried = 0, ever_tried = 0;  // a bit an element: its gradient is not 0
};

struct Sums {
  uint64_t steps = 0, updates = 0, lost = 0, zero = 0;
};

struct WeightMoves {
  std::mutex mutex;
  std::unordered_map<const c10::TensorImpl*, Weight> weights;
  Sums sums[2];  // Half, BFloat16
  std::set<std::string> optimizers;
};
WeightMoves* moves = new WeightMoves;

// The weights of the op that this thread is in, kept alive until it is over. Never destroyed: ops
// run while threads end, too.
using Kept = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
struct Written {
  const void* op = nullptr;
  std::vector<Kept> weights;
};
thread_local Written* written = nullptr;

bool is_half(uint8_t dtype) { return dtype == static_cast<uint8_t>(Dtype::kHalf); }

bool is_16_bits(uint8_t dtype) {
  return is_half(dtype) || dtype == static_cast<uint8_t>(Dtype::kBFloat16);
}

bool is_here(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->device().is_cpu() && impl->is_non_overlapping_and_dense() &&
         impl->numel() > 0 && data_of(impl);
}

bool is_trained_weight(const c10::TensorImpl* impl) {
  return is_16_bits(dtype_of(impl)) && is_plain(impl) && is_leaf(impl) && is_here(impl);
}

int64_t position(const Weight& weight, int i) { return i * weight.numel / weight.count; }

const char* data_begin(const c10::TensorImpl* impl) {
  return static_cast<const char*>(data_of(impl)) +
         impl->storage_offset() * impl->dtype().itemsize();
}

void read_bits(const Weight& weight, const c10::TensorImpl* impl, Bits& bits) {
  const auto* data = reinterpret_cast<const uint16_t*>(data_begin(impl));
  for (int i = 0; i < weight.count; ++i) bits[i] = data[position(weight, i)];
}

bool is_zero(const c10::TensorImpl* impl, int64_t at) {
  const char* data = data_begin(impl);
  switch (impl->dtype().itemsize()) {
    case 2:
      return (reinterpret_cast<const uint16_t*>(data)[at] & 0x7fff) == 0;
    case 4:
      return reinterpret_cast<const float*>(data)[at] == 0;
    default:
      return false;
  }
}

// The elements whose gradient is not 0. The strides of both are alike, or nothing is said.
uint32_t tried_by(const Weight& weight, const c10::TensorImpl* impl) {
  const at::Tensor& gradient = impl->grad();
  if (!gradient.defined()) return 0;
  const c10::TensorImpl* grad = gradient.unsafeGetTensorImpl();
  if (!is_here(grad) || grad->numel() != weight.numel || grad->strides() != impl->strides())
    return 0;
  uint32_t tried = 0;
  for (int i = 0; i < weight.count; ++i)
    if (!is_zero(grad, position(weight, i))) tried |= 1u << i;
  return tried;
}

bool same(const Weight& weight, const Bits& a, const Bits& b) {
  return std::equal(a.begin(), a.begin() + weight.count, b.begin());
}

// A weight that another part of the program wrote in between, or another one at its address, begins
// anew.
void begin_step(Weight& weight, const c10::TensorImpl* impl, uint32_t step) {
  const bool is_same = weight.dtype == dtype_of(impl) && weight.numel == impl->numel();
  weight.dtype = dtype_of(impl);
  weight.numel = impl->numel();
  weight.count = static_cast<int>(std::min<int64_t>(kSampled, weight.numel));
  weight.step = step;
  read_bits(weight, impl, weight.before);
  weight.tried = tried_by(weight, impl);
  if (!is_same || !same(weight, weight.before, weight.after)) {
    weight.first = weight.before;
    weight.ever_tried = 0;
  }
  weight.ever_tried |= weight.tried;
  weight.after = weight.before;
}

template <typename Visit>
void for_first_tensors(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs,
                       const Visit& visit) {
  if (frame.op->tensors.empty()) return;
  const c10::IValue& first = inputs[frame.op->tensors.front().index];
  if (first.isTensor()) return visit(first.unsafeToTensorImpl());
  if (!first.isList()) return;
  for (const c10::IValue& element : first.toListRef())
    if (element.isTensor()) visit(element.unsafeToTensorImpl());
}

bool looks_at_step(uint32_t step) {
  return step <= kEveryWeightStepUntil || step % kEveryWeightStepUntil == 0;
}

int count_bits(uint32_t bits) { return __builtin_popcount(bits); }

bool is_finite(uint16_t bits, uint8_t dtype) {
  const uint16_t exponent = is_half(dtype) ? 0x7c00 : 0x7f80;
  return (bits & exponent) != exponent;
}

void sum_up(Weight& weight, Sums& sums) {
  weight.step = 0;
  sums.zero += weight.count - count_bits(weight.tried);
  sums.updates += count_bits(weight.tried);
  for (int i = 0; i < weight.count; ++i) {
    const bool is_lost = (weight.tried >> i & 1) && weight.before[i] == weight.after[i];
    sums.lost += is_lost ? 1 : 0;
  }
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
    for_first_tensors(frame, inputs, [&](const c10::TensorImpl* impl) {
      if (!is_trained_weight(impl)) return;
      const bool is_known = moves->weights.count(impl) != 0;
      if (!is_known && moves->weights.size() >= kMostWeights) return;
      Weight& weight = moves->weights[impl];
      if (weight.step != step) begin_step(weight, impl, step);
      written->weights.push_back(
          Kept::unsafe_reclaim_from_nonowning(const_cast<c10::TensorImpl*>(impl)));
    });
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

void note_weight_moves() {
  const uint32_t step = tracer.step.load(std::memory_order_relaxed) + 1;
  if (!looks_at_step(step)) return;
  {
    const std::lock_guard<std::mutex> lock(moves->mutex);
    bool is_stepped[2] = {false, false};
    for (auto& [impl, weight] : moves->weights) {
      if (weight.step == 0) continue;
      const int kind = is_half(weight.dtype) ? 0 : 1;
      sum_up(weight, moves->sums[kind]);
      is_stepped[kind] = true;
    }
    for (int kind : {0, 1}) moves->sums[kind].steps += is_stepped[kind] ? 1 : 0;
    if (!is_stepped[0] && !is_stepped[1]) return;
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

}  // namespace tracer
}  // namespace dtypecheck
