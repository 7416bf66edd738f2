// values.cpp: reads tensors of the CPU in place, and of those on a GPU samples that are copied
// there and looked at later. --check-values asks for all numbers of the latter through LibTorch,
// unobserved, which waits for the device.
#include "tracer/hook/values.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/codes.h"
#include "core/dtype_range.h"
#include "tracer/hook/clock.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/gpu_work.h"
#include "tracer/hook/option_text.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/known_values.h"

namespace dtypecheck::tracer {
namespace {

constexpr int64_t kMostIntegers = 4096;  // time steps, sizes, IDs; of more, so many
constexpr int64_t kMostSteps = 64;       // whole numbers in Float, of each call; of some if more
constexpr int64_t kMostSampled = 4096;   // of what a cast loses, in so many pieces: few pages
constexpr int64_t kPieces = 16;
constexpr uint64_t kSampledOneIn = 16;  // calls, the first among them
constexpr uint32_t kLookOneIn = 8;      // ops, for samples that have arrived

c10::ScalarType scalar_type(const c10::TensorImpl* impl) {
  return c10::typeMetaToScalarType(impl->dtype());
}

double rounded(double value, uint8_t dtype) {
  const float narrow = static_cast<float>(value);
  return dtype == static_cast<uint8_t>(Dtype::kHalf) ? static_cast<float>(c10::Half(narrow))
                                                     : static_cast<float>(c10::BFloat16(narrow));
}

struct Loss {
  bool found = false;
  double from = 0, to = 0;
};

template <typename Integer>
Loss find_loss(const void* data, int64_t count, uint8_t target) {
  const auto* values = static_cast<const Integer*>(data);
  for (int64_t i = 0; i < count; ++i) {
    const double from = static_cast<double>(values[i]);
    if (rounded(from, target) != from) return {true, from, rounded(from, target)};
  }
  return {};
}

// Whole numbers in a floating dtype, all of them, are time steps, sizes or positions as well. What
// is past 2^16 is none, and would be whole by chance.
template <typename Float>
Loss find_loss_of_whole(const void* data, int64_t count, uint8_t target) {
  const auto* values = static_cast<const Float*>(data);
  Loss loss;
  for (int64_t i = 0; i < count; ++i) {
    const double from = static_cast<double>(values[i]);
    if (!(std::fabs(from) <= 65536) || from != std::floor(from)) return {};
    if (!loss.found && rounded(from, target) != from) loss = {true, from, rounded(from, target)};
  }
  return loss;
}

bool is_readable(const c10::TensorImpl* impl) {
  const bool is_here = impl->device().is_cpu() || keep_going::has_known_values(impl);
  return is_plain(impl) && is_here && impl->is_non_overlapping_and_dense() && data_of(impl);
}

// How many numbers a tensor shows, each once, where these lie side by side: positions are expanded
// to a batch. 0: they do not, or cannot be read.
int64_t distinct_numbers(const c10::TensorImpl* impl) {
  if (!is_plain(impl) || !impl->device().is_cpu() || !data_of(impl)) return 0;
  std::vector<std::pair<int64_t, int64_t>> sizes;  // by stride
  for (int64_t i = 0; i < impl->dim(); ++i)
    if (impl->stride(i) != 0 && impl->size(i) > 1)
      sizes.emplace_back(impl->stride(i), impl->size(i));
  std::sort(sizes.begin(), sizes.end());
  int64_t count = impl->numel() == 0 ? 0 : 1;
  for (const auto& [stride, size] : sizes) {
    if (stride != count) return 0;
    count *= size;
  }
  return count;
}

Loss loss_of(Dtype dtype, const char* data, int64_t count, uint8_t target) {
  switch (dtype) {
    case Dtype::kLong:
      return find_loss<int64_t>(data, count, target);
    case Dtype::kInt:
      return find_loss<int32_t>(data, count, target);
    case Dtype::kShort:
      return find_loss<int16_t>(data, count, target);
    case Dtype::kFloat:
      return find_loss_of_whole<float>(data, count, target);
    case Dtype::kDouble:
      return find_loss_of_whole<double>(data, count, target);
    default:
      return {};
  }
}

void write_loss(const trace::SignatureRecord* signature, const Loss& loss, uint32_t step,
                uint32_t rounded_at = 0, const Arrived& arrived = {}) {
  // What another call of it becomes may say more than that a product read it.
  const bool is_least = arrived.as == Arrival::kProduct;
  const uint64_t key = mix(reinterpret_cast<uint64_t>(signature), is_least ? 0x1ec6 : 0x1ec5) | 1;
  if (!tracer.messages.insert(key, 1)) return;
  auto* record = tracer.file.reserve<trace::InexactRecord>(trace::RecordKind::kInexact);
  if (!record) return;
  record->signature = signature->id;
  record->step = step;
  record->from = loss.from;
  record->to = loss.to;
  record->arrival = static_cast<uint32_t>(arrived.as);
  record->arrived_at = arrived.signature;
  record->off = arrived.off;
  record->rounded_at = rounded_at;
  tracer.file.commit(record->header);
}

// A sum, since a signature knows the shape of its first call alone.
void count_elements(trace::SignatureRecord* signature, const c10::TensorImpl* impl) {
  trace::CastCounters* counters = cast_counters(signature);
  if (!counters || !is_plain(impl)) return;
  __atomic_fetch_add(&counters->elements, static_cast<uint64_t>(impl->numel()), __ATOMIC_RELAXED);
}

struct Finite {
  bool known = false, all = true, nan = false;
};

StepList* checked_steps = new StepList;  // that are asked for, besides those below

// What a training does in a step long after its first, to evaluate or to save, begins there.
bool looks_in_this_step(const trace::SignatureRecord* signature) {
  const uint32_t step = tracer.current_step();
  return tracer.options.check_values &&
         (step - signature->first_step < kEveryStepUntil || step % kEveryStepUntil == 0 ||
          checked_steps->contains(step));
}

std::atomic<uint32_t> ops_since_look{0};

// Which of two threads comes first when both come at once, nobody knows.
std::atomic<uint32_t> non_finite_seen{0};

// The first inf and the first NaN of each signature; `flags` without which of the two.
void write_non_finite(uint32_t signature, const Finite& found, uint32_t flags, uint32_t index,
                      uint32_t step) {
  flags |= found.nan ? trace::kNonFiniteIsNan : 0;
  const uint32_t kind =
      flags & ~(trace::kNonFiniteOperandsWereFinite | trace::kNonFiniteOperandsHadNoNan);
  const uint64_t key = mix(signature, 0xf1417e + kind) | 1;
  if (!tracer.messages.insert(key, 1)) return;
  auto* record = tracer.file.reserve<trace::NonFiniteRecord>(trace::RecordKind::kNonFinite);
  if (!record) return;
  record->signature = signature;
  record->step = step;
  record->flags = flags;
  record->result = index;
  record->order = non_finite_seen.fetch_add(1) + 1;
  tracer.file.commit(record->header);
}

struct Sample {
  uint64_t looked = 0, clipped = 0, flushed = 0;
  bool has_nan = false;
};

// Large tensors of a preflight stay on the disk that they are mapped from.
bool is_left_alone(const c10::TensorImpl* impl) {
  return tracer.options.pretended && impl->numel() > kMostSampled;
}

template <typename Visit>
void for_sampled(int64_t count, bool all, const Visit& visit) {
  const bool has_pieces = !all && count > kMostSampled;
  const int64_t pieces = has_pieces ? kPieces : 1;
  const int64_t length = has_pieces ? kMostSampled / kPieces : count;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t begin = piece * (count / pieces);
    for (int64_t i = begin; i < begin + length; ++i) visit(i);
  }
}

// Of a cast to integers what has a fraction: it becomes 0, or is clipped. Without fractions nothing
// is.
template <typename Float>
Sample sample_fractions(const char* data, int64_t count, bool all) {
  const auto* values = reinterpret_cast<const Float*>(data);
  Sample seen;
  for_sampled(count, all, [&](int64_t i) {
    const double size = std::fabs(static_cast<double>(values[i]));
    if (size == 0 || !std::isfinite(size)) return;
    ++seen.looked;
    if (std::floor(size) != size) ++(size < 1 ? seen.flushed : seen.clipped);
  });
  return seen;
}

// Where all that is clipped is one number it is a mask's, which is meant to be infinite. Null: the
// cast is to integers.
template <typename Float>
Sample sample(const char* data, int64_t count, bool all, const DtypeRange* range) {
  if (range == nullptr) return sample_fractions<Float>(data, count, all);
  const auto* values = reinterpret_cast<const Float*>(data);
  const float most = static_cast<float>(range->largest);
  const float least = static_cast<float>(range->smallest / 2);
  Sample seen;
  float first_clipped = 0;
  bool has_others = false;
  for_sampled(count, all, [&](int64_t i) {
    const float size = std::fabs(static_cast<float>(values[i]));
    seen.has_nan |= std::isnan(size);
    if (size == 0 || !(size < static_cast<float>(kMask))) return;
    ++seen.looked;
    if (size <= least) ++seen.flushed;
    if (size <= most) return;
    if (seen.clipped++ == 0) first_clipped = size;
    has_others |= size != first_clipped;
  });
  if (!has_others) seen.clipped = 0;
  return seen;
}

// By a hash of the call's number: what one line casts in turn, as two moments, is sampled alike.
bool is_sampled(const Frame& frame) {
  const uint64_t count = __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED);
  return count <= 1 || mix(count, 0x5a3b1e) / 64 % kSampledOneIn == 0;
}

