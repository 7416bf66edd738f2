#include <cmath>
#include <nlohmann/json.hpp>

#include "explain/answer.h"
#include "platform/printable.h"

namespace dtypecheck::explain {

using nlohmann::ordered_json;

static constexpr size_t kMostOthers = 4;

static ordered_json json_of(const Explanation& error) {
  ordered_json out;
  out["category"] = category_name(error.categories.front());
  out["also"] = ordered_json::array();
  for (size_t i = 1; i < error.categories.size() && i <= kMostOthers; ++i)
    out["also"].push_back(category_name(error.categories[i]));
  out["confidence"] = error.confidence;
  for (size_t i = 0; i < error.categories.size() && i <= kMostOthers; ++i) {
    const Category category = error.categories[i];
    out["shown"][std::string(category_name(category))] = fault_of(category).shown;
  }
  if (const std::string asked = question(error); !asked.empty()) out["question"] = asked;
  for (size_t i = 0; i < kCategoryCount; ++i) {
    if (error.scores[i] > 0) out["scores"][std::string(kCategoryNames[i])] = error.scores[i];
  }
  out["signs"] = ordered_json::array();
  for (const Sign& sign : error.signs)
    out["signs"].push_back({{"words", sign.words},
                            {"category", category_name(sign.category)},
                            {"weight", std::round(100 * sign.weight) / 100},
                            {"signals_line", sign.line}});
  out["message"] = shown_message(error);
  out["line"] = error.line;
  out["count"] = error.count;
  out["dtypes"] = error.dtypes;
  out["operands"] = ordered_json::array();
  for (const OperandDtype& operand : error.operands)
    out["operands"].push_back({{"operand", operand.operand}, {"dtype", operand.dtype}});
  out["meaning"] = error.meaning;
  out["ops"] = error.ops;
  out["versions"] = error.versions;
  out["causes"] = ordered_json::array();
  out["cures"] = ordered_json::array();
  for (const Cause& cause : error.causes) {
    out["causes"].push_back(cause.cause);
    out["cures"].push_back(cause.cure);
  }
  out["hides"] = error.hides;
  if (const TracebackFrame* frame = own_frame(error)) {
    out["location"] = {{"file", printable(frame->file)},
                       {"line", frame->line},
                       {"function", printable(frame->function)}};
  }
  return out;
}

std::string to_json(const Answer& answer) {
  ordered_json out;
  if (answer.errors.empty()) {
    out = {{"category", nullptr},
           {"also", ordered_json::array()},
           {"confidence", 0.0},
           {"ops", ordered_json::array()},
           {"causes", ordered_json::array()},
           {"cures", ordered_json::array()}};
    out["other_error"] = answer.other_error;
  } else {
    out = json_of(answer.errors.front());
  }
  if (!answer.torch_version.empty()) out["libtorch"] = answer.torch_version;
  if (!answer.command.empty()) out["command"] = printable(answer.command);
  if (answer.errors.size() > 1) {
    out["errors"] = ordered_json::array();
    for (const Explanation& error : answer.errors) out["errors"].push_back(json_of(error));
  }
  return out.dump(2, ' ', /*ensure_ascii=*/true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace dtypecheck::explain
