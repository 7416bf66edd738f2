// bisect.h: the smallest set of modules whose computing in Float (trace --in-float) brings the end
// of a run, its loss mostly, as near to that of another run as its dtypes round.
//
// Modules stand in post-order, by their first op calls: a prefix of that order is closed under "in
// it", so the smallest prefix that does is found in log2(n) runs, and its last module is needed.
// That module alone is tried next; where it is not enough, the same is done with it kept in Float.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/digests.h"

namespace dtypecheck::compare {

// What a step ends in: the last single number before the backward pass, or the last result where
// there is none.
struct End {
  const DigestedCall* call;
  const Digest* digest;
};
std::optional<End> end_of(const DigestedProcess& process, uint32_t step);

// The modules that compute something in 16 bits, in post-order.
std::vector<std::string> modules_in_16_bits(const DigestedProcess& process);
// Without those that are in another of them.
std::vector<std::string> outermost(const std::vector<std::string>& modules);
// Of a step, what is done in the modules, as a part of all.
struct Share {
  double of_calls = 0;
  std::optional<double> of_time;  // of that of its op calls, where the run was recorded with times
};
Share share_of(const DigestedProcess& process, uint32_t step,
               const std::vector<std::string>& modules);

// `holds` runs the program with these modules in Float. `guess` is tried first: at most
// log2(n) + 3 runs where one module is enough, and log2(n) + 1 for each further one. Nothing where
// all of them are not enough.
std::optional<std::vector<std::string>> smallest_set(
    const std::vector<std::string>& modules, const std::string& guess,
    const std::function<bool(const std::vector<std::string>&)>& holds);

struct Bisection {
  struct Run {
    std::vector<std::string> modules;
    double distance;
  };
  std::string op;  // that the step ends in
  Site site;
  uint32_t step = 0;
  double before = 0;   // how far apart the runs end
  double allowed = 0;  // what their dtypes round
  size_t modules = 0;  // that were asked about
  std::vector<Run> runs;
  std::vector<std::string> found;  // the smallest set; empty: none
  double after = 0;                // how far apart they end with it
  Share share;                     // of the step, what it does

  bool is_apart() const { return before > allowed; }
};

// Of the first of these steps that ends further apart than its dtypes round; where none does, the
// last, and nothing is run. Throws InputError where `a` ends in no number, or where `b` computes
// nothing in 16 bits. `run` gives the digests of the step of `b` with these modules in Float.
Bisection bisect(const DigestedProcess& a, const DigestedProcess& b,
                 const std::vector<uint32_t>& steps, const std::string& guess,
                 const std::function<std::vector<DigestedProcess>(
                     const std::vector<std::string>& modules, uint32_t step)>& run);

}  // namespace dtypecheck::compare
