// values.cpp: reads tensors of the CPU in place, and what is known of a pretended GPU's; others are
// asked through LibTorch, unobserved, which waits for the device.
#include "tracer/hook/values.h"

#include <atomic>
#include <cmath>

#include "core/codes.h"
#include "tracer/hook/clock.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/known_values.h"

namespace dtypecheck {
namespace tracer {
namespace {

constexpr int64_t kMostIntegers = 4096;  // time steps, sizes, positions: never long
constexpr uint32_t kEveryStepUntil =
    16;  // --check-values: all steps up to here, then one in kThenOneIn
constexpr uint32_t kThenOneIn = 16;

bool is_low_precision(uint8_t dtype) {
  return dtype == static_cast<uint8_t>(Dtype::kHalf) ||
         dtype == static_cast<uint8_t>(Dtype::kBFloat16);
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
  if (!is_low_precision(target)) return;
  const Loss loss = loss_of(source, target);
  if (loss.found) write_loss(frame.signature, loss);
}

struct Finite {
  bool known = false, all = true, nan = false;
};

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
  frame.inputs_finite = frame.inputs_had_no_nan = false;
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

}  // namespace

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

void look_at_inputs(ThreadState* state, Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (!frame.signature) return;
  BusyScope busy(state);
  if (frame.op->converts) look_at_conversion(frame, inputs);
  if (frame.op->may_begin_backward) look_at_loss(frame, inputs);
  look_at_values(frame, inputs);
  frame.began_ns = is_timed(frame) ? now_ns() : 0;
}

void look_at_results(ThreadState* state, const Frame& frame,
                     const std::vector<c10::IValue>& outputs) {
  if (frame.began_ns) note_time(state, frame);
  if (!looks_in_this_step() || frame.op->makes_garbage) return;
  BusyScope busy(state);
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
