// since.h: from which LibTorch on an op takes a dtype. explain knows no dates of its own: it asks
// the contracts, so that it says what a report says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/op_call.h"

namespace dtypecheck::explain {

// An op with its operands, "aten::addmm self,mat1,mat2", as the contract tables name them. All
// operands have the dtype that is asked about, but for those that name their own:
// "attn_mask=Float".
struct OpPattern {
  std::string op;
  std::vector<std::string> operands;

  // The call of the op with operands of that dtype.
  OpCall call_in(Dtype dtype, const std::string& device) const;
};
// Throws InputError if the text does not name an op.
OpPattern parse_op_pattern(std::string_view text);

struct Since {
  std::string first;     // "2.4"; empty where the newest has it not yet
  std::string sentence;  // "Half on the CPU since 2.4 (measured)", "Half still missing on the CPU
                         // in 2.11 (measured)"; empty where the contracts do not know
};
Since since_when(const OpPattern& pattern, Dtype dtype);

// The text with each "{since DEVICE DTYPE OP OPERANDS}" replaced by the first version that takes
// it, and "{since DEVICE autocast DTYPE}" by the first whose autocast does that dtype. Throws
// InputError where the contracts do not know.
std::string with_dates(std::string text);

}  // namespace dtypecheck::explain
