#include "compare/compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "compare/distance.h"
#include "compare/expected.h"
#include "platform/error.h"
#include "platform/files.h"
#include "trace/builder.h"

namespace dtypecheck::compare {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Digest digest_of(const std::vector<double>& values, Dtype dtype = Dtype::kFloat) {
  Digest digest;
  digest.dtype = dtype;
  digest.count = values.size();
  digest.shape = static_cast<uint32_t>(values.size());
  digest.places = values;
  double sum = 0, squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    ++digest.finite;
    sum += value;
    squares += value * value;
    digest.largest = std::max(digest.largest, std::fabs(value));
  }
  const double finite = std::max<double>(static_cast<double>(digest.finite), 1);
  digest.mean = sum / finite;
  digest.root_mean_square = std::sqrt(squares / finite);
  return digest;
}

TEST_CASE("a distance is relative to the root mean square") {
  CHECK(distance(digest_of({3, 4}), digest_of({3, 4})) == 0.0);
  CHECK(distance(digest_of({1, 1}), digest_of({1.01, 1.01})).value() ==
        Approx(0.01 / 1.01).epsilon(1e-3));
  CHECK(distance(digest_of({0, 0}), digest_of({0, 0})) == 0.0);
  CHECK(distance(digest_of({}), digest_of({})) == 0.0);
}

TEST_CASE("an element that is not among the places shows in the sums") {
  Digest a = digest_of({1, 1, 1, 1}), b = digest_of({1, 1, 1, 9});
  a.places = b.places = {1, 1};
  CHECK(distance(a, b).value() > 0.1);
}

TEST_CASE("a NaN in both at the same place is equal, in one it is not") {
  CHECK(distance(digest_of({1, kNan}), digest_of({1, kNan})) == 0.0);
  CHECK(distance(digest_of({1, kNan}), digest_of({kNan, 1})) == kInfinity);
  CHECK(distance(digest_of({1, kNan}), digest_of({1, 1})) == kInfinity);
  CHECK(distance(digest_of({1, kInfinity}), digest_of({1, -kInfinity})) == kInfinity);
  CHECK(distance(digest_of({1, kInfinity}), digest_of({1, kInfinity})) == 0.0);
}

TEST_CASE("other shapes have no distance") {
  CHECK_FALSE(distance(digest_of({1, 2}), digest_of({1, 2, 3})).has_value());
  Digest turned = digest_of({1, 2});
  turned.shape = 99;
  CHECK_FALSE(distance(digest_of({1, 2}), turned).has_value());
}

std::optional<double> expected(const std::string& op, double given, Dtype dtype,
                               Phase phase = Phase::kForward) {
  const Digest of = digest_of({1, -1, 1, -1}, dtype);
  return expected_distance(op, phase, {{&of, &of, given}}, of, of);
}

TEST_CASE("what an op may add is what its dtype rounds") {
  CHECK(expected("aten::mul", 0, Dtype::kFloat) < 1e-5);
  CHECK(expected("aten::mul", 0, Dtype::kBFloat16) > 0x1p-8);
  CHECK(expected("aten::mul", 0, Dtype::kBFloat16) < 0.01);
  CHECK(expected("aten::mul", 0.01, Dtype::kFloat) > 0.01);
}

TEST_CASE("a power makes as much more of an error as its exponent says") {
  const Digest of = digest_of({0.9, 0.8, 0.9, 0.8});
  const auto of_power = [&](double exponent) {
    const Digest by = digest_of({1, 2, exponent, 1});
    return expected_distance("aten::pow", Phase::kForward, {{&of, &of, 0.001}, {&by, &by, 0}}, of,
                             of);
  };
  CHECK(of_power(100) > 0.1);
  CHECK(of_power(1) < 0.02);
}

TEST_CASE("where one run rounds and the other does not, more is expected than where both do") {
  const Digest narrow = digest_of({1, -1, 1, -1}, Dtype::kBFloat16);
  const Digest wide = digest_of({1, -1, 1, -1});
  const auto other =
      expected_distance("aten::mul", Phase::kForward, {{&wide, &narrow, 0}}, wide, narrow);
  CHECK(other > 0.01);
  CHECK(other < 0.03);
}

TEST_CASE("what cannot be judged is not") {
  CHECK_FALSE(expected("aten::round", 0.01, Dtype::kFloat).has_value());
  CHECK(expected("aten::round", 0, Dtype::kFloat) == 0.0);
  CHECK_FALSE(expected("aten::argmax", 0.01, Dtype::kLong).has_value());
  CHECK_FALSE(
      expected("aten::_foreach_addcdiv_", 0.01, Dtype::kFloat, Phase::kOptimizer).has_value());
  CHECK(expected("aten::div", 0.01, Dtype::kFloat).has_value());
  CHECK_FALSE(expected("aten::mul", kInfinity, Dtype::kFloat).has_value());
}