double worst_share(uint64_t looked, uint64_t clipped, uint64_t flushed) {
  return static_cast<double>(std::max(clipped, flushed)) / static_cast<double>(looked);
}

// An optimizer casts tensors of several kinds at one line: counted is the one that loses most, so
// that all of one kind is not half of two. Elsewhere what is cast at a line is of one kind, of
// which one tensor says little, and all are counted. Of two threads one may count for nothing.
void count_lost(trace::CastCounters* counters, const Sample& seen, bool is_of_optimizer) {
  constexpr uint64_t kFewest = 16;  // numbers, to speak of a share of them
  const auto load = [](uint64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); };
  if (!is_of_optimizer || seen.looked < kFewest) {
    __atomic_fetch_add(&counters->looked, seen.looked, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counters->clipped, seen.clipped, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counters->flushed, seen.flushed, __ATOMIC_RELAXED);
    return;
  }
  const uint64_t looked = load(counters->looked);
  const bool is_worse =
      looked < kFewest || worst_share(seen.looked, seen.clipped, seen.flushed) >
                              worst_share(looked, load(counters->clipped), load(counters->flushed));
  if (!is_worse) return;
  __atomic_store_n(&counters->looked, seen.looked, __ATOMIC_RELAXED);
  __atomic_store_n(&counters->clipped, seen.clipped, __ATOMIC_RELAXED);
  __atomic_store_n(&counters->flushed, seen.flushed, __ATOMIC_RELAXED);
}

