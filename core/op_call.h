// op_call.h: one call of a LibTorch operator with the dtypes of all that went in and came out.
// *The* fact of the project: the tracer and the analyzer both produce it, and the rules judge it,
// with what is known of its process (process_facts.inc) and of the program's source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/codes.h"
#include "core/dtype_set.h"
#include "core/site.h"

namespace dtypecheck {

using OpCallId = uint32_t;  // index + 1 into Run::calls; 0 is "none"
inline constexpr OpCallId kNoOpCall = 0;

const char* role_name(Role role);  // "input", "weight", "bias", "state", "out"

const char* tensor_kind_name(TensorKind kind);  // "dense", "undefined", …

struct Device {
  std::string type = "cpu";  // as LibTorch spells it: cpu, cuda, mps, xpu, meta, …
  int index = -1;            // -1: none given

  std::string to_string() const;  // "cpu", "cuda:0"
  bool operator==(const Device&) const = default;
};

struct Operand {
  std::string name;  // the schema's argument name; "tensors[2]" for an element of a list
  Role role = Role::kInput;
  DtypeSet dtypes;
  Device device;
  // Of the first call with this signature; empty and !has_shape when not known.
  std::vector<int64_t> shape;
  bool has_shape = true;  // a 0-d tensor has a shape with no dimensions
  TensorKind kind = TensorKind::kDense;
  bool requires_grad = false;
  bool is_leaf = false;  // requires_grad and no grad_fn: a trainable parameter (or an input asked
                         // for its gradient)
  bool is_written = false;         // the schema says that the op writes it: in-place, out=
  bool is_wrapped_number = false;  // a Python number: it does not promote
  std::string parameter;        // "unet.conv_in.weight" when it is one; of the gradient's owner for
                                // "grad" operands of an optimizer
  OpCallId origin = kNoOpCall;  // the op call that gave the tensor its dtype, when one was seen

  bool is_floating() const { return dtypes.within(kFloating); }
  // Promotion (torch.result_type): a 0-d tensor or a number takes part only with its category, not
  // its width.
  bool promotes() const { return !is_wrapped_number && !(has_shape && shape.empty()); }
  bool operator==(const Operand&) const = default;
};

// A parameter name says that the operand is that parameter, unless the operand is its gradient.
bool is_parameter(const Operand& operand);

// As a double: a trace may say anything, and no integer overflows here. 1 where no shape is known.
double element_count(const Operand& operand);

std::string shape_text(const Operand& operand);  // "[2, 320]"; "" when not known

// A number or dtype among the arguments, as it was in the first call with this signature.
struct ScalarArgument {
  std::string name;  // "eps", "alpha", "dtype"
  double value = 0;
  std::optional<Dtype> dtype;  // set when the argument is a ScalarType; then value is 0

  bool operator==(const ScalarArgument&) const = default;
};

// What autocast was doing when the op was called.
struct AutocastState {
  struct Region {
    std::string device;  // "cpu", "cuda"
    Dtype dtype = Dtype::kUndefined;
    bool operator==(const Region&) const = default;
  };
  std::vector<Region> enabled;  // one for each device it was on for
  bool is_wrapper = false;  // autocast took this call, cast, and called the op again: that inner
                            // call is the real one
  bool is_inner = false;    // the inner call of such a pair
  SourceLine entered;  // of the innermost region open in this thread, also of one that switches
                       // autocast off

  const Region* region_for(const std::string& device_type) const;
  bool operator==(const AutocastState&) const = default;
};

enum class Outcome : uint8_t {
  kReturned = 0,
  kThrew = 1,
  kRepaired = 2,  // keep-going cast the operands and called again
  kServed = 3,  // --fix computed it in Float; error is what it would have thrown, "" if it is slow
};
constexpr Outcome kLastOutcome = Outcome::kServed;
const char* outcome_name(Outcome outcome);  // "returned", "threw", …

// A conversion or a running sum that did not keep a value: 1365 became 1368 in BFloat16, 65600 an
// infinity in Half.
struct InexactValue {
  double from = 0;
  double to = 0;
  Arrival arrival = Arrival::kUnknown;
  double off = 0;                   // there, as a part of what it should be
  OpCallId arrived_at = kNoOpCall;  // the op that was given it there, or gave it
  OpCallId rounded_at = kNoOpCall;  // the cast or factory that most of what is wrong comes from

  bool operator==(const InexactValue&) const = default;
};

const char* arrival_name(Arrival arrival);  // "unknown", "loss", "read", …

const char* gpu_work_name(GpuWorkKind kind);  // "kernel", "copy", "fill"

// What a GPU did for an op call, by kernel; equal work is added up over all calls of the signature.
struct GpuWork {
  GpuWorkKind kind = GpuWorkKind::kKernel;
  std::string name;  // of a kernel, mangled; "" of copies and fills
  int device = 0;    // as CUDA counts them
  uint64_t count = 0;
  uint64_t time_ns = 0;  // of the GPU, in all
  uint64_t bytes = 0;    // that copies and fills wrote, in all; 0 of kernels

