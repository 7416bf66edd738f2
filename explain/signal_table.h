// signal_table.h: words of the surroundings that tell apart what one sentence cannot: libraries,
// modules, devices, optimizer and autocast words, and how people describe a fault that raises
// nothing.
#pragma once

#include <string_view>
#include <vector>

#include "explain/category.h"
#include "explain/message_table.h"

namespace dtypecheck::explain {

struct Signal {
  unsigned families;  // bits of Family: beside which messages it speaks
  Category category;
  double weight;
  std::vector<std::string_view>
      phrases;  // any of them; in normal form, '*' leaves the word's end open
  std::vector<std::string_view> beside = {};  // where not empty: one of these must be there too
};

const std::vector<Signal>& signals();

// What makes a report without a message a complaint, and what makes it one about dtypes.
const std::vector<std::string_view>& complaint_words();
const std::vector<std::string_view>& dtype_words();

// Those of them that mean nothing else ("half" and "precision" do).
const std::vector<std::string_view>& dtype_names();

// Who says that nothing was raised: then the fault is one of those that raise nothing.
const std::vector<std::string_view>& silence_words();

}  // namespace dtypecheck::explain