TEST_CASE("which ops draw random numbers") {
  CHECK(is_random("aten::bernoulli_"));
  CHECK(is_random("aten::randn_like"));
  CHECK(is_random("aten::native_dropout"));
  CHECK_FALSE(is_random("aten::linear"));
}

// A chain of ops in one module: each is given what the one before gave.
DigestedProcess chain(const std::vector<std::pair<std::string, std::vector<double>>>& ops,
                      uint32_t step = 1) {
  DigestedProcess process;
  process.file = "run.dtrace";
  process.is_recorded = true;
  process.digests.push_back(digest_of({1, 2, 3, 4}));
  for (const auto& [op, values] : ops) {
    DigestedCall& call = process.calls.emplace_back();
    call.op = op;
    call.step = step;
    call.site.phase = Phase::kForward;
    call.site.module = "net";
    call.operands = {static_cast<uint32_t>(process.digests.size())};
    process.digests.push_back(digest_of(values));
    call.results = {static_cast<uint32_t>(process.digests.size())};
  }
  return process;
}

Comparison compared(const DigestedProcess& a, const DigestedProcess& b) {
  return compare_values({a}, {b}, "a", "b");
}

TEST_CASE("the op that adds is named, and not those that pass it on") {
  const Comparison comparison =
      compared(chain({{"aten::gelu", {1, 2, 3, 4}}, {"aten::mul", {2, 4, 6, 8}}}),
               chain({{"aten::gelu", {1.1, 2.1, 3, 4}}, {"aten::mul", {2.2, 4.2, 6, 8}}}));
  REQUIRE(comparison.places.size() == 1);
  CHECK(comparison.places[0].op == "aten::gelu");
  CHECK(comparison.places[0].given == 0);
  CHECK(comparison.agree == 1);
}

TEST_CASE("of an op that adds it is said which run Double agrees with") {
  const DigestedProcess a = chain({{"aten::cos", {1, 2, 3, 4}}});
  DigestedProcess b = chain({{"aten::cos", {1.1, 2.1, 3, 4}}});
  b.calls[0].off = {-0.9, 0.4};
  const Comparison comparison = compared(a, b);
  CHECK_THAT(to_text(comparison, "a", "b", false),
             Catch::Matchers::Contains("b is off: it gives -0.9 where Double gives 0.4"));
  CHECK_THAT(to_json(comparison, "a", "b"), Catch::Matchers::Contains("\"run\": \"after\""));
  DigestedProcess both = a;
  both.calls[0].off = {0.1, 0.4};
  const Comparison alike = compared(both, b);
  CHECK(to_text(alike, "a", "b", false).find("is off") == std::string::npos);
}

TEST_CASE("calls of one op that stand in another order are not held against each other") {
  // The branches of the second run are made in another order, each ending in a clone.
  const auto branches = [](bool is_turned) {
    DigestedProcess process = chain({{"aten::sin", {1, 2, 3, 4}}, {"aten::cos", {-5, 6, -7, 8}}});
    process.calls[1].operands = {1};
    const auto clone = [&](uint32_t of, const char* between) {
      if (between) {
        process.digests.push_back(process.digests[of - 1]);
        process.calls.push_back({.op = between,
                                 .site = process.calls[0].site,
                                 .step = 1,
                                 .operands = {of},
                                 .results = {static_cast<uint32_t>(process.digests.size())}});
        of = static_cast<uint32_t>(process.digests.size());
      }
      process.digests.push_back(process.digests[of - 1]);
      process.calls.push_back({.op = "aten::clone",
                               .site = process.calls[0].site,
                               .step = 1,
                               .operands = {of},
                               .results = {static_cast<uint32_t>(process.digests.size())}});
    };
    clone(is_turned ? 3 : 2, is_turned ? "aten::detach_copy" : nullptr);
    clone(is_turned ? 2 : 3, nullptr);
    for (DigestedCall& call : process.calls) call.site.phase = Phase::kBackward;
    return process;
  };
  CHECK(compared(branches(false), branches(true)).places.empty());
}

TEST_CASE("an op that one run alone has is named where it changes what is given") {
  const auto a = chain({{"aten::mul", {1, 2, 3, 4}}, {"aten::tanh", {1, 2, 3, 4}}});
  const auto clamped = chain(
      {{"aten::mul", {1, 2, 3, 4}}, {"aten::clamp", {1, 2, 2, 2}}, {"aten::tanh", {1, 2, 2, 2}}});
  const Comparison comparison = compared(a, clamped);
  REQUIRE(comparison.places.size() == 1);
  CHECK(comparison.places[0].cause == Cause::kBetween);
  CHECK(comparison.places[0].only_b == std::vector<std::string>{"aten::clamp"});
  const auto idle = chain(
      {{"aten::mul", {1, 2, 3, 4}}, {"aten::clamp", {1, 2, 3, 4}}, {"aten::tanh", {1, 2, 3, 4}}});
  CHECK(compared(a, idle).places.empty());
}

