#include "compare/bisect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "platform/error.h"

namespace dtypecheck::compare {
namespace {

using Names = std::vector<std::string>;

// A run whose calls are made in these modules, each with a result in 16 bits.
DigestedProcess process_of(const Names& modules, Dtype dtype = Dtype::kBFloat16) {
  DigestedProcess process;
  process.digests.push_back(
      {.dtype = dtype, .count = 2, .finite = 2, .root_mean_square = 1, .places = {1, 1}});
  process.digests.push_back(
      {.dtype = Dtype::kFloat, .count = 1, .finite = 1, .root_mean_square = 1, .places = {1}});
  for (const std::string& module : modules)
    process.calls.push_back({.op = "aten::linear",
                             .site = {.module = module, .phase = Phase::kForward},
                             .step = 1,
                             .operands = {1},
                             .results = {1}});
  return process;
}

// n leaves in pairs: "net.0.a", "net.0.b", "net.0", …, "net".
Names tree_of(size_t pairs) {
  Names calls = {"net"};
  for (size_t i = 0; i < pairs; ++i) {
    const std::string pair = "net." + std::to_string(i);
    for (const std::string& module : {pair, pair + ".a", pair + ".b"}) calls.push_back(module);
  }
  return modules_in_16_bits(process_of(calls));
}

bool covers(const Names& chosen, const std::string& module) {
  return std::any_of(chosen.begin(), chosen.end(), [&](const std::string& outer) {
    return module == outer || module.starts_with(outer + ".");
  });
}

struct Asked {
  std::optional<Names> found;
  size_t runs = 0;
};

Asked search(const Names& modules, const Names& needed, const std::string& guess = "") {
  Asked asked;
  asked.found = smallest_set(modules, guess, [&](const Names& chosen) {
    ++asked.runs;
    return std::all_of(needed.begin(), needed.end(),
                       [&](const std::string& module) { return covers(chosen, module); });
  });
  return asked;
}

TEST_CASE("modules stand behind what is in them, by their first calls") {
  CHECK(modules_in_16_bits(
            process_of({"net", "net.b", "net.b.x", "net.a", "net.b", "", "other.z"})) ==
        Names{"net.b.x", "net.b", "net.a", "net", "other.z"});
  CHECK(modules_in_16_bits(process_of({"net.a"}, Dtype::kFloat)).empty());
}

TEST_CASE("of modules in one another the outermost is left") {
  CHECK(outermost({"net.a.b", "net.a", "net.ab", "net.a.b.c"}) == Names{"net.a", "net.ab"});
}

TEST_CASE("each module is found in log2(n) + 3 runs, whatever is guessed") {
  const Names modules = tree_of(20);
  REQUIRE(modules.size() == 61);
  for (const std::string& needed : modules) {
    for (const std::string guess : {"", "net.7", "net.3.a", "nothing"}) {
      const Asked asked = search(modules, {needed}, guess);
      CHECK(asked.found == Names{needed});
      CHECK(static_cast<double>(asked.runs) <= std::ceil(std::log2(61)) + 3);
    }
    CHECK(search(modules, {needed}, needed).runs <= 3);
  }
}

TEST_CASE("two modules are found where both are needed") {
  const Names modules = tree_of(20);
  CHECK(search(modules, {"net.3.a", "net.17"}).found == Names{"net.17", "net.3.a"});
  CHECK(search(modules, {"net.3.a", "net.3.b"}).found == Names{"net.3.a", "net.3.b"});
}

TEST_CASE("where more are needed than are looked for, the range that has them is named") {
  const Names modules = tree_of(20);
  Names needed;
  for (size_t i = 3; i < 12; ++i) needed.push_back("net." + std::to_string(i) + ".a");
  const auto found = search(modules, needed).found;
  REQUIRE(found);
  for (const std::string& module : needed) CHECK(covers(*found, module));
  CHECK_FALSE(covers(*found, "net.15.a"));
}

TEST_CASE("what no module computes is not found") {
  const Asked asked = search(tree_of(20), {"elsewhere"});
  CHECK_FALSE(asked.found);
  CHECK(asked.runs == 1);
}

// The loss, after which ones_like() begins the backward pass, and a norm of gradients behind it.
DigestedProcess with_end(DigestedProcess process) {
  for (const char* op : {"aten::mse_loss", "aten::ones_like"})
    process.calls.push_back(
        {.op = op, .site = {.phase = Phase::kForward}, .step = 1, .operands = {1}, .results = {2}});
  process.calls.push_back({.op = "aten::mm",
                           .site = {.phase = Phase::kBackward},
                           .step = 1,
                           .operands = {1},
                           .results = {1}});
  process.calls.push_back({.op = "aten::norm",
                           .site = {.phase = Phase::kForward},
                           .step = 1,
                           .operands = {1},
                           .results = {2}});
  return process;
}

TEST_CASE("a step ends in its loss, or in its last result") {
  CHECK(end_of(with_end(process_of({"net"})), 1)->call->op == "aten::mse_loss");
  CHECK(end_of(process_of({"net", "net.a"}), 1)->call->site.module == "net.a");
  CHECK_FALSE(end_of(process_of({"net"}), 2));
}

TEST_CASE("a bisection runs only what is apart, and says what is left") {
  DigestedProcess a = with_end(process_of({"net", "net.a", "net.b"})), b = a;
  size_t runs = 0;
  const auto run = [&](const Names& modules, uint32_t step) {
    ++runs;
    CHECK(step == 1);
    DigestedProcess made = a;
    made.is_recorded = true;
    if (!covers(modules, "net.b")) made.digests[1] = b.digests[1];
    return std::vector<DigestedProcess>{made};
  };
  CHECK_FALSE(bisect(a, b, {1}, "", run).is_apart());
  CHECK(runs == 0);

  b.digests[1].places = {1.1};
  const Bisection bisection = bisect(a, b, {1}, "net.a", run);
  CHECK(bisection.is_apart());
  CHECK(bisection.found == Names{"net.b"});
  CHECK(bisection.before == Approx(0.1));
  CHECK(bisection.after == 0);
  CHECK(bisection.runs.size() == runs);
  CHECK(bisection.share.of_calls == Approx(1.0 / 7));
  CHECK_FALSE(bisection.share.of_time.has_value());

  a.digests[1].finite = 0;
  CHECK_THROWS_AS(bisect(a, b, {1}, "", run), InputError);
  CHECK_THROWS_AS(bisect(b, with_end(process_of({"net"}, Dtype::kFloat)), {1}, "", run),
                  InputError);
}

}  // namespace
}  // namespace dtypecheck::compare
