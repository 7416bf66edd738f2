// facts.h: what the analyzer says of a source file. Checks read these facts and nothing else: what
// an op call is to a rule, a read of a tensor's memory or a dispatch is to a check.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype_set.h"

// Below each struct, all its members: its keys in JSON. It is nothing to all but facts_json.cpp.
#ifndef DTYPECHECK_MEMBERS
#define DTYPECHECK_MEMBERS(Type, ...)
#endif

namespace dtypecheck::analyzer {

// One line of a file, columns from 1, the end one past the last character.
struct Place {
  std::string file;
  int line = 0;
  int column = 1;
  int end_column = 2;

  auto operator<=>(const Place&) const = default;
};

// So many dtypes at most are left where a check names those that a tensor may have; more are what
// the exclusion of some leaves. The largest kind that has a name is of nine: floating, integral.
inline constexpr int kNarrowed = 12;

// Every scalar type: what a tensor may have that nobody has looked at.
inline constexpr DtypeSet kAnyDtype = DtypeSet::from_bits(~uint64_t{0});

enum class TensorSource : uint8_t {
  kParameter,  // comes from outside: of the function, or of a function that calls it in this file
  kMember,     // a field of an object
  kMade,       // made in the function by a factory or a cast
  kOther,      // the result of anything else
  kProgram,    // an IValue: what a TorchScript program returns, whose file alone says what it is
};

struct TensorFact {
  std::string name;  // as the source writes it: "grad_out", "params.weight"
  DtypeSet dtypes = kAnyDtype;
  TensorSource source = TensorSource::kOther;
  // Something looked at its dtype in a way that the analyzer cannot follow.
  bool looked_at = false;
  Place place;                      // of the call that made it; line 0: it comes from outside
  DtypeSet cast_from;               // what it had before the cast that made it; empty: no cast did
  std::vector<std::string> fields;  // it has the dtype that each of these holds (FieldOfClass)
  std::string like;          // of one that is made: the tensor from outside whose dtype it is given
  bool is_position = false;  // of elements, or their count: argmax, nonzero, the indices of sort

  bool is_external() const {
    return source == TensorSource::kParameter || source == TensorSource::kMember ||
           source == TensorSource::kProgram;
  }
  // Several dtypes are possible, and nothing that the analyzer cannot follow has looked at it.
  bool is_undetermined() const { return is_external() && !looked_at && dtypes.size() != 1; }
  bool is_unchecked() const { return is_external() && dtypes == kAnyDtype && !looked_at; }
};
DTYPECHECK_MEMBERS(TensorFact, name, dtypes, source, looked_at, place, cast_from, fields, like,
                   is_position)

// Who calls the function that the tensors come into.
enum class Callers : uint8_t {
  kBound,   // its address is taken here: bound to Python or registered as an op
  kUnseen,  // none is in this file, so they may check
};

enum class ReadAs : uint8_t {
  kPointer,
  kCast,
  kAccessor,
  kItem,
  kHandedOn,  // data_ptr() goes to a function or a field as void*; what reads it is not seen here
};

// Before an if … else …, where one check may stand for one at the head of each of its branches.
struct OuterSite {
  Place begin, end;  // as check_at and checked_to
  int branch = 0;    // that this read is in,
  int branches = 0;  // of so many
};
DTYPECHECK_MEMBERS(OuterSite, begin, end, branch, branches)

// A tensor's memory read as a C++ type: data_ptr<T>(), (T*)data_ptr(), accessor<T, N>(), item<T>().
struct Read {
  Place place;
  std::string function;
  Callers callers = Callers::kUnseen;
  ReadAs how = ReadAs::kPointer;
  std::string type;              // as written: "float", "scalar_t"
  DtypeSet accepts;              // the dtypes that are stored so; empty: not known
  bool is_written_long = false;  // `long` itself, not a name for it
  Place type_place;  // of the type's name, where it is written; line 0: not in the source as such
  Place cast;        // where an untyped pointer, taken at `place`, is given this type
  Place in_macro;    // of a read that a macro's text says: where that is written
  Place given;       // where the function that was walked from gives it to the one that reads it
  Place check_at;  // where a check of the tensor could be written, indented to end_column; line 0:
                   // nowhere
  Place checked_to;              // a check there is one of all reads of the tensor before this
  std::vector<OuterSite> outer;  // further out, inner first
  TensorFact tensor;
  bool is_of_class = false;       // `type` is a parameter of the class template, whoever makes it
  bool in_dispatch = false;       // `type` is that of a dispatch on `dispatched`
  bool ignores_dispatch = false;  // of a dispatch on this tensor: `type` is the same in each case
  TensorFact dispatched;
  bool has_dispatched_dtype = false;  // the tensor is known to have the dispatched tensor's dtype
  std::string entry;              // the function that the walk came from, as other files know it
  int parameter = -1;             // of that function, whose dtype the tensor has; -1: of none
  int dispatched_parameter = -1;  // the same of the dispatched tensor
  std::string handed_to;          // the function that is given the untyped pointer, or the field
  int argument = -1;              // its position there; -1: a field

