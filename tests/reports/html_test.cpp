// The page: what it says without its script, what it holds of hostile input, how large it gets.
// check_html.py reads it as a browser's parser does.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "reports/cast_table.h"
#include "reports/html_writer.h"
#include "tests/reports/cases.h"
#include "trace/text.h"

namespace dtypecheck::reports {

using Catch::Matchers::Contains;

static nlohmann::json data_of(const std::string& page) {
  const std::string begin_mark = "<script type=\"application/json\" id=\"op-calls\">";
  const size_t begin = page.find(begin_mark) + begin_mark.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST_CASE("no recorded string becomes markup") {
  const std::string page = written(*load_case("hostile").report, "html");
  for (const char* raw : {"<script>alert", "<img", "</td></main><!--", "onerror=alert(1)\"", "\x1b",
                          "\x07", "\xff", "\xe2\x80\xae", "\xe2\x81\xa6", "\xc2\x9b"}) {
    INFO(raw);
    CHECK(page.find(raw) == std::string::npos);
  }
  CHECK_THAT(page, Contains("&lt;script&gt;alert(3)&lt;/script&gt;"));  // it is there, as text
  CHECK_THAT(page, Contains("\\u202egnp.exe"));
}

TEST_CASE("a data block cannot be ended from inside") {
  HtmlWriter html;
  html.data_block("d", R"(["</script><!--<script>&"])");
  CHECK(html.html() == R"(<script type="application/json" id="d">["\u003c/script\u003e)"
                       R"(\u003c!--\u003cscript\u003e\u0026"]</script>)");
}

TEST_CASE("headline and findings need no script") {
  const std::string page = written(*load_case("half_float_addmm").report, "html");
  CHECK_THAT(page, Contains("1 error, 0 warnings, 0 notes") && Contains("in 41,312 op calls"));
  CHECK_THAT(page, Contains("Half input meets a Float weight") && Contains("odd one out") &&
                       Contains("train.py:1042") && Contains("emb = emb.to(weight_dtype)"));
}

TEST_CASE("a page about source has no steps and no op calls, and notes further places") {
  const Case made = load_case("half_float_addmm");
  made.report->scan = SourceScan{.analysed = 1, .functions = 2};
  made.report->findings[0].places = {{{"scale.cpp", 7, "scale"}, 3, 9, "x is read here"}};
  const std::string page = written(*made.report, "html");
  const size_t main = page.find("<main>");
  const std::string shown = page.substr(main, page.find("</main>") - main);
  CHECK_THAT(shown, !Contains("id=\"steps\"") && !Contains("id=\"ops\"") && !Contains("#op:"));
  CHECK_THAT(shown, Contains("scale.cpp:7</span> x is read here"));
}

static size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

static std::string health_of_page(const reports::Report& report) {
  const std::string page = written(report, "html");
  const size_t begin = page.find("id=\"health\"");
  return begin == page.npos ? "" : page.substr(begin, page.find("</section>", begin) - begin);
}

TEST_CASE("the health of a run is a line for each of its rows, without a script") {
  const Case made = load_case("half_float_addmm");
  CHECK(health_of_page(*made.report).empty());
  Run& run = *made.run;
  run.health_steps = {{0, 1, 0, 0, 65536}, {0, 9, 2, 0, 1024}};
  run.health = {
      {0,
       HealthRole::kActivation,
       Dtype::kHalf,
       "net.<b>mid",
       1,
       {{1, 12, 0, 0}, {9, 25600, 0.5, 0}}},
      {0, HealthRole::kGradient, Dtype::kFloat, "net.<b>mid", 1, {{9, 2e-6, 0, 1 / 255.0}}},
      {0, HealthRole::kWeight, Dtype::kBFloat16, "net.<b>mid", 1, {{1, 1, 0, 0}, {9, 1, 1, 0}}},
      {0, HealthRole::kState, Dtype::kFloat, "net.last", 1, {}}};
  const std::string shown = health_of_page(*made.report);
  CHECK_THAT(shown, Contains("net.&lt;b&gt;mid") && !Contains("net.last") && !Contains("<script"));
  CHECK_THAT(shown,
             Contains("12 to 25,600") && Contains("50 % are 0") && Contains("100 % did not move"));
  CHECK_THAT(shown, Contains("2.0e-06") && Contains("under 1 % NaN or infinite"));
  CHECK_THAT(shown, Contains("scaled by 65536 at first and by 1024 at last; 2 steps left out"));
  CHECK(count_of(shown, "<polyline") == 3);
  CHECK(count_of(shown, "class=\"beyond\"") == 1);
  CHECK(count_of(shown, "class=\"end\"") == 1);
  CHECK(count_of(shown, "<details") == 0);
}

