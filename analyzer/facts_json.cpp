// facts_json.cpp: facts on their way from the process that parses to the one that judges.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyzer/facts.h"
#include "core/error.h"

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
          .tensor = tensor_from(json.at("tensor")),
          .in_dispatch = json.at("in_dispatch").get<bool>(),
          .dispatched = tensor_from(json.at("dispatched")),
          .has_dispatched_dtype = json.at("same").get<bool>()};
}

static Json to_json(const LongElement& element) {
  return {{"place", to_json(element.place)}, {"function", element.function}, {"type", element.type}};
}

static LongElement long_element_from(const Json& json) {
  return {place_from(json.at("place")), json.at("function").get<std::string>(),
          json.at("type").get<std::string>()};
}

static Json to_json(const Dispatch& dispatch) {
  return {{"place", to_json(dispatch.place)}, {"function", dispatch.function},
          {"callers", dispatch.callers},      {"macro", dispatch.macro},
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
                     {"dispatches", list(facts.dispatches)}};
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
            .dispatches = list_from(json.at("dispatches"), dispatch_from)};
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("the parser's answer cannot be read: {}", error.what()));
  }
}

}  // namespace dtypecheck::analyzer
