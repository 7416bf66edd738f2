// write.cpp: a comparison as text and as JSON.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compare/compare.h"
#include "compare/words.h"
#include "platform/printable.h"

namespace dtypecheck::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostShown = 5;

std::string off(double distance) {
  return std::isinf(distance) ? percent(distance) : percent(distance) + " off";
}

std::string apart(double distance) {
  return distance == 0          ? "equal"
         : std::isinf(distance) ? percent(distance)
                                : percent(distance) + " apart";
}

std::string counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string dtypes(const Divergence& at) {
  return at.dtype_a == at.dtype_b ? at.dtype_a : at.dtype_a + " and " + at.dtype_b;
}

std::string where(const Site& site, uint32_t step) {
  const std::string module = site.module.empty() ? "outside of modules" : printable(site.module);
  std::string text = fmt::format("{}  {}, step {}", module, phase_name(site.phase), step);
  const std::string line = recorded_place(site);
  return line.empty() ? text : text + "  " + printable(line);
}

std::string joined(const std::vector<std::string>& ops) {
  std::string text;
  for (const std::string& op : ops) text += (text.empty() ? "" : ", ") + printable(op);
  return text;
}

std::string gradient_words(const Divergence& at, const std::string& name_a,
                           const std::string& name_b) {
  const bool is_of_a = !at.only_a.empty();
  const std::string& without = is_of_a ? name_b : name_a;
  const std::string whose =
      printable(at.parameter) +
      (at.parameters > 1 ? fmt::format(" and {} more", at.parameters - 1) : std::string());
  const std::string what = std::isinf(at.distance)
                               ? fmt::format("{} has no gradient of {}", without, whose)
                               : fmt::format("the gradient of {} is {}", whose, apart(at.distance));
  return fmt::format(
      "{} runs in {} alone: {}; look for a detach(), a no_grad() or a frozen parameter in {}",
      printable(at.op), is_of_a ? name_a : name_b, what, without);
}

// Which of the two is right.
std::string in_double(const Divergence& at, const std::string& name_a, const std::string& name_b) {
  const auto& off = at.off_a ? at.off_a : at.off_b;
  if (!off) return "";
  return fmt::format("\n  {} is off: it gives {:.4g} where Double gives {:.4g}",
                     at.off_a ? name_a : name_b, off->first, off->second);
}

std::string explained(const Divergence& at, const std::string& name_a, const std::string& name_b) {
  const std::string op = printable(at.op);
  if (at.cause == Cause::kGradient) return gradient_words(at, name_a, name_b);
  if (at.is_kept_lower)
    return fmt::format("{} is given what is {} from the start: {}", op, dtypes(at),
                       apart(at.distance));
  if (at.has_other_number)
    return fmt::format("{} of {}: {}, because a number that it is given differs between the runs",
                       op, dtypes(at), off(at.distance));
  if (at.only_a.empty() && at.only_b.empty())
    return fmt::format("{} of {}: {}, its operands were {}", op, dtypes(at), off(at.distance),
                       apart(at.given)) +
           in_double(at, name_a, name_b);
  std::string text = fmt::format("{} is given an operand that is {}; where it was made it was {}",
                                 op, apart(at.distance), apart(at.given));
  if (!at.only_a.empty())
    text += fmt::format("\n  between the two, only in {}: {}", name_a, joined(at.only_a));
  if (!at.only_b.empty())
    text += fmt::format("\n  between the two, only in {}: {}", name_b, joined(at.only_b));
  return text;
}

std::string inputs_text(const Inputs& inputs) {
  std::string text;
  if (inputs.weights_apart > 0)
    text += fmt::format(
        "initial weights differ: {} of {} are {}, first {}; set the seed before the model "
        "is made, or load one checkpoint\n",
        inputs.weights_apart, inputs.weights, apart(inputs.weights_distance),
        printable(inputs.weight));
  if (inputs.tensors_apart > 0)
    text += fmt::format(
        "inputs differ: what {} is given, {}; {}\n", printable(inputs.where),
        where(inputs.site, inputs.step),
        inputs.is_table
            ? "it is no data, since later steps are given it as well: look at what made it"
            : "set the seed, and shuffle=False or the sampler's generator");
  if (!inputs.random.empty())
    text += fmt::format("random numbers differ: {}, {}; set the seed before it, or dropout to 0\n",
                        printable(inputs.random), where(inputs.random_site, inputs.random_step));
  if (!text.empty()) return text;
  if (inputs.weights_rounded > 0)
    text =
        fmt::format("{} of {} initial weights are as far apart as a rounding of the lowest dtype\n",
                    inputs.weights_rounded, inputs.weights);
  return text + fmt::format("same inputs: {} and {} of the program's own agree\n",
                            counted(inputs.weights, "weight"), counted(inputs.tensors, "tensor"));
}

