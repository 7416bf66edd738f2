// compare.h: where the numbers of two runs part: the first op call whose results are further apart
// than its operands and its rounding explain.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "compare/bisect.h"
#include "compare/named.h"
#include "trace/digests.h"

namespace dtypecheck::compare {

enum class Cause : uint8_t {
  kBetween,   // an operand is further apart than where it was made: an op of one run stands between
  kAdds,      // the op adds more than it was given
  kRounding,  // explained by the dtypes
  kGradient,  // a part of the backward pass that one run alone has
};

struct Divergence {
  static Divergence at(const DigestedCall& call, Cause cause, double apart, double given) {
    return {.cause = cause,
            .op = call.op,
            .site = call.site,
            .step = call.step,
            .distance = apart,
            .given = given};
  }

  Cause cause = Cause::kAdds;
  std::string op;
  Site site;  // in the first run, but for what the second one alone has
  uint32_t step = 0;
  std::string dtype_a, dtype_b;  // of the result; of the operand with kBetween
  double distance = 0;           // of the result; of the operand with kBetween
  double given = 0;              // of the operands; where the operand was made with kBetween
  // Of the run that is off where the other is not, as its shadow in Double shows: what its op gave,
  // and what it should.
  std::optional<std::pair<double, double>> off_a, off_b;
  bool has_other_number = false;    // the program gives the op one, which is another in each run
  bool is_kept_lower = false;       // what one run keeps in a lower dtype from the start
  std::vector<std::string> only_a;  // ops that stand between in this run alone
  std::vector<std::string> only_b;
  std::string parameter;  // with kGradient: whose gradient is apart, or missing at a distance of ∞
  size_t parameters = 0;  // so many
};

// What the runs begin with, or draw.
struct Inputs {
  size_t weights = 0, weights_apart = 0;
  size_t weights_rounded = 0;  // apart, but by no more than the lowest dtype of the runs rounds
  double weights_distance = 0;
  std::string weight;  // the first that is apart
  size_t tensors = 0, tensors_apart = 0;
  std::string where;  // the first that is apart is an operand of this op, at this place
  Site site;
  uint32_t step = 0;
  bool is_table = false;  // later steps are given it as well: no data, but what the model made
  std::string random;     // an op that drew other numbers; ""
  Site random_site;
  uint32_t random_step = 0;

  bool agree() const { return weights_apart + tensors_apart == 0 && random.empty(); }
};

// Weights after a step, their gradients or the optimizer's states in it, by name.
struct Named {
  uint32_t step = 0;
  NumberKind kind = NumberKind::kWeight;
  size_t count = 0;
  std::string worst;
  double distance = 0;
};

// An op call of both runs, or of one.
struct Pair {
  enum class Verdict : uint8_t { kAgrees, kAdds, kRounds, kUnknown, kAlone };
  std::optional<size_t> a, b;      // its place among the calls of each
  double given = 0, distance = 0;  // how far apart its operands and its results are
  Verdict verdict = Verdict::kAlone;
};

struct Comparison {
  std::string file_a, file_b;
  DigestedProcess compared_a, compared_b;  // whose op calls the pairs are of
  std::vector<uint32_t> steps;             // that both have
  Inputs inputs;
  std::vector<Divergence>
      places;  // that add more than they were given, in the order of the first run
  std::vector<Divergence> rounding;  // where most of it comes from, most first
  std::vector<Named> named;
  std::vector<Pair> calls;  // in the order of the first run; behind them those of the second alone
  size_t agree = 0;         // op calls
  size_t not_judged = 0;    // aligned, but nothing can be said
  size_t alone_a = 0, alone_b = 0;
  std::optional<Divergence> first_alone_a, first_alone_b;  // their ops and places
  size_t left_out = 0;                                     // tensors without a digest
  std::vector<std::string> notes;
  std::vector<Drift> drifts_a, drifts_b;  // among the ranks of each run
  std::optional<Bisection> bisection;     // where it was asked for

  bool is_apart() const {
    return !places.empty() || !inputs.agree() || !drifts_a.empty() || !drifts_b.empty() ||
           (bisection && bisection->is_apart());
  }
};

// Of a run with several the first rank, and of one rank the process that has most. Throws
// InputError where none has digests.
const DigestedProcess& main_process(const std::vector<DigestedProcess>& processes,
                                    const std::string& name);

// The names stand for the runs in messages. Throws InputError where there is nothing to compare: no
// digests, no step that both have, or no op call.
Comparison compare_values(const std::vector<DigestedProcess>& a,
                          const std::vector<DigestedProcess>& b, const std::string& name_a,
                          const std::string& name_b);

std::string to_text(const Comparison& comparison, const std::string& name_a,
                    const std::string& name_b, bool all);
// A page: the modules, coloured by how far apart they are, and the op calls of each side by side.
void write_html(const Comparison& comparison, const DigestedProcess& a, const DigestedProcess& b,
                const std::string& name_a, const std::string& name_b, std::ostream& out);
// One object; docs/values-schema.json has its fields.
std::string to_json(const Comparison& comparison, const std::string& name_a,
                    const std::string& name_b);

}  // namespace dtypecheck::compare
