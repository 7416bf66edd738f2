// facts_json.cpp: facts on their way from the process that parses to the one that judges.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyzer/facts.h"
#include "platform/error.h"

namespace dtypecheck::analyzer {

using Json = nlohmann::json;

static Json to_json(const Place& place) {
  return {place.file, place.line, place.column, place.end_column};
}

static Place place_from(const Json& json) {
  return {json.at(0).get<std::string>(), json.at(1).get<int>(), json.at(2).get<int>(),
          json.at(3).get<int>()};
}

static Json to_json(const TensorFact& tensor) {
  return {tensor.name, tensor.dtypes.bits(), tensor.source, tensor.looked_at};
}

static TensorFact tensor_from(const Json& json) {
  return {json.at(0).get<std::string>(), DtypeSet::from_bits(json.at(1).get<uint64_t>()),
          json.at(2).get<TensorSource>(), json.at(3).get<bool>()};
}

static Json to_json(const Read& read) {
  return {{"place", to_json(read.place)},
          {"function", read.function},
          {"callers", read.callers},
          {"how", read.how},
          {"type", read.type},
          {"accepts", read.accepts.bits()},
          {"long", read.is_written_long},
          {"of_class", read.is_of_class},
          {"type_place", to_json(read.type_place)},
          {"statement", to_json(read.statement)},
          {"tensor", to_json(read.tensor)},
          {"in_dispatch", read.in_dispatch},
          {"dispatched", to_json(read.dispatched)},
          {"same", read.has_dispatched_dtype}};
}

static Read read_from(const Json& json) {
  return {.place = place_from(json.at("place")),
          .function = json.at("function").get<std::string>(),
          .callers = json.at("callers").get<Callers>(),
          .how = json.at("how").get<ReadAs>(),
          .type = json.at("type").get<std::string>(),
          .accepts = DtypeSet::from_bits(json.at("accepts").get<uint64_t>()),
          .is_written_long = json.at("long").get<bool>(),
          .type_place = place_from(json.at("type_place")),
          .statement = place_from(json.at("statement")),
          .tensor = tensor_from(json.at("tensor")),
          .is_of_class = json.at("of_class").get<bool>(),
          .in_dispatch = json.at("in_dispatch").get<bool>(),
          .dispatched = tensor_from(json.at("dispatched")),
          .has_dispatched_dtype = json.at("same").get<bool>()};
}

static Json to_json(const LongElement& element) {
  return {{"place", to_json(element.place)},
          {"type_place", to_json(element.type_place)},
          {"function", element.function},
          {"type", element.type}};
}

static LongElement long_element_from(const Json& json) {
  return {place_from(json.at("place")), place_from(json.at("type_place")),
          json.at("function").get<std::string>(), json.at("type").get<std::string>()};
}

static Json to_json(const Dispatch& dispatch) {
  return {{"place", to_json(dispatch.place)},   {"function", dispatch.function},
          {"callers", dispatch.callers},        {"macro", dispatch.macro},
          {"tensor", to_json(dispatch.tensor)}, {"cases", dispatch.cases.bits()}};
}

static Dispatch dispatch_from(const Json& json) {
  return {.place = place_from(json.at("place")),
          .function = json.at("function").get<std::string>(),
          .callers = json.at("callers").get<Callers>(),
          .macro = json.at("macro").get<std::string>(),
          .tensor = tensor_from(json.at("tensor")),
          .cases = DtypeSet::from_bits(json.at("cases").get<uint64_t>())};
}

static Json to_json(const LowPrecisionSum& sum) {
  return {to_json(sum.place), sum.function, sum.name, sum.dtypes.bits(), sum.is_atomic};
}

static LowPrecisionSum sum_from(const Json& json) {
  return {place_from(json.at(0)), json.at(1).get<std::string>(), json.at(2).get<std::string>(),
          DtypeSet::from_bits(json.at(3).get<uint64_t>()), json.at(4).get<bool>()};
}

static Json to_json(const LargeNumber& number) {
  return {to_json(number.place), number.function, number.name, number.text, number.is_half};
}

static LargeNumber large_number_from(const Json& json) {
  return {place_from(json.at(0)), json.at(1).get<std::string>(), json.at(2).get<std::string>(),
          json.at(3).get<std::string>(), json.at(4).get<bool>()};
}

static Json to_json(const BitCast& cast) {
  return {to_json(cast.place), cast.function, cast.name, cast.from, cast.to, cast.is_other_size};
}

static BitCast bit_cast_from(const Json& json) {
  return {place_from(json.at(0)),        json.at(1).get<std::string>(),
          json.at(2).get<std::string>(), json.at(3).get<std::string>(),
          json.at(4).get<std::string>(), json.at(5).get<bool>()};
}

static Json to_json(const IntegerDivision& division) {
  return {to_json(division.place), division.function, to_json(division.tensor),
          division.is_of_dispatch};
}

static IntegerDivision integer_division_from(const Json& json) {
  return {place_from(json.at(0)), json.at(1).get<std::string>(), tensor_from(json.at(2)),
          json.at(3).get<bool>()};
}

static Json to_json(const TwoWayConversion& conversion) {
  return {to_json(conversion.place), conversion.function, conversion.from, conversion.to,
          conversion.is_cast};
}

static TwoWayConversion conversion_from(const Json& json) {
  return {place_from(json.at(0)), json.at(1).get<std::string>(), json.at(2).get<std::string>(),
          json.at(3).get<std::string>(), json.at(4).get<bool>()};
}

static Json to_json(const SourceOp& op) {
  Json operands = Json::array();
  for (const SourceOperand& operand : op.operands) {
    operands.push_back({operand.name, operand.text, operand.dtypes.bits(), operand.is_trained});
  }
  return {to_json(op.place), op.function, op.op, std::move(operands), op.scalars};
}

static SourceOp op_from(const Json& json) {
  SourceOp op = {.place = place_from(json.at(0)),
                 .function = json.at(1).get<std::string>(),
                 .op = json.at(2).get<std::string>()};
  for (const Json& operand : json.at(3)) {
    op.operands.push_back({operand.at(0).get<std::string>(), operand.at(1).get<std::string>(),
                           DtypeSet::from_bits(operand.at(2).get<uint64_t>()),
                           operand.at(3).get<bool>()});
  }
  op.scalars = json.at(4).get<std::vector<std::pair<std::string, double>>>();
  return op;
}

template <typename T>
static Json list(const std::vector<T>& items) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(to_json(item));
  return json;
}

