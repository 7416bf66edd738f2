// variant.h: the ways to do one operation, fastest first. Each computes what the contract in the
// operation's header says; the last one, the reference, runs everywhere.
#pragma once

#include <span>

namespace dtypecheck::kernels {

template <class Arguments>
struct Variant {
  const char* name;
  // Asks the machine, and the arguments where a variant is for some of them only (a device, a
  // width).
  bool (*can_run)(const Arguments&);
  void (*run)(const Arguments&);
};

template <class Arguments>
bool always(const Arguments&) {
  return true;
}

template <class Arguments>
void run_first(std::span<const Variant<Arguments>> variants, const Arguments& arguments) {
  for (const Variant<Arguments>& variant : variants) {
    if (variant.can_run(arguments)) return variant.run(arguments);
  }
}

// This processor has vectors that convert Half: x86 with AVX2, F16C and FMA, or 64-bit Arm.
bool has_vectors();
template <class Arguments>
bool vectors(const Arguments&) {
  return has_vectors();
}

}  // namespace dtypecheck::kernels