std::string rounding_text(const Comparison& comparison, const std::string& name_a,
                          const std::string& name_b) {
  if (comparison.rounding.empty())
    return "no op call is apart by more than a rounding of its own\n";
  std::string text = "what is apart is rounding; most of it comes from\n";
  for (const Divergence& at : comparison.rounding)
    text += fmt::format("  {}\n    {}\n", where(at.site, at.step), explained(at, name_a, name_b));
  return text;
}

std::string places_text(const Comparison& comparison, const std::string& name_a,
                        const std::string& name_b, bool all) {
  const std::vector<Divergence>& places = comparison.places;
  std::string text = fmt::format("first apart: {}\n  {}\n", where(places[0].site, places[0].step),
                                 explained(places[0], name_a, name_b));
  size_t shown = 1;
  for (; shown < places.size() && (all || shown < kMostShown); ++shown)
    text += fmt::format("then: {}\n  {}\n", where(places[shown].site, places[shown].step),
                        explained(places[shown], name_a, name_b));
  if (shown < places.size())
    text +=
        fmt::format("then: … {}; --all lists them\n", counted(places.size() - shown, "more place"));
  return text;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json("infinity"); }

const char* words_of(NumberKind kind) {
  return kind == NumberKind::kWeight     ? "weights after"
         : kind == NumberKind::kGradient ? "gradients in"
                                         : "states in";
}

std::string drift_text(const Drift& drift, const std::string& name) {
  return fmt::format(
      "{}: rank {} has different weights from the first rank after step {}: {}, at most {}: {}\n",
      name, drift.rank, drift.step, counted(drift.weights, "tensor"), apart(drift.distance),
      printable(drift.parameter));
}

Json drifts_json(const std::vector<Drift>& drifts) {
  Json json = Json::array();
  for (const Drift& drift : drifts)
    json.push_back({{"rank", drift.rank},
                    {"step", drift.step},
                    {"count", drift.weights},
                    {"first", drift.parameter},
                    {"distance", number(drift.distance)}});
  return json;
}

std::string module_words(const std::vector<std::string>& modules) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(modules.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + printable(modules[i]);
  return modules.size() > kMost ? text + fmt::format(", … {} in all", modules.size()) : text;
}

std::string bisection_text(const Bisection& bisection, const std::string& name_b) {
  const std::string end =
      fmt::format("{} {}", printable(bisection.op), where(bisection.site, bisection.step));
  if (!bisection.is_apart())
    return fmt::format("nothing to bisect: {} is {}, and {} are rounding\n", end,
                       apart(bisection.before), percent(bisection.allowed));
  std::string text = fmt::format("bisected: {} is {}; {} are rounding\n", end,
                                 apart(bisection.before), percent(bisection.allowed));
  for (const Bisection::Run& run : bisection.runs)
    text += fmt::format("  {}  in Float: {}\n", module_words(run.modules), apart(run.distance));
  if (bisection.found.empty())
    return text + fmt::format(
                      "no set of modules in Float brings it there: the difference comes from "
                      "outside of the {} of {} that compute in 16 bits, or from their inputs\n",
                      counted(bisection.modules, "module"), name_b);
  return text +
         fmt::format(
             "keep in Float: {}\n  it is then {}; these are {} of the op calls of a step{}\n",
             module_words(bisection.found), apart(bisection.after),
             percent(bisection.share.of_calls),
             bisection.share.of_time
                 ? fmt::format(", and {} of their time", percent(*bisection.share.of_time))
                 : "");
}

Json site_json(const Site& site, uint32_t step) {
  return {{"module", site.module},
          {"phase", phase_name(site.phase)},
          {"step", step},
          {"place", recorded_place(site)}};
}

Json bisection_json(const Bisection& bisection) {
  Json json = site_json(bisection.site, bisection.step);
  json["op"] = bisection.op;
  json["distance"] = number(bisection.before);
  json["rounding"] = number(bisection.allowed);
  json["modules"] = bisection.modules;
  json["runs"] = Json::array();
  for (const Bisection::Run& run : bisection.runs)
    json["runs"].push_back({{"in_float", run.modules}, {"distance", number(run.distance)}});
  json["keep_in_float"] = bisection.found;
  json["left"] = number(bisection.after);
  json["share_of_op_calls"] = bisection.share.of_calls;
  if (bisection.share.of_time) json["share_of_time"] = *bisection.share.of_time;
  return json;
}

