// scaled_product.cpp: the sentences are those of LibTorch 2.6 to 2.15, on a CPU and on CUDA.
#include "rules/engine/scaled_product.h"

#include <algorithm>
#include <string_view>

#include "ops/arguments.h"

namespace dtypecheck::rules {
namespace {

using Kind = ScaledFault::Kind;
constexpr DtypeSet kFloat4 = DtypeSet(Dtype::kFloat4_e2m1fn_x2);
constexpr DtypeSet kPowers = DtypeSet(Dtype::kFloat8_e8m0fnu);  // of 2, of blocks of 32

bool is_scale(const Operand& operand) {
  return (ops::argument_facts(operand.name) & ops::kScale) != 0;
}

template <typename Is>
const Operand* first_of(const OpCall& call, const Is& is) {
  const auto found = std::ranges::find_if(call.operands, is);
  return found == call.operands.end() ? nullptr : &*found;
}

const Operand* first_in(const OpCall& call, DtypeSet dtypes) {
  return first_of(call,
                  [&](const Operand& one) { return !is_scale(one) && one.dtypes.within(dtypes); });
}

std::optional<ScaledFault> fault(Kind kind, const Operand* odd, DtypeSet wanted) {
  if (odd == nullptr) return std::nullopt;
  return ScaledFault{kind, odd, wanted};
}

// "scale_a should have 512 elements, got: 512": what it is not said to want is another dtype.
const Operand* with_right_size(const OpCall& call) {
  constexpr std::string_view kWanted = " should have ", kGot = " elements, got: ";
  const std::string_view error = call.error;
  const size_t wanted = error.find(kWanted), got = error.find(kGot);
  if (wanted == error.npos || got == error.npos || got < wanted) return nullptr;
  const auto count = error.substr(wanted + kWanted.size(), got - wanted - kWanted.size());
  if (!error.substr(got + kGot.size()).starts_with(count)) return nullptr;
  return first_of(call, [&](const Operand& one) {
    const std::string_view list = ops::list_name(one.name);
    return is_scale(one) && error.substr(0, wanted).ends_with(list);
  });
}

std::optional<ScaledFault> fault_of_scale(const OpCall& call) {
  const bool speaks_of_scales = call.error.empty() ||
                                call.error.find("scale") != std::string::npos ||
                                call.error.find("scaling") != std::string::npos;
  if (!speaks_of_scales || call.error.starts_with("Could not run")) return std::nullopt;
  const std::string_view asked = std::string_view(call.error).substr(0, call.error.find("Got "));
  if (const Operand* factor = first_in(call, kFloat4)) {
    const bool knows = call.error.empty() || asked.find("float4") != asked.npos;
    if (!knows && call.error.starts_with("Invalid scaling"))
      return fault(Kind::kFactor, factor, kFloat8);
    const DtypeSet right = DtypeSet(Dtype::kFloat8_e4m3fn);
    return fault(Kind::kScale,
                 first_of(call,
                          [&](const Operand& one) {
                            return is_scale(one) &&
                                   one.dtypes.within(DtypeSet(Dtype::kFloat) | kLowPrecision |
                                                     Dtype::kDouble);
                          }),
                 right);
  }
  // The blocks of MX have scales in e8m0; where they are known, the message says so.
  const bool knows_blocks = call.error.empty() || asked.find("e8m0") != asked.npos ||
                            asked.find("Blockwise") != asked.npos;
  const DtypeSet wrong =
      kLowPrecision | Dtype::kDouble | (knows_blocks ? kFloat8 - kPowers : kFloat8);
  const auto in = [](DtypeSet dtypes) {
    return [dtypes](const Operand& one) { return is_scale(one) && one.dtypes.within(dtypes); };
  };
  if (const Operand* odd = first_of(call, in(wrong)))
    return fault(Kind::kScale, odd, DtypeSet(Dtype::kFloat));
  const Operand* wide = first_of(call, in(DtypeSet(Dtype::kFloat)));
  if (wide != nullptr && first_of(call, in(kPowers)) != nullptr && !call.error.empty())
    return fault(Kind::kScale, wide, kPowers);
  const Operand* sized = with_right_size(call);
  if (sized != nullptr && sized->dtypes.within(DtypeSet(Dtype::kFloat)))
    return fault(Kind::kScale, sized, kPowers);
  return std::nullopt;
}

}  // namespace

std::optional<ScaledFault> scaled_fault(const OpCall& call) {
  constexpr DtypeSet kHalves = DtypeSet(Dtype::kBFloat16) | Dtype::kHalf;
  if (first_in(call, kFloat8 | kFloat4) == nullptr) return std::nullopt;
  const std::string_view error = call.error;
  if (error.starts_with("Bias must be BFloat16 to"))
    return fault(Kind::kBias, call.operand("bias"), DtypeSet(Dtype::kBFloat16));
  if (error.starts_with("Bias must be")) return fault(Kind::kBias, call.operand("bias"), kHalves);
  if (error.starts_with("Bias is not supported when out_dtype"))
    return fault(Kind::kBias, call.operand("bias"), DtypeSet());
  if (error.starts_with("Offsets have to be int32"))
    return fault(Kind::kOffset, call.operand("offs"), DtypeSet(Dtype::kInt));
  for (const auto& [said, name] : {std::pair("mat_a", "self"), std::pair("mat_b", "mat2")})
    if (error.starts_with(std::string("Expected ") + said + " to be Float8_e4m3 "))
      return fault(Kind::kFactor, call.operand(call.operand(said) ? said : name),
                   DtypeSet(Dtype::kFloat8_e4m3fn));
  return fault_of_scale(call);
}

}  // namespace dtypecheck::rules
