// facts_json.cpp: facts on their way from the process that parses to the one that judges: an object
// for each struct, with its members as keys, as facts.h has them. What that process says is not
// trusted.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/dtype_set.h"
#include "platform/error.h"

namespace dtypecheck {

using Json = nlohmann::json;

static void to_json(Json& json, const DtypeSet& dtypes) { json = dtypes.bits(); }
static void from_json(const Json& json, DtypeSet& dtypes) {
  dtypes = DtypeSet::from_bits(json.get<uint64_t>());
}

namespace analyzer {
struct Place;
static void to_json(Json& json, const Place& place);
static void from_json(const Json& json, Place& place);
}  // namespace analyzer

}  // namespace dtypecheck

// Not before the conversions above: those of its structs call them.
#define DTYPECHECK_MEMBERS NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE
#include "analyzer/facts.h"

namespace dtypecheck {
namespace analyzer {

static void to_json(Json& json, const Place& place) {
  json = {place.file, place.line, place.column, place.end_column};
}
static void from_json(const Json& json, Place& place) {
  constexpr int kMostColumns = 16 << 20;  // of the longest source that is parsed
  place = {json.at(0), json.at(1), json.at(2), json.at(3)};
  const auto is_column = [](int column) { return column > 0 && column <= kMostColumns; };
  if (place.line < 0 || !is_column(place.column) || !is_column(place.end_column))
    throw InputError(fmt::format("a place in columns {} to {}", place.column, place.end_column));
}

std::string facts_to_json(const SourceFacts& facts) {
  return Json(facts).dump(-1, ' ', true, Json::error_handler_t::replace);
}

SourceFacts facts_from_json(const std::string& text) {
  // All numbers but those of "scalars" are whole. Asked for a whole number, Json would cut off a
  // fraction, and convert what is beyond its range as C++ leaves undefined.
  std::string key;
  const auto watch = [&](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::key) key = value.get<std::string>();
    if (value.is_number_float() && key != "scalars") throw InputError(key + " is no whole number");
    return true;
  };
  try {
    return Json::parse(text, watch).get<SourceFacts>();
  } catch (const std::exception& error) {
    throw InputError(fmt::format("the parser's answer cannot be read: {}", error.what()));
  }
}

}  // namespace analyzer
}  // namespace dtypecheck
