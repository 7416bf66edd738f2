// shadows.cpp: leads a call through what it is given in Double (shadow_operands.h) and what is said
// of its result (shadow_verdicts.h); on a GPU once both have arrived.
#include "tracer/hook/shadows.h"

#include <ATen/core/stack.h>

#include "tracer/hook/gpu_samples.h"
#include "tracer/keep_going/quiet.h"

#if DTYPECHECK_TORCH_AT_LEAST(2, 0)  // which op draws numbers, and which works number by number
#include "tracer/hook/shadow_verdicts.h"
#endif

namespace dtypecheck::tracer {

#if DTYPECHECK_TORCH_AT_LEAST(2, 0)

namespace {

void compute(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
             const std::vector<IValue>& outputs) {
  if (outputs.empty()) return;  // it threw, or asserts something
  if (call.is_moved) {
    const Tensor part = part_of(outputs[0].toTensor());
    if (!part.defined()) return;
    return judge(call, call, frame, outputs[0].toTensor(),
                 at::where(call.is_right, call.right, in_double(part)));
  }
  if (is_dropout(*frame.op)) {
    const Tensor part = part_of(outputs[0].toTensor());
    const double kept = call.stack[2].toBool() ? 1 - call.stack[1].toDouble() : 1;
    if (!part.defined() || kept <= 0) return;
    return judge(
        call, call, frame, outputs[0].toTensor(),
        at::where(part.ne(0), call.stack[0].toTensor() / kept, at::zeros({}, at::kDouble)));
  }
  const ShadowCall before = call;  // in-place ops write to what is on the stack
  if (call.is_narrowed) {          // the source itself is what should come out
    const Tensor source = call.stack[frame.op->tensors.back().index].toTensor();
    call.stack = {IValue(source)};
  } else {
    handle.callBoxed(&call.stack);
  }
  if (outputs.size() != call.stack.size()) return;
  if (is_op(frame, {"aten::mean", "aten::sum"}) && before.stack[0].isTensor())
    call.terms = terms_of(frame, before.stack[0].toTensor(), call.stack[0].toTensor());
  if (is_by_rows(call))
    return judge_rows(call, frame, outputs[0].toTensor(), call.stack[0].toTensor());
  if (outputs[0].isTensor() && call.stack[0].isTensor())
    judge_count(call, before, frame, outputs[0].toTensor(), call.stack[0].toTensor());
  const bool has_statistics = ops::facts_of(frame.op->name) & (ops::kNorm | ops::kStatistics);
  for (size_t i = 0; i < (has_statistics ? 1 : outputs.size()); ++i)
    if (outputs[i].isTensor() && call.stack[i].isTensor())
      judge(call, before, frame, outputs[i].toTensor(), call.stack[i].toTensor());
}

class Scope {
 public:
  explicit Scope(ThreadState* state) : quiet_(state) {}