template <typename T>
static std::vector<T> list_from(const Json& json, T (*one)(const Json&)) {
  std::vector<T> items;
  for (const Json& item : json) items.push_back(one(item));
  return items;
}

std::string facts_to_json(const SourceFacts& facts) {
  const Json json = {{"file", facts.file},
                     {"parsed", facts.parsed},
                     {"missing_headers", facts.missing_headers},
                     {"problems", facts.problems},
                     {"error_count", facts.error_count},
                     {"functions", facts.functions},
                     {"sees_tensors", facts.sees_tensors},
                     {"reads", list(facts.reads)},
                     {"long_elements", list(facts.long_elements)},
                     {"dispatches", list(facts.dispatches)},
                     {"sums", list(facts.sums)},
                     {"large_numbers", list(facts.large_numbers)},
                     {"ops", list(facts.ops)},
                     {"bit_casts", list(facts.bit_casts)},
                     {"integer_divisions", list(facts.integer_divisions)},
                     {"conversions", list(facts.conversions)},
                     {"files", facts.files},
                     {"system_files", facts.system_files}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

SourceFacts facts_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    return {.file = json.at("file").get<std::string>(),
            .parsed = json.at("parsed").get<bool>(),
            .missing_headers = json.at("missing_headers").get<std::vector<std::string>>(),
            .problems = json.at("problems").get<std::vector<std::string>>(),
            .error_count = json.at("error_count").get<uint64_t>(),
            .functions = json.at("functions").get<uint64_t>(),
            .sees_tensors = json.at("sees_tensors").get<bool>(),
            .reads = list_from(json.at("reads"), read_from),
            .long_elements = list_from(json.at("long_elements"), long_element_from),
            .dispatches = list_from(json.at("dispatches"), dispatch_from),
            .sums = list_from(json.at("sums"), sum_from),
            .large_numbers = list_from(json.at("large_numbers"), large_number_from),
            .ops = list_from(json.at("ops"), op_from),
            .bit_casts = list_from(json.at("bit_casts"), bit_cast_from),
            .integer_divisions = list_from(json.at("integer_divisions"), integer_division_from),
            .conversions = list_from(json.at("conversions"), conversion_from),
            .files = json.at("files").get<std::vector<std::string>>(),
            .system_files = json.at("system_files").get<std::vector<std::string>>()};
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("the parser's answer cannot be read: {}", error.what()));
  }
}

}  // namespace dtypecheck::analyzer