Json place_json(const Divergence& at) {
  Json json = site_json(at.site, at.step);
  json["cause"] = at.cause == Cause::kAdds       ? "adds"
                  : at.cause == Cause::kBetween  ? "between"
                  : at.cause == Cause::kGradient ? "gradient"
                                                 : "rounding";
  if (at.cause == Cause::kGradient) {
    json["parameter"] = at.parameter;
    json["parameters"] = at.parameters;
  }
  json["op"] = at.op;
  json["dtypes"] = {at.dtype_a, at.dtype_b};
  json["distance"] = number(at.distance);
  json["given"] = number(at.given);
  json["other_number"] = at.has_other_number;
  json["kept_lower"] = at.is_kept_lower;
  if (const auto& off = at.off_a ? at.off_a : at.off_b)
    json["off"] = {{"run", at.off_a ? "before" : "after"},
                   {"gives", number(off->first)},
                   {"in_double", number(off->second)}};
  json["only_before"] = at.only_a;
  json["only_after"] = at.only_b;
  return json;
}

}  // namespace

std::string to_text(const Comparison& comparison, const std::string& name_a,
                    const std::string& name_b, bool all) {
  std::string text = inputs_text(comparison.inputs);
  if (!comparison.inputs.agree() && !all)
    text += "what follows from that is not listed; --all lists it\n";
  else
    text += comparison.places.empty() ? rounding_text(comparison, name_a, name_b)
                                      : places_text(comparison, name_a, name_b, all);
  for (const Named& named : comparison.named)
    text += fmt::format(
        "{} step {}: {}{}\n", words_of(named.kind), named.step, counted(named.count, "tensor"),
        named.distance == 0
            ? ", all equal"
            : fmt::format(", {}{}: {}", std::isinf(named.distance) ? "" : "at most ",
                          apart(named.distance), printable(named.worst)));
  text +=
      fmt::format("{} agree as far as their dtypes round", counted(comparison.agree, "op call"));
  if (comparison.not_judged > 0)
    text += fmt::format(", {} cannot be judged", comparison.not_judged);
  if (comparison.alone_a + comparison.alone_b > 0)
    text += fmt::format(", {} only in {}, {} only in {}", comparison.alone_a, name_a,
                        comparison.alone_b, name_b);
  text += '\n';
  const auto add_first = [&](const std::optional<Divergence>& alone, const std::string& name) {
    if (alone)
      text += fmt::format("first only in {}: {}  {}\n", name, printable(alone->op),
                          where(alone->site, alone->step));
  };
  if (comparison.places.empty()) {
    add_first(comparison.first_alone_a, name_a);
    add_first(comparison.first_alone_b, name_b);
  }
  if (comparison.left_out > 0)
    text += fmt::format("{} without a digest: only strided tensors have one\n",
                        counted(comparison.left_out, "tensor pair"));
  for (const Drift& drift : comparison.drifts_a) text += drift_text(drift, name_a);
  if (name_b != name_a)
    for (const Drift& drift : comparison.drifts_b) text += drift_text(drift, name_b);
  for (const std::string& note : comparison.notes) text += printable(note) + '\n';
  if (comparison.bisection) text += bisection_text(*comparison.bisection, name_b);
  return text;
}

std::string to_json(const Comparison& comparison, const std::string& name_a,
                    const std::string& name_b) {
  const Inputs& inputs = comparison.inputs;
  Json json = {{"schema", 1},
               {"before", name_a},
               {"after", name_b},
               {"apart", comparison.is_apart()},
               {"steps", comparison.steps},
               {"inputs",
                {{"agree", inputs.agree()},
                 {"weights", inputs.weights},
                 {"weights_apart", inputs.weights_apart},
                 {"weights_rounded", inputs.weights_rounded},
                 {"weights_distance", number(inputs.weights_distance)},
                 {"first_weight", inputs.weight},
                 {"tensors", inputs.tensors},
                 {"tensors_apart", inputs.tensors_apart},
                 {"first_tensor_of", inputs.where},
                 {"first_tensor_is_table", inputs.is_table},
                 {"random", inputs.random}}},
               {"places", Json::array()},
               {"rounding", Json::array()},
               {"named", Json::array()},
               {"op_calls",
                {{"agree", comparison.agree},
                 {"not_judged", comparison.not_judged},
                 {"only_before", comparison.alone_a},
                 {"only_after", comparison.alone_b}}},
               {"without_digest", comparison.left_out},
               {"drifts_before", drifts_json(comparison.drifts_a)},
               {"drifts_after", drifts_json(comparison.drifts_b)},
               {"notes", comparison.notes}};
  for (const Divergence& at : comparison.places) json["places"].push_back(place_json(at));
  for (const Divergence& at : comparison.rounding) json["rounding"].push_back(place_json(at));
  for (const Named& named : comparison.named)
    json["named"].push_back(
        {{"step", named.step},
         {"of", std::string(words_of(named.kind), std::strcspn(words_of(named.kind), " "))},
         {"count", named.count},
         {"first", named.worst},
         {"distance", number(named.distance)}});
  if (comparison.bisection) json["bisection"] = bisection_json(*comparison.bisection);
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace dtypecheck::compare