Sample sample_of(Dtype dtype, const char* data, int64_t count, bool all, const DtypeRange* range) {
  switch (dtype) {
    case Dtype::kHalf:
      return sample<c10::Half>(data, count, all, range);
    case Dtype::kBFloat16:
      return sample<c10::BFloat16>(data, count, all, range);
    case Dtype::kFloat:
      return sample<float>(data, count, all, range);
    case Dtype::kDouble:
      return sample<double>(data, count, all, range);
    default:
      return {};
  }
}

// Elements of a tensor: where it lies, or as they have arrived from a GPU.
struct Numbers {
  Dtype dtype;
  const char* data;
  int64_t count;
  uint32_t step;  // in which the op ran
  bool is_arriving = false;
};

// A number of the program's own beside tensors on a GPU, as in `step += 1`.
bool is_number_on_cpu(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->device().is_cpu() && impl->dim() == 0 && is_readable(impl) &&
         impl->dtype().itemsize() <= sizeof(uint64_t);
}

// Now where the tensors can be read, or when samples of them have arrived; never where neither can
// be (false). Each is dense; of larger ones on a GPU so many elements are copied, in pieces.
template <typename Look>
bool look_at(const std::vector<const c10::TensorImpl*>& tensors, Look look,
             int64_t most = kMostSampled) {
  const c10::Device device = tensors.front()->device();
  if (!device.is_cpu() && !gpu_is_looked_at()) return false;
  std::vector<Numbers> numbers;
  std::vector<GpuPart> parts;
  std::vector<uint64_t> own(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const c10::TensorImpl* impl = tensors[i];
    const auto size = static_cast<int64_t>(impl->dtype().itemsize());
    Numbers of{static_cast<Dtype>(dtype_of(impl)), nullptr, impl->numel(), tracer.current_step()};
    if (device.is_cpu()) {
      if (!impl->device().is_cpu() || !is_readable(impl)) return false;
      of.data = first_byte(impl);
    } else if (is_number_on_cpu(impl)) {
      std::memcpy(&own[i], first_byte(impl), static_cast<size_t>(size));
    } else {
      if (impl->device() != device || !is_on_gpu(impl)) return false;
      parts.push_back(gpu_part(impl, most, kPieces));
      of.count = static_cast<int64_t>(parts.back().bytes()) / size;
      of.is_arriving = true;
    }
    numbers.push_back(of);
  }
  if (device.is_cpu()) return look(numbers), true;
  return copy_sample(device.index(), parts,
                     [numbers = std::move(numbers), own = std::move(own),
                      look](const std::vector<const char*>& arrived) mutable {
                       size_t next = 0;
                       for (size_t i = 0; i < numbers.size(); ++i) {
                         if (numbers[i].is_arriving && next == arrived.size()) return;
                         numbers[i].data = numbers[i].is_arriving
                                               ? arrived[next++]
                                               : reinterpret_cast<const char*>(&own[i]);
                       }
                       look(numbers);
                     });
}

// A copy from a GPU costs what a small op does: of the first calls, and then of one in sixteen.
bool is_cheap_or_early(const Frame& frame, const c10::TensorImpl* impl) {
  constexpr uint64_t kFirstCalls = 64;
  return impl->device().is_cpu() ||
         __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED) <= kFirstCalls;
}

