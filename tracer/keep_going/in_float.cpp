#include "tracer/keep_going/in_float.h"

#include <unordered_map>

#include "ops/ops.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/option_text.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/tensors.h"

namespace dtypecheck::tracer::keep_going {

// A result in Float that would have 16 bits without --in-float, by its memory, which views share.
// The weak reference keeps the address from being used again.
struct FloatRegion {
  struct Result {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    c10::ScalarType dtype;
  };
  // An operand that is differentiated is cast once, so that its gradients are summed in Float.
  struct Operand {
    at::Tensor given, in_float;
    uint32_t version;
  };
  int depth = 0;
  std::unordered_map<const c10::StorageImpl*, Result> low;
  std::unordered_map<const c10::TensorImpl*, Operand> operands;
};

namespace {

using python::Object;
using python::Ref;

constexpr const char* kHooks =
#include "tracer/keep_going/in_float.inc"
    ;

std::string named;

const c10::StorageImpl* storage_in(const c10::TensorImpl* impl) {
  const bool has_one = is_plain(impl) && impl->layout() == c10::Layout::Strided;
  return has_one && impl->unsafe_storage() ? impl->unsafe_storage().unsafeGetStorageImpl()
                                           : nullptr;
}

// In the program as it is.
c10::ScalarType own_dtype(const FloatRegion& region, const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  if (type != c10::ScalarType::Float) return type;
  const auto found = region.low.find(storage_in(tensor.unsafeGetTensorImpl()));
  return found == region.low.end() ? type : found->second.dtype;
}

void note(FloatRegion& region, const at::Tensor& tensor, c10::ScalarType own) {
  const c10::StorageImpl* storage = storage_in(tensor.unsafeGetTensorImpl());
  if (!storage) return;
  if (!is_of_16_bits(own) || tensor.scalar_type() != c10::ScalarType::Float) {
    region.low.erase(storage);
    return;
  }
  region.low.insert_or_assign(storage,
                              FloatRegion::Result{tensor.storage().getWeakStorageImpl(), own});
}

c10::ScalarType asked_dtype(const Call& call) {
  const int asked = call.facts.asked_dtype;
  if (asked < 0 || call.arguments[static_cast<size_t>(asked)].isNone())
    return c10::ScalarType::Undefined;
  return call.arguments[static_cast<size_t>(asked)].toScalarType();
}

// What the program as it is would get: the dtype that it asks for, that of autocast, or like
// torch.result_type that of the operands with dimensions.
c10::ScalarType own_result(const FloatRegion& region, const Call& call, bool in_autocast) {
  const c10::ScalarType asked = asked_dtype(call);
  if (asked != c10::ScalarType::Undefined) return asked;
  PromotedDtype promoted;
  auto device = c10::DeviceType::CPU;
  for (const TensorArgument& argument : call.facts.tensors) {
    if (argument.is_fixed) continue;
    for_each_defined(call.arguments[argument.index], [&](const at::Tensor& tensor) {
      if (!c10::isFloatingType(tensor.scalar_type())) return;
      device = tensor.device().type();
      promoted.add(own_dtype(region, tensor), tensor.dim());
    });
  }
  const c10::ScalarType own = promoted.get();
  const bool is_cast = in_autocast && call.facts.multiplies && own == c10::ScalarType::Float;
  return is_cast ? autocast_dtype(device) : own;
}

void cast_once(FloatRegion& region, Call& call) {
  const BusyScope ours(call.state);
  for (const TensorArgument& argument : call.facts.tensors) {
    c10::IValue& value = call.arguments[argument.index];
    if (argument.is_fixed || argument.is_written || !value.isTensor()) continue;
    const at::Tensor& given = value.toTensor();
    if (!given.defined() || !is_of_16_bits(given.scalar_type()) || !given.requires_grad()) continue;
    FloatRegion::Operand& known = region.operands[given.unsafeGetTensorImpl()];
    const auto version = static_cast<uint32_t>(given._version());
    if (!known.given.defined() || known.version != version)
      known = {given, given.to(c10::ScalarType::Float), version};
    value = known.in_float;
  }
}

// Numbers are drawn in the dtype in which the program draws them: in another they would be others.
void give_own_dtypes(const FloatRegion& region, Call& call) {
  const BusyScope ours(call.state);
  for (const TensorArgument& argument : call.facts.tensors) {
    c10::IValue& value = call.arguments[argument.index];
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const c10::ScalarType own = own_dtype(region, value.toTensor());
    if (own != value.toTensor().scalar_type()) value = value.toTensor().to(own);
  }
  call.put_back(call.arguments);
}

// x.float() of what is in Float only here: the program has a tensor of its own then.
void part_from_operand(FloatRegion& region, Call& call) {
  c10::IValue& result = (*call.stack)[call.base];
  if (!result.isTensor() || own_dtype(region, result.toTensor()) == c10::ScalarType::Float) return;
  const BusyScope ours(call.state);
  result = result.toTensor().clone();
}

bool is_written(const Call& call, size_t result) {
  for (const WrittenResult& same : call.facts.written_results)
    if (same.result == result) return true;
  return false;
}

bool is_named_module(const std::string& path) {
  const std::string all = "+" + named + "+";
  for (size_t end = path.size();; end = path.rfind('.', end - 1)) {
    if (end == path.npos || end == 0) return false;
    if (all.find("+" + path.substr(0, end) + "+") != all.npos) return true;
  }
}

Object* answer(bool value) {
  Object* object = value ? python::imported_item("builtins", "True")
                         : python::imported_item("builtins", "False");
  python::api.Py_IncRef(object);
  return object;
}

// The hook was called by the module, whose call is the innermost one then.
Object* is_named(Object*, Object*) {
  ThreadState* state = thread_state();
  if (!state || state->busy || !on.load()) return answer(false);
  const BusyScope ours(state);
  python::FrameWalk walk;
  python::Site site;
  return answer(python::walk(&walk) && python::resolve(walk, &site) &&
                is_named_module(site.module));
}

Object* enter(Object*, Object*) {
  if (ThreadState* state = thread_state()) {
    if (!state->in_float) state->in_float = new FloatRegion;
    ++state->in_float->depth;
  }
  return python::return_none();
}

Object* leave(Object*, Object*) {
  ThreadState* state = thread_state();
  if (state && state->in_float && --state->in_float->depth == 0) {
    delete state->in_float;
    state->in_float = nullptr;
  }
  return python::return_none();
}

Object* is_outermost(Object*, Object*) {
  ThreadState* state = thread_state();
  return answer(state && state->in_float && state->in_float->depth == 1);
}

// The tensor, or the same in the dtype that it would have.
Object* rounded(Object*, Object* tensor) {
  ThreadState* state = thread_state();
  const auto* impl = static_cast<const c10::TensorImpl*>(python::tensor_impl(tensor));
  auto own = c10::ScalarType::Undefined;
  if (state && state->in_float && impl) {
    const auto found = state->in_float->low.find(storage_in(impl));
    const bool is_float = c10::typeMetaToScalarType(impl->dtype()) == c10::ScalarType::Float;
    if (found != state->in_float->low.end() && is_float) own = found->second.dtype;
  }
  if (own != c10::ScalarType::Undefined) {
    const BusyScope ours(state);
    const Ref to(python::api.PyObject_GetAttrString(tensor, "to"));
    Object* dtype =
        python::imported_item("torch", own == c10::ScalarType::Half ? "float16" : "bfloat16");
    return to && dtype ? python::api.PyObject_CallFunctionObjArgs(to.get(), dtype, nullptr)
                       : nullptr;
  }
  python::api.Py_IncRef(tensor);
  return tensor;
}

}  // namespace

bool read_in_float(const char* options) {
  named.clear();
  read_option(options, "in-float", &named);
  return !named.empty();
}

const std::string& modules_in_float() { return named; }

void run_in_float(Call& call) {
  FloatRegion& region = *call.state->in_float;
  const bool in_autocast = call.below.has_any(c10::autocast_dispatch_keyset);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  call.below = call.below - c10::autocast_dispatch_keyset;
  if (is_compilers_call(call)) return call.run();
  const c10::ScalarType asked = asked_dtype(call), own = own_result(region, call, in_autocast);
  if (call.facts.draws && (is_of_16_bits(asked) || ops::takes_no_values(call.op.schema().name()))) {
    give_own_dtypes(region, call);
    return call.run();
  }
  const bool may_cast = !call.facts.is_view || call.facts.casts;
  if (is_of_16_bits(asked) && may_cast) {
    call.arguments[static_cast<size_t>(call.facts.asked_dtype)] = c10::ScalarType::Float;
    call.put_back(call.arguments);
  }
  if (call.facts.is_view) {
    call.run();
    if (call.facts.casts && asked == c10::ScalarType::Float) part_from_operand(region, call);
    return;
  }
  if (call.mix.has_low_precision()) {
    if (c10::GradMode::is_enabled()) cast_once(region, call);
    const bool in_double = own == c10::ScalarType::Double;
    run_with_casts(call, in_double ? own : c10::ScalarType::Float);
  } else {
    call.run();
  }
  for (size_t i = 0; i < call.facts.result_count; ++i) {
    if (is_written(call, i)) continue;
    for_each_defined((*call.stack)[call.base + i],
                     [&](const at::Tensor& tensor) { note(region, tensor, own); });
  }
}

bool watch_modules_in_float() {
  const Ref install = python::own_function(kHooks, "install");
  const Ref callbacks[] = {python::new_callback("is_named", is_named, python::kOneArgument),
                           python::new_callback("enter", enter, python::kOneArgument),
                           python::new_callback("leave", leave, python::kOneArgument),
                           python::new_callback("is_outermost", is_outermost, python::kOneArgument),
                           python::new_callback("rounded", rounded, python::kOneArgument)};
  for (const Ref& callback : callbacks)
    if (!install || !callback) return false;
  return Ref(python::api.PyObject_CallFunctionObjArgs(
                 install.get(), callbacks[0].get(), callbacks[1].get(), callbacks[2].get(),
                 callbacks[3].get(), callbacks[4].get(), nullptr))
             .get() != nullptr;
}

}  // namespace dtypecheck::tracer::keep_going
