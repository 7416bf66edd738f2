// cause_table.h: for each category what the fault is, its usual causes in order, the cure for each,
// and the remedies in circulation that only hide it.
#pragma once

#include <string_view>
#include <vector>

#include "explain/category.h"

namespace dtypecheck::explain {

struct Cause {
  const char* cause;
  const char* cure;
  std::vector<std::string_view> signs;  // words of the surroundings that speak for this cause
};

struct CategoryFacts {
  Category category;
  const char* name;
  const char* meaning;
  std::vector<Cause> causes;  // the commonest first
  std::vector<const char*> hides;
};

const CategoryFacts& facts_of(Category category);

}  // namespace dtypecheck::explain