// What a cast to a dtype with near ends loses, or to integers: of one call in sixteen and of some
// numbers in it; with --check-values of all.
void sample_loss(const Frame& frame, const c10::TensorImpl* source, uint8_t target) {
  const DtypeRange* range = narrow_range(static_cast<Dtype>(target));
  const bool is_cut = !range && c10::isFloatingType(scalar_type(source)) &&
                      c10::isIntegralType(static_cast<at::ScalarType>(target), false) &&
                      target != 0;
  if ((!range && !is_cut) || is_left_alone(source)) return;
  const bool looks_at_all = tracer.options.check_values;
  if (!looks_at_all && !is_sampled(frame)) return;
  trace::CastCounters* counters = cast_counters(frame.signature);
  if (!counters) return;
  const trace::SignatureRecord* signature = frame.signature;
  const bool is_of_optimizer = frame.phase == static_cast<uint8_t>(Phase::kOptimizer);
  const bool looks_for_nan = range && target != static_cast<uint8_t>(Dtype::kHalf) &&
                             !looks_in_this_step(signature);  // 8 bits
  look_at({source}, [=](const std::vector<Numbers>& numbers) {
    const Numbers& from = numbers[0];
    const Sample seen = sample_of(from.dtype, from.data, from.count, looks_at_all, range);
    if (seen.has_nan && looks_for_nan)
      write_non_finite(signature->id, {true, false, true}, 0, 0, from.step);
    count_lost(counters, seen, is_of_optimizer);
  });
}

// What was divided to fit e4m3 reaches 448 of its largest; what was not is far below. Read as
// bytes, for not every LibTorch has a type of it. The next number is reported as the same.
void look_for_scaled(const Frame& frame, const c10::TensorImpl* source) {
  constexpr uint8_t kNan = 0x7f, k256 = 0x78;
  if (static_cast<Dtype>(dtype_of(source)) != Dtype::kFloat8_e4m3fn || !is_sampled(frame)) return;
  if (is_left_alone(source)) return;
  const trace::SignatureRecord* signature = frame.signature;
  look_at({source}, [=](const std::vector<Numbers>& numbers) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(numbers[0].data);
    uint8_t largest = 0;
    for_sampled(numbers[0].count, /*all=*/false, [&](int64_t i) {
      const uint8_t size = bytes[i] & kNan;
      if (size != kNan && size > largest) largest = size;
    });
    const double value = 256 * (1 + (largest & 7) / 8.0);
    if (largest >= k256) write_loss(signature, {true, value, value}, numbers[0].step);
  });
}

template <typename Float>
double imaginary_part(const Numbers& numbers) {
  const auto* values = reinterpret_cast<const Float*>(numbers.data);
  double all = 0, imaginary = 0, largest = 0;
  for_sampled(2 * numbers.count, /*all=*/false, [&](int64_t i) {
    const double value = values[i];
    if (!std::isfinite(value)) return;
    all += value * value;
    if (i % 2 == 0) return;
    imaginary += value * value;
    largest = std::max(largest, std::fabs(value));
  });
  constexpr double kRounding = 1e-4;  // what is left of a real number behind two transforms
  return imaginary > kRounding * kRounding * all ? largest : 0;
}

// A cast to real numbers keeps no imaginary part: the largest of those that are lost.
void look_for_imaginary(const Frame& frame, const c10::TensorImpl* source, uint8_t target) {
  const at::ScalarType from = scalar_type(source);
  const bool is_double = from == at::kComplexDouble;
  if ((from != at::kComplexFloat && !is_double) || target == 0 ||
      c10::isComplexType(static_cast<at::ScalarType>(target)))
    return;
  if (is_left_alone(source) || !is_sampled(frame)) return;
  const trace::SignatureRecord* signature = frame.signature;
  look_at({source}, [=](const std::vector<Numbers>& numbers) {
    const double lost =
        is_double ? imaginary_part<double>(numbers[0]) : imaginary_part<float>(numbers[0]);
    if (lost > 0) write_loss(signature, {true, lost, 0}, numbers[0].step);
  });
}

// _to_copy(self, dtype=…) and copy_(self, src): from an integer to a low precision that may not
// hold it.
void look_at_conversion(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const OpInfo& op = *frame.op;
  const bool copies = op.tensors.size() == 2;
  if (op.tensors.empty() || !inputs[op.tensors[0].index].isTensor()) return;
  const c10::TensorImpl* self = inputs[op.tensors[0].index].unsafeToTensorImpl();
  const c10::TensorImpl* source = self;
  uint8_t target = 0;
  count_elements(frame.signature, self);
  if (copies && inputs[op.tensors[1].index].isTensor()) {
    source = inputs[op.tensors[1].index].unsafeToTensorImpl();
    target = dtype_of(self);
  } else if (!op.dtypes.empty() && inputs[op.dtypes[0].index].isInt()) {
    target = static_cast<uint8_t>(inputs[op.dtypes[0].index].toInt());
  }
  sample_loss(frame, source, target);
  look_for_scaled(frame, source);
  look_for_imaginary(frame, source, target);
  if (!is_of_16_bits(target)) return;
  const bool is_floating = c10::isFloatingType(scalar_type(source));
  const bool is_expanded = !is_floating && source->device().is_cpu() && !is_readable(source);
  const int64_t count = is_expanded ? distinct_numbers(source) : source->numel();
  const bool is_long = count > kMostIntegers;
  if (is_long && is_floating) return;
  const bool is_weight = source->numel() > kMostSteps && is_floating;
  if ((is_weight || is_long || !is_cheap_or_early(frame, source)) && !is_sampled(frame) &&
      !tracer.options.check_values)
    return;
  const trace::SignatureRecord* signature = frame.signature;
  if (is_expanded && count > 0) {
    const auto dtype = static_cast<Dtype>(dtype_of(source));
    const Loss loss = loss_of(dtype, first_byte(source), std::min(count, kMostIntegers), target);
    if (loss.found) write_loss(signature, loss, tracer.current_step());
    return;
  }
  look_at({source}, [=](const std::vector<Numbers>& numbers) {
    const Numbers& from = numbers[0];
    const Loss loss = loss_of(from.dtype, from.data, std::min(from.count, kMostIntegers), target);
    if (loss.found) write_loss(signature, loss, from.step);
  });
}