TEST_CASE("random ops that draw other numbers are inputs") {
  const Comparison comparison = compared(chain({{"aten::bernoulli", {1, 0, 1, 0}}}),
                                         chain({{"aten::bernoulli", {0, 1, 1, 0}}}));
  CHECK(comparison.places.empty());
  CHECK(comparison.inputs.random == "aten::bernoulli");
  CHECK(comparison.is_apart());
}

TEST_CASE("rounding is listed where a lower dtype stands between, and not where other ops do") {
  const auto with = [](Dtype dtype) {
    DigestedProcess process = chain({{"aten::mul", {1, 2, 3, 4}},
                                     {"aten::exp", {1, 2, 3, 4.0000001}},
                                     {"aten::tanh", {1, 2, 3, 4.0000001}}});
    process.digests[2].dtype = dtype;
    return process;
  };
  const auto a = chain({{"aten::mul", {1, 2, 3, 4}}, {"aten::tanh", {1, 2, 3, 4}}});
  CHECK(compared(a, with(Dtype::kFloat)).rounding.empty());
  const auto low = chain({{"aten::mul", {1, 2, 3, 4}},
                          {"aten::to", {1, 2, 3, 4.01}},
                          {"aten::float", {1, 2, 3, 4.01}},
                          {"aten::tanh", {1, 2, 3, 4.01}}});
  DigestedProcess cast = low;
  cast.digests[2].dtype = Dtype::kBFloat16;
  const Comparison comparison = compared(a, cast);
  CHECK(comparison.places.empty());
  REQUIRE(comparison.rounding.size() == 1);
  CHECK(comparison.rounding[0].only_b.size() == 2);
}

TEST_CASE(
    "what a compiled region gives is held against the ops that stand there in the other run") {
  const auto eager = [](double value) {
    return chain({{"aten::linear", {1, 2, 3, 4}},
                  {"aten::mul", {1, 2, 3, value}},
                  {"aten::tanh", {1, 2, 3, value}}});
  };
  DigestedProcess compiled = eager(4);
  compiled.calls.erase(compiled.calls.begin() + 1);
  CHECK(compared(eager(4.0000001), compiled).places.empty());
  const Comparison comparison = compared(eager(5), compiled);
  REQUIRE(comparison.places.size() == 1);
  CHECK(comparison.places[0].op == "aten::tanh");
  CHECK(comparison.places[0].only_a == std::vector<std::string>{"aten::mul"});
  CHECK(comparison.places[0].only_b.size() == 1);
  CHECK(compared(compiled, eager(5)).places.size() == 1);
}

TEST_CASE("an op of which an operand has no digest is not said to add") {
  DigestedProcess a = chain({{"aten::view_as_real", {1, 2}}}),
                  b = chain({{"aten::view_as_real", {1, 3}}});
  CHECK(compared(a, b).places.size() == 1);
  for (DigestedProcess* process : {&a, &b}) process->calls[0].operands = {0};
  CHECK(compared(a, b).places.empty());
  CHECK(compared(a, b).not_judged == 1);
}

TEST_CASE(
    "sums of other parts of a gradient are not held against each other, and two results are") {
  const auto run = [](const char* between, Phase phase) {
    DigestedProcess process = chain({{"aten::mul", {1, 2, 3, 4}}, {"aten::tanh", {1, 2, 3, 4}}});
    if (between)
      process = chain(
          {{"aten::mul", {1, 2, 3, 4}}, {between, {2, 3, 4, 5}}, {"aten::tanh", {2, 3, 4, 5}}});
    for (DigestedCall& call : process.calls) call.site.phase = phase;
    return process;
  };
  const auto places = [&](const char* between, Phase phase) {
    return compared(run(nullptr, phase), run(between, phase)).places.size();
  };
  CHECK(places("aten::add_", Phase::kBackward) == 0);
  CHECK(places("aten::neg", Phase::kBackward) == 1);
  CHECK(places("aten::add_", Phase::kForward) == 1);
}

TEST_CASE("what a rounding to 16 bits moved may come out later") {
  const auto run = [](double moved, Dtype dtype) {
    DigestedProcess process = chain({{"aten::mul", {1, 2, 3, 4}},
                                     {"aten::neg", {1, 2, 3, 4 + moved / 100}},
                                     {"aten::relu", {1, 2, 3, 4 + moved}}});
    process.digests[2].dtype = dtype;
    return process;
  };
  CHECK(compared(run(0, Dtype::kBFloat16), run(0.003, Dtype::kBFloat16)).places.empty());
  CHECK(compared(run(0, Dtype::kBFloat16), run(0.3, Dtype::kBFloat16)).places.size() == 1);
  CHECK(compared(run(0, Dtype::kFloat), run(0.003, Dtype::kFloat)).places.size() > 0);
}

