// repair.cpp: a call again, with its operands cast. Casts go through autograd, so that gradients
// come back in the operand's own dtype; what the op writes is copied back into the tensor it was
// meant for; results get the dtype that they would have in a program whose operands agreed, which
// is that of its activation.
#include <ATen/SavedTensorHooks.h>
#include <ATen/SequenceNumber.h>

#include "ops/arguments.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/call.h"
#include "tracer/keep_going/kernels.h"
#include "tracer/keep_going/python_side.h"

namespace dtypecheck::tracer::keep_going {
namespace {

KeyedTable<uint32_t, 1 << 12> memo;  // call to the dtype that it was repaired with, plus one
std::atomic<bool> any_memo{false};

bool is_float(c10::ScalarType type) {
  return type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16 ||
         type == c10::ScalarType::Float || type == c10::ScalarType::Double;
}

bool takes_part(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         is_float(value.toTensor().scalar_type()) &&
         !value.unsafeToTensorImpl()->is_wrapped_number();
}

template <typename Visit>
void visit_floating(const Call& call, const Visit& visit) {
  for (const TensorArgument& argument : call.facts.tensors) {
    if (argument.is_fixed) continue;
    const c10::IValue& value = call.arguments[argument.index];
    if (takes_part(value)) visit(argument, value.toTensor());
    if (!value.isList()) continue;
    for (const c10::IValue& element : value.toListRef())
      if (takes_part(element)) visit(argument, element.toTensor());
  }
}

c10::ScalarType promoted(const Call& call) {
  PromotedDtype dtype;
  visit_floating(call, [&](const TensorArgument&, const at::Tensor& tensor) {
    dtype.add(tensor.scalar_type(), tensor.dim());
  });
  return dtype.get();
}

// What a fixed program's result would have: the dtype of the input, not of what is only written.
c10::ScalarType activation_dtype(const Call& call) {
  const int chosen = call.facts.activation;
  if (chosen >= 0 && takes_part(call.arguments[static_cast<size_t>(chosen)]))
    return call.arguments[static_cast<size_t>(chosen)].toTensor().scalar_type();
  auto first = c10::ScalarType::Undefined;
  visit_floating(call, [&](const TensorArgument& argument, const at::Tensor& tensor) {
    if (first == c10::ScalarType::Undefined && !argument.is_out) first = tensor.scalar_type();
  });
  return first;
}

// The list with what its tensors are changed to; what is no list, or stays as it is, itself.
template <typename Change>
c10::IValue with_elements(const c10::IValue& value, const Change& change) {
  if (!value.isList() || value.toListRef().empty()) return value;
  c10::impl::GenericList list = value.toList().copy();
  bool changed = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const c10::IValue element = list.get(i);
    if (!element.isTensor()) continue;
    const c10::IValue other = change(element);
    if (other.unsafeToTensorImpl() == element.unsafeToTensorImpl()) continue;
    list.set(i, other);
    changed = true;
  }
  return changed ? c10::IValue(std::move(list)) : value;
}

c10::IValue cast(const c10::IValue& value, c10::ScalarType to) {
  if (!takes_part(value))
    return with_elements(value, [&](const c10::IValue& element) { return cast(element, to); });
  return value.toTensor().scalar_type() == to ? value : c10::IValue(value.toTensor().to(to));
}

using Arguments = c10::SmallVector<c10::IValue, 12>;

Arguments cast_arguments(const Call& call, const Arguments& given, c10::ScalarType to) {
  Arguments cast_ones = given;
  if (to == c10::ScalarType::Undefined) return cast_ones;
  for (const TensorArgument& argument : call.facts.tensors)
    if (!argument.is_fixed) cast_ones[argument.index] = cast(given[argument.index], to);
  return cast_ones;
}

void write_back(const c10::IValue& original, const c10::IValue& temporary, bool is_out) {
  if (original.isTensor()) {
    if (!takes_part(original) || original.unsafeToTensorImpl() == temporary.unsafeToTensorImpl())
      return;
    at::Tensor into = original.toTensor();
    const at::Tensor from = temporary.toTensor();
    if (is_out && !into.sizes().equals(from.sizes())) into.resize_(from.sizes());
    into.copy_(from);
    return;
  }
  if (!original.isList() || !temporary.isList()) return;
  const auto originals = original.toListRef(), temporaries = temporary.toListRef();
  for (size_t i = 0; i < originals.size() && i < temporaries.size(); ++i)
    write_back(originals[i], temporaries[i], is_out);
}

void write_all_back(const Call& call, const Arguments& cast_ones) {
  for (const TensorArgument& argument : call.facts.tensors) {
    const c10::IValue &original = call.arguments[argument.index],
                      &temporary = cast_ones[argument.index];
    if (argument.is_written) {
      write_back(original, temporary, argument.is_out);
    } else if (argument.is_undeclared) {
      const c10::AutoGradMode no_grad(false);
      write_back(original, temporary, /*is_out=*/false);
    }
  }
}

c10::IValue result_as(const c10::IValue& result, c10::ScalarType computed_in,
                      c10::ScalarType wanted) {
  if (result.isTensor())
    return takes_part(result) && result.toTensor().scalar_type() == computed_in
               ? cast(result, wanted)
               : result;
  if (!result.isList()) return result;
  for (const c10::IValue& element : result.toListRef())
    if (!takes_part(element) || element.toTensor().scalar_type() != computed_in) return result;
  return cast(result, wanted);
}

void return_written(Call& call) {
  for (const WrittenResult& same : call.facts.written_results)
    (*call.stack)[call.base + same.result] = call.arguments[same.argument];
}

void finish_results(Call& call, c10::ScalarType computed_in) {
  const c10::ScalarType wanted = activation_dtype(call);
  const int asked = call.facts.asked_dtype;
  const bool keeps_dtype =
      (asked >= 0 && !call.arguments[static_cast<size_t>(asked)].isNone()) ||
      wanted == computed_in || wanted == c10::ScalarType::Undefined ||
      call.is_called_by_engine();  // which casts a gradient to what it belongs to by itself
  for (size_t i = 0; i < call.facts.result_count; ++i) {
    if (keeps_dtype || (i > 0 && call.facts.only_first_result)) break;
    c10::IValue& result = (*call.stack)[call.base + i];
    result = result_as(result, computed_in, wanted);
  }
  return_written(call);
}

// Autograd nodes that the casts made belong to the line of the op: backward finds it by their
// numbers.
void note_sequences(const Call& call) {
  SequenceRing* ring = call.state->sequences.load(std::memory_order_relaxed);
  if (!ring) ring = make_sequence_ring(call.state);
  const auto end = static_cast<int64_t>(at::sequence_number::peek());
  for (int64_t sequence = call.sequence; ring && sequence <= end; ++sequence)
    ring->set(sequence, call.site());
}

void run_cast(Call& call, const Arguments& given, c10::ScalarType dtype) {
  Arguments cast_ones;
  {
    const BusyScope ours(call.state);
    cast_ones = cast_arguments(call, given, dtype);
  }
  call.put_back(cast_ones);
  note_sequences(call);
  call.run();
  const BusyScope ours(call.state);
  write_all_back(call, cast_ones);
}

// The first exception is the one that the program is to see; but what refuses nothing (a checkpoint
// that has recomputed enough) goes its way.
bool call_with(Call& call, const Arguments& given, c10::ScalarType dtype) {
  PythonError refusal;
  try {
    run_cast(call, given, dtype);
    const BusyScope ours(call.state);
    if (dtype != c10::ScalarType::Undefined) finish_results(call, dtype);
    note_sequences(call);
    return true;
  } catch (const c10::Error&) {
    return false;
  } catch (const std::exception& error) {
    std::string type, message;
    if (is_onednn(error) || is_kernels_refusal(error, &type, &message) ||
        (call.below.has(c10::DispatchKey::Python) && refusal.fetch()))
      return false;
    throw;
  }
}

bool call_with(Call& call, c10::ScalarType dtype) { return call_with(call, call.arguments, dtype); }

// ---- integers and Bool

bool is_integer(c10::ScalarType type) {
  return type == c10::ScalarType::Bool || c10::isIntegralType(type, /*includeBool=*/false);
}

// What the first choice of an argument is, and the second: of labels, which are classes for some
// losses and values for others; Undefined where it stays as it is.
c10::ScalarType wanted_of(const TensorArgument& argument, c10::ScalarType type,
                          c10::ScalarType values, bool second) {
  if ((argument.names & ops::kCondition) || (argument.is_mask && is_integer(type)))
    return second ? c10::ScalarType::Undefined : c10::ScalarType::Bool;
  if (argument.names & ops::kIndex)
    return second || type == c10::ScalarType::Bool ? c10::ScalarType::Undefined
                                                   : c10::ScalarType::Long;
  if (argument.names & ops::kLabels) return second ? values : c10::ScalarType::Long;
  return second && is_integer(type) ? values : c10::ScalarType::Undefined;
}

c10::IValue cast_chosen(const TensorArgument& argument, const c10::IValue& value,
                        c10::ScalarType values, bool second) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || value.unsafeToTensorImpl()->is_wrapped_number()) return value;
    const c10::ScalarType type = tensor.scalar_type();
    if (!is_integer(type) && !is_float(type)) return value;
    const c10::ScalarType to = wanted_of(argument, type, values, second);
    return to == c10::ScalarType::Undefined || to == type ? value : c10::IValue(tensor.to(to));
  }
  return with_elements(value, [&](const c10::IValue& element) {
    return cast_chosen(argument, element, values, second);
  });
}

