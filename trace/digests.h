// digests.h: the digests of values in the traces of a run (trace --values), in the order in which
// its op calls returned. Trusts nothing that stands in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/codes.h"
#include "core/dtype.h"
#include "core/site.h"
#include "trace/reader.h"

namespace dtypecheck {

// What a tensor held at one time; trace/format.h says how each is computed.
struct Digest {
  std::string parameter;  // its qualified name, or of the one whose gradient it is; "": none
  std::string cut;        // of a part of a whole, as trace/format.h has it; "": no part
  bool is_gradient = false;
  Dtype dtype = Dtype::kUndefined;
  uint64_t count = 0;
  uint64_t finite = 0;
  double root_mean_square = 0, mean = 0, largest = 0;
  uint32_t shape = 0;  // a hash
  uint32_t base = 0;   // index + 1 of the digest of what it is a view of; 0: none that is known
  std::vector<double> places;
  uint32_t parts = 1;       // it was put together from those of so many ranks, and has no places
  bool is_mixed = false;    // these are of several dtypes; its own is the lowest
  bool is_unknown = false;  // what the ranks hold of it does not tell what the whole is
};

struct DigestedCall {
  std::string op;  // "aten::linear"
  Site site;
  uint32_t step = 0;
  std::string owner;  // the parameter that an optimizer's op steps; "": not known, or several
  // A number that the op gave, and what it is in Double, of an op that is far off there.
  std::optional<std::pair<double, double>> off;
  double time_ns = 0;  // of such a call, on average of those that were timed; 0: none was
  std::vector<uint32_t> operands, results;  // index + 1 into digests; 0: a tensor without
};

struct DigestedProcess {
  std::string file;
  int rank = -1;
  uint64_t steps = 0;
  bool is_recorded = false;  // with --values
  bool is_merged = false;
  bool is_full = false;  // digests end where the file had no room for more
  std::string damaged;   // why a part is missing; "": it is whole
  std::vector<Digest> digests;
  std::vector<DigestedCall> calls;
};

// Of a trace, or of each in a folder. Throws InputError where one cannot be read.
std::vector<DigestedProcess> read_digests(const std::string& input,
                                          Symbolizer* symbolizer = nullptr);
// The same from memory, for tests.
DigestedProcess read_digest_bytes(const void* data, size_t size_bytes, const std::string& name,
                                  Symbolizer* symbolizer = nullptr);

}  // namespace dtypecheck
