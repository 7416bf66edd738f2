#include <catch2/catch.hpp>
#include <limits>
#include <sstream>

#include "compare/compare.h"

namespace dtypecheck::compare {
namespace {

// One call in each of two modules, whose results are this.
DigestedProcess process_of(double value, const std::string& module) {
  DigestedProcess process;
  process.file = "x.dtrace";
  process.is_recorded = true;
  for (const double each : {1.0, value}) {
    const bool is_finite = each < std::numeric_limits<double>::infinity();
    process.digests.push_back({.dtype = Dtype::kFloat,
                               .count = 1,
                               .finite = is_finite ? 1u : 0u,
                               .root_mean_square = is_finite ? each : 0,
                               .largest = is_finite ? each : 0,
                               .places = {each}});
  }
  process.calls = {{.op = "aten::relu",
                    .site = {.module = "net", .phase = Phase::kForward},
                    .step = 1,
                    .operands = {1},
                    .results = {1}},
                   {.op = "aten::relu",
                    .site = {.module = module, .phase = Phase::kForward},
                    .step = 1,
                    .operands = {1},
                    .results = {2}}};
  return process;
}

std::string page_of(double a, double b, const std::string& module = "net.inner") {
  const std::vector<DigestedProcess> before = {process_of(a, module)},
                                     after = {process_of(b, module)};
  std::ostringstream out;
  write_html(compare_values(before, after, "old", "new"), before[0], after[0], "old", "new", out);
  return out.str();
}

bool has(const std::string& page, const std::string& text) { return page.find(text) != page.npos; }

TEST_CASE("a module that adds is coloured, with all that it is in, and its op calls are there") {
  const std::string page = page_of(2, 3);
  CHECK(has(page, "The numbers of the two runs differ"));
  CHECK(has(page, R"(<a href="#module-0">net</a></th><td class="shade farthest">33 % adds</td>)"));
  CHECK(
      has(page, R"(<a href="#module-1">inner</a></th><td class="shade farthest">33 % adds</td>)"));
  CHECK(has(page, R"(<div class="pairs" id="module-1"><h3>net.inner</h3>)"));
  CHECK(has(page, "<td>Float rms 2 largest 2</td><td>Float rms 3 largest 3</td>"));
}

TEST_CASE("what agrees is not marked, and is one line") {
  const std::string page = page_of(2, 2);
  CHECK(has(page, "agree as far as their dtypes round"));
  CHECK(has(page, R"(net</a><span class="quiet">, with all in it</span></th>)"
                  R"(<td class="shade none">=</td>)"));
  CHECK_FALSE(has(page, ">inner</a>"));
  CHECK_FALSE(has(page, " adds</td>"));
}

TEST_CASE("what is not finite in one run alone is said") {
  const std::string page = page_of(2, std::numeric_limits<double>::infinity());
  CHECK(has(page, R"(<td class="shade failed">not finite adds</td>)"));
  CHECK(has(page, "1 of 1 not finite"));
}

TEST_CASE("a module's name is text on the page") {
  const std::string page = page_of(2, 3, "net.<script>alert(1)</script>");
  CHECK_FALSE(has(page, "<script>alert"));
  CHECK(has(page, "&lt;script&gt;alert(1)"));
}

TEST_CASE("a call of one run alone stands beside nothing") {
  const std::vector<DigestedProcess> before = {process_of(2, "net.a")},
                                     after = {process_of(2, "net.b")};
  const Comparison comparison = compare_values(before, after, "old", "new");
  REQUIRE(comparison.calls.size() == 3);
  CHECK((comparison.calls[1].a && !comparison.calls[1].b));
  CHECK((!comparison.calls[2].a && comparison.calls[2].b));
  std::ostringstream out;
  write_html(comparison, before[0], after[0], "old", "new", out);
  CHECK(has(out.str(), "in one run alone"));
}

}  // namespace
}  // namespace dtypecheck::compare
