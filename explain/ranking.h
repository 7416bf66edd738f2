// ranking.h: from a message and its surroundings to categories in order of how well they fit.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "explain/category.h"
#include "explain/kernel_table.h"
#include "explain/log_scanner.h"
#include "explain/message_table.h"

namespace dtypecheck::explain {

struct Ranking {
  std::vector<Category> categories;  // best first; empty: nothing fits
  double confidence = 0;             // 0 to 1
  Scores scores{};
};

// `kernel` is what the kernel's name says, of a message that names one. `surroundings` and
// `innermost` (the last frames of the traceback) are in normal form.
Ranking rank(const Message& message, const Sighting& sighting,
             const std::optional<KernelVerdict>& kernel, std::string_view surroundings,
             std::string_view innermost);

// Whether a report in words, in normal form, says that a dtype went wrong and nothing was raised.
bool is_silent_fault(std::string_view text);

// A report in words, in normal form, without any message that we know. Empty when it is no
// complaint about dtypes.
Ranking rank_prose(std::string_view text);

// An error that is in no table and names dtypes, two of them or fewer.
Ranking rank_unknown(std::string_view text, size_t dtypes);

}  // namespace dtypecheck::explain
