// kernels.h: --fix by kernels/torch/, where they have what is called: products, 2-d convolutions
// and norms on the CPU. nothing but the operands is kept for the backward pass. What they are not
// for, and all of it where their library is not there, is LibTorch's in Float (repair.cpp).
#pragma once

#include "tracer/keep_going/call.h"

namespace dtypecheck::tracer::keep_going {

// The operator for an op of LibTorch, and how its arguments are made of the op's.
struct KernelForm {
  const char* op;  // without an overload's name
  const char* kernel;
  uint16_t taken;  // arguments that are the same, from the first on
  enum How { kSame, kAddsProduct, kLayerNorm, kGroupNorm } how = kSame;
};
const KernelForm* kernel_form(const c10::FunctionSchema& schema);  // null: there is none

// False: it was not, and the arguments may have to be put back.
bool serve_by_kernels(Call& call);

}  // namespace dtypecheck::tracer::keep_going
