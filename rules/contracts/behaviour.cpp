// What the rows of an op say together: does it promote, does it pass the dtype on.
#include <algorithm>

#include "rules/contracts/table.h"

namespace dtypecheck::contracts {
namespace {

bool is_uniform(std::string_view combination) {
  return combination.find_first_not_of(combination[0]) == combination.npos;
}

DtypeSet dtypes_of(std::string_view combination) {
  DtypeSet dtypes;
  for (const char letter : combination) dtypes |= dtype_of(letter);
  return dtypes;
}

// A tensor to write into has its dtype before the op is called, and says nothing of what the op
// would answer.
bool writes_into_operand(const Op& op) {
  return op.operands.ends_with(",out") || op.operands.find(",out,") != op.operands.npos;
}

class Observation {
 public:
  void add(const Op& op, const Row& row) {
    if (writes_into_operand(op)) return;
    // A tensor without dimensions takes part in promotion with its category only.
    const bool all_promote = op.operands.find("()") == op.operands.npos;
    for (const std::string& combination : combinations(op.operands)) {
      const std::string outcome = outcome_in(op.operands, row.pattern, combination);
      if (outcome.empty() || outcome == "?" || outcome == "-") continue;
      const bool is_refused = outcome.front() == 'm';
      if (is_uniform(combination)) {
        if (!is_refused) add_uniform(combination.front(), outcome.front());
      } else if (all_promote && !answers_each(op, outcome)) {
        add_mix(combination, is_refused ? '\0' : outcome.front());
      }
      if (!is_refused) add_results(outcome);
    }
  }

  Behaviour take() const {
    Behaviour all{.is_known = true};
    all.promotes = mixes_ > 0 && promotes_ && passes_on_;
    all.passes_dtype_on = uniform_ > 0 && passes_on_;
    // One dtype alone may be what the others were refused beside.
    if (uniform_ <= 1) return all;
    for (size_t i = 0; i < results_.size(); ++i) {
      const Dtype dtype = dtype_of(results_[i]);
      const auto always = dtype == Dtype::kUndefined ? std::nullopt : std::optional(dtype);
      i == 0 ? all.always = always : all.others_always.emplace_back(always);
    }
    return all;
  }

 private:
  // _foreach_sqrt of a list answers each of its tensors for itself: there is no mix.
  static bool answers_each(const Op& op, std::string_view outcome) {
    const bool is_lone_list =
        op.operands.ends_with("[]") && op.operands.find(',') == op.operands.npos;
    return is_lone_list && outcome.size() > 1 && outcome.front() != 'm';
  }

  void add_uniform(char operands, char result) {
    ++uniform_;
    passes_on_ = passes_on_ && operands == result;
  }

  void add_mix(std::string_view combination, char result) {
    ++mixes_;
    promotes_ = promotes_ && dtype_of(result) == promoted(dtypes_of(combination));
  }

  // Overloads differ in how many tensors they give back: max(), max(dim).
  void add_results(std::string_view letters) {
    for (size_t i = 0; i < letters.size(); ++i) {
      if (i == results_.size())
        results_.push_back(letters[i]);
      else if (results_[i] != letters[i])
        results_[i] = kSeveral;
    }
  }

  size_t uniform_ = 0;
  size_t mixes_ = 0;
  bool passes_on_ = true;
  bool promotes_ = true;
  static constexpr char kSeveral = '\0';  // of which dtype_of() makes nothing
  std::string results_;
};

Behaviour observe(const Table& table, size_t column, std::string_view name) {
  Observation all;
  bool is_known = false;
  for (const Op* op : table.ops_named(name)) {
    const Row* row = table.row(*op, "plain", column);
    if (row == nullptr) continue;
    is_known = true;
    all.add(*op, *row);
  }
  return is_known ? all.take() : Behaviour{};
}

}  // namespace

const Behaviour& behaviour_of(const Table& table, size_t column, std::string_view op) {
  const std::lock_guard lock(table.behaviours_mutex);
  auto& behaviours = table.behaviours[column];
  auto known = behaviours.find(op);
  if (known == behaviours.end()) known = behaviours.emplace(op, observe(table, column, op)).first;
  return known->second;
}

}  // namespace dtypecheck::contracts
