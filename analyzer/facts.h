// facts.h: what the analyzer says of a source file. Checks read these facts and nothing else: what
// an op call is to a rule, a read of a tensor's memory or a dispatch is to a check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype_set.h"

namespace dtypecheck::analyzer {

// One line of a file, columns from 1, the end one past the last character.
struct Place {
  std::string file;
  int line = 0;
  int column = 1;
  int end_column = 2;

  auto operator<=>(const Place&) const = default;
};

// Every scalar type: what a tensor may have that nobody has looked at.
inline constexpr DtypeSet kAnyDtype = DtypeSet::from_bits(~uint64_t{0});

enum class TensorSource : uint8_t {
  kParameter,  // comes from outside: of the function, or of a function that calls it in this file
  kMember,     // a field of an object
  kMade,       // made in the function by a factory or a cast
  kOther,      // the result of anything else
};

struct TensorFact {
  std::string name;  // as the source writes it: "grad_out", "params.weight"
  DtypeSet dtypes = kAnyDtype;
  TensorSource source = TensorSource::kOther;
  // Something looked at its dtype in a way that the analyzer cannot follow.
  bool looked_at = false;

  bool is_external() const {
    return source == TensorSource::kParameter || source == TensorSource::kMember;
  }
  bool is_unchecked() const { return is_external() && dtypes == kAnyDtype && !looked_at; }
};

// Who calls the function that the tensors come into.
enum class Callers : uint8_t {
  kBound,   // its address is taken here: bound to Python or registered as an op
  kUnseen,  // none is in this file, so they may check
};

enum class ReadAs : uint8_t { kPointer, kCast, kAccessor, kItem };

// A tensor's memory read as a C++ type: data_ptr<T>(), (T*)data_ptr(), accessor<T, N>(), item<T>().
struct Read {
  Place place;
  std::string function;
  Callers callers = Callers::kUnseen;
  ReadAs how = ReadAs::kPointer;
  std::string type;       // as written: "float", "scalar_t"
  DtypeSet accepts;       // the dtypes that are stored so; empty: not known
  bool is_written_long = false;  // `long` itself, not a name for it
  TensorFact tensor;
  bool in_dispatch = false;  // `type` is that of a dispatch on `dispatched`
  TensorFact dispatched;
  bool has_dispatched_dtype = false;  // the tensor is known to have the dispatched tensor's dtype
};

// A type that names `long` for the elements of a tensor outside of a read: PackedTensorAccessor<long, 1>.
struct LongElement {
  Place place;
  std::string function;
  std::string type;
};

// A switch over a tensor's dtype, as AT_DISPATCH_* expands to.
struct Dispatch {
  Place place;
  std::string function;
  Callers callers = Callers::kUnseen;
  std::string macro;  // empty: written by hand
  TensorFact tensor;
  DtypeSet cases;
};

struct SourceFacts {
  std::string file;
  bool parsed = false;  // false: nothing is known of it, and `problems` says why
  std::vector<std::string> missing_headers;
  std::vector<std::string> problems;  // errors of the compiler, the first few
  uint64_t error_count = 0;
  uint64_t functions = 0;
  bool sees_tensors = false;  // at::Tensor is declared in what it includes
  std::vector<Read> reads;
  std::vector<LongElement> long_elements;
  std::vector<Dispatch> dispatches;
};

// One JSON object: what the parsing process answers.
std::string facts_to_json(const SourceFacts& facts);
// Throws InputError when the text is none of ours.
SourceFacts facts_from_json(const std::string& text);

}  // namespace dtypecheck::analyzer