TEST_CASE(
    "a bias that a step made of rounding hides nothing but what it is added to, by its size") {
  // Two layers in step 1, an optimizer's step that moves one bias otherwise, and they once more.
  const auto run = [](double bias, double of_first, double of_second) {
    DigestedProcess process{.file = "run.dtrace", .steps = 2, .is_recorded = true};
    const auto add = [&](const std::vector<double>& values, const std::string& parameter = "") {
      process.digests.push_back(digest_of(values));
      process.digests.back().parameter = parameter;
      return static_cast<uint32_t>(process.digests.size());
    };
    const uint32_t x = add({1, 2, 3, 4}), k = add({1, 1, 1, 1}, "net.k.weight"),
                   q = add({1, 1, 1, 2}, "net.q.weight");
    const uint32_t moved = add({bias, bias, bias, bias}, "net.k.bias");
    process.calls.push_back({.op = "aten::add_",
                             .site = {.phase = Phase::kOptimizer},
                             .step = 1,
                             .operands = {moved},
                             .results = {moved}});
    const auto layer = [&](const char* module, uint32_t weight, double result) {
      process.calls.push_back({.op = "aten::linear",
                               .site = {.module = module, .phase = Phase::kForward},
                               .step = 2,
                               .operands = {x, weight, moved},
                               .results = {add({result, 2, 3, 4})}});
      if (weight == q) process.calls.back().operands.pop_back();
    };
    layer("net.k", k, of_first);
    layer("net.q", q, of_second);
    return process;
  };
  CHECK(compared(run(1e-4, 1, 1), run(2e-4, 1.0001, 1)).places.empty());
  const Comparison other = compared(run(1e-4, 1, 1), run(2e-4, 1.0001, 1.01));
  REQUIRE(other.places.size() == 1);
  CHECK(other.places[0].site.module == "net.q");
  CHECK(compared(run(1e-4, 1, 1), run(2e-4, 1.1, 1)).places.size() == 1);
  // Nor what stands behind it.
  const auto and_then = [&](double bias, double behind) {
    DigestedProcess process = run(bias, 1, 1);
    process.digests.push_back(digest_of({behind, 2, 3, 4}));
    process.calls.push_back({.op = "aten::relu",
                             .site = process.calls[1].site,
                             .step = 2,
                             .operands = process.calls[1].results,
                             .results = {static_cast<uint32_t>(process.digests.size())}});
    return process;
  };
  CHECK(compared(and_then(1e-4, 1), and_then(2e-4, 1)).places.empty());
  CHECK(compared(and_then(1e-4, 1), and_then(2e-4, 1.0002)).places.size() == 1);
}

TEST_CASE("a mask of another sentinel is named where it makes a difference") {
  // What is masked has the sentinel, and what a softmax makes of that.
  const auto run = [](double sentinel, double behind) {
    return chain({{"aten::mul", {1, 2, 3, 4}},
                  {"aten::masked_fill", {1, 2, 3, sentinel}},
                  {"aten::softmax", {0.09, 0.24, 0.67, behind}}});
  };
  const Comparison other = compared(run(-kInfinity, 0), run(-3, 0.001));
  REQUIRE(other.places.size() == 1);
  CHECK(other.places[0].op == "aten::masked_fill");
  for (const double sentinel : {-1e10, static_cast<double>(std::numeric_limits<float>::lowest())}) {
    const Comparison same = compared(run(-kInfinity, 0), run(sentinel, 0));
    CHECK_FALSE(same.is_apart());
    CHECK(same.agree == 3);
  }
  // What takes the shape alone is no proof.
  DigestedProcess shape = run(-kInfinity, 0), other_shape = run(-1e10, 0);
  for (DigestedProcess* process : {&shape, &other_shape}) process->calls[2].op = "aten::ones_like";
  CHECK(compared(shape, other_shape).places.size() == 1);
  // Of a row that is masked whole -inf makes NaN.
  CHECK(compared(run(-kInfinity, kNan), run(-1e10, 0)).places.size() == 1);
}

TEST_CASE("what two algorithms compute on their way to one result is not named") {
  const auto run = [](const char* alone, double on_its_way, double result) {
    return chain({{"aten::mul", {1, 2, 3, 4}},
                  {alone, {1, 2, 3, on_its_way}},
                  {"aten::neg", {1, 2, 3, on_its_way}},
                  {alone, {1, 2, 3, result}},
                  {"aten::sum", {result}}});
  };
  CHECK_FALSE(compared(run("aten::sin", 4, 7), run("aten::cos", 5, 7)).is_apart());
  CHECK(compared(run("aten::sin", 4, 7), run("aten::cos", 5, 7.1)).places.size() == 1);
}

