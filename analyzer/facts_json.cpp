// facts_json.cpp: facts on their way from the process that parses to the one that judges: an object
// for each struct of facts.h, with its members as keys. What that process says is not trusted.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyzer/facts.h"
#include "platform/error.h"

namespace dtypecheck {

using Json = nlohmann::json;

static void to_json(Json& json, const DtypeSet& dtypes) { json = dtypes.bits(); }
static void from_json(const Json& json, DtypeSet& dtypes) {
  dtypes = DtypeSet::from_bits(json.get<uint64_t>());
}

namespace analyzer {

static void to_json(Json& json, const Place& place) {
  json = {place.file, place.line, place.column, place.end_column};
}
static void from_json(const Json& json, Place& place) {
  constexpr int kMostColumns = 16 << 20;  // of the longest source that is parsed
  place = {json.at(0), json.at(1), json.at(2), json.at(3)};
  const bool can_be = place.line >= 0 && place.column > 0 && place.column <= kMostColumns;
  if (!can_be) throw InputError(fmt::format("a place in column {}", place.column));
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorFact, name, dtypes, source, looked_at, place, cast_from,
                                   fields, like, is_position)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Read, place, function, callers, how, type, accepts,
                                   is_written_long, type_place, cast, in_macro, given, check_at, checked_to, tensor,
                                   is_of_class, in_dispatch, ignores_dispatch, dispatched, has_dispatched_dtype,
                                   entry, parameter, dispatched_parameter, handed_to, argument)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorArgument, position, tensor, parameter, same_as)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OutsideCall, function, entry, callers, arguments)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PointerUse, function, parameter, type, accepts, place, handed_to,
                                   argument)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FieldWrite, field, tensor)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FieldOfClass, name, is_shared, is_of_module)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClassOfFields, file, fields, bodies_elsewhere)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LongElement, place, type_place, function, type)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Dispatch, place, function, callers, macro, tensor, cases)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DtypeBranch, place, function, callers, tensor, dtypes, served,
                                   fault)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LowPrecisionSum, place, function, name, dtypes, kind)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceOperand, name, text, dtypes, is_trained)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceOp, place, function, op, operands, scalars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BitCast, place, function, name, from, to, is_other_size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TwoWayConversion, place, function, from, to, is_cast)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IntegerDivision, place, function, tensor, is_of_dispatch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HalfArithmetic, place, function, fault, text, dtypes, other)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LargeNumber, place, function, name, text, is_half)
#define AND_MEMBER(member, Type, merged) , member
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceFacts, file, parsed, missing_headers, problems,
                                   error_count, lost, functions, sees_tensors, outside_calls, pointer_uses,
                                   bound, called, classes, field_writes, open_fields, methods,
                                   casts_modules, files, system_files DTYPECHECK_FACTS(AND_MEMBER))
#undef AND_MEMBER

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