// NaN of a dtype that nobody counts or sums in.
double value_at(const Numbers& numbers, int64_t index) {
  const char* data = numbers.data;
  switch (numbers.dtype) {
    case Dtype::kHalf:
      return reinterpret_cast<const c10::Half*>(data)[index];
    case Dtype::kBFloat16:
      return reinterpret_cast<const c10::BFloat16*>(data)[index];
    case Dtype::kFloat:
      return reinterpret_cast<const float*>(data)[index];
    case Dtype::kDouble:
      return reinterpret_cast<const double*>(data)[index];
    case Dtype::kLong:
      return static_cast<double>(reinterpret_cast<const int64_t*>(data)[index]);
    case Dtype::kInt:
      return reinterpret_cast<const int32_t*>(data)[index];
    case Dtype::kByte:
      return reinterpret_cast<const uint8_t*>(data)[index];
    case Dtype::kChar:
      return reinterpret_cast<const int8_t*>(data)[index];
    default:
      return std::nan("");
  }
}

// The two have an element each at one place of memory, or the second is one number.
bool are_alike(const c10::TensorImpl* self, const c10::TensorImpl* other) {
  return other->numel() == 1 ||
         (self->sizes() == other->sizes() && self->strides() == other->strides());
}

bool is_plain_sum(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  return std::all_of(op.numbers.begin(), op.numbers.end(), [&](const Argument& number) {  // alpha
    return inputs[number.index].isInt() && inputs[number.index].toInt() == 1;
  });
}

// What a running sum of one number lost over all its calls, while each goes on from what the one
// before gave. 1 in 32 of all that was added is far more than its last rounding.
struct RunningSum {
  const trace::SignatureRecord* of;
  double kept, exact, size;
  Loss add(double before, double added, double now_kept) {
    if (before != kept || before == 0) {
      exact = before;
      size = std::fabs(before);
    }
    exact += added;
    size += std::fabs(added);
    kept = now_kept;
    return {std::isfinite(kept) && std::fabs(exact - kept) * 32 >= size, exact, kept};
  }
};

RunningSum& running_sum_of(const trace::SignatureRecord* signature) {
  static thread_local RunningSum sums[16];  // one that is pushed out starts anew
  RunningSum& sum = sums[signature->id % 16];
  if (sum.of != signature) sum = {signature, std::nan(""), 0, 0};
  return sum;
}

// A sum in 16 bits, of one element or of many: what is past its end, what a count cannot be, and a
// term that leaves it as it is. Of many elements that has to be true of nine in ten; of one also
// what many terms lost together.
void look_at_running_sum(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const OpInfo& op = *frame.op;
  for (const Argument& tensor : op.tensors)
    if (!inputs[tensor.index].isTensor()) return;
  const c10::TensorImpl* sum = inputs[op.tensors[0].index].unsafeToTensorImpl();
  const c10::TensorImpl* term = inputs[op.tensors[1].index].unsafeToTensorImpl();
  if (!is_of_16_bits(dtype_of(sum))) return;
  const bool is_one = sum->numel() == 1;
  const bool is_small = sum->numel() <= kMostSteps && is_cheap_or_early(frame, sum);
  if (term->numel() != sum->numel() || !(is_small || is_sampled(frame))) return;
  if (is_left_alone(sum) || !are_alike(sum, term) || !is_plain_sum(op, inputs)) return;
  const uint8_t dtype = dtype_of(sum);
  const bool is_count = c10::isIntegralType(scalar_type(term), /*includeBool=*/true);
  const trace::SignatureRecord* signature = frame.signature;
  look_at({sum, term}, [=](const std::vector<Numbers>& numbers) {
    uint64_t looked = 0, stuck = 0;
    Loss loss;
    for_sampled(numbers[0].count, /*all=*/false, [&](int64_t i) {
      const double before = value_at(numbers[0], i), added = value_at(numbers[1], i);
      const double now = before + added;
      if (added == 0 || !std::isfinite(now)) return;
      ++looked;
      const double kept = rounded(now, dtype);
      const bool is_stuck = kept == before || std::isinf(kept);
      stuck += is_stuck;
      const bool is_lost = (is_count && kept != now) || is_stuck;
      if (is_lost && !loss.found) loss = {true, now, kept};
      if (!is_one) return;
      const Loss all = running_sum_of(signature).add(before, added, kept);
      if (!loss.found) loss = all;
    });
    if (loss.found && (is_one || stuck * 10 >= looked * 9))
      write_loss(signature, loss, numbers[0].step);
  });
}