  bool operator==(const GpuWork&) const = default;
};

// Processes of a merged run, from one to another, that made an op call, each at least and at most
// so often.
struct ProcessRange {
  uint32_t first = 0;  // index into Run::processes
  uint32_t last = 0;
  uint64_t least = 1;
  uint64_t most = 1;

  bool operator==(const ProcessRange&) const = default;
};

// What a cast moved in all its calls. Shapes are those of the first call alone: this is the sum.
struct CastWork {
  uint64_t elements = 0;
  uint64_t timed = 0;    // how many of its calls were timed
  uint64_t time_ns = 0;  // of these, in the calling thread
  // To Half or 8 bits, of a sample: numbers other than 0, those beyond its largest, those that are
  // 0 in it. Of floating numbers to integers: numbers other than 0, and of those that have a
  // fraction the ones beyond 1 and the ones that become 0.
  uint64_t looked = 0;
  uint64_t clipped = 0;
  uint64_t flushed = 0;

  bool operator==(const CastWork&) const = default;
};

// The first time that a result of an op call had an infinity, or a NaN.
struct NonFinite {
  bool is_nan = false;
  bool operands_were_finite = false;
  bool operands_had_no_nan = false;  // but an infinity, perhaps
  bool is_loss = false;              // not a result: the loss that backward() was called on
  bool is_read = false;              // as the program itself read it, a number …
  bool is_answer = false;            // … or yes or no: `is_nan` is yes
  uint32_t step = 0;
  uint32_t order = 0;  // of all these of a process, from 1; 0: not known

  bool operator==(const NonFinite&) const = default;
};

struct OpCall {
  OpCallId id = kNoOpCall;
  // "aten::addmm". For a refusal that no op of the dispatcher raised (a C++ extension called
  // directly, Python code such as GradScaler), "python::<qualified function name>", and the
  // operands are that function's tensor variables. For a tensor that was made of what is none,
  // "python::torch.from_numpy", and what it was made of is a scalar: ndarray := Double. Arithmetic
  // of NumPy's that wraps, and its casts that lose, are "python::numpy.subtract", with the arrays.
  std::string op;
  std::string overload;  // "out", "Tensor", ""
  std::vector<Operand> operands;
  std::vector<Operand> results;  // empty for an op that threw
  std::vector<ScalarArgument> scalars;
  Site site;
  AutocastState autocast;
  OpCallId parent = kNoOpCall;  // the op call inside which this one was made
  // Of a repaired call: the repaired call that an operand of it came from, so that without that one
  // it may not have failed.
  OpCallId follows = kNoOpCall;
  Outcome outcome = Outcome::kReturned;
  std::string error;        // the message of the throw
  std::string error_type;   // "c10::Error", "dnnl::error", "ValueError"
  uint64_t count = 1;       // equal calls are stored once and counted
  uint64_t throws = 0;      // how many of them threw
  uint32_t first_step = 0;  // 0: before the first optimizer step, 1: in the first step, …
  uint32_t last_step = 0;
  uint32_t process = 0;  // index into Run::processes; of several the first
  // In a merged run all that made it, in their order; `count` is the sum. Empty: `process` alone.
  std::vector<ProcessRange> made_by;
  // The first results with inf and with NaN, where values were looked at; in the order of time.
  std::vector<NonFinite> non_finite;
  std::optional<InexactValue> inexact;
  std::optional<CastWork> cast;  // of one that changed the dtype, where that was recorded
  std::string group;  // of a collective: the ranks of its process group, "0-2,5", where known
  std::vector<GpuWork> gpu;  // where CUPTI was recorded; the kernels of inner calls are theirs
  bool in_compiled_region = false;  // op is "compiled::<name>": a torch.compile region as one call

  DtypeSet floating_dtypes() const;  // of the floating operands that take part in promotion
  std::string device_type() const;   // of the first tensor that is there; "cpu" without one
  std::optional<Dtype> result_dtype() const;  // of the first result, when it has one
  const Operand* operand(const std::string& name) const;
  const Operand* first_operand_in(DtypeSet dtypes) const;
  const ScalarArgument* scalar(const std::string& name) const;
  const NonFinite* first_inf() const;  // null: none was seen
  const NonFinite* first_nan() const;
  std::string short_op() const;  // "addmm" of "aten::addmm"
  bool operator==(const OpCall&) const = default;
};

// Not with fake or meta tensors, by which a compiler traces and a model is laid out.
bool was_computed(const OpCall& call);

// Refused by LibTorch, and gone on with: repaired by keep-going, or served by --fix.
inline bool was_let_through(const OpCall& call) {
  return call.outcome == Outcome::kRepaired ||
         (call.outcome == Outcome::kServed && !call.error.empty());
}

// The operand of the call that is the same tensor as this one of another call; the one of its name
// where several may be, and nullptr where none has it.
const Operand* same_tensor(const OpCall& call, const Operand& operand);

}  // namespace dtypecheck
