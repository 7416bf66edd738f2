// ranking.h: from a message and its surroundings to categories in order of how well they fit.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "explain/category.h"
#include "explain/kernel_table.h"
#include "explain/log_scanner.h"
#include "explain/message_table.h"
#include "explain/segments.h"

namespace dtypecheck::explain {

// Words that spoke for a category.
struct Sign {
  Category category = Category::kOther;
  double weight = 0;  // what it added to the score, before circumstances are weighed down
  std::string words;  // as the tables have them
  uint32_t line = 0;  // of its block in signals.txt
};

struct Ranking {
  std::vector<Category> categories;  // best first; empty: nothing fits
  double confidence = 0;             // 0 to 1
  double second = 0;                 // the same of the next one
  Scores scores{};
  std::vector<Sign> signs;
};

// What is known of a message where it stands.
struct Evidence {
  const Message& message;
  const Sighting& sighting;
  const std::vector<std::string>& dtypes;      // that it names
  const std::optional<KernelReading>& kernel;  // what the name says of a message that names one
  ReadText surroundings;                       // the words around it
  std::string innermost;                       // the last frames of its traceback, in normal form
};

Ranking rank(const Evidence& evidence);

// Whether a report in words, in normal form, says that a dtype went wrong and nothing was raised.
bool is_silent_fault(std::string_view text);

// Whether a text in normal form has words about dtypes, and whether one of them means nothing else.
bool speaks_of_dtypes(std::string_view text);
bool names_dtypes(std::string_view text);

// A report in words, without any message that we know. Empty when it is no
// complaint about dtypes.
Ranking rank_prose(const ReadText& text);

// The kind of an error that is in no table, by its line in normal form and the number of dtypes
// that it names, for certain and at all; null if it is not worded like an error about dtypes.
const UnknownKind* unknown_kind_of(std::string_view line, size_t certain, size_t named);

// Such an error, by all of the text. Where it is not certain that it is about dtypes, words around
// it have to say so: empty where they do not.
// `innermost` and `dtypes` as in Evidence.
Ranking rank_unknown(const UnknownKind& kind, const ReadText& text, std::string_view innermost,
                     const std::vector<std::string>& dtypes, bool is_certain);

}  // namespace dtypecheck::explain
