// values.cpp: reads tensors of the CPU in place, and what is known of a pretended GPU's; others are
// asked through LibTorch, unobserved, which waits for the device.
#include "tracer/hook/values.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/codes.h"
#include "core/dtype_range.h"
#include "tracer/hook/clock.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/known_values.h"

namespace dtypecheck {
namespace tracer {
namespace {

constexpr int64_t kMostIntegers = 4096;  // time steps, sizes, positions: never long
constexpr int64_t kMostSteps = 64;       // whole numbers in Float, of each call; of some if more
constexpr int64_t kMostSampled = 4096;   // of what a cast loses, in so many pieces: few pages
constexpr int64_t kPieces = 16;
constexpr uint64_t kSampledOneIn = 16;  // calls, the first among them
constexpr float kSentinel = 1e8f;       // what is larger stands for infinity, in a mask
constexpr uint32_t kEveryStepUntil =
    16;  // --check-values: all steps up to here, then one in kThenOneIn
constexpr uint32_t kThenOneIn = 16;

bool is_low_precision(uint8_t dtype) {
  return dtype == static_cast<uint8_t>(Dtype::kHalf) ||
         dtype == static_cast<uint8_t>(Dtype::kBFloat16);
}

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

const char* first_byte(const c10::TensorImpl* impl) {
  return static_cast<const char*>(data_of(impl)) +
         impl->storage_offset() * impl->dtype().itemsize();
}

Loss loss_of(const c10::TensorImpl* source, uint8_t target) {
  if (!is_readable(source) || source->numel() > kMostIntegers) return {};
  switch (static_cast<Dtype>(dtype_of(source))) {
    case Dtype::kLong:
      return find_loss<int64_t>(first_byte(source), source->numel(), target);
    case Dtype::kInt:
      return find_loss<int32_t>(first_byte(source), source->numel(), target);
    case Dtype::kShort:
      return find_loss<int16_t>(first_byte(source), source->numel(), target);
    case Dtype::kFloat:
      return find_loss_of_whole<float>(first_byte(source), source->numel(), target);
    case Dtype::kDouble:
      return find_loss_of_whole<double>(first_byte(source), source->numel(), target);
    default:
      return {};
  }
}

void write_loss(const trace::SignatureRecord* signature, const Loss& loss) {
  const uint64_t key = mix(reinterpret_cast<uint64_t>(signature), 0x1ec5) | 1;
  if (!tracer.messages.insert(key, 1)) return;
  auto* record = tracer.file.reserve<trace::InexactRecord>(trace::Kind::kInexact);
  if (!record) return;
  record->signature = signature->id;
  record->step = tracer.current_step();
  record->from = loss.from;
  record->to = loss.to;
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

bool looks_in_this_step() {
  const uint32_t step = tracer.current_step();
  return tracer.options.check_values && (step < kEveryStepUntil || step % kThenOneIn == 0);
}

// Which of two threads comes first when both come at once, nobody knows.
std::atomic<uint32_t> non_finite_seen{0};

// The first inf and the first NaN of each signature; `flags` without which of the two.
void write_non_finite(uint32_t signature, const Finite& found, uint32_t flags, uint32_t index) {
  flags |= found.nan ? trace::kNonFiniteIsNan : 0;
  const uint32_t kind =
      flags & ~(trace::kNonFiniteOperandsWereFinite | trace::kNonFiniteOperandsHadNoNan);
  const uint64_t key = mix(signature, 0xf1417e + kind) | 1;
  if (!tracer.messages.insert(key, 1)) return;
  auto* record = tracer.file.reserve<trace::NonFiniteRecord>(trace::Kind::kNonFinite);
  if (!record) return;
  record->signature = signature;
  record->step = tracer.current_step();
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

// Where all that is clipped is one number it is a mask's, which is meant to be infinite.
template <typename Float>
Sample sample(const char* data, int64_t count, bool all, const DtypeRange& range) {
  const auto* values = reinterpret_cast<const Float*>(data);
  const float most = static_cast<float>(range.largest);
  const float least = static_cast<float>(range.smallest / 2);
  Sample seen;
  float first_clipped = 0;
  bool has_others = false;
  for_sampled(count, all, [&](int64_t i) {
    const float size = std::fabs(static_cast<float>(values[i]));
    seen.has_nan |= std::isnan(size);
    if (size == 0 || !(size < kSentinel)) return;
    ++seen.looked;
    if (size <= least) ++seen.flushed;
    if (size <= most) return;
    if (seen.clipped++ == 0) first_clipped = size;
    has_others |= size != first_clipped;
  });
  if (!has_others) seen.clipped = 0;
  return seen;
}

bool is_sampled(const Frame& frame) {
  return __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED) % kSampledOneIn == 1;
}

// What a cast to a dtype with near ends loses: of one call in sixteen and of some numbers in it;
// with --check-values of all.
void sample_loss(const Frame& frame, const c10::TensorImpl* source, uint8_t target) {
  const DtypeRange* range = narrow_range(static_cast<Dtype>(target));
  if (!range || !is_readable(source) || is_left_alone(source)) return;
  if (tracer.options.pretended && !source->device().is_cpu()) return;  // a gradient of zeros
  const bool looks_at_all = tracer.options.check_values;
  if (!looks_at_all && !is_sampled(frame)) return;
  trace::CastCounters* counters = cast_counters(frame.signature);
  if (!counters) return;
  const int64_t count = source->numel();
  Sample seen;
  switch (static_cast<Dtype>(dtype_of(source))) {
    case Dtype::kHalf:
      seen = sample<c10::Half>(first_byte(source), count, looks_at_all, *range);
      break;
    case Dtype::kBFloat16:
      seen = sample<c10::BFloat16>(first_byte(source), count, looks_at_all, *range);
      break;
    case Dtype::kFloat:
      seen = sample<float>(first_byte(source), count, looks_at_all, *range);
      break;
    case Dtype::kDouble:
      seen = sample<double>(first_byte(source), count, looks_at_all, *range);
      break;
    default:
      return;
  }
  const bool is_8_bits = target != static_cast<uint8_t>(Dtype::kHalf);
  if (seen.has_nan && is_8_bits && !looks_in_this_step())
    write_non_finite(frame.signature->id, {true, false, true}, 0, 0);
  __atomic_fetch_add(&counters->looked, seen.looked, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counters->clipped, seen.clipped, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counters->flushed, seen.flushed, __ATOMIC_RELAXED);
}

// What was divided to fit e4m3 reaches 448 of its largest; what was not is far below. Read as
// bytes, for not every LibTorch has a type of it. The next number is reported as the same.
void look_for_scaled(const Frame& frame, const c10::TensorImpl* source) {
  constexpr uint8_t kNan = 0x7f, k256 = 0x78;
  if (static_cast<Dtype>(dtype_of(source)) != Dtype::kFloat8_e4m3fn || !is_sampled(frame)) return;
  if (!is_readable(source) || is_left_alone(source)) return;
  const auto* bytes = reinterpret_cast<const uint8_t*>(first_byte(source));
  uint8_t largest = 0;
  for_sampled(source->numel(), /*all=*/false, [&](int64_t i) {
    const uint8_t size = bytes[i] & kNan;
    if (size != kNan && size > largest) largest = size;
  });
  const double value = 256 * (1 + (largest & 7) / 8.0);
  if (largest >= k256) write_loss(frame.signature, {true, value, value});
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
  if (!is_low_precision(target)) return;
  const bool is_weight = source->numel() > kMostSteps && c10::isFloatingType(scalar_type(source));
  if (is_weight && !is_sampled(frame)) return;
  const Loss loss = loss_of(source, target);
  if (loss.found) write_loss(frame.signature, loss);
}

// Of a readable tensor; NaN of a dtype that nobody counts or sums in.
double value_at(const c10::TensorImpl* impl, int64_t index) {
  const char* data = first_byte(impl);
  switch (static_cast<Dtype>(dtype_of(impl))) {
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

// A sum in 16 bits, of one element or of many: what is past its end, what a count cannot be, and a
// term that leaves it as it is. Of many elements that has to be true of nine in ten.
void look_at_running_sum(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const OpInfo& op = *frame.op;
  for (const Argument& tensor : op.tensors)
    if (!inputs[tensor.index].isTensor()) return;
  const c10::TensorImpl* sum = inputs[op.tensors[0].index].unsafeToTensorImpl();
  const c10::TensorImpl* term = inputs[op.tensors[1].index].unsafeToTensorImpl();
  if (!is_low_precision(dtype_of(sum))) return;
  const bool is_one = sum->numel() == 1;
  const bool is_small = sum->numel() <= kMostSteps;
  if (term->numel() != sum->numel() || !(is_small || is_sampled(frame))) return;
  if (!is_readable(sum) || !is_readable(term) || is_left_alone(sum)) return;
  if (!are_alike(sum, term) || !is_plain_sum(op, inputs)) return;
  const uint8_t dtype = dtype_of(sum);
  const bool is_count = c10::isIntegralType(scalar_type(term), /*includeBool=*/true);
  uint64_t looked = 0, stuck = 0;
  Loss loss;
  for_sampled(sum->numel(), /*all=*/false, [&](int64_t i) {
    const double before = value_at(sum, i), added = value_at(term, i), now = before + added;
    if (added == 0 || !std::isfinite(now)) return;
    ++looked;
    const double kept = rounded(now, dtype);
    const bool is_stuck = kept == before || std::isinf(kept);
    stuck += is_stuck;
    const bool is_lost = (is_count && kept != now) || is_stuck;
    if (is_lost && !loss.found) loss = {true, now, kept};
  });
  if (loss.found && (is_one || stuck * 10 >= looked * 9)) write_loss(frame.signature, loss);
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

Finite finite(const c10::TensorImpl* impl) {
  const auto dtype = static_cast<Dtype>(dtype_of(impl));
  const bool floating = dtype == Dtype::kHalf || dtype == Dtype::kBFloat16 ||
                        dtype == Dtype::kFloat || dtype == Dtype::kDouble;
  if (!floating || !is_plain(impl)) return {true, true, false};
  if (!is_readable(impl)) return ask_libtorch(impl);
  switch (dtype) {
    case Dtype::kHalf:
      return scan<c10::Half>(first_byte(impl), impl->numel());
    case Dtype::kBFloat16:
      return scan<c10::BFloat16>(first_byte(impl), impl->numel());
    case Dtype::kFloat:
      return scan<float>(first_byte(impl), impl->numel());
    case Dtype::kDouble:
      return scan<double>(first_byte(impl), impl->numel());
    default:
      return {};
  }
}

template <typename Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) return visit(value.unsafeToTensorImpl());
  if (!value.isList()) return;
  for (const c10::IValue& element : value.toListRef())
    if (element.isTensor()) visit(element.unsafeToTensorImpl());
}

// backward() makes the first gradient, ones_like(loss): that is when a loss is known to be one.
// Where it is on the CPU, looking costs nothing; a GPU would have to be waited for.
void look_at_loss(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!inputs[0].isTensor()) return;
  const c10::TensorImpl* loss = inputs[0].unsafeToTensorImpl();
  if (!is_plain(loss) || loss->numel() != 1 || !loss->requires_grad() || is_leaf(loss)) return;
  if (!is_readable(loss)) return;
  const Finite found = finite(loss);
  if (found.known && !found.all)
    write_non_finite(frame.signature->id, found, trace::kNonFiniteIsLoss, 0);
}

void look_at_values(Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!looks_in_this_step()) return;
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

// Small, or the first of its kind and not so large that reading it would be noticed: of these all
// elements are read.
bool is_read_whole(const Frame& frame, const c10::TensorImpl* impl) {
  constexpr int64_t kMostElements = 1 << 16, kMostOfFirst = 1 << 22;
  const bool is_first = __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED) <= 1;
  return impl->numel() <= (is_first ? kMostOfFirst : kMostElements);
}

// A sum or product in Half may be infinite though what it is of is not, and a row of a softmax NaN.
// Of one call in sixteen.
void look_at_summed(Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (frame.op->tensors.empty() || !is_sampled(frame)) return;
  bool all_finite = true, has_no_nan = true, is_first = true;
  for (const Argument& argument : frame.op->tensors) {
    if (!inputs[argument.index].isTensor()) continue;
    const c10::TensorImpl* tensor = inputs[argument.index].unsafeToTensorImpl();
    const bool is_half = static_cast<Dtype>(dtype_of(tensor)) == Dtype::kHalf;
    if (is_first && !is_half && !frame.op->normalizes) return;
    is_first = false;
    if (!c10::isFloatingType(scalar_type(tensor))) continue;
    if (!tensor->device().is_cpu()) return;  // a pretended GPU computes no product
    if (!is_readable(tensor) || is_left_alone(tensor) || !is_read_whole(frame, tensor)) return;
    const Finite found = finite(tensor);
    all_finite = all_finite && found.all;
    has_no_nan = has_no_nan && !found.nan;
  }
  frame.inputs_finite = all_finite && !frame.op->normalizes;
  frame.inputs_had_no_nan = has_no_nan;
}

void look_at_sum(const Frame& frame, const std::vector<c10::IValue>& outputs) {
  if (outputs.empty() || !outputs[0].isTensor()) return;
  if (!(frame.op->normalizes ? frame.inputs_had_no_nan : frame.inputs_finite)) return;
  const c10::TensorImpl* sum = outputs[0].unsafeToTensorImpl();
  const bool is_half = static_cast<Dtype>(dtype_of(sum)) == Dtype::kHalf;
  if (!(is_half || frame.op->normalizes) || !is_readable(sum)) return;
  const Finite found = finite(sum);
  if (found.all || (frame.op->normalizes && !found.nan)) return;
  write_non_finite(frame.signature->id, found,
                   (frame.inputs_finite ? trace::kNonFiniteOperandsWereFinite : 0) |
                       trace::kNonFiniteOperandsHadNoNan,
                   0);
}

}  // namespace

void write_inexact(const trace::SignatureRecord* signature, double from, double to) {
  write_loss(signature, {true, from, to});
}

void look_at_read(ThreadState* state, const Frame& frame, const std::vector<c10::IValue>& outputs) {
  if (outputs.size() != 1) return;
  const c10::IValue& value = outputs[0];
  const BusyScope busy(state);
  if (value.isBool()) {
    write_non_finite(frame.read, {true, false, value.toBool()},
                     trace::kNonFiniteIsRead | trace::kNonFiniteIsAnswer, 0);
  } else if (value.isDouble() && !std::isfinite(value.toDouble())) {
    write_non_finite(frame.read, {true, false, std::isnan(value.toDouble())},
                     trace::kNonFiniteIsRead, 0);
  }
}

void forget_values() { non_finite_seen.store(0); }

// Sums and products matter in 16 bits alone, and most are of Float.
static bool matters(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (op.converts || op.may_begin_backward || op.normalizes) return true;
  for (const Argument& tensor : op.tensors) {
    if (!inputs[tensor.index].isTensor()) continue;
    const c10::TensorImpl* impl = inputs[tensor.index].unsafeToTensorImpl();
    if (is_low_precision(dtype_of(impl))) return true;
  }
  return false;
}

void look_at_inputs(ThreadState* state, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!frame.signature) return;
  frame.began_ns = 0;
  frame.inputs_finite = frame.inputs_had_no_nan = false;
  if (!tracer.looks.load(std::memory_order_relaxed) && !matters(*frame.op, inputs)) return;
  BusyScope busy(state);
  if (frame.op->converts) look_at_conversion(frame, inputs);
  if (frame.op->may_begin_backward) look_at_loss(frame, inputs);
  if (frame.op->adds) look_at_running_sum(frame, inputs);
  look_at_values(frame, inputs);
  if (frame.op->reduces && !looks_in_this_step()) look_at_summed(frame, inputs);
  frame.began_ns = is_timed(frame) ? now_ns() : 0;
}

void look_at_results(ThreadState* state, const Frame& frame,
                     const std::vector<c10::IValue>& outputs) {
  if (frame.began_ns) note_time(state, frame);
  const bool looks = looks_in_this_step();
  const bool was_looked_at = frame.inputs_finite || frame.inputs_had_no_nan;
  if (looks ? frame.op->makes_garbage : !(frame.op->reduces && was_looked_at)) return;
  BusyScope busy(state);
  if (!looks) return look_at_sum(frame, outputs);
  const uint32_t flags = (frame.inputs_finite ? trace::kNonFiniteOperandsWereFinite : 0) |
                         (frame.inputs_had_no_nan ? trace::kNonFiniteOperandsHadNoNan : 0);
  uint32_t index = 0;
  for (const c10::IValue& value : outputs) {
    for_each_tensor(value, [&](const c10::TensorImpl* impl) {
      const Finite found = finite(impl);
      const bool is_meant = frame.op->is_loss && index > 0 && !found.nan;  // ctc_loss: the log of 0
      if (found.known && !found.all && !is_meant)
        write_non_finite(frame.signature->id, found, flags, index);
      ++index;
    });
  }
}

}  // namespace tracer
}  // namespace dtypecheck
