#include "tracer/keep_going/fix.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "tracer/keep_going/python_side.h"

namespace dtypecheck::tracer::keep_going {
namespace {

bool is_there(const c10::TensorImpl* impl) { return impl != c10::UndefinedTensorImpl::singleton(); }

bool is_integral(c10::ScalarType type) { return c10::isIntegralType(type, /*includeBool=*/true); }

bool may_take_part(c10::ScalarType type) {
  return is_integral(type) || type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16 ||
         type == c10::ScalarType::Float || type == c10::ScalarType::Double;
}

// What is undefined is no operand.
bool is_exact_in_float(const c10::TensorImpl* impl) {
  return !is_there(impl) || (impl->layout() == c10::Layout::Strided &&
                             may_take_part(c10::typeMetaToScalarType(impl->dtype())));
}

template <typename Visit>
bool all_tensors(const Call& call, const Visit& holds) {
  for (const TensorArgument& argument : call.facts.tensors) {
    const c10::IValue& value = call.arguments[argument.index];
    if (value.isTensor() && !holds(value.unsafeToTensorImpl())) return false;
    if (!value.isList()) continue;
    for (const c10::IValue& element : value.toListRef())
      if (element.isTensor() && !holds(element.unsafeToTensorImpl())) return false;
  }
  return true;
}

// Where the processor has arithmetic in Half, LibTorch's oneDNN uses it. Elsewhere it multiplies at
// about 1 GFLOP/s, one number after the other. Arm has it in general, and LibTorch uses it.
bool processor_is_slow_in_half() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  constexpr unsigned kFp16 = 1u << 23, kNeConvert = 1u << 5;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kFp16)) return false;
  return !(__get_cpuid_count(7, 1, &a, &b, &c, &d) && (d & kNeConvert));
#else
  return false;
#endif
}

bool falls_off_a_cliff(const Call& call) {
  static const bool is_slow = processor_is_slow_in_half();
  const auto is_half_on_cpu = [](const c10::TensorImpl* impl) {
    if (!is_there(impl)) return true;
    const c10::ScalarType type = c10::typeMetaToScalarType(impl->dtype());
    return impl->device_type() == c10::DeviceType::CPU &&
           (type == c10::ScalarType::Half || is_integral(type));
  };
  return is_slow && all_tensors(call, is_half_on_cpu);
}

void mark_served(const Call& call) {
  trace::SignatureRecord* record = call.record();
  if (record && !(__atomic_load_n(&record->flags, __ATOMIC_RELAXED) & trace::kSignatureServed))
    __atomic_fetch_or(&record->flags, trace::kSignatureServed, __ATOMIC_RELAXED);
}

}  // namespace

bool can_be_served(const Call& call) {
  return call.facts.can_be_served && all_tensors(call, is_exact_in_float) &&
         !is_compilers_call(call);
}

// Autocast casts, and calls again: that call comes here too.
bool serve_slow(Call& call) {
  if (!call.facts.multiplies || call.mix.is_mixed() || !falls_off_a_cliff(call)) return false;
  if (call.below.has_any(c10::autocast_dispatch_keyset)) return false;
  if (serve(call)) {
    mark_served(call);
    return true;
  }
  call.put_back(call.arguments);
  return false;
}

}  // namespace dtypecheck::tracer::keep_going