template <typename Float>
Finite scan(const char* data, int64_t count) {
  Finite result{true, true, false};
  const auto* values = reinterpret_cast<const Float*>(data);
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(values[i]);
    if (std::isfinite(value)) continue;
    result.all = false;
    if (std::isnan(value)) return {true, false, true};
  }
  return result;
}

Finite ask_libtorch(const c10::TensorImpl* impl) {
  if (impl->device().is_cuda() && is_device_captured(impl->device().index())) return {};
  try {
    c10::impl::ExcludeDispatchKeyGuard no_autograd(c10::autograd_dispatch_keyset);
    auto* owned = const_cast<c10::TensorImpl*>(impl);
    const at::Tensor tensor(
        c10::intrusive_ptr<c10::TensorImpl,
                           c10::UndefinedTensorImpl>::unsafe_reclaim_from_nonowning(owned));
    if (at::isfinite(tensor).all().item<bool>()) return {true, true, false};
    return {true, false, at::isnan(tensor).any().item<bool>()};
  } catch (...) {
    return {};
  }
}

bool is_floating(Dtype dtype) {
  return dtype == Dtype::kHalf || dtype == Dtype::kBFloat16 || dtype == Dtype::kFloat ||
         dtype == Dtype::kDouble;
}

Finite scan(Dtype dtype, const char* data, int64_t count) {
  switch (dtype) {
    case Dtype::kHalf:
      return scan<c10::Half>(data, count);
    case Dtype::kBFloat16:
      return scan<c10::BFloat16>(data, count);
    case Dtype::kFloat:
      return scan<float>(data, count);
    case Dtype::kDouble:
      return scan<double>(data, count);
    default:
      return {};
  }
}

Finite finite(const c10::TensorImpl* impl) {
  const auto dtype = static_cast<Dtype>(dtype_of(impl));
  if (!is_floating(dtype) || !is_plain(impl)) return {true, true, false};
  if (!is_readable(impl)) return ask_libtorch(impl);
  return scan(dtype, first_byte(impl), impl->numel());
}

// How often a loss in 16 bits was the number that it was the time before.
struct Standing {
  uint32_t seen = 0, same = 0, next = 0;  // of the last, or by one number of its dtype at most
  double last = 0;
};
struct StandingLosses {
  std::mutex mutex;
  std::unordered_map<uint32_t, Standing> of;  // by signature
};
StandingLosses* standing = new StandingLosses;

// A loss that hardly changes because its dtype has no number between: half of the times, of enough.
// One that falls from number to number is told later, by less than 0.
void note_standing(const trace::SignatureRecord* signature, double loss, int digits,
                   uint32_t step) {
  constexpr uint32_t kEnough = 16, kEnoughMoved = 32;
  constexpr size_t kMost = 64;
  if (!std::isfinite(loss) || loss == 0) return;
  const std::unique_lock<std::mutex> lock(standing->mutex, std::try_to_lock);
  if (!lock || (standing->of.size() >= kMost && standing->of.count(signature->id) == 0)) return;
  Standing& at = standing->of[signature->id];
  const double gap = std::ldexp(1.0, std::ilogb(loss) - digits + 1);
  at.same += at.seen > 0 && loss == at.last ? 1 : 0;
  at.next += at.seen > 0 && std::fabs(loss - at.last) <= gap ? 1 : 0;
  at.last = loss;
  if (++at.seen >= kEnough && at.same * 2 >= at.seen)
    write_loss(signature, {true, static_cast<double>(at.same) / at.seen, loss}, step);
  if (at.seen == kEnoughMoved && at.next * 2 >= at.seen)
    write_loss(signature, {true, -static_cast<double>(at.next) / at.seen, loss}, step);
}

// backward() makes the first gradient, ones_like(loss): that is when a loss is known to be one.
void look_at_loss(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!inputs[0].isTensor()) return;
  const c10::TensorImpl* loss = inputs[0].unsafeToTensorImpl();
  if (!is_plain(loss) || loss->numel() != 1 || !loss->requires_grad() || is_leaf(loss)) return;
  const trace::SignatureRecord* signature = frame.signature;
  const uint32_t id = signature->id;
  const bool is_low = is_of_16_bits(dtype_of(loss));
  look_at({loss}, [id, signature, is_low](const std::vector<Numbers>& numbers) {
    const Finite found = scan(numbers[0].dtype, numbers[0].data, 1);
    const int digits = numbers[0].dtype == Dtype::kHalf ? 11 : 8;
    if (is_low) note_standing(signature, value_at(numbers[0], 0), digits, numbers[0].step);
    if (found.known && !found.all)
      write_non_finite(id, found, trace::kNonFiniteIsLoss, 0, numbers[0].step);
  });
}