TEST_CASE("a mask that is given makes a difference or not") {
  const auto run = [](double sentinel, double behind) {
    DigestedProcess process =
        chain({{"aten::add", {1, 2, 3, sentinel}}, {"aten::softmax", {0.09, 0.24, 0.67, behind}}});
    process.digests.push_back(digest_of({0, 0, 0, sentinel}));
    process.calls[0].operands.push_back(static_cast<uint32_t>(process.digests.size()));
    return process;
  };
  CHECK_FALSE(compared(run(-kInfinity, 0), run(-1e10, 0)).is_apart());
  CHECK(compared(run(-kInfinity, 0), run(-3, 0.001)).inputs.tensors_apart == 1);
}

TEST_CASE("a number that the program gives is the op's own, and one that rounding moved is none") {
  const auto run = [](double number, double result) {
    DigestedProcess process = chain({{"aten::add_", {result, 2, 3, 4}}});
    process.digests.push_back(digest_of({number}));
    process.calls[0].operands.push_back(3);
    return process;
  };
  const Comparison comparison = compared(run(1e-8, 1), run(1e-5, 1.1));
  REQUIRE(comparison.places.size() == 1);
  CHECK(comparison.places[0].has_other_number);
  CHECK(comparison.inputs.agree());
  CHECK_FALSE(compared(run(1, 1), run(1.0000001, 1.0000001)).is_apart());
}

TEST_CASE("what one run keeps in a lower dtype is where its rounding comes from") {
  const auto run = [](double kept, Dtype dtype) {
    DigestedProcess process = chain({{"aten::mul_", {kept, 2, 3, 4}}});
    process.digests[0].places[0] = kept;
    process.digests[0].dtype = process.digests[1].dtype = dtype;
    return process;
  };
  const Comparison comparison = compared(run(1, Dtype::kFloat), run(1.004, Dtype::kBFloat16));
  CHECK(comparison.places.empty());
  REQUIRE(comparison.rounding.size() == 1);
  CHECK(comparison.rounding[0].is_kept_lower);
  CHECK(compared(run(1, Dtype::kFloat), run(1, Dtype::kBFloat16)).rounding.empty());
}

TEST_CASE("what an op overwrites is no operand") {
  const auto run = [](double before, double after, const char* op = "aten::copy_") {
    DigestedProcess process = chain({{op, {after, 2, 3, 4}}});
    process.digests.push_back(digest_of({before, 2, 3, 4}));
    process.calls[0].operands = {3, 1};
    return process;
  };
  CHECK_FALSE(compared(run(7, 1), run(70, 1)).is_apart());
  CHECK(compared(run(7, 1), run(70, 1.1)).places.size() == 1);
  // What comes of it is judged, though there was other memory.
  const auto masked = [](double before, double after) {
    DigestedProcess process =
        chain({{"aten::bernoulli_", {1, 0, 1, 1}}, {"aten::mul", {after, 2, 3, 4}}});
    process.digests[0] = digest_of({before, 2, 3, 4});
    return process;
  };
  CHECK_FALSE(compared(masked(7, 1), masked(7e30, 1)).is_apart());
  REQUIRE(compared(masked(7, 1), masked(7e30, 1.1)).places.size() == 1);
}

TEST_CASE("what oneDNN's recurrent layer keeps for its backward pass is no difference") {
  const auto run = [](double workspace, const char* op, double result) {
    DigestedProcess process = chain({{op, {1, 2, 3, 4}}, {"aten::mul", {result, 2, 3, 4}}});
    process.digests.push_back(digest_of({workspace, 2, 3, 4}));
    process.calls[0].operands.push_back(4);
    for (DigestedCall& call : process.calls) call.site.phase = Phase::kBackward;
    return process;
  };
  const char* const layer = "aten::mkldnn_rnn_layer_backward";
  CHECK_FALSE(compared(run(7, layer, 1), run(7e30, layer, 1)).is_apart());
  CHECK(compared(run(7, layer, 1), run(7e30, layer, 1.5)).places.size() == 1);
  CHECK(compared(run(7, "aten::other_backward", 1), run(7e30, "aten::other_backward", 1.5))
            .places.empty());
}

TEST_CASE("a state of a later step is no input where an op was apart before it") {
  const auto run = [](double slope, double state) {
    DigestedProcess process = chain({{"aten::leaky_relu", {slope, 2, 3, 4}}});
    process.digests.push_back(digest_of({state, 2, 3, 4}));
    process.digests.push_back(digest_of({5 * state, 6, 7, 8}));
    process.calls.push_back(process.calls[0]);
    process.calls[1].step = 2;
    process.calls[1].op = "aten::lstm";
    process.calls[1].operands = {3};
    process.calls[1].results = {4};
    return process;
  };
  const Comparison comparison = compared(run(1, 1), run(1.1, 1.5));
  CHECK(comparison.inputs.agree());
  REQUIRE_FALSE(comparison.places.empty());
  CHECK(comparison.places[0].op == "aten::leaky_relu");
  CHECK(compared(run(1, 1), run(1, 1.5)).inputs.tensors_apart == 1);
}