 private:
  keep_going::Quiet quiet_;
  at::DisableRecordFunctionGuard unobserved_;
  c10::impl::ExcludeDispatchKeyGuard no_versions_{c10::DispatchKey::ADInplaceOrView};
};

// Numbers that a where leaves out damage nothing, whatever else is off in its result.
void leave_out(ShadowCall& call, const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (call.damages.empty() || call.is_sampled || !is_op(frame, {"aten::where"})) return;
  if (inputs.size() != 3) return;
  Damages kept;
  for (const size_t i : {1, 2}) {
    if (!inputs[i].isTensor()) continue;
    const Tensor& given = inputs[i].toTensor();
    Shadow* shadow = is_shadowable(given) ? find_shadow(given) : nullptr;
    if (!shadow || shadow->damages.empty()) continue;
    const Tensor right = values_of(*shadow, given), condition = call.stack[0].toTensor();
    const Tensor is_off = (in_double(given) - right).abs() > right.abs() * kNear;
    const Tensor is_chosen = i == 1 ? condition : condition.logical_not();
    if (is_off.logical_and(is_chosen).any().item<bool>()) add_damages(kept, shadow->damages);
  }
  call.damages = kept;
}

// What begins a call: false where it is not computed again.
bool begin_call(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
                bool is_pointwise, c10::ArrayRef<const IValue> inputs) {
  if (!is_wanted(call, frame, handle, is_pointwise, inputs))
    return lose_trail(call, frame, inputs), false;
  if (call.is_moved)
    return move_shadows(call, handle, inputs) || (lose_trail(call, frame, inputs), false);
  for (const IValue& value : inputs)
    if (!add_value(call, value)) return lose_trail(call, frame, inputs), false;
  leave_out(call, frame, inputs);
  note_product(call.damages, call.error, frame);
  note_divisor(frame, inputs);
  widen_dtypes(call, *frame.op);
  return true;
}

void end_call(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
              const std::vector<IValue>& outputs) {
  try {
    compute(call, frame, handle, outputs);
  } catch (...) {
  }
  if (!call.is_followed) report(call.damages, {call.arrival, call.error, frame.signature->id});
}

}  // namespace

// A call on tensors of a GPU: what it was given and gave arrives while other ops run.
struct LaterCall {
  ShadowCall call;
  Frame frame;
  bool is_pointwise;
  bool has_begun = false;
  std::vector<IValue> inputs, outputs;  // on stand-ins
};

namespace {

// A tensor of the CPU beside one on a GPU: the program may change it before the other has arrived.
Tensor copy_with_shadow(const Tensor& tensor, bool follows) {
  Tensor copy = tensor.clone();
  Shadow* shadow = tensor.is_floating_point() ? find_shadow(tensor) : nullptr;
  if (!shadow) return copy;
  const Damages damages = shadow->damages;
  const Growth growth = shadow->growth;
  const double off = shadow->off;
  const uint32_t rounded_at = shadow->rounded_at;
  Shadow* kept = keep_shadow(copy, values_of(*shadow, tensor));
  if (kept) {
    kept->damages = damages, kept->growth = growth;
    kept->off = off, kept->rounded_at = rounded_at;
  }
  Shadow* original = kept && follows ? find_shadow(tensor) : nullptr;
  if (original) set_read(*original);  // its damage goes on in the copy
  return copy;
}

bool take_inputs(LaterCall& later, Snapshot& snapshot, c10::ArrayRef<const IValue> inputs) {
  const auto make = [&](const Tensor& whole, Tensor* out) {
    Tensor part;
    *out = Tensor();
    if (!whole.defined()) return true;
    if (!take_part(later.call, whole, &part)) return false;
    *out = part.is_cuda() ? snapshot.add(part, /*keep=*/false)
                          : copy_with_shadow(part, later.call.follows);
    return out->defined();
  };
  for (const IValue& value : inputs) {
    IValue input;
    if (value.isGenerator() || !replace_tensors(value, make, &input)) return false;
    later.inputs.push_back(input);
  }
  return true;
}

c10::ArrayRef<const IValue> as_array(const std::vector<IValue>& values) {
  return c10::ArrayRef<const IValue>(values.data(), values.size());
}

// As they were last, of tensors that have a stand-in.
std::vector<IValue> known_of(c10::ArrayRef<const IValue> inputs) {
  const auto make = [&](const Tensor& tensor, Tensor* out) {
    const Tensor part = tensor.defined() && tensor.is_cuda() ? part_of(tensor) : Tensor();
    *out = part.defined() ? stand_in_of(part) : Tensor();
    return true;
  };
  std::vector<IValue> known;
  for (const IValue& value : inputs) {
    IValue input;
    replace_tensors(value, make, &input);
    known.push_back(input);
  }
  return known;
}

// As report_damaged(); of tensors on a GPU once all before it is known, which have no shadow now.
void report_at(const OpInfo& op, c10::ArrayRef<const IValue> inputs, Arrival arrival,
               uint32_t signature) {
  if (shadows().damaged != 0) report_damaged(op, inputs, arrival, signature);
  if (!any_tensor(op, inputs, is_cuda) || !any_tensor(op, inputs, may_have_shadow_now)) return;
  do_later(nullptr, [&op, known = known_of(inputs), arrival, signature] {
    report_damaged(op, as_array(known), arrival, signature);
  });
}

// False where the call is not computed again; what becomes of its operands' damage is not known
// then.
bool begin_on_gpu(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
                  bool is_computed, bool is_pointwise, c10::ArrayRef<const IValue> inputs) {
  auto later = std::make_shared<LaterCall>();
  auto snapshot = std::make_shared<Snapshot>();
  later->frame = frame;
  later->is_pointwise = is_pointwise;
  if (is_computed && is_wanted(call, frame, handle, is_pointwise, inputs) && !call.is_moved) {
    later->call = call;
    if (take_inputs(*later, *snapshot, inputs) && snapshot->copy()) {
      later->call.is_sampled = false;  // stand-ins have no more than is looked at
      do_later(snapshot, [later, handle] {
        later->has_begun = begin_call(later->call, later->frame, handle, later->is_pointwise,
                                      as_array(later->inputs));
        later->inputs.clear();
      });
      call.later = later;
      return true;
    }
  }
  if (!any_tensor(*frame.op, inputs, may_have_shadow_now)) return false;
  lose_trail(call, frame, inputs);
  later->call = call;
  later->inputs = known_of(inputs);
  do_later(nullptr, [later] { lose_trail(later->call, later->frame, as_array(later->inputs)); });
  return false;
}

void take_outputs(LaterCall& later, Snapshot& snapshot, const std::vector<IValue>& outputs) {
  const auto make = [&](const Tensor& whole, Tensor* out) {
    *out = whole.defined() && whole.is_cpu() ? whole : Tensor();
    if (!whole.defined() || whole.is_cpu() || !is_shadowable(whole)) return true;
    // Of small operands all of the result is computed, in the order of its dimensions.
    if (later.call.strides.empty() && is_large(whole) && !whole.is_contiguous()) return true;
    const Tensor part = part_of(whole);
    if (part.defined()) *out = snapshot.add(part, /*keep=*/true);
    return true;
  };
  for (const IValue& value : outputs) {
    IValue output;
    replace_tensors(value, make, &output);
    later.outputs.push_back(output);
  }
}

void end_on_gpu(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
                const std::vector<IValue>& outputs) {
  std::shared_ptr<LaterCall> later = call.later;
  if (!later) {  // a factory was given no tensors, and a copy to the GPU none of a GPU
    later = std::make_shared<LaterCall>();
    later->call = std::move(call);
    later->frame = frame;
    later->has_begun = true;
  }
  auto snapshot = std::make_shared<Snapshot>();
  take_outputs(*later, *snapshot, outputs);
  if (!snapshot->copy()) snapshot = nullptr, later->outputs.clear();
  do_later(snapshot, [later, handle, snapshot] {
    if (later->has_begun) end_call(later->call, later->frame, handle, later->outputs);
    for (size_t i = 0; snapshot && i < snapshot->storages().size(); ++i)
      if (!has_shadow(snapshot->flat(i))) forget_stand_in(snapshot->storages()[i]);
  });
  const bool has_more = !std::all_of(outputs.begin(), outputs.end(), lies_on_gpu);
  if (tracer.options.check_values)
    wait_for_samples();
  else if (has_more)
    look_at_arrived();
  else
    return;
  do_arrived();
  // The program has waited for what is on the CPU, and may change it.
  later->outputs.clear();
}

}  // namespace

// A number that is counted up, and wraps once: between the calls that are looked at, as a rule.
static bool is_counted(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (frame.op->tensors.empty()) return false;
  const IValue& first = inputs[frame.op->tensors[0].index];
  if (!first.isTensor() || !first.toTensor().defined()) return false;
  const Tensor& counter = first.toTensor();
  return is_integral(counter.scalar_type()) && counter.scalar_type() != at::kLong &&
         counter.numel() == 1 && counter.is_cpu() && is_arithmetic(*frame.op);
}

// A line that was called before, on numbers that were not rounded, as when a model in 16 bits is
// run behind its training in Float. Under the lock.
static bool is_new_reader(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  constexpr uint32_t kMostReaders = 4;  // the first number may be one that no cast rounds
  if (shadows().searches <= 0) return false;
  --shadows().searches;
  return any_tensor(*frame.op, inputs, [&frame](const Tensor& tensor) {
    if (!tensor.has_storage() || is_low(tensor)) return false;
    const auto found = shadows().of.find(tensor.storage().unsafeGetStorageImpl());
    if (found == shadows().of.end() || found->second.rounded_at == 0) return false;
    return ++shadows().readers[{frame.signature->id, found->second.rounded_at}] <= kMostReaders;
  });
}

bool is_followed(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (is_counted(frame, inputs)) return true;
  if (shadows().open.load(std::memory_order_relaxed) == 0 &&
      shadows().searches.load(std::memory_order_relaxed) <= 0)
    return false;
  if (frame.phase == static_cast<uint8_t>(Phase::kBackward)) return false;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return false;
  const bool is_damaged = any_tensor(*frame.op, inputs, [](const Tensor& tensor) {
    if (!tensor.has_storage()) return false;
    const auto found = shadows().of.find(tensor.storage().unsafeGetStorageImpl());
    return found != shadows().of.end() && found->second.has_arrived();
  });
  return is_damaged || is_new_reader(frame, inputs);
}

void begin_shadow(ThreadState* state, Frame& frame, const at::RecordFunction& fn,
                  c10::ArrayRef<const c10::IValue> inputs) {
  const Options& options = tracer.options;
  if (options.keep_going || options.fix) return;
  // What an update loses is lost-update's, but for squares in Half, such as Adam's.
  const bool is_update = frame.phase == static_cast<uint8_t>(Phase::kOptimizer);
  if (is_update && !squares_in_half(frame, inputs)) return;
  const auto handle = c10::Dispatcher::singleton().findSchema(*fn.operator_name());
  if (!handle) return;
  const bool is_computed = is_computable(frame, *handle, inputs);
  if (!is_computed && shadows().damaged == 0 && !is_more_to_do()) return;
  const bool is_pointwise =
      frame.op->converts || handle->hasTag(at::Tag::pointwise) || is_dropout(*frame.op);
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  const Scope scope(state);
  try {
    frame.step = tracer.current_step();
    ShadowCall call;
    call.record = frame.record;
    const bool reads_shape_alone = ops::takes_no_values(frame.op->name);
    if (frame.op->may_begin_backward)
      report_at(*frame.op, inputs, Arrival::kLoss, frame.signature->id);
    call.follows = frame.phase != static_cast<uint8_t>(Phase::kBackward) && !reads_shape_alone;
    if (any_tensor(*frame.op, inputs, is_cuda)) {
      if (!begin_on_gpu(call, frame, *handle, is_computed, is_pointwise, inputs)) return;
    } else if (!is_computed) {
      return lose_trail(call, frame, inputs);
    } else if (!begin_call(call, frame, *handle, is_pointwise, inputs)) {
      return;
    }
    if (!state->shadow_call) state->shadow_call = new ShadowCall;
    *state->shadow_call = std::move(call);
    frame.is_shadowed = true;
  } catch (...) {
  }
}

void end_shadow(ThreadState* state, const Frame& frame, const at::RecordFunction& fn) {
  if (!state->shadow_call || state->shadow_call->record != frame.record) return;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  const Scope scope(state);
  ShadowCall call = std::move(*state->shadow_call);
  *state->shadow_call = ShadowCall();
  try {
    const auto handle = c10::Dispatcher::singleton().findSchema(*fn.operator_name());
    const std::vector<IValue>& outputs = fn.outputs();
    if (!lock || !handle)
      return report(call.damages, {call.arrival, call.error, frame.signature->id});
    if (call.later || std::any_of(outputs.begin(), outputs.end(), lies_on_gpu))
      end_on_gpu(call, frame, *handle, outputs);
    else
      end_call(call, frame, *handle, outputs);
  } catch (...) {
  }
}

void note_number_read(ThreadState* state, const OpInfo& op, const at::RecordFunction& fn,
                      uint32_t made_by) {
  if (shadows().damaged == 0 && !is_more_to_do()) return;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  const Scope scope(state);
  try {
    report_at(op, fn.inputs(), Arrival::kRead, made_by);
  } catch (...) {
  }
}

void compute_arrived(ThreadState* state) {
  if (!is_more_to_do() || !can_compute_here()) return;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  const Scope scope(state);
  do_arrived();
}

// What they are written to is another recording's from here on.
static void forget_damages() {
  for (auto& [storage, shadow] : shadows().of) {
    shadow.damages.clear();
    shadow.growth = Growth();
    shadow.rounded_at = 0;
  }
  shadows().damaged = shadows().open = 0;
  shadows().searches = 0;
  shadows().readers.clear();
  shadows().roundings.clear();
  ++ended_recordings;
}

// A run that is killed has what arrived in the steps before.
void settle_shadows(bool at_end) {
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  forget_dead_stand_ins();
  if (at_end) forget_stand_ins();
  if (shadows().damaged == 0) return;
  std::vector<const c10::StorageImpl*> gone;
  for (const auto& [storage, shadow] : shadows().of)
    if (shadow.has_arrived() && (at_end || shadow.storage.expired())) gone.push_back(storage);
  for (const c10::StorageImpl* storage : gone) forget(storage);
  if (at_end) forget_damages();
}

void free_shadows() {
  all_shadows = new Shadows;
  forget_stand_ins();
}

#else

struct ShadowCall {};
bool is_followed(const Frame&, c10::ArrayRef<const c10::IValue>) { return false; }
void begin_shadow(ThreadState*, Frame&, const at::RecordFunction&,
                  c10::ArrayRef<const c10::IValue>) {}
void end_shadow(ThreadState*, const Frame&, const at::RecordFunction&) {}
void note_number_read(ThreadState*, const OpInfo&, const at::RecordFunction&, uint32_t) {}
void compute_arrived(ThreadState*) {}
void settle_shadows(bool) {}
void free_shadows() {}

#endif

}  // namespace dtypecheck::tracer
