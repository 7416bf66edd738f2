// Made from the members of facts.h, so that a new fact is in it.
#include "tests/analyzer/each_fact.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/dtype_set.h"

namespace dtypecheck::analyzer {

struct Place;
static void fill(Place& place);
static void fill(std::string& text) { text = "f"; }
static void fill(double& number) { number = 1e-8; }
static void fill(DtypeSet& dtypes) { dtypes = DtypeSet(Dtype::kHalf); }

// An enumerator, a count or a bool that is not the default one.
template <typename Number>
static std::enable_if_t<std::is_enum_v<Number> || std::is_integral_v<Number>> fill(Number& number) {
  number = static_cast<Number>(number == static_cast<Number>(1) ? 2 : 1);
}
template <typename First, typename Second>
static void fill(std::pair<First, Second>& pair) {
  fill(pair.first);
  fill(pair.second);
}
template <typename Element>
static void fill(std::vector<Element>& list) {
  fill(list.emplace_back());
}

}  // namespace dtypecheck::analyzer

#define FILL(member) fill(fact.member);
#define DTYPECHECK_MEMBERS(Type, ...)                                           \
  [[maybe_unused]] static void fill(Type& fact) {                               \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(FILL, __VA_ARGS__))                \
  }
#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

static void fill(Place& place) { place = {"/a.cpp", 3, 4, 20}; }

std::string each_fact() {
  SourceFacts facts;
  fill(facts);
  return facts_to_json(facts);
}

}  // namespace dtypecheck::analyzer
