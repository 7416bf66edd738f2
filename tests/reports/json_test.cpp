// What the JSON report does beyond its goldens and its schema.
#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/reports/cases.h"

namespace dtypecheck::reports {

using Json = nlohmann::json;

static Json json_of(const Report& report) { return Json::parse(written(report, "json")); }

TEST_CASE("names of the design are where programs look for them") {
  const Json json = json_of(*load_case("half_float_addmm").report);
  const Json& finding = json["findings"][0];
  CHECK(finding["location"]["file"] == "train.py");
  CHECK(finding["location"]["line"] == 1065);
  CHECK(finding["location"]["inner"]["line"] == 1304);
  CHECK(finding["op"] == "aten::addmm");
  CHECK(finding["autocast"]["cpu"].is_null());
  CHECK(finding["operands"][1]["odd"] == true);
  CHECK(finding["operands"][1]["origin"][0]["line"] == 1042);
  CHECK(json["summary"]["op_calls"] == 41312);
}

TEST_CASE("any bytes give JSON, in ASCII") {
  const std::string text = written(*load_case("hostile").report, "json");
  CHECK(Json::parse(text)["findings"].size() == 2);
  for (const char c : text) REQUIRE((c == '\n' || (c >= 0x20 && c < 0x7f)));
}

TEST_CASE("numbers that JSON does not have become words") {
  Case made = load_case("clean");
  Run& run = *made.run;
  run.calls[0].scalars = {{"a", std::numeric_limits<double>::infinity(), {}},
                          {"b", std::numeric_limits<double>::quiet_NaN(), {}},
                          {"c", 1e-8, {}},
                          {"d", 0, Dtype::kHalf}};
  Finding finding;
  finding.call = 1;
  made.report->findings = {finding};
  const Json scalars = json_of(*made.report)["findings"][0]["scalars"];
  CHECK(scalars == Json({{"a", "inf"}, {"b", "nan"}, {"c", 1e-8}, {"d", "Half"}}));
}

TEST_CASE("versions that differ between processes are not made one") {
  Case made = load_case("partial");
  CHECK(json_of(*made.report)["runtime"]["libtorch"] == "2.11.0");
  made.run->processes[1].libtorch = "2.6.0";
  CHECK(json_of(*made.report)["runtime"]["libtorch"].is_null());
  CHECK(json_of(*made.report)["processes"][1]["libtorch"] == "2.6.0");
}

TEST_CASE("what points nowhere is left out, not followed") {
  Case made = load_case("clean");
  Finding finding;
  finding.call = 1000;
  finding.related = {0, 1, 1000};
  finding.process = 1000;
  made.report->findings = {finding};
  made.run->calls[0].operands[0].origin = 1000;
  made.run->calls[0].process = 1000;
  const Json json = json_of(*made.report)["findings"][0];
  CHECK(json["op"].is_null());
  CHECK(json["related"].size() == 1);
  CHECK_FALSE(written(*made.report, "text").empty());
  CHECK_FALSE(written(*made.report, "html").empty());
}

}  // namespace dtypecheck::reports
