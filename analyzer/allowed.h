// allowed.h: findings that the source itself accepts, in comments.
//   // NOLINT, // NOLINT(dtypecheck-raw-cast, …), NOLINTNEXTLINE, NOLINTBEGIN … NOLINTEND: as
//   clang-tidy reads them, the check's id behind "dtypecheck-", * for any letters
//   // dtypecheck: allow(raw-cast): reason    on the line or on one of its own above it; in Python
//   # dtypecheck: allow(silent-promotion): reason    the same
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/finding.h"

namespace dtypecheck::analyzer {

class Allowances {
 public:
  enum class Reads { kAll, kOwnComments };  // the latter: what is said to clang-tidy is not for us
  explicit Allowances(std::string_view source, Reads reads = Reads::kAll);

  bool allows(std::string_view rule, int line) const;
  // Lines whose allow(…) has no reason: they allow nothing.
  const std::vector<int>& without_reason() const { return without_reason_; }
  // The rules that allow(…) names with a reason, as they stand there, and their lines.
  const std::vector<std::pair<int, std::string>>& named() const { return named_; }

 private:
  struct Allowance {
    std::string pattern;  // of ids
    int first, last;
  };
  void read_nolint(std::string_view text, int line);
  void read_allow(std::string_view text, int line);
  void add(std::string_view list, int first, int last);

  std::vector<Allowance> allowances_;
  std::vector<int> without_reason_;
  std::vector<std::pair<int, std::string>> named_;
};

}  // namespace dtypecheck::analyzer