// Labels and indices in Long and masks in Bool; then labels as values, and integers among numbers
// in the floating dtype of the others. What the call writes stays as it is. False: nothing changes.
bool choose_integers(const Call& call, bool second, Arguments& out) {
  const c10::ScalarType known = promoted(call);
  const auto values = known == c10::ScalarType::Undefined ? c10::ScalarType::Float : known;
  out = call.arguments;
  bool changed = false;
  const BusyScope ours(call.state);
  for (const TensorArgument& argument : call.facts.tensors) {
    if (argument.is_fixed || argument.is_written || argument.is_undeclared) continue;
    c10::IValue& value = out[argument.index];
    c10::IValue chosen = cast_chosen(argument, value, values, second);
    if (value.isTensor() ? chosen.unsafeToTensorImpl() == value.unsafeToTensorImpl()
                         : chosen.is(value))
      continue;
    value = std::move(chosen);
    changed = true;
  }
  return changed;
}

bool repair_integers(Call& call) {
  for (const bool second : {false, true}) {
    Arguments chosen;
    if (!choose_integers(call, second, chosen)) continue;
    if (call_with(call, chosen, c10::ScalarType::Undefined)) return true;
    if (call.mix.is_mixed() && call_with(call, chosen, promoted(call))) return true;
  }
  return false;
}

