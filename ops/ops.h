// ops.h: what cannot be measured about LibTorch's operators, by name. The table is op_list.inc;
// what contracts measure (dtypes taken and answered) is asked of rules/contracts. C++17 and plain,
// because the tracer is compiled as the LibTorch that it goes into asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck {
namespace ops {

enum Fact : uint64_t {
  kView = 1ull << 0,      // the result is the first tensor, seen otherwise: its memory, its dtype
  kCopy = 1ull << 1,      // the same values and dtype, in memory of its own
  kQuestion = 1ull << 2,  // asks something about a tensor, or says something about its memory
  kCast = 1ull << 3,      // exists to change the dtype, or to copy into another one
  kFactory = 1ull << 4,   // makes a tensor from nothing, or leaves its memory as it was
  kUninitialized = 1ull << 5,  // what it gives means nothing before it has been written
  kOverwrites = 1ull << 6,     // in place: nothing of the old values is left
  kMask = 1ull << 7,           // writes a value that the program chose: an infinity there is meant
  kUnrecorded = 1ull << 8,     // the tracer leaves it out: what it calls says the same
  kTopLevel = 1ull << 9,       // the tracer leaves it out inside of other ops
  kGrouped = 1ull << 10,       // many tensors in one call: what it calls for each says nothing new
  kBackward = 1ull << 11,      // the derivative of the op whose name stands before "_backward"
  kNorm = 1ull << 12,          // layer, group, batch, instance or RMS norm, forward
  kLoss = 1ull << 13,          // Float is what people want from it
  kStatistics = 1ull << 14,    // what it gives beside its first result stays Float
  kReduces = 1ull << 15,       // what a loss written by hand is made of: mean, sum, pow(2)
  kSteps = 1ull << 16,         // in place: arithmetic by which optimizers step a parameter
  kScales = 1ull << 17,        // multiplies or divides: weight decay, when it writes a parameter
  kDivides = 1ull << 18,
  kSubtracts = 1ull << 19,
  kAddsScalar = 1ull << 20,       // a scalar is added to, or compared with, each element
  kAddsProduct = 1ull << 21,      // adds a product to its first operand, as addmm does
  kScalesGradients = 1ull << 22,  // a GradScaler's own ops
  kAutocastWidest = 1ull << 23,   // autocast calls it in the widest dtype of its operands
  kProduct = 1ull << 24,          // of two matrices: the second may be the weight of a layer
  // The contracts speak of floating operands only. The next two say what becomes of others.
  kKeepsDtype = 1ull << 25,  // answers in its first operand's dtype, whatever that is, unlike exp
  kSumsInLong = 1ull << 26,  // adds or multiplies integers and booleans in Long
  kDefaultDtype =
      1ull << 27,  // a factory that is given no dtype makes Float, whatever the values are
  kDtypeOfValues = 1ull << 28,  // a factory that is given no dtype makes Long of whole numbers
  // Multiplies matrices, convolves or attends: refuses two dtypes, and is slow in Half on most
  // CPUs.
  kMultiplies = 1ull << 29,
  // Gives vectors that are as right with another sign, or turned: no two kernels need agree.
  kAnyBasis = 1ull << 30,
  kDraws = 1ull << 31,  // random numbers: other ones in another dtype, and so does what draws next
  // Its last operand is memory that the forward pass kept for it, and did not write in full.
  kGivenWorkspace = 1ull << 32,
  kWhole = 1ull << 33,     // gives numbers without a fraction, in whatever dtype
  kDimStays = 1ull << 34,  // its `dim` is the one that it does not sum over: all others it does
};

constexpr uint64_t kPassesOn = kView | kCopy;  // the same values, in the same dtype

// "aten::_foreach_addcdiv_" is base "addcdiv", in place, over lists.
struct OpName {
  std::string_view name_space;  // "aten"
  std::string_view name;        // "_foreach_addcdiv_"
  std::string_view base;        // "addcdiv"
  bool in_place = false;
  bool foreach = false;
};
OpName parse_op_name(std::string_view op);

// What is called as an op and is none of LibTorch's has a namespace of ours: a function of Python,
// "python::torch.tensor", and a region of torch.compile, "compiled::inductor_forward_0".
constexpr std::string_view kPython = "python::", kCompiled = "compiled::";
constexpr bool is_python(std::string_view op) { return op.substr(0, kPython.size()) == kPython; }
constexpr bool is_compiled(std::string_view op) {
  return op.substr(0, kCompiled.size()) == kCompiled;
}
// "python::numpy.subtract" is recorded where it wraps around, and no other call of it.
constexpr std::string_view kNumpy = "python::numpy.";
constexpr bool is_numpy(std::string_view op) { return op.substr(0, kNumpy.size()) == kNumpy; }

// data_ptr<float>() and accessor<float, 2>() of C++ on a tensor of another dtype, which is no op.
constexpr std::string_view kDataRead = "c10::data_ptr";

// All facts of "aten::add_", or of "add_"; 0 for an op that is not listed and for one that is not
// LibTorch's own. Callers are silent about what they do not know.
uint64_t facts_of(std::string_view op);

// Of its operands it takes the shape and the dtype, not the values: zeros_like().
inline bool takes_no_values(std::string_view op) {
  return (facts_of(op) & (kFactory | kOverwrites)) == kFactory;
}
std::vector<std::string_view> ops_that_take_no_values();

// "aten::mul_" of "aten::multiply_": what an alias calls. Any other op is itself.
std::string without_alias(std::string_view op);

enum class Interest : uint8_t {
  kAlways,    // recorded wherever it is called
  kTopLevel,  // allocations and fills: recorded when the program calls them itself, not inside
              // another op
  kNever,     // views and questions: no dtype is read or made
  kLoading,   // as kTopLevel, but not of what a DataLoader's worker sent: that was made there
};
Interest interest_in(std::string_view op, std::string_view overload = {});

// Overloads of views with which memory gets a dtype that it did not have, or that nobody knows of:
// torch.load and copies of tensors end in set_(storage), safetensors in view(dtype), and all that
// torch.from_numpy calls of LibTorch is lift_fresh.
bool gives_dtype_to_memory(std::string_view op, std::string_view overload);

}  // namespace ops
}  // namespace dtypecheck
