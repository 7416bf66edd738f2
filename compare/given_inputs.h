// given_inputs.h: whether two runs begin with the same weights and are given the same data.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/compare.h"
#include "compare/side.h"

namespace dtypecheck::compare {

constexpr double kTiny = 1e-12;           // nearer than this is not apart
constexpr double kOtherData = 0.05;       // tensors of later steps, whose makers were not seen
constexpr double kRoundingsOfTable = 64;  // of the sine of an angle of hundreds

class GivenInputs {
 public:
  // `lowest`: unit roundoff of the lowest dtype of either run. What they begin with goes to `out`.
  GivenInputs(const Side& a, const Side& b, double lowest, Comparison& out)
      : a_(a), b_(b), lowest_(lowest), out_(out) {}

  // Of operands of two aligned calls.
  void check(const DigestedCall& call, uint32_t ia, uint32_t ib, double apart);
  // What is apart, but for what is used to no effect, or behind a place of an earlier step.
  void note_apart(const std::unordered_map<uint32_t, bool>& to_no_effect);

 private:
  struct GivenApart {
    const DigestedCall* call;
    uint32_t index;
    bool is_table;
  };

  const Side &a_, &b_;
  const double lowest_;
  Comparison& out_;
  std::set<std::string> seen_;
  std::set<uint32_t> given_;
  std::vector<GivenApart> given_apart_;
};

}  // namespace dtypecheck::compare
