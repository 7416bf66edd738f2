// fix.h: --fix. A call that LibTorch refuses for its dtypes, or computes a hundred times slower
// than it could, is computed in Float (in Double where an operand is that), and each result is
// rounded once to the dtype that the call promises: that of its activation, or of the tensor it
// writes.
//
// It stands where keep-going does and casts as keep-going does (repair.cpp), through autograd, so
// that gradients come back in the operands' own dtypes. LibTorch itself decides what it refuses:
// the first call of each kind is tried, and later ones are served without that. Other than there
// results are valid, so nothing is tainted; and what no cast makes right is left to LibTorch, which
// refuses it as always: what Python code of torch refuses before any op, extensions whose schemas
// may not say what they write, quantized, complex and sparse operands, and what a compiler traces.
#pragma once

#include "tracer/keep_going/call.h"

namespace dtypecheck::tracer::keep_going {

bool can_be_served(const Call& call);
// A product, convolution or attention in Half on a CPU that has no arithmetic in Half. False: it is
// none, or could not be served, and is as it was.
bool serve_slow(Call& call);

}  // namespace dtypecheck::tracer::keep_going