TEST_CASE("of many modules those come first that are nearest to the end of their dtype") {
  const Case made = load_case("half_float_addmm");
  Run& run = *made.run;
  run.health_steps = {{0, 1, 0, 0, 0}};
  for (int i = 0; i < 400; ++i) {
    run.health.push_back({0,
                          HealthRole::kActivation,
                          Dtype::kHalf,
                          "net." + std::to_string(i),
                          1,
                          {{1, 10.0 + (i * 7 % 400), 0, 0}}});
  }
  const std::string shown = health_of_page(*made.report);
  const size_t all = shown.find("<details");
  CHECK(count_of(shown.substr(0, all), "<polyline") == 12);
  CHECK_THAT(shown.substr(0, all), Contains("net.57<") && !Contains("net.0<"));  // 7 * 57 = 399
  CHECK(count_of(shown.substr(all), "<polyline") == 300);
  CHECK_THAT(shown, Contains("and 100 modules whose numbers stay farther"));
  for (HealthRow& row : run.health) row.points = {{1, 1, 0, 1}};  // all alike
  const std::string alike = health_of_page(*made.report);
  CHECK(count_of(alike.substr(alike.find("<details")), "<polyline") == 300);
}

TEST_CASE("op calls are all in the data, in as few bytes as a column needs") {
  const Case made = large_case(20000);
  const std::string page = written(*made.report, "html");
  const nlohmann::json data = data_of(page);
  CHECK(data["size"] == 20000);
  const nlohmann::json op = data["columns"]["op"];  // of three
  CHECK(op["width"] == 1);
  CHECK(op["bytes"].get<std::string>().size() == (20000 + 2) / 3 * 4);
  CHECK(op["bytes"].get<std::string>().starts_with("AAECAAECAAEC"));  // 0 1 2 0 1 2 …
  CHECK(data["strings"][op["base"].get<size_t>() + 1] == "aten::convolution");
  CHECK(data["columns"]["count"]["width"] == 2);
  CHECK(data["columns"]["process"].is_number());  // one for all
  CHECK_THAT(page, Contains("the first 100 of 20,000 signatures"));
  CHECK(page.size() < 2 << 20);
}

TEST_CASE("thousands of findings do not make a page that cannot be opened") {
  Case made = large_case(5000);
  for (OpCallId id = 1; id <= 5000; ++id) {
    Finding finding;
    finding.id = std::to_string(id);
    finding.call = id;
    made.report->findings.push_back(finding);
  }
  const std::string page = written(*made.report, "html");
  CHECK(page.size() < 6 << 20);
  CHECK_THAT(page, Contains("the first 300 of 5,005 findings; --format json has all"));
}

// Of a step that casts at so many lines.
static std::string bill_of(int lines) {
  std::string text = "process steps=2\n";
  for (int line = 1; line <= lines; ++line) {
    text += "op aten::_to_copy self=Float[2,4] -> Half[2,4] at train.py:" + std::to_string(line) +
            " phase forward step 1-2 count 2\n";
  }
  const Run run = parse_trace_text(text, "test").run;
  const std::string page = written(Report{.run = run}, "html");
  const size_t begin = page.find("id=\"casts\"");
  return page.substr(begin, page.find("</section>", begin) - begin);
}

TEST_CASE("the cast bill folds its further lines away, and has no column that is empty in all") {
  const std::string few = bill_of(12);
  CHECK_THAT(few, Contains("train.py:12<") && !Contains("more line"));
  CHECK_THAT(few, Contains("bytes moved") && !Contains(">CPU<") && !Contains(">GPU<"));
  const std::string many = bill_of(13);
  CHECK_THAT(many, Contains("<summary>3 more lines</summary>"));
  CHECK(many.find("train.py:10<") < many.find("<details>"));
  CHECK(many.find("train.py:13<") > many.find("<details>"));
}

TEST_CASE("a time has digits that people read") {
  CHECK(nanoseconds_text(800) == "1 us");
  CHECK(nanoseconds_text(1.6e6) == "1.6 ms");
  CHECK(nanoseconds_text(9.96e6) == "10 ms");
  CHECK(nanoseconds_text(230e6) == "230 ms");
  CHECK(nanoseconds_text(999.6e6) == "1.0 s");
}

}  // namespace dtypecheck::reports