  bool is_typed() const { return how == ReadAs::kPointer || how == ReadAs::kAccessor; }
  // As the dtype of the dispatched tensor, which it is not known to have.
  bool is_of_other_tensor() const { return is_typed() && in_dispatch && !has_dispatched_dtype; }
  bool is_cast_as_other_tensor() const {
    return how == ReadAs::kCast && in_dispatch && !has_dispatched_dtype;
  }
};
DTYPECHECK_MEMBERS(Read, place, function, callers, how, type, accepts, is_written_long, type_place,
                   cast, in_macro, given, check_at, checked_to, outer, tensor, is_of_class,
                   in_dispatch, ignores_dispatch, dispatched, has_dispatched_dtype, entry,
                   parameter, dispatched_parameter, handed_to, argument)

// A call of a function of the project whose body is in another file. Functions are known there by
// their qualified names and how many parameters they have: "ops::scale/2".
struct TensorArgument {
  int position = 0;
  TensorFact tensor;
  int parameter = -1;  // of the caller, whose dtype it has; -1: of none
  int same_as = -1;    // position of the first argument that is known to have its dtype
};
DTYPECHECK_MEMBERS(TensorArgument, position, tensor, parameter, same_as)
struct OutsideCall {
  std::string function;
  std::string entry;  // the function that the walk came from; "": no other file knows it
  Callers callers = Callers::kUnseen;  // of that function
  std::vector<TensorArgument> arguments;
};
DTYPECHECK_MEMBERS(OutsideCall, function, entry, callers, arguments)

// What becomes of a parameter of type void*, for the callers in other files: a cast, or another
// function that it goes on to. One with neither says that the function's body was seen.
struct PointerUse {
  std::string function;
  int parameter = 0;
  std::string type;  // of the cast
  DtypeSet accepts;  // empty: bytes, or what a template has still to name
  Place place;
  std::string handed_to;
  int argument = -1;
};
DTYPECHECK_MEMBERS(PointerUse, function, parameter, type, accepts, place, handed_to, argument)

// Where fields that hold a tensor or a dtype are written. Other files know a field as
// "ops::Linear::weight_"; a class that a source defines has the source's name in front.
struct FieldWrite {
  std::string field;
  TensorFact tensor;
};
DTYPECHECK_MEMBERS(FieldWrite, field, tensor)
struct FieldOfClass {
  std::string name;
  bool is_shared = false;     // who includes its header may write it
  bool is_of_module = false;  // casting the module casts it
};
DTYPECHECK_MEMBERS(FieldOfClass, name, is_shared, is_of_module)
struct ClassOfFields {
  std::string file;  // that defines it; "": the one that is parsed
  std::vector<FieldOfClass> fields;
  std::vector<std::string> bodies_elsewhere;  // of its methods, which may write any of them
};
DTYPECHECK_MEMBERS(ClassOfFields, file, fields, bodies_elsewhere)

// A type that names `long` for the elements of a tensor outside of a read:
// PackedTensorAccessor<long, 1>.
struct LongElement {
  Place place;
  Place type_place;  // of the `long`
  std::string function;
  std::string type;
};
DTYPECHECK_MEMBERS(LongElement, place, type_place, function, type)

// A switch over a tensor's dtype, as AT_DISPATCH_* expands to.
struct Dispatch {
  Place place;
  std::string function;
  Callers callers = Callers::kUnseen;
  std::string macro;  // as written at `place`; empty: written by hand
  TensorFact tensor;
  DtypeSet cases;
};
DTYPECHECK_MEMBERS(Dispatch, place, function, callers, macro, tensor, cases)

// A branch of a question for a dtype that serves a dtype as another one.
enum class BranchFault : uint8_t {
  kLeftOver,   // the last branch has one type for all dtypes that the others leave
  kAlike,      // it does what the branch of another dtype does, with that one's type
  kUndone,     // no branch comes for the dtypes that are left, and nothing refuses them
  kHalfAlone,  // what is Half becomes Float, and BFloat16 stays as it is
  kDead,       // a branch above has asked for the same dtype
  kTypeTrait,  // is_same<T, float>: every other T has the one other dtype
  kTold,       // a library is told another dtype, or the branch of one names another
};
struct DtypeBranch {
  Place place;
  std::string function;
  Callers callers = Callers::kUnseen;
  TensorFact tensor;
  DtypeSet dtypes;  // that come here
  DtypeSet served;  // the dtype that it is written for
  BranchFault fault = BranchFault::kLeftOver;
};
DTYPECHECK_MEMBERS(DtypeBranch, place, function, callers, tensor, dtypes, served, fault)

// A sum or product that goes round a loop in Half or BFloat16, or that threads add to; or the
// product that is rounded to them before a loop adds it to a Float.
enum class SumKind : uint8_t { kLoop, kAtomic, kProduct };
struct LowPrecisionSum {
  Place place;
  std::string function;
  std::string name;
  DtypeSet dtypes;
  SumKind kind = SumKind::kLoop;
};
DTYPECHECK_MEMBERS(LowPrecisionSum, place, function, name, dtypes, kind)

// A call of a LibTorch op on tensors whose dtypes are all known, as op_call.h has them of a run.
struct SourceOperand {
  std::string name;  // the schema's
  std::string text;  // as the source writes it
  DtypeSet dtypes;
  bool is_trained = false;  // a parameter that an optimizer was given
  Place made;               // of the call that made it; line 0: not known, or on the same line
  // It has the dtype of the parameters of the module whose function `SourceOp::assumes` is.
  bool is_assumed = false;
  int parameter = -1;  // of the function that the walk came from, whose dtype it has; -1: of none
  // Where a factory made it that names no dtype: where that call's arguments end, and what could be
  // written there, "x.options()" of an x that has the dtype which it meets in the op.
  std::string maker;  // "zeros"
  Place options_at;
  std::string options;
};
DTYPECHECK_MEMBERS(SourceOperand, name, text, dtypes, is_trained, made, is_assumed, parameter,
                   maker, options_at, options)
struct SourceOp {
  Place place;
  std::string function;
  std::string op;  // "matmul"
  std::vector<SourceOperand> operands;
  std::vector<std::pair<std::string, double>> scalars;
  // The function that the walk came from. That the modules which it did not make are Float is for
  // the other files of the run to say. "": nothing is assumed.
  std::string assumes;
  std::vector<Place> led_here;  // calls that lead to it from another file, outer first
};
DTYPECHECK_MEMBERS(SourceOp, place, function, op, operands, scalars, assumes, led_here)

// Two more kinds of facts are written as ops are. A layer input is an op of a layer of the module
// whose function `assumes` names, on that function's own parameter. A module call is one of such a
// function from another file: `op` names the function, its last operand stands for the module's
// parameters.

// The bits of a value of a template's type read as an integer: *(int32_t*)&x.
struct BitCast {
  Place place;
  std::string function;
  std::string name;
  std::string from;  // "double", where an instantiation says; else the parameter's name
  std::string to;
  bool is_other_size = false;  // in some instantiation
};
DTYPECHECK_MEMBERS(BitCast, place, function, name, from, to, is_other_size)

// A cast between c10::Half and __half, or an int beside a template's type in ?:.
struct TwoWayConversion {
  Place place;
  std::string function;
  std::string from;
  std::string to;
  bool is_cast = false;
};
DTYPECHECK_MEMBERS(TwoWayConversion, place, function, from, to, is_cast)

// x.div_(y), x /= y where x is of an integral dtype: the quotient cannot be stored.
struct IntegerDivision {
  Place place;
  std::string function;
  TensorFact tensor;
  bool is_of_dispatch =
      false;  // the dispatch around it is on an integral dtype, and no more is known
};
DTYPECHECK_MEMBERS(IntegerDivision, place, function, tensor, is_of_dispatch)

// A buffer that from_blob() makes a tensor of another dtype than its elements have.
struct WrappedBuffer {
  Place place;
  std::string function;
  std::string element;      // as the source writes it
  DtypeSet stored;          // the dtypes that are stored so
  DtypeSet dtype;           // that the tensor gets
  bool is_default = false;  // since the call names none
};
DTYPECHECK_MEMBERS(WrappedBuffer, place, function, element, stored, dtype, is_default)

// A dtype beside a name that says another one, in a table, a switch or a comparison.
struct TableEntry {
  Place place;
  std::string function;
  Dtype dtype = Dtype::kFloat;
  std::string name;  // as the source writes it
  Dtype named = Dtype::kFloat;
};
DTYPECHECK_MEMBERS(TableEntry, place, function, dtype, name, named)

// A number beyond Half's largest that is stored in a Half, or in what may be one.
struct LargeNumber {
  Place place;
  std::string function;
  std::string name;  // of what it is stored in
  std::string text;
  bool is_half = false;
};
DTYPECHECK_MEMBERS(LargeNumber, place, function, name, text, is_half)

// Numbers in double or float that are no constants, in a dtype that drops a part: torch::tensor()
// of them; a tensor that is cast, or written into another one.
enum class CutBy : uint8_t { kTensor, kCast, kWrite };
struct CutNumbers {
  Place place;
  std::string function;
  std::string text;         // the numbers, as the source writes them
  std::string element;      // "double", "Float"
  DtypeSet dtype;           // of the tensor
  bool is_default = false;  // since the call names none
  CutBy by = CutBy::kTensor;
  std::string met;  // the op that a cast matters to, as it computes in floating point, sums up, is
                    // a loss or begins backward(); what is written to
  Place used;       // by that op