void look_at_values(Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!looks_in_this_step(frame.signature)) return;
  bool all = true, no_nan = true;
  for (const Argument& argument : frame.op->tensors) {
    if (argument.role == static_cast<uint8_t>(Role::kOut)) continue;  // about to be overwritten
    for_each_tensor(inputs[argument.index], [&](const c10::TensorImpl* impl) {
      const Finite found = finite(impl);
      all = all && found.known && found.all;
      no_nan = no_nan && found.known && !found.nan;
    });
  }
  frame.inputs_finite = all;
  frame.inputs_had_no_nan = no_nan;
}

constexpr int64_t kMostWhole = 1 << 16;  // elements, of which all are read, or copied from a GPU

// One of the first of its kind, on a CPU: the next recording may be the one that is too long.
bool is_early(const Frame& frame, const c10::TensorImpl* impl) {
  constexpr uint64_t kEarly = 16;
  return impl->device().is_cpu() &&
         __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED) <= kEarly;
}

// Small, or early and not so large that reading it would be noticed.
bool is_read_whole(const Frame& frame, const c10::TensorImpl* impl) {
  constexpr int64_t kMostOfEarly = 1 << 22;
  return impl->numel() <= (is_early(frame, impl) ? kMostOfEarly : kMostWhole);
}

// Operands of a sum on a GPU. They are known when they have arrived, which is before its result.
struct Operands {
  bool are_known = false, are_finite = true, have_no_nan = true;
};
struct SumOnGpu {
  const void* op = nullptr;
  std::shared_ptr<Operands> operands;
};
thread_local SumOnGpu* sum_on_gpu = nullptr;  // never destroyed: ops run while threads end, too

void copy_operands(const Frame& frame, const std::vector<const c10::TensorImpl*>& tensors) {
  const auto operands = std::make_shared<Operands>();
  const auto look = [operands](const std::vector<Numbers>& numbers) {
    operands->are_known = true;
    for (const Numbers& one : numbers) {
      const Finite found = scan(one.dtype, one.data, one.count);
      operands->are_finite = operands->are_finite && found.all;
      operands->have_no_nan = operands->have_no_nan && !found.nan;
    }
  };
  if (!look_at(tensors, look, kMostWhole)) return;
  if (!sum_on_gpu) sum_on_gpu = new SumOnGpu;
  *sum_on_gpu = {frame.record, operands};
}

// A sum or product in Half may be infinite though what it is of is not, and a row of a softmax NaN.
// Of early calls, and of one in sixteen.
void look_at_summed(Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (frame.op->tensors.empty()) return;
  const c10::IValue& first = inputs[frame.op->tensors[0].index];
  const bool is_now = first.isTensor() && is_plain(first.unsafeToTensorImpl()) &&
                      is_early(frame, first.unsafeToTensorImpl());
  if (!is_now && !is_sampled(frame)) return;
  std::vector<const c10::TensorImpl*> operands;
  for (const Argument& argument : frame.op->tensors) {
    if (!inputs[argument.index].isTensor()) continue;
    const c10::TensorImpl* tensor = inputs[argument.index].unsafeToTensorImpl();
    const bool is_half = static_cast<Dtype>(dtype_of(tensor)) == Dtype::kHalf;
    if (operands.empty() && !is_half && !frame.op->normalizes) return;
    if (!c10::isFloatingType(scalar_type(tensor))) continue;
    if (!is_plain(tensor) || is_left_alone(tensor) || !is_read_whole(frame, tensor)) return;
    operands.push_back(tensor);
  }
  if (operands.empty()) return;
  if (operands.front()->device().is_cuda()) return copy_operands(frame, operands);
  bool all_finite = true, has_no_nan = true;
  for (const c10::TensorImpl* tensor : operands) {
    if (!tensor->device().is_cpu() || !is_readable(tensor)) return;
    const Finite found = finite(tensor);
    all_finite = all_finite && found.all;
    has_no_nan = has_no_nan && !found.nan;
  }
  frame.inputs_finite = all_finite && !frame.op->normalizes;
  frame.inputs_had_no_nan = has_no_nan;
}

bool is_of_interest(const Frame& frame, const c10::TensorImpl* sum) {
  return static_cast<Dtype>(dtype_of(sum)) == Dtype::kHalf || frame.op->normalizes;
}

bool is_sum_on_gpu(const Frame& frame) { return sum_on_gpu && sum_on_gpu->op == frame.record; }

void look_at_sum_on_gpu(const Frame& frame, const c10::TensorImpl* sum) {
  const std::shared_ptr<Operands> operands = std::move(sum_on_gpu->operands);
  *sum_on_gpu = {};
  if (!is_of_interest(frame, sum) || sum->numel() > kMostWhole) return;
  const uint32_t id = frame.signature->id;
  const bool normalizes = frame.op->normalizes;
  const auto look = [=](const std::vector<Numbers>& numbers) {
    if (!operands->are_known || !operands->have_no_nan) return;
    if (!normalizes && !operands->are_finite) return;
    const Finite found = scan(numbers[0].dtype, numbers[0].data, numbers[0].count);
    if (found.all || (normalizes && !found.nan)) return;
    write_non_finite(
        id, found,
        (!normalizes ? trace::kNonFiniteOperandsWereFinite : 0) | trace::kNonFiniteOperandsHadNoNan,
        0, numbers[0].step);
  };
  look_at({sum}, look, kMostWhole);
}

