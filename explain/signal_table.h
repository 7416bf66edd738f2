// signal_table.h: words of the surroundings that tell apart what one sentence cannot: libraries,
// modules, devices, optimizer and autocast words, and how people describe a fault that raises
// nothing. The table is explain/data/signals.txt.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype_set.h"
#include "explain/category.h"
#include "explain/message_table.h"

namespace dtypecheck::explain {

// Phrases are in normal form; a '*' at an end leaves the word open there.
struct Signal {
  unsigned families = 0;  // bits of Family: beside which messages it speaks
  Category category = Category::kOther;
  double weight = 0;
  uint32_t line = 0;               // where its block begins in the table
  std::vector<std::string> words;  // any of them
  std::vector<std::string> near;   // where not empty: one of these must be there too
  std::vector<Dtype> dtypes;       // the message must name each of them
};

// From scores to how sure an answer is. Scores are divided by the temperature; `unlisted` is the
// score of whatever is not in the tables, so that one weak word alone is never sure. The scores say
// only a share of it, `trust`; the rest is how often answers of the kind are right, `usually`.
struct Calibration {
  double temperature = 0, unlisted = 0, trust = 1, usually = 0;
};

struct SignalTable {
  std::vector<Signal> signals;
  // What makes a report without a message a complaint, and what makes it one about dtypes.
  std::vector<std::string> complaint_words, dtype_words;
  // Those of them that mean nothing else ("half" and "precision" do).
  std::vector<std::string> dtype_names;
  // Who says that nothing was raised: then the fault is one of those that raise nothing.
  std::vector<std::string> silence_words;
  Calibration of_messages, of_words;
  // The commonest faults behind messages of a kind: what to try next where the text names fewer.
  std::vector<std::pair<Family, std::vector<Category>>> usual;

  const std::vector<Category>& usual_of(Family family) const;
};

const SignalTable& signal_table();
// Throws InputError with file and line.
SignalTable read_signal_table(std::string_view text, std::string_view file);

}  // namespace dtypecheck::explain
