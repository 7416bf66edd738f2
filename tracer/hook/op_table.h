// op_table.h: what the hot path must know of an operator, worked out once from its schema.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/codes.h"
#include "ops/ops.h"
#include "trace/format.h"

namespace at {
struct RecordFunction;
}
namespace c10 {
struct FunctionSchema;
}

namespace dtypecheck::tracer {

using ops::Interest;

struct Argument {
  enum class Kind : uint8_t { kTensor, kTensorList, kDtype, kNumber };
  uint16_t index;
  Kind kind;
  uint8_t role;  // Role
  bool is_written;
  bool is_scalar;  // a number that takes part in the arithmetic (Scalar), not a dimension or a flag
  double usual;    // the schema's default for a number, which is not written down; NaN: none
  std::string name;
};

// What the key of a call is made of, in 16 bits.
struct KeyArgument {
  uint16_t index : 14;
  uint16_t kind : 2;  // Argument::Kind
};

// What each call asks for stands in the first cache line.
struct alignas(64) OpInfo {
  Interest interest = Interest::kAlways;
  bool writes_first_tensor = false;  // in-place on its first tensor argument
  bool converts = false;             // _to_copy, copy_: may lose an integer's value
  bool may_begin_backward = false;   // ones_like: of a loss, the first gradient
  bool adds = false;                 // to a running sum, which may lose what is added
  bool reduces = false;  // a sum, mean, norm, loss or product, which may pass the end of Half, and
                         // a softmax, of which a row may be NaN
  bool reads_values = false;   // one of the above
  bool reads_results = false;  // converts or reduces
  bool speaks_for_inner =
      false;  // _foreach_…, _fused_…: what it calls for each tensor says nothing new
  bool may_call_anything = false;  // not LibTorch's own: its kernel may be Python
  bool makes_garbage = false;      // empty and its like: values mean nothing yet
  bool is_loss = false;            // what it gives behind the loss has infinities by design
  bool reads_number = false;       // item(), bool(): what the program reads is looked at
  bool updates_scale = false;      // of a GradScaler, once a step
  bool takes_share = false;        // mul and lerp: by how much an average follows may be a number
  bool is_keyed_further = false;   // one of these, a cast, a collective: mix_further()
  bool may_return_first = false;   // a result in the first tensor's storage is no new tensor
  uint16_t argument_count = 0;
  uint16_t result_room = 0;
  uint16_t key_tensors = 0;                          // tensors and lists of them come first,
  uint16_t key_dtypes = 0;                           // then arguments that are a ScalarType
  uint16_t number = 0;                               // see op_of()
  const KeyArgument* key_arguments = few_arguments;  // or elsewhere, if they are many
  const char* text = nullptr;                        // fn.name() of its calls
  KeyArgument few_arguments[15];

  std::string name;               // "aten::addmm"
  std::string overload;           // "out"
  std::vector<Argument> tensors;  // and lists of them, in the schema's order
  std::vector<Argument> dtypes;   // arguments that are a ScalarType
  std::vector<Argument> numbers;
  bool normalizes = false;  // softmax
  int group_argument = -1;  // which of a collective's arguments is its process group

  // From LibTorch, too, which makes no record of it (show_hidden_ops() below).
  bool is_hidden() const { return interest == Interest::kNever && !reads_number; }
};

// Ops of no interest are marked unobserved in the dispatcher, which then does not even make a
// record of them: most events of a training step cost nothing. Another observer (torch.profiler) is
// to see them, so they are shown again before one comes.
void show_hidden_ops();

// In a forked child: no thread is left that could hold it.
void free_op_table();

// The op of a record, or null for a record that is no operator
// ("autograd::engine::evaluate_function: …"). Hot; quicker where the guess is right.
const OpInfo* find_op(const at::RecordFunction& fn, const OpInfo* guess);

// Cold. The op that LibTorch's function at one of these addresses is, the last one that is such a
// function (at::_ops::add_Tensor::call); null where there is none.
struct CalledOp {
  const OpInfo* op = nullptr;
  const c10::FunctionSchema* schema = nullptr;
  bool is_repeated =
      false;  // it called itself, as autocast has an op do once its operands are cast
};
CalledOp find_outermost_op(const uint64_t* addresses, int count);

// By its number, without reading anything: for guesses. What is at 0 is no op.
const OpInfo* op_of(uint16_t number);

// Which op is called is known before its arguments are packed for us, from the address that asks:
// each operator of LibTorch's own has a function of its own that does (at::_ops::add_Tensor::call).
// What was asked for from there, and how often so far.
class Caller {
 public:
  // Of what may be left out alone it is worth knowing.
  explicit Caller(const OpInfo& op)
      : op_(&op), calls_(op.interest == Interest::kAlways || op.reads_number ? kNotSaid : 0) {}
  // Hot. Null until it is certain that nothing else is called from there.
  const OpInfo* op(const void* address) {
    const uint32_t calls = calls_.load(std::memory_order_relaxed);
    if (calls == kCertain) return op_;
    if (calls != kNotSaid) count(address, calls);
    return nullptr;
  }
  bool may_begin_backward() const { return op_->may_begin_backward; }

 private:
  static constexpr uint32_t kCertain = ~0u, kNotSaid = ~0u - 1;
  void count(const void* address, uint32_t calls);

  const OpInfo* op_;
  std::atomic<uint32_t> calls_;
};
Caller* find_caller(const void* address);  // null for one that was not noted
void note_caller(const void* address, const OpInfo& op);

}  // namespace dtypecheck::tracer