  bool is_of_sum() const { return by == CutBy::kCast && dtype.within(kLowPrecision); }
};
DTYPECHECK_MEMBERS(CutNumbers, place, function, text, element, dtype, is_default, by, met, used)

// What maps dtypes to names, numbers or enumerators, or these to dtypes: a switch, an if … else …,
// a list of pairs.
struct TableKey {
  Dtype dtype = Dtype::kFloat;
  Place place;
};
DTYPECHECK_MEMBERS(TableKey, dtype, place)
struct DtypeTable {
  Place place;
  std::string function;  // "": it is in none
  std::vector<TableKey> keys;

  DtypeSet dtypes() const {
    DtypeSet all;
    for (const TableKey& key : keys) all |= key.dtype;
    return all;
  }
};
DTYPECHECK_MEMBERS(DtypeTable, place, function, keys)

// What a kernel computes in Half or BFloat16 without need, or in double by an oversight.
enum class HalfFault : uint8_t {
  kExponential,    // exp or log in Half: hexp()
  kCastChain,      // rounded to Half and used as Float only
  kDoubleLiteral,  // a double literal among floats of a kernel for Half
  kUnevenTail,     // one loop computes in Float what another computes in Half
};
struct HalfArithmetic {
  Place place;
  std::string function;
  HalfFault fault = HalfFault::kExponential;
  std::string text;  // the call, value, literal or buffer, as the source writes it
  DtypeSet dtypes;
  Place other;  // of an uneven tail: what is computed in Float
};
DTYPECHECK_MEMBERS(HalfArithmetic, place, function, fault, text, dtypes, other)

// The kinds of facts of one place each: member of SourceFacts, type, and what is taken of a file
// that is parsed a second time with other switches: kAlways, or kUnderstood, where that parse
// understood no less than the first, since some of the checks that a tensor may have were lost
// otherwise.
#define DTYPECHECK_FACTS(FACT)                          \
  FACT(reads, Read, kUnderstood)                        \
  FACT(long_elements, LongElement, kAlways)             \
  FACT(dispatches, Dispatch, kAlways)                   \
  FACT(branches, DtypeBranch, kAlways)                  \
  FACT(sums, LowPrecisionSum, kAlways)                  \
  FACT(large_numbers, LargeNumber, kAlways)             \
  FACT(ops, SourceOp, kUnderstood)                      \
  FACT(layer_inputs, SourceOp, kUnderstood)             \
  FACT(module_calls, SourceOp, kUnderstood)             \
  FACT(bit_casts, BitCast, kUnderstood)                 \
  FACT(integer_divisions, IntegerDivision, kUnderstood) \
  FACT(buffers, WrappedBuffer, kUnderstood)             \
  FACT(table_entries, TableEntry, kUnderstood)          \
  FACT(tables, DtypeTable, kUnderstood)                 \
  FACT(cut_numbers, CutNumbers, kUnderstood)            \
  FACT(conversions, TwoWayConversion, kUnderstood)      \
  FACT(half_arithmetic, HalfArithmetic, kUnderstood)

struct SourceFacts {
  std::string file;
  bool parsed = false;  // false: nothing is known of it, and `problems` says why
  std::vector<std::string> missing_headers;
  std::vector<std::string> problems;  // errors of the compiler, the first few
  uint64_t error_count = 0;
  std::vector<std::string> lost;  // of them, the first few that cost something (clang/losses.h)
  uint64_t places = 0;            // where something is judged, and of these …
  uint64_t lost_places = 0;       // … what is not understood
  uint64_t functions = 0;
  bool sees_tensors = false;  // at::Tensor is declared in what it includes
#define FACT(member, Type, merged) std::vector<Type> member;
  DTYPECHECK_FACTS(FACT)
#undef FACT
  std::vector<OutsideCall> outside_calls;
  std::vector<PointerUse> pointer_uses;
  std::vector<std::string> bound;   // functions of other files that are bound to Python here
  std::vector<std::string> called;  // functions of headers that were walked through in a caller
  std::vector<ClassOfFields> classes;
  std::vector<FieldWrite> field_writes;
  std::vector<std::string> open_fields;  // that are written where nobody can say what; ".name": any
  std::vector<std::string> methods;      // whose bodies are here, of what other files declare
  // As other files know them: functions whose bodies are here, and that are called here and whose
  // bodies are elsewhere: a module's, or given or giving one; of tensors only.
  std::vector<std::string> defined, module_functions, tensor_functions;
  std::vector<std::string> internal;      // names that the file defines at the outermost for itself
  DtypeSet named_dtypes;                  // constants of code
  bool casts_modules = false;             // to another dtype, or loads them
  bool lowers_modules = false;            // to one that may not be Float
  DtypeSet default_dtype;                 // what the default dtype is set to
  std::vector<std::string> files;         // that were read for it, the project's own and …
  std::vector<std::string> system_files;  // … those of others
  std::vector<std::string> walked;  // take_joined(), not kept: of its module calls, those in `ops`
  // look_around(), not kept
  bool project_names_bfloat16 = false;  // other code of its project does
  bool project_opens_autocast = false;  // its Python does
  bool is_of_gpu = false;               // CUDA's, or C++ that includes CUDA's headers
};
#define FACT(member, Type, merged) , member
DTYPECHECK_MEMBERS(SourceFacts, file, parsed, missing_headers, problems, error_count, lost, places,
                   lost_places, functions, sees_tensors, outside_calls, pointer_uses, bound, called,
                   classes, field_writes, open_fields, methods, defined, module_functions,
                   tensor_functions, internal, named_dtypes, casts_modules, lowers_modules,
                   default_dtype, files, system_files DTYPECHECK_FACTS(FACT))
#undef FACT

// One JSON object: what the parsing process answers.
std::string facts_to_json(const SourceFacts& facts);
// Throws InputError when the text is none of ours.
SourceFacts facts_from_json(const std::string& text);

}  // namespace dtypecheck::analyzer