TEST_CASE("an optimizer's average that its first step divides away is named") {
  const auto run = [](double average, Phase phase) {
    DigestedProcess process =
        chain({{"aten::addcmul_", {average, 2, 3, 4}}, {"aten::div", {1, 2, 3, 4}}});
    for (DigestedCall& call : process.calls) call.site.phase = phase;
    return process;
  };
  CHECK(compared(run(1, Phase::kOptimizer), run(1.5, Phase::kOptimizer)).places.size() == 1);
  CHECK(compared(run(1, Phase::kForward), run(1.5, Phase::kForward)).places.empty());
}

TEST_CASE("a product that is added is large as the sum is") {
  const Digest sum = digest_of({1e-10, 1e-10}), factor = digest_of({1e-4, 1e-4}),
               none = digest_of({0, 0});
  const auto expected_of = [&](const Digest& before) {
    return expected_distance("aten::addcmul_", Phase::kOptimizer,
                             {{&before, &before, 0}, {&factor, &factor, 0}, {&factor, &factor, 0}},
                             sum, sum);
  };
  CHECK(expected_of(none) < 1e-5);
  CHECK(expected_of(factor) > 0.1);  // what it is added to cancels
}

TEST_CASE("the first op calls that one run has alone are told where nothing is named") {
  const DigestedProcess with = chain({{"aten::exp", {1, 2, 3, 4}}, {"aten::neg", {1, 2, 3, 4}}}),
                        without = chain({{"aten::exp", {1, 2, 3, 4}}});
  const Comparison comparison = compared(without, with);
  CHECK_FALSE(comparison.first_alone_a);
  REQUIRE(comparison.first_alone_b);
  CHECK(to_text(comparison, "a", "b", false)
            .find("first only in b: aten::neg  net  forward, step 1\n") != std::string::npos);
  CHECK(to_text(compared(with, with), "a", "b", false).find("first only") == std::string::npos);
}

TEST_CASE("a weight that one run casts is where its rounding comes from") {
  const auto run = [](bool is_cast) {
    const std::vector<double> cast = {1, 2, 3, 4.005};
    DigestedProcess process = is_cast ? chain({{"aten::to", cast}, {"aten::exp", cast}})
                                      : chain({{"aten::exp", {1, 2, 3, 4}}});
    process.digests[0].parameter = "net.weight";
    if (is_cast) process.digests[1].dtype = Dtype::kBFloat16;
    return process;
  };
  const Comparison comparison = compared(run(false), run(true));
  CHECK(comparison.places.empty());
  REQUIRE(comparison.rounding.size() == 1);
  CHECK(comparison.rounding[0].op == "aten::exp");
  CHECK(comparison.rounding[0].only_b.size() == 1);
  CHECK(compared(run(true), run(true)).rounding.empty());
}

TEST_CASE("integers, booleans and empty tensors are compared") {
  const auto run = [](Dtype dtype, const std::vector<double>& values) {
    DigestedProcess process = chain({{"aten::bitwise_and", values}});
    process.digests[0].dtype = process.digests[1].dtype = dtype;
    return process;
  };
  for (const Dtype dtype : {Dtype::kLong, Dtype::kBool}) {
    CHECK(compared(run(dtype, {1, 0}), run(dtype, {1, 0})).agree == 1);
    CHECK(compared(run(dtype, {1, 0}), run(dtype, {1, 1})).places.size() == 1);
  }
  CHECK(compared(run(Dtype::kFloat, {}), run(Dtype::kFloat, {})).agree == 1);
}

TEST_CASE("what cannot be compared is an error that says why") {
  const auto a = chain({{"aten::mul", {1, 2, 3, 4}}});
  DigestedProcess without = a, merged = a;
  without.is_recorded = false;
  merged.is_merged = true;
  CHECK_THROWS_WITH(compared(a, without), "b: no digests of values; record it with --values");
  CHECK_THROWS_WITH(compared(a, merged),
                    Catch::Matchers::Contains("a merged trace has no digests"));
  CHECK_THROWS_WITH(compared(a, chain({{"aten::mul", {1, 2, 3, 4}}}, 2)),
                    Catch::Matchers::Contains("have no step in common"));
  CHECK_THROWS_WITH(compared(a, chain({{"aten::conv2d", {1, 2}}})),
                    Catch::Matchers::Contains("have no op call in common"));
}

