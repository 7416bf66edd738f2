// Finds: ~ of a mask of zeros and ones in Byte, which older LibTorch's comparisons gave: that flips
// all 8 bits, so that what reads the result as a mask takes every element.
// Misses: masks of which no op made the zeros and ones of Bool, as those of a file or an array: one
// of 0 and 255 is inverted right. Silent where the result meets a mask of Bool, of which & takes
// the last bit alone.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/arguments.h"
#include "rules/cures/cures.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr DtypeSet kByte = DtypeSet(Dtype::kByte);
constexpr DtypeSet kBool = DtypeSet(Dtype::kBool);

// "bitwise_or", "__ior__"
bool combines_bits(const OpCall& call) {
  const std::string name = call.short_op();
  const bool is_of_bits = name.starts_with("bitwise_") || name.starts_with("__");
  return is_of_bits && (name.find("and") != name.npos || name.find("or") != name.npos);
}

// The bytes of its results are those of its operands.
bool chooses_or_joins(const RunIndex& index, const OpCall& call) {
  static const std::set<std::string_view> kNames = {"index", "index_select", "stack", "cat"};
  return index.has(call, ops::kPassesOn | ops::kCast) ||
         kNames.contains(ops::parse_op_name(call.op).base);
}

// Zeros and ones: they were cast from Bool, or a mask of Bool was added by | & ^.
bool is_of_bool(const RunIndex& index, const OpCall& inversion) {
  const auto leads_on = [&](const OpCall& call, const Operand& operand) {
    return operand.dtypes == kByte &&
           (&call == &inversion || combines_bits(call) || chooses_or_joins(index, call));
  };
  const auto makers = index.with_makers(inversion, leads_on);
  return std::any_of(makers.begin(), makers.end(), [&](const OpCall* made) {
    if (made->result_dtype() != Dtype::kByte) return false;
    if (!combines_bits(*made) && !index.has(*made, ops::kCast)) return false;
    return std::any_of(made->operands.begin(), made->operands.end(),
                       [](const Operand& operand) { return operand.dtypes == kBool; });
  });
}

// Of x[~mask], as far as the shapes tell.
bool takes_all(const OpCall& index_call, const Operand& mask) {
  if (index_call.results.empty() || !mask.has_shape) return true;
  const auto& shape = index_call.results.front().shape;
  return std::find(shape.begin(), shape.end(), static_cast<int64_t>(element_count(mask))) !=
         shape.end();
}

bool is_read_as_mask(const RunIndex& index, const OpCall& reader, const Operand& operand) {
  const std::string_view base = ops::parse_op_name(reader.op).base;
  if (base == "index")
    return ops::list_name(operand.name) == "indices" && takes_all(reader, operand);
  if (base == "index_put") return ops::list_name(operand.name) == "indices";
  const bool is_condition = (ops::argument_facts(operand.name) & ops::kCondition) != 0;
  const bool is_cast = index.has(reader, ops::kCast) && reader.result_dtype() == Dtype::kBool;
  return is_condition || is_cast || base == "nonzero";
}

// What the program calls itself, and not what is called inside of that.
const OpCall* reader_of(const RunIndex& index, const OpCall& made, int views = 0) {
  constexpr int kMostViews = 4;
  for (const OpCallId id : index.consumers(made)) {
    const OpCall& reader = *index.run().call(id);
    if (reader.outcome != Outcome::kReturned || reader.parent == made.id) continue;
    if (index.has(reader, ops::kPassesOn) && views < kMostViews) {
      if (const OpCall* behind = reader_of(index, reader, views + 1)) return behind;
    }
    for (const Operand& operand : reader.operands)
      if (operand.origin == made.id && operand.dtypes == kByte &&
          is_read_as_mask(index, reader, operand))
        return &reader;
  }
  return nullptr;
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  const bool is_of_byte = call.short_op().starts_with("bitwise_not") && !call.operands.empty() &&
                          call.operands.front().dtypes == kByte;
  if (!is_of_byte || call.outcome != Outcome::kReturned || !is_of_bool(index, call)) return;
  const OpCall* reader = reader_of(index, call);
  if (reader == nullptr) return;
  const std::string message =
      fmt::format("~ of a mask in Byte is 255 and 254, and {} takes both for True", reader->op);
  out.add(call, message, [&] {
    return Details{.odd = call.operands.front().name,
                   .why = fmt::format("~ flips the 8 bits of a byte, ~1 is 254, and the mask "
                                      "leaves nothing out{}",
                                      at_place(reader->site)),
                   .cures = {CureProposer(index, out.options()).invert_as_bool(call)}};
  });
}

}  // namespace

const Rule inverted_mask = {
    .doc = {.id = "inverted-mask",
            .severity = Severity::kWarning,
            .summary = "a mask of bytes is inverted bit by bit, and leaves out nothing",
            .why = "~ of Bool is a logical not, and of Byte it flips each bit: of a mask of zeros "
                   "and ones it makes 255 and 254, and both are True. Older LibTorch compared to "
                   "Byte, and its masks are in many datasets and programs still.",
            .fix = "Cast the mask to Bool before ~: ~mask.bool().",
            .example = R"(
op aten::lt.Scalar self=Float[12,16] other:=0.3 -> Bool[12,16] at data.py:5
op aten::_to_copy self=Bool[12,16]<#1 dtype:=Byte -> Byte[12,16] at data.py:5
op aten::bitwise_not self=Byte[12,16]<#2 -> Byte[12,16] at losses.py:21
# EXPECT losses.py:21: warning: ~ of a mask in Byte is 255 and 254, and aten::index takes both for True [inverted-mask]
# EXPECT-FIX cast it to Bool before ~, which flips the bits of a byte, losses.py:21
op aten::index.Tensor self=Float[12,16] indices=Byte[12,16]<#3 -> Float[192] at losses.py:21
# Of a mask of Bool beside it & takes the last bit.
op aten::bitwise_not self=Byte[12,16]<#2 -> Byte[12,16] at losses.py:30
op aten::bitwise_and.Tensor self=Byte[12,16]<#5 other=Bool[12,16]<#1 -> Byte[12,16] at losses.py:30
op aten::index.Tensor self=Float[12,16] indices=Byte[12,16]<#6 -> Float[58] at losses.py:30
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
