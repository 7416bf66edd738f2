// call_arguments.cpp: see call_arguments.h. How many values lie on the stack at an instruction is
// worked out as CPython's compiler does, from the start of the code along each jump, with dis'
// numbers. Where two ways disagree, or the version has an instruction that is not known here,
// nothing is said; nor of f(*values), where the stack may hold a list that is gone.
#include "tracer/python/call_arguments.h"

#include "tracer/python/careful_reader.h"
#include "tracer/python/frames.h"
#include "tracer/python/layout.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

// Gives (the slot of the first value, how many, how many slots below may hold the function and its
// object, kind, names of the last values).
constexpr char kSource[] = R"(
import dis

ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT"}
ENTRIES = {"RETURN_GENERATOR": 1, "GEN_START": 0}  # a generator begins with what was sent to it
CALLS = {"CALL": 2, "PRECALL": 2, "CALL_METHOD": 2, "CALL_FUNCTION": 1, "CALL_KW": 2, "CALL_FUNCTION_KW": 1}


def depths_of(code, instructions, order):
    jumps = {*dis.hasjrel, *dis.hasjabs}
    following = dict(zip(order, order[1:]))
    handlers = getattr(dis, "_parse_exception_table", lambda code: ())(code)
    work = [(entry.target, entry.depth + entry.lasti + 1) for entry in handlers] + [(order[0], 0)]
    depths = {}
    while work:
        at, depth = work.pop()
        while at is not None and at not in depths:
            depths[at] = depth
            one = instructions[at]
            if one.opcode in jumps:
                work.append((one.argval, depth + dis.stack_effect(one.opcode, one.arg, jump=True)))
            if one.opname in ENDS:
                break
            depth += ENTRIES[one.opname] if one.opname in ENTRIES else dis.stack_effect(one.opcode, one.arg, jump=False)
            at = following.get(at)
        else:
            if at is not None and depths[at] != depth:
                return {}
    return depths


def handed_over(code, offset):
    instructions = {one.offset: one for one in dis.get_instructions(code)}
    order = sorted(instructions)
    one = instructions.get(offset)
    depths = depths_of(code, instructions, order) if one else {}
    before = order[max(order.index(offset) - 1, 0)] if one else 0
    if one and instructions[before].opname == "PRECALL":
        offset = before
        before = order[max(order.index(offset) - 1, 0)]
    if offset not in depths:
        return None
    known = code.co_varnames if hasattr(code, "co_exceptiontable") else ()  # from 3.11 on a cell that is a local has one slot
    cells = [name for name in code.co_cellvars if name not in known]
    top = len(code.co_varnames) + len(cells) + len(code.co_freevars) + depths[offset]
    name = one.opname
    if name in CALLS:
        names = code.co_consts[instructions[before].arg] if instructions[before].opname == "KW_NAMES" else None
        has_names = name in ("CALL_KW", "CALL_FUNCTION_KW")
        first = top - one.arg - has_names
        return first, one.arg, CALLS[name], "names" if has_names else "call", names
    if name == "STORE_SUBSCR":
        return top - 3, 3, 0, "store", None
    if name.startswith(("BINARY_", "INPLACE_", "COMPARE_OP")):
        return top - 2, 2, 0, "operator", None
    if name.startswith("UNARY_"):
        return top - 1, 1, 0, "operator", None
    return None
)";

Object* handed_over_function() {
  static Object* function = own_function(kSource, "handed_over").release();
  return function;
}

// A value of the stack, read with care: what the bytecode says may be wrong for a patched CPython.
class Stack {
 public:
  explicit Stack(const char* frame) : frame_(frame) {}
  Object* at(long long slot) {
    if (slot < 0) return fail();
    Object* object = frame_local(frame_, static_cast<size_t>(slot));
    if (object == nullptr) return nullptr;  // beside a function that is no method
    return reader_.is_object(object) ? object : fail();
  }
  bool failed() const { return failed_; }

 private:
  Object* fail() {
    failed_ = true;
    return nullptr;
  }
  const char* frame_;
  CarefulReader reader_;
  bool failed_ = false;
};

// The object of a method lies below its arguments, before or behind the function; or it is bound
// to it.
void add_object(HandedOver* out, Stack& stack, long long first, long long below) {
  for (long long i = 1; i <= below; ++i) {
    Object* value = stack.at(first - i);
    if (is_tensor(value)) return out->values.push_back({"", value});
    if (value == nullptr || type_name(type_of(value)) != "builtin_function_or_method") continue;
    const Ref object = attribute(value, "__self__");  // the function holds it, too
    if (is_tensor(object.get())) return out->values.push_back({"", object.get()});
  }
}

bool read(const char* frame, Object* where, HandedOver* out) {
  const auto number = [where](std::ptrdiff_t i) { return as_integer(sequence_item(where, i), -1); };
  const long long first = number(0), count = number(1), below = number(2);
  const std::string kind = text_of(sequence_item(where, 3));
  Object* names = sequence_item(where, 4);
  Stack stack(frame);
  add_object(out, stack, first, below);
  if (kind == "names") names = stack.at(first + count);
  const long long by_position = count - sequence_size(names);
  for (long long i = 0; i < count; ++i) {
    Object* value = stack.at(first + i);
    if (value == nullptr) return false;
    const bool is_named = i >= by_position;
    out->values.push_back({is_named ? text_of(sequence_item(names, i - by_position)) : "", value});
  }
  if (kind == "operator") out->kind = HandedTensors::To::kOperator;
  if (kind == "store") {
    out->kind = HandedTensors::To::kStore;
    out->values = {out->values[1], out->values[2], out->values[0]};
  }
  return !stack.failed();
}

}  // namespace

bool find_handed_over(HandedOver* out) {
  if (layout.minor < 9) return false;  // a `finally` of 3.8 has two depths
  const Frames frames = own_frames();
  Object* function = frames.empty() ? nullptr : handed_over_function();
  if (function == nullptr) return false;
  const Ref offset(api.PyLong_FromLong(instruction_offset(frames[0].code, frames[0].instr)));
  const Ref where(
      api.PyObject_CallFunctionObjArgs(function, frames[0].code, offset.get(), nullptr));
  if (!where) api.PyErr_Clear();
  return sequence_size(where.get()) == 5 && read(frames[0].frame, where.get(), out);
}

namespace {

// False of a tensor that cannot be read, of a class of the program's own.
bool add_tensors(Object* object, HandedTensors::Value* out) {
  if (is_tensor(object)) {
    out->tensors.push_back(tensor_impl(object));
    return out->tensors.back() != nullptr;
  }
  const std::ptrdiff_t size = sequence_size(object);
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    if (!is_tensor(sequence_item(object, i))) continue;
    out->is_list = true;
    out->tensors.push_back(tensor_impl(sequence_item(object, i)));
    if (out->tensors.back() == nullptr) return false;
  }
  return true;
}

}  // namespace

bool tensors_handed_over(HandedTensors* out) {
  if (!active() || top().frame == nullptr) return false;
  return with_interpreter<bool>([&] {
    HandedOver found;
    if (!find_handed_over(&found)) return false;
    out->to = static_cast<HandedTensors::To>(found.kind);
    for (const HandedOver::Value& value : found.values) {
      out->values.push_back({value.keyword, {}, false});
      if (!add_tensors(value.object, &out->values.back())) return false;
    }
    return true;
  });
}

}  // namespace dtypecheck::tracer::python