void look_at_sum(const Frame& frame, const std::vector<c10::IValue>& outputs) {
  if (outputs.empty() || !outputs[0].isTensor()) return;
  const c10::TensorImpl* sum = outputs[0].unsafeToTensorImpl();
  if (is_sum_on_gpu(frame)) return look_at_sum_on_gpu(frame, sum);
  if (!(frame.op->normalizes ? frame.inputs_had_no_nan : frame.inputs_finite)) return;
  if (!is_of_interest(frame, sum) || !is_readable(sum)) return;
  const Finite found = finite(sum);
  if (found.all || (frame.op->normalizes && !found.nan)) return;
  write_non_finite(frame.signature->id, found,
                   (frame.inputs_finite ? trace::kNonFiniteOperandsWereFinite : 0) |
                       trace::kNonFiniteOperandsHadNoNan,
                   0, tracer.current_step());
}

}  // namespace

void write_inexact(const trace::SignatureRecord* signature, double from, double to, uint32_t step,
                   uint32_t rounded_at, const Arrived& arrived) {
  write_loss(signature, {true, from, to}, step, rounded_at, arrived);
}

void look_at_read(ThreadState* state, const Frame& frame, const std::vector<c10::IValue>& outputs) {
  if (outputs.size() != 1) return;
  const c10::IValue& value = outputs[0];
  const BusyScope busy(state);
  look_at_arrived();
  compute_arrived(state);
  if (value.isBool()) {
    write_non_finite(frame.read, {true, false, value.toBool()},
                     trace::kNonFiniteIsRead | trace::kNonFiniteIsAnswer, 0, tracer.current_step());
  } else if (value.isDouble() && !std::isfinite(value.toDouble())) {
    write_non_finite(frame.read, {true, false, std::isnan(value.toDouble())},
                     trace::kNonFiniteIsRead, 0, tracer.current_step());
  }
}

bool read_value_checks(const char* options) {
  std::string steps;
  if (!read_option(options, "check-values", &steps)) return false;
  *checked_steps = StepList(steps);
  return true;
}

void forget_values() {
  non_finite_seen.store(0);
  standing = new StandingLosses;
}

// Sums and products matter in 16 bits alone, and most are of Float.
static bool matters(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (op.converts || op.may_begin_backward || op.normalizes) return true;
  for (const Argument& tensor : op.tensors) {
    if (!inputs[tensor.index].isTensor()) continue;
    const c10::TensorImpl* impl = inputs[tensor.index].unsafeToTensorImpl();
    if (is_of_16_bits(dtype_of(impl))) return true;
  }
  return false;
}

void look_at_inputs(ThreadState* state, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!frame.signature) return;
  frame.began_ns = 0;
  frame.inputs_finite = frame.inputs_had_no_nan = false;
  if (!tracer.looks.load(std::memory_order_relaxed) && !matters(*frame.op, inputs)) return;
  BusyScope busy(state);
  if (are_under_way() && ops_since_look.fetch_add(1) % kLookOneIn == 0) {
    look_at_arrived();
    compute_arrived(state);
  }
  if (frame.op->converts) look_at_conversion(frame, inputs);
  if (frame.op->may_begin_backward) look_at_loss(frame, inputs);
  if (frame.op->adds) look_at_running_sum(frame, inputs);
  look_at_values(frame, inputs);
  if (frame.op->reduces && !looks_in_this_step(frame.signature)) look_at_summed(frame, inputs);
  frame.began_ns = is_timed(frame) ? now_ns() : 0;
}

void look_at_results(ThreadState* state, const Frame& frame,
                     const std::vector<c10::IValue>& outputs) {
  if (frame.began_ns) note_time(state, frame);
  const bool looks = looks_in_this_step(frame.signature);
  const bool was_looked_at = frame.inputs_finite || frame.inputs_had_no_nan || is_sum_on_gpu(frame);
  if (looks ? frame.op->makes_garbage : !(frame.op->reduces && was_looked_at)) return;
  BusyScope busy(state);
  if (!looks) return look_at_sum(frame, outputs);
  const uint32_t flags = (frame.inputs_finite ? trace::kNonFiniteOperandsWereFinite : 0) |
                         (frame.inputs_had_no_nan ? trace::kNonFiniteOperandsHadNoNan : 0);
  uint32_t index = 0;
  for (const c10::IValue& value : outputs) {
    for_each_tensor(value, [&](const c10::TensorImpl* impl) {
      const Finite found = finite(impl);
      // What ctc_loss keeps of its steps: the log of 0, and for short targets what nobody wrote.
      const bool is_meant = frame.op->is_loss && index > 0;
      if (found.known && !found.all && !is_meant)
        write_non_finite(frame.signature->id, found, flags, index, tracer.current_step());
      ++index;
    });
  }
}

}  // namespace dtypecheck::tracer
