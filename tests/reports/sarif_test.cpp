// SARIF of a run: what code scanning shows of a result, and what it refuses.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/reports/cases.h"

namespace dtypecheck::reports {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

static Json run_of(const Report& report) {
  return Json::parse(written(report, "sarif"))["runs"][0];
}

TEST_CASE("a result says why, the cure, and where the dtypes are from") {
  const Case made = load_case("half_float_addmm");
  const Json result = run_of(*made.report)["results"][0];
  const std::string text = result["message"]["text"];
  CHECK(text.starts_with("Half input meets a Float weight.\n"));
  CHECK_THAT(text, Contains("Why: autocast is off for cpu:Half") &&
                       Contains("Try: run the UNet under autocast"));
  CHECK(result["properties"]["module"] == "unet.time_embedding.linear_1");
  CHECK(result["properties"]["operands"][1]["dtype"] == "Half");
  CHECK(result["properties"]["operands"][1]["odd"] == true);
  const Json& related = result["relatedLocations"];
  REQUIRE(related.size() == 2);
  CHECK(related[0]["message"]["text"] == "mat1 is Half from here: aten::_to_copy");
  CHECK(related[0]["physicalLocation"]["region"]["startLine"] == 1042);
}

TEST_CASE("a region is as wide as its line where that is known") {
  const Case made = load_case("half_float_addmm");
  made.report->line_text = [](const std::string&, int line) {
    return line == 1065 ? "    \xc3\xa4\xf0\x9f\x98\x80 = unet(x)  " : "";  // "ä😀": 1 and 2 units
  };
  const Json region =
      run_of(*made.report)["results"][0]["locations"][0]["physicalLocation"]["region"];
  CHECK(region["startColumn"] == 5);
  CHECK(region["endColumn"] == 5 + 3 + 10);
  made.report->line_text = nullptr;
  const Json unknown =
      run_of(*made.report)["results"][0]["locations"][0]["physicalLocation"]["region"];
  CHECK(unknown["startColumn"] == 1);
  CHECK(unknown["endColumn"] == 2);
}

TEST_CASE("only what was proven is a fix") {
  const Case made = load_case("half_float_addmm");
  Finding& finding = made.report->findings[0];
  CHECK_THAT(std::string(run_of(*made.report)["results"][0]["message"]["text"]), Contains("Try: "));
  finding.proof = "proven: 3 steps to its end";
  finding.diff = "-old\n+new\n";
  const std::string text = run_of(*made.report)["results"][0]["message"]["text"];
  CHECK_THAT(text,
             Contains("(proven: 3 steps to its end)") && Contains("Fix: ") && Contains("+new"));
  finding.is_workaround = true;
  CHECK_THAT(std::string(run_of(*made.report)["results"][0]["message"]["text"]),
             Contains("Workaround: ") && !Contains("Fix: "));
}

TEST_CASE("no more results than code scanning shows, and what is missing is said") {
  const Case made = load_case("half_float_addmm");
  const Finding one = made.report->findings[0];
  for (int i = 0; i < 5001; ++i) {
    made.report->findings.push_back(one);
    made.report->findings.back().id = fmt::format("more-{}", i);
  }
  const Json run = run_of(*made.report);
  CHECK(run["results"].size() == 5000);
  CHECK_THAT(run["invocations"][0]["toolExecutionNotifications"].dump(),
             Contains("2 less severe results are left out"));
}

TEST_CASE("beside a baseline each result is new, and without one nothing says what it is") {
  const Case made = load_case("half_float_addmm");
  CHECK_FALSE(run_of(*made.report)["results"][0].contains("baselineState"));
  made.report->is_beside_baseline = true;
  const Json run = run_of(*made.report);
  for (const Json& result : run["results"]) CHECK(result["baselineState"] == "new");
}

TEST_CASE("a rule's help holds no syntax of tests") {
  const Case made = load_case("half_float_addmm");
  CHECK_THAT(run_of(*made.report)["tool"]["driver"]["rules"][0]["help"].dump(),
             Contains("Cast the odd operand") && !Contains("op aten::addmm"));
}

}  // namespace dtypecheck::reports
