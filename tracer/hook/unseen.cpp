// unseen.cpp: see unseen.h. Which op it is, the functions on the stack say: each operator of
// LibTorch's has one of its own. Its arguments are in registers that are long lost, but the Python
// frame that called it still holds them, in the order of the schema.
#include "tracer/hook/unseen.h"

#include "tracer/hook/op_table.h"
#include "tracer/hook/recorder.h"
#include "tracer/hook/throws.h"
#include "tracer/hook/tracer.h"
#include "tracer/native/native_sites.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer {
namespace {

constexpr int kMostFrames = 128;
using Handed = python::HandedTensors;

// No argument of it: an extension's own function stands between it and Python.
CalledOp op_called_by_python() {
  uint64_t addresses[kMostFrames];
  int users = 0;
  const int count = native::unwind_all(addresses, kMostFrames, &users);
  return users > 0 || count == kMostFrames ? CalledOp() : find_outermost_op(addresses, count);
}

int index_of(const c10::FunctionSchema& schema, const std::string& name) {
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (schema.arguments()[i].name() == name) return static_cast<int>(i);
  return name == "input" ? index_of(schema, "self") : -1;  // torch's name for it in Python
}

// Which argument of the op each value is; -1: none. A number on the left of an operator is handed
// over as the other operand.
std::vector<int> places_of(const Handed& handed, const c10::FunctionSchema& schema) {
  std::vector<int> places;
  if (handed.to == Handed::To::kStore) {
    int value = -1;
    for (const char* name : {"values", "value", "src", "source"})
      if (value < 0) value = index_of(schema, name);
    return {index_of(schema, "self"), index_of(schema, "indices"), value};
  }
  int next = 0;
  for (const Handed::Value& value : handed.values) {
    const bool is_left_out = handed.to == Handed::To::kOperator && value.tensors.empty();
    places.push_back(!value.keyword.empty() ? index_of(schema, value.keyword)
                     : is_left_out          ? -1
                                            : next++);
  }
  return places;
}

at::Tensor tensor_of(const void* impl) {
  auto* known = static_cast<c10::TensorImpl*>(const_cast<void*>(impl));
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(known));
}

c10::IValue value_of(const Handed::Value& value, const Argument& argument) {
  if (argument.kind == Argument::Kind::kTensor) return tensor_of(value.tensors[0]);
  c10::List<at::Tensor> list;
  for (const void* tensor : value.tensors) list.push_back(tensor_of(tensor));
  return list;
}

bool may_be_none(const c10::FunctionSchema& schema, const Argument& argument) {
  return schema.arguments()[argument.index].type()->kind() == c10::TypeKind::OptionalType;
}

// Empty where a tensor that the op cannot do without was not found. A number may stand in place of
// one.
std::vector<c10::IValue> inputs_of(const CalledOp& called, const Handed& handed) {
  std::vector<c10::IValue> inputs(called.schema->arguments().size());
  const std::vector<int> places = places_of(handed, *called.schema);
  for (const Argument& argument : called.op->tensors) {
    bool is_given = may_be_none(*called.schema, argument);
    for (size_t i = 0; i < handed.values.size(); ++i) {
      const bool is_number = handed.values[i].tensors.empty();
      const bool is_here = places[i] == argument.index;
      if (is_here && !is_number) inputs[argument.index] = value_of(handed.values[i], argument);
      is_given |= is_here || (is_number && handed.to == Handed::To::kOperator);
    }
    if (!is_given) return {};
  }
  return inputs;
}

}  // namespace

bool record_unseen_throw(ThreadState* state) {
  if (!tracer.python) return false;
  try {
    const CalledOp called = op_called_by_python();
    Handed handed;
    if (!called.op || called.op->tensors.empty() || !python::tensors_handed_over(&handed))
      return false;
    const std::vector<c10::IValue> inputs = inputs_of(called, handed);
    if (inputs.empty()) return false;
    const bool inner = called.is_repeated && state->region_depth > 0;
    const c10::ArrayRef<const c10::IValue> given(inputs.data(), inputs.size());
    trace::SignatureRecord* signature = signature_of_unseen(state, *called.op, given, inner);
    if (signature) record_throw(state, signature);
    return signature != nullptr;
  } catch (...) {
    return false;
  }
}

}  // namespace dtypecheck::tracer
