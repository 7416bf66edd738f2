// throws.h: what a throw is about, by its message. Rules decide by operands first; the message is
// asked where operands cannot tell: whether the dtypes were the reason at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_call.h"

namespace dtypecheck::rules {

// The op was refused: it threw, or would have, had keep-going or --fix not let it through.
bool was_refused(const OpCall& call);

enum class ThrowReason {
  kUnknown,         // no word about dtypes, and none about anything else: contracts must decide
  kDtypes,          // speaks of dtypes
  kNotImplemented,  // there is no kernel for a dtype
  kOther,           // shapes, devices, memory, indices, Python's own control flow
};
ThrowReason throw_reason(std::string_view message, std::string_view type);

// Autocast itself refuses the op, in whatever dtypes its operands are.
bool is_unsafe_to_autocast(std::string_view message);

// The dtypes that stand in the message, in their order, each once, in any of their spellings: Half,
// float16, c10::Half, torch.cuda.HalfTensor, FP16, long int.
std::vector<Dtype> named_dtypes(std::string_view message);
bool names_dtype(std::string_view message, Dtype dtype);

// The message as the dispatcher had it. On its way to Python torch writes torch.FloatTensor for
// CPUFloatType, and for some types leaves the name.
std::string as_raised(std::string_view message);

// The dtype that a "not implemented" message is about, the kernel it names ("" for none), and the
// sizes that it has none for ("" where it has none at all).
struct MissingKernel {
  Dtype dtype;
  std::string kernel;
  std::string_view sizes;
};
std::optional<MissingKernel> missing_kernel(std::string_view message);

// The integer dtype that a message asks for and the one it got: "expected scalar type Long but
// found Float".
struct WantedInteger {
  Dtype wanted;
  Dtype found;
};
std::optional<WantedInteger> wanted_integer(std::string_view message);

// Input and weight in a sentence of torch.nn's recurrent layers, which compare them in Python: "RNN
// input dtype (torch.float32) does not match weight dtype (torch.float16)".
struct NamedMix {
  Dtype input;
  Dtype weight;
};
std::optional<NamedMix> input_and_weight(std::string_view message);

}  // namespace dtypecheck::rules