// What a page of digests is made of, and the trace that holds it. Its one signature is an
// aten::mul.
class PageBuilder {
 public:
  PageBuilder() {
    REQUIRE(file_->create(folder_.path().c_str(), "host", 1, -1) == 0);
    file_->header()->flags = trace::kFlagValues;
    file_->commit_header();
    signature_ = test::TraceBuilder(*file_).signature({.op = "aten::mul"});
  }

  template <typename... Parts>
  PageBuilder& digest(trace::DigestEntry entry, const Parts&... parts) {
    return put(entry, parts...);
  }
  // What the signature's op gave is far off.
  PageBuilder& inexact(double in_double, double given) {
    test::TraceBuilder(*file_).inexact(signature_, in_double, given);
    return *this;
  }
  PageBuilder& call(std::vector<uint32_t> results) {
    trace::DigestedCallEntry entry{};
    entry.header.what = trace::kEntryIsCall;
    entry.signature = signature_;
    entry.result_count = static_cast<uint16_t>(results.size());
    return put(entry, results);
  }

  // The trace's bytes.
  std::string finish() {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    auto* page =
        file_->reserve<trace::DigestPageRecord>(trace::RecordKind::kDigestPage, bytes_.size());
    page->room_bytes = static_cast<uint32_t>(bytes_.size());
    page->first_id = 1;
    page->step = 3;
    std::memcpy(page + 1, bytes_.data(), bytes_.size());
    trace::TraceFile::commit(page->header);
    const std::string path = file_->path();
    file_->finish(1);
    return read_file(path, 1 << 20);
  }