// What --fix serves: by a kernel of ours where there is one.
bool serve_with(Call& call, c10::ScalarType dtype) {
  if (dtype == c10::ScalarType::Float) {
    note_sequences(call);
    if (serve_by_kernels(call)) {
      note_sequences(call);
      return true;
    }
    call.put_back(call.arguments);
  }
  return call_with(call, dtype);
}

// A checkpoint counts what is saved, and both passes have to save the same: a call that failed
// saved it too.
bool saves_are_counted() { return !at::SavedTensorDefaultHooks::get_tls_state().stack.empty(); }

// Of the record: it has the op, its site and the operands' dtypes. The op itself too, which may be
// one inside the recorded one.
uint64_t memo_key(const Call& call) {
  uint64_t hash =
      mix(reinterpret_cast<uint64_t>(call.record()), reinterpret_cast<uint64_t>(&call.facts));
  visit_floating(call, [&](const TensorArgument& argument, const at::Tensor& tensor) {
    hash = mix(hash, uint64_t{argument.index} << 8 | static_cast<uint64_t>(tensor.scalar_type()));
  });
  return hash | 1;
}

bool remember(const Call& call, c10::ScalarType dtype) {
  memo.insert(memo_key(call), static_cast<uint32_t>(dtype) + 1);
  any_memo.store(true, std::memory_order_relaxed);
  return true;
}

bool repair_floats(Call& call) {
  const c10::ScalarType dtype = promoted(call);
  if (dtype == c10::ScalarType::Undefined || !call.mix.may_fail()) return false;
  const bool is_enough = call.mix.is_mixed() && call_with(call, dtype);
  if (!is_enough && !(is_of_16_bits(dtype) && call_with(call, c10::ScalarType::Float)))
    return false;
  return remember(call, is_enough ? dtype : c10::ScalarType::Float);
}

}  // namespace

void run_with_casts(Call& call, c10::ScalarType dtype) {
  run_cast(call, call.arguments, dtype);
  return_written(call);
  note_sequences(call);
}

bool serve(Call& call) {
  const c10::ScalarType widest = promoted(call);
  if (widest == c10::ScalarType::Undefined) return false;
  const auto dtype =
      widest == c10::ScalarType::Double ? c10::ScalarType::Double : c10::ScalarType::Float;
  return serve_with(call, dtype) && remember(call, dtype);
}

bool repair(Call& call) {
  if (tracer.options.fix) return serve(call);
  return repair_floats(call) || repair_integers(call);
}

bool repair_as_before(Call& call) {
  if (!any_memo.load(std::memory_order_relaxed) || saves_are_counted()) return false;
  const uint32_t known = memo.find(memo_key(call));
  if (!known) return false;
  const auto dtype = static_cast<c10::ScalarType>(known - 1);
  if (tracer.options.fix ? serve_with(call, dtype) : call_with(call, dtype)) return true;
  call.put_back(call.arguments);
  return false;
}

void forget_repairs() {
  memo.clear();
  any_memo.store(false);
}

}  // namespace dtypecheck::tracer::keep_going
