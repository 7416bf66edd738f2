// variant.h: the ways to do one operation, fastest first. Each computes what the contract in the
// operation's header says; the last one, the reference, runs everywhere.
#pragma once

#include <span>

#include "kernels/device.h"
#include "kernels/element.h"
#include "platform/error.h"
#ifdef DTYPECHECK_EMULATED_GRID
#include DTYPECHECK_EMULATED_GRID
#endif

namespace dtypecheck::kernels {

template <class Arguments>
struct Variant {
  const char* name;
  // Asks the machine, and the arguments where a variant is for some of them only (a width).
  bool (*can_run)(const Arguments&);
  void (*run)(const Arguments&);
};

template <class Arguments>
bool always(const Arguments&) {
  return true;
}

// The one for numbers on a GPU. It is in a library of its own (kernels/*/*.cu), so that this one
// needs no CUDA; null until that is loaded.
template <class Arguments>
struct DeviceVariant {
  using Run = void (*)(const Arguments&);
  static Run run;  // defined in <op>.cpp
};

template <class Arguments>
void run_on_device(const Arguments& arguments) {
  if (!DeviceVariant<Arguments>::run)
    throw InputError("numbers are on a GPU, and the kernels for it are not loaded");
  DeviceVariant<Arguments>::run(arguments);
}

template <class Arguments>
void run_first(std::span<const Variant<Arguments>> variants, const Arguments& arguments) {
  if constexpr (requires { arguments.device; }) {
    if (arguments.device) return run_on_device(arguments);
  }
  for (const Variant<Arguments>& variant : variants) {
    if (variant.can_run(arguments)) return variant.run(arguments);
  }
}

// Without a GPU the tests have that variant as the first of the processor's (kernels/cuda/grid.h).
#ifdef DTYPECHECK_EMULATED_GRID
template <class Arguments>
void run_on_grid(const Arguments& arguments) {
  cuda::EmulatedMemory memory;
  Arguments with_device = arguments;
  with_device.device = &memory.device;
  DeviceVariant<Arguments>::run(with_device);
}
#define DTYPECHECK_GRID_VARIANT(Arguments) {"grid", always<Arguments>, run_on_grid<Arguments>},
#else
#define DTYPECHECK_GRID_VARIANT(Arguments)
#endif

// This processor has vectors that convert Half: x86 with AVX2, F16C and FMA, or 64-bit Arm.
bool has_vectors();
template <class Arguments>
bool vectors(const Arguments&) {
  return has_vectors();
}

// It has AVX512-BF16 beside those (bfloat16_target.h).
bool has_bfloat16_vectors();
template <class Arguments>
bool in_bfloat16(const Arguments& a) {
  return a.x.dtype == Dtype::kBFloat16 && has_bfloat16_vectors();
}

}  // namespace dtypecheck::kernels