 private:
  template <typename Entry, typename... Parts>
  PageBuilder& put(Entry entry, const Parts&... parts) {
    const size_t begin = bytes_.size();
    bytes_.resize(begin + sizeof entry);
    (add(parts), ...);
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    entry.header.size_bytes = static_cast<uint16_t>(bytes_.size() - begin);
    entry.header.flags |= trace::kEntryIsCommitted;
    std::memcpy(bytes_.data() + begin, &entry, sizeof entry);
    return *this;
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  const test::TemporaryFolder folder_;
  decltype(test::new_trace_file()) file_ = test::new_trace_file();
  uint32_t signature_ = 0;
  std::string bytes_;
};

constexpr uint8_t kHalfCode = static_cast<uint8_t>(Dtype::kHalf);
constexpr uint8_t kFloatCode = static_cast<uint8_t>(Dtype::kFloat);

trace::DigestEntry two_of(uint8_t dtype) {
  trace::DigestEntry entry{};
  entry.count = 2;
  entry.header.what = dtype;
  return entry;
}

// One op call, which names the digest `named`; the first and only one is of `dtype`, and says that
// it is a view of the digest `base`.
std::string trace_bytes(uint8_t dtype, uint32_t named, uint32_t base = 0) {
  PageBuilder page;
  trace::DigestEntry entry = two_of(dtype);
  entry.header.flags = trace::kDigestHasBase;
  page.digest(entry, std::vector<uint32_t>{base}, std::vector<float>{1, 2});
  return page.call({named}).finish();
}

TEST_CASE("a digest of a handful of elements has their sums") {
  PageBuilder page;
  page.digest(two_of(kHalfCode), std::vector<uint16_t>{0x3c00, 0xc200});  // 1 and -3
  const std::string bytes = page.call({1}).finish();
  const DigestedProcess process = read_digest_bytes(bytes.data(), bytes.size(), "x");
  REQUIRE(process.digests.size() == 1);
  const Digest& digest = process.digests[0];
  CHECK(digest.places == std::vector<double>{1, -3});
  CHECK(digest.finite == 2);
  CHECK(digest.mean == -1);
  CHECK(digest.largest == 3);
  CHECK(digest.root_mean_square == Approx(std::sqrt(5.0)));
}

TEST_CASE("what an op is in Double is read with its calls") {
  PageBuilder page;
  page.digest(two_of(kHalfCode), std::vector<uint16_t>{0x3c00, 0xc200});
  const std::string bytes = page.inexact(0.4, -0.9).call({1}).finish();
  const DigestedProcess process = read_digest_bytes(bytes.data(), bytes.size(), "x");
  REQUIRE(process.calls.size() == 1);
  CHECK(process.calls[0].off == std::pair{-0.9, 0.4});
}

TEST_CASE("each bit of a Half is read as IEEE 754 has it") {
  PageBuilder page;
  page.digest(two_of(kHalfCode), std::vector<uint16_t>{0x0001, 0x7bff});
  page.digest(two_of(kHalfCode), std::vector<uint16_t>{0x8000, 0x7c00});
  const std::string bytes = page.call({1, 2}).finish();
  const DigestedProcess process = read_digest_bytes(bytes.data(), bytes.size(), "x");
  CHECK(process.digests[0].places == std::vector<double>{0x1p-24, 65504});
  CHECK(std::signbit(process.digests[1].places[0]));
  CHECK(std::isinf(process.digests[1].places[1]));
  CHECK(process.digests[1].finite == 1);
}

TEST_CASE("a digest of the same elements as another has its numbers, and its own name") {
  PageBuilder page;
  trace::DigestEntry many = two_of(kFloatCode);
  many.count = 4000;
  many.header.flags = trace::kDigestHasNotFinite;
  page.digest(many, std::vector<uint32_t>{3}, std::vector<float>{2, 1, 9},
              std::vector<float>(16, 1));
  many.shape = 7;
  many.header.flags = trace::kDigestIsSame;
  page.digest(many, std::vector<uint32_t>{1});
  const std::string bytes = page.call({2}).finish();
  const DigestedProcess process = read_digest_bytes(bytes.data(), bytes.size(), "x");
  CHECK(process.damaged.empty());
  REQUIRE(process.digests.size() == 2);
  CHECK(process.digests[1].shape == 7);
  CHECK(process.digests[1].finite == 3997);
  CHECK(process.digests[1].root_mean_square == 2);
  CHECK(process.digests[1].places.size() == 16);
}

TEST_CASE("what a page of digests cannot hold is left out, with the byte") {
  const auto damage_of = [](const trace::DigestEntry& entry, const auto&... parts) {
    PageBuilder page;
    page.digest(entry, parts...);
    const std::string bytes = page.call({1}).finish();
    const DigestedProcess process = read_digest_bytes(bytes.data(), bytes.size(), "x");
    CHECK(process.digests.empty());
    REQUIRE(process.calls.size() == 1);
    CHECK(process.calls[0].results == std::vector<uint32_t>{0});
    return process.damaged;
  };
  const auto is_left_out = Catch::Matchers::Contains("digest 1 at byte");
  CHECK_THAT(damage_of(two_of(kFloatCode), std::vector<float>{1}), is_left_out);
  trace::DigestEntry many = two_of(kFloatCode);
  many.count = 4000;
  CHECK_THAT(damage_of(many), is_left_out);
  CHECK_THAT(damage_of(many, std::vector<uint32_t>{0}, std::vector<float>(19, 1)), is_left_out);
  many.header.flags = trace::kDigestHasNotFinite;
  CHECK_THAT(damage_of(many, std::vector<float>(19, 1)), is_left_out);
  CHECK_THAT(damage_of(many, std::vector<uint32_t>{4001}, std::vector<float>(19, 1)), is_left_out);
  trace::DigestEntry same = two_of(kFloatCode);
  same.header.flags = trace::kDigestIsSame;
  CHECK_THAT(damage_of(same, std::vector<uint32_t>{1}), is_left_out);  // of itself
  same.header.flags = trace::kDigestHasName;
  CHECK_THAT(damage_of(same), is_left_out);
}

TEST_CASE("a trace of an older format is an error that says what to do") {
  std::string old = trace_bytes(6, 1);
  trace::FileHeader header;
  std::memcpy(&header, old.data(), sizeof header);
  header.version = 10;
  std::memcpy(old.data(), &header, sizeof header);
  CHECK_THROWS_WITH(
      read_digest_bytes(old.data(), old.size(), "x"),
      Catch::Matchers::Contains("version 10") && Catch::Matchers::Contains("record it again"));
}

TEST_CASE("digests are read as they were written, and what cannot be is left out") {
  const std::string good = trace_bytes(6, 1);
  const DigestedProcess process = read_digest_bytes(good.data(), good.size(), "x");
  CHECK(process.damaged.empty());
  REQUIRE(process.calls.size() == 1);
  CHECK(process.calls[0].op == "aten::mul");
  CHECK(process.calls[0].step == 3);
  CHECK(process.calls[0].results == std::vector<uint32_t>{1});
  REQUIRE(process.digests.size() == 1);
  CHECK(process.digests[0].places == std::vector<double>{1, 2});

  const std::string no_dtype = trace_bytes(200, 1);
  const DigestedProcess damaged = read_digest_bytes(no_dtype.data(), no_dtype.size(), "x");
  CHECK(damaged.damaged.find("digest 1 at byte") != std::string::npos);
  CHECK(damaged.calls[0].results == std::vector<uint32_t>{0});

  const std::string dangling = trace_bytes(6, 77);
  CHECK(read_digest_bytes(dangling.data(), dangling.size(), "x").calls[0].results ==
        std::vector<uint32_t>{0});

  const std::string of_itself = trace_bytes(6, 1, /*base=*/1);  // a loop for who follows it
  CHECK(read_digest_bytes(of_itself.data(), of_itself.size(), "x").digests[0].base == 0);

  for (size_t bytes = 0; bytes < good.size(); bytes += 8) {
    try {
      read_digest_bytes(good.data(), bytes, "x");
    } catch (const InputError&) {  // no header
    }
  }
}

}  // namespace
}  // namespace dtypecheck::compare
