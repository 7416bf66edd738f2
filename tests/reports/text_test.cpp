// What the text report does beyond what its goldens show: width, colour, --all, long lists.
#include "trace/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "platform/printable.h"
#include "reports/cast_table.h"
#include "reports/formatting.h"
#include "reports/summary.h"
#include "tests/reports/cases.h"

namespace dtypecheck::reports {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

static std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A path, or a name of a module that is nearly as long as the line: they stay in one piece.
static bool holds_a_long_name(const std::string& line, size_t columns) {
  if (line.find('/') != line.npos || line.find("onerror=") != line.npos)
    return display_width(line) <= kLongestName;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (display_width(word) + 32 > columns && word.find_first_of("/._") != word.npos) return true;
  }
  return false;
}

TEST_CASE("no line is wider than the terminal, but for names that are") {
  const std::string name = GENERATE(from_range(case_names()));
  const int columns = GENERATE(60, 80, 100);
  const Case made = load_case(name);
  made.report->columns = columns;
  made.report->all = GENERATE(false, true);
  for (const std::string& line : lines_of(written(*made.report, "text"))) {
    INFO(name << " in " << columns << " columns: " << line);
    const auto width = static_cast<size_t>(columns);
    CHECK((display_width(line) <= width || holds_a_long_name(line, width)));
  }
}

TEST_CASE("a program without debug information is said to have none") {
  const Case made = load_case("half_float_addmm");
  SourceLine& line = made.report->findings.front().site.line;
  const auto told = [&] { return fmt::format("{}", fmt::join(caveats(*made.report), "\n")); };
  line = {.function = "trainer: Net::forward+0x1a2"};
  CHECK_THAT(told(), Contains("trainer has no debug information"));
  line = {.file = "net.cpp", .line = 3, .function = "trainer: Net::forward+0x1a2"};
  CHECK_THAT(told(), !Contains("debug information"));
}

TEST_CASE("places are links to files that are there") {
  const Case made = load_case("half_float_addmm");
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::create_directory(here / "linked");
  std::ofstream(here / "linked/train.py") << "pass\n";
  Finding& finding = made.report->findings.front();
  finding.site.line.file = here / "linked/train.py";
  const std::string line = std::to_string(finding.site.line.line);
  const std::string plain = written(*made.report, "text");
  CHECK_THAT(plain, !Contains("\x1b]8"));
  made.report->links = true;
  const std::string text = "\x1b\\linked/train.py:" + line + "\x1b]8;;\x1b\\";
  CHECK_THAT(written(*made.report, "text"),
             Contains("\x1b]8;;file://") && Contains("/linked/train.py#" + line + text));
  finding.site.line.file = here / "nowhere/train.py";
  CHECK_THAT(written(*made.report, "text"), !Contains("nowhere/train.py#"));
}

TEST_CASE("a report fits on a screen unless all of it is asked for") {
  const Case few = load_case("half_float_addmm");
  CHECK(lines_of(written(*few.report, "text")).size() <= 24);
  const Case many = load_case("many");
  const std::string text = written(*many.report, "text");
  CHECK(lines_of(text).size() <= 30);
  CHECK_THAT(text, Contains("--all"));
  many.report->all = true;
  const std::string all = written(*many.report, "text");
  CHECK_THAT(all, Contains("in layer 13") && !Contains("--all"));
  CHECK(lines_of(all).size() > 100);
}

static size_t row_of(const std::vector<std::string>& lines, const std::string& part) {
  const auto at = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(part) != line.npos;
  });
  REQUIRE(at != lines.end());
  return static_cast<size_t>(at - lines.begin());
}

TEST_CASE("what to act on comes first: the line, the odd operand and the advice") {
  const Case made = load_case("half_float_addmm");
  made.report->all = GENERATE(false, true);
  const auto lines = lines_of(written(*made.report, "text"));
  CHECK(row_of(lines, "train.py:1065") < row_of(lines, "    > mat1"));
  CHECK(row_of(lines, "    > mat1") < row_of(lines, "  try   run the UNet"));
  for (const char* further :
       {"inside diffusers", "addmm raised", "      bias", "      mat2", "why   "})
    CHECK(row_of(lines, "  try   run the UNet") < row_of(lines, further));
}

TEST_CASE("advice shows the line to change where that is another one") {
  const Case made = load_case("half_float_addmm");
  Finding& finding = made.report->findings.front();
  finding.cures = {{.where = {"train.py", 1042, "main"}, .text = finding.fix}};
  const auto said = [&] {
    const auto lines = lines_of(written(*made.report, "text"));
    return lines[row_of(lines, "  try   ") + 1];
  };
  CHECK(said() == "    emb = emb.to(weight_dtype)");
  finding.cures.front().where = finding.site.line;
  CHECK(said() != "    emb = emb.to(weight_dtype)");
}

TEST_CASE("a terminal that the report scrolls out of ends in the verdict and the advice") {
  const Case made = load_case("half_float_addmm");
  Report& report = *made.report;
  const auto height = lines_of(written(report, "text")).size();
  report.rows = static_cast<int>(height) + 2;
  CHECK(lines_of(written(report, "text")).size() == height);
  report.rows = static_cast<int>(height) + 1;
  const auto advised = lines_of(written(report, "text"));
  REQUIRE(advised.size() == height + 1);
  CHECK_THAT(advised[height - 1], StartsWith("1 error, 0 warnings"));
  CHECK_THAT(advised[height], StartsWith("  try   run the UNet under autocast"));

  // The line is shown where the advice names it; a name that is wider than the terminal is cut.
  Finding& finding = report.findings.front();
  const std::string advice = finding.fix, name = std::string(60, 'x') + "." + std::string(60, 'y');
  finding.fix = "cast emb to Half, train.py:1042";
  finding.cures = {{.where = {"train.py", 1042, "main"}, .text = finding.fix}};
  CHECK(lines_of(written(report, "text")).back() == "    emb = emb.to(weight_dtype)");
  finding.fix = finding.cures.front().text = "make " + name + " in Half";
  const auto cut = lines_of(written(report, "text"));
  CHECK(cut.back().find(" in Half") != std::string::npos);
  for (size_t i = row_of(cut, "1 error, 0 warnings"); i < cut.size(); ++i)
    CHECK(cut[i].find(name) == std::string::npos);
  CHECK(written(report, "text").find(name) != std::string::npos);
  finding.fix = advice;
  finding.cures.clear();

  // The first line that changes is that of the file which the finding is in.
  report.findings.front().proof = "proven";
  report.findings.front().diff =
      "--- model.py\n+++ model.py\n@@ -3,2 +3,2 @@\n def f():\n-    a\n+    b\n"
      "--- train.py\n+++ train.py\n@@ -1064,3 +1064,4 @@\n x\n-emb = f(emb)\n+emb = "
      "f(emb.half())\n y\n"
      "@@ -1080,1 +1080,1 @@\n-later\n+more\n";
  const auto proven = lines_of(written(report, "text"));
  const std::vector<std::string> last(proven.end() - 3, proven.end());
  CHECK(last == std::vector<std::string>{"    --- train.py", "    -emb = f(emb)",
                                         "    +emb = f(emb.half())"});
  CHECK(written(report, "text").find("\n  fix   ") != std::string::npos);
  report.findings.front().is_workaround = true;
  CHECK(written(report, "text").find("\n  workaround  ") != std::string::npos);
}

TEST_CASE("lines about operands are wrapped for a pipe as well, and nothing of them is lost") {
  const std::string code =
      "latents = scheduler.add_noise(latents, noise, timesteps) if step > 0 else latents + noise * "
      "s";
  Run run = parse_trace_text(
                "process pid=1\n"
                "op aten::_to_copy self=Float[2,4] -> Half[2,4] at train.py:3 main\n"
                "op aten::mm self=Half[2,4]<#1 mat2=Float[4,4] raised \"no\" at train.py:9 main\n",
                "test")
                .run;
  Report report{.run = run};
  Finding& finding = report.findings.emplace_back();
  finding.message = "Half meets Float";
  finding.call = run.calls.back().id;
  finding.site = run.calls.back().site;
  finding.odd_operand = "self";
  report.line_text = [&](const std::string&, int line) { return line == 3 ? code : ""; };
  report.columns = 80;
  report.shortens = false;
  std::string squeezed;
  for (const std::string& line : lines_of(written(report, "text"))) {
    INFO(line);
    CHECK(display_width(line) <= 80);
    std::istringstream words(line);
    for (std::string word; words >> word;) squeezed += word + " ";
  }
  CHECK_THAT(squeezed, Contains(code));
}

TEST_CASE("where there is a fault the cast bill is a line, and a table with --all") {
  const auto run = parse_trace_text(R"(
process pid=1 steps=1
op aten::linear input=Float[2,4] -> BFloat16[2,4] at train.py:30 step 1 count 300 \
   autocast cpu:BFloat16 wrapper id #1
op aten::_to_copy self=Float[4,4] -> BFloat16[4,4] at train.py:30 step 1 count 300 parent #1
)",
                                    "casts.trace")
                       .run;
  Report report{.run = run};
  CHECK_THAT(written(report, "text"), Contains("Float to BFloat16"));
  Finding& finding = report.findings.emplace_back();
  finding.message = "a fault";
  finding.severity = Severity::kNote;
  CHECK_THAT(written(report, "text"), Contains("Float to BFloat16"));
  finding.severity = Severity::kWarning;
  const std::string text = written(report, "text");
  CHECK_THAT(text, Contains("casts: 300 casts a step move") && Contains("(--all lists them)") &&
                       !Contains("Float to BFloat16"));
  report.all = true;
  CHECK_THAT(written(report, "text"), Contains("Float to BFloat16"));
}

TEST_CASE("a cause comes first, and what the run died of is shown in full below it") {
  const Case made = load_case("concat_promotion");
  REQUIRE(made.report->findings[1].follows == made.report->findings[0].id);
  for (Finding& finding : made.report->findings) finding.why += std::string(8, '\n') + "and more";
  const std::string text = written(*made.report, "text");
  CHECK_THAT(text, StartsWith("error: aten::cat promotes its Half operands to Float"));
  CHECK_THAT(text, Contains("\n  then error: Float input meets Half weights"));
  CHECK_THAT(text, Contains("\n      > input"));
  CHECK_THAT(text, Contains("\n1 cause (1 error), 1 consequence in "));
}

TEST_CASE("findings of one line that are alike are distinguished by the line below it") {
  const Case made = load_case("many");
  std::vector<Finding>& findings = made.report->findings;
  Finding& last = findings.back();
  last.site.inner = {"layers.py", 7, "forward"};
  CHECK_THAT(written(*made.report, "text"), !Contains("in layers.py:7"));
  made.report->columns = 0;
  made.report->shortens = false;
  for (size_t i = findings.size() - 2; i < findings.size(); ++i) {
    findings[i].message = "Half input meets a Float weight";
    findings[i].site.line = last.site.line;
    findings[i].site.inner = {"layers.py", static_cast<int>(i), "forward"};
  }
  std::swap(findings[findings.size() - 2], findings[2]);
  std::swap(findings[findings.size() - 1], findings[3]);
  const std::string text = written(*made.report, "text");
  CHECK_THAT(text, Contains(fmt::format("in layers.py:{}", findings.size() - 2)) &&
                       Contains(fmt::format("in layers.py:{}", findings.size() - 1)));
}

TEST_CASE("colour comes only when it is asked for, and only ours") {
  const Case made = load_case(GENERATE(as<std::string>(), "half_float_addmm", "hostile"));
  const std::string plain = written(*made.report, "text");
  CHECK(plain.find('\x1b') == std::string::npos);
  made.report->colour = true;
  std::string coloured = written(*made.report, "text");
  CHECK(coloured.find("\x1b[1;31merror\x1b[0m") == 0);
  for (const char* ours :
       {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"}) {
    for (size_t at; (at = coloured.find(ours)) != std::string::npos;) {
      coloured.erase(at, std::string(ours).size());
    }
  }
  CHECK(coloured == plain);
}

TEST_CASE("the odd operand is shown however far back it stands") {
  const Case made = load_case("many");
  made.report->all = true;
  const std::string text = written(*made.report, "text");
  CHECK_THAT(text, Contains("> self[7]  Float  [4]  h") && Contains("… 12 more operands"));
}

TEST_CASE("autocast's table keeps the number of every line") {
  const std::string file =
      "/opt/venv/lib/python3.11/site-packages/a_package/models/of_a_kind/with_a_long_name.py";
  const Run run = parse_trace_text(
                      "process steps=3\n"
                      "op aten::linear input=Float[2,4] -> BFloat16[2,4] at " +
                          file +
                          ":1234 step 1-3 count 3 entered train.py:5 autocast cpu:BFloat16 "
                          "wrapper id #1\n"
                          "op aten::_to_copy self=Float[2,4] -> BFloat16[2,4] at " +
                          file + ":1234 step 1-3 count 3 parent #1\n",
                      "test")
                      .run;
  Report report{.run = run};
  report.columns = GENERATE(60, 80, 96, 200);
  report.shortens = GENERATE(true, false);
  const std::string text = written(report, "text");
  INFO(text);
  CHECK_THAT(text, Contains("casts: 1 cast a step moves") && Contains(".py:1234\n"));
  for (const std::string& line : lines_of(text)) {
    CHECK((!report.shortens || display_width(line) <= static_cast<size_t>(report.columns)));
  }
  if (!report.shortens) CHECK_THAT(text, Contains("a_package/models"));
}

TEST_CASE("numbers and words") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(18446744073709551615u) == "18,446,744,073,709,551,615");
  CHECK(counted(1, "process") == "1 process");
  CHECK(counted(2, "process") == "2 processes");
  CHECK(counted(0, "error") == "0 errors");
}

TEST_CASE("nothing recorded is not called clean") {
  const Run run;
  const Report report{.run = run};
  CHECK(written(report, "text") == "no op call was recorded, so there was nothing to judge\n");
}

TEST_CASE("what ended a program is reported where no finding is about a call that threw in it") {
  Run run;
  run.processes = {Process{.pid = 1, .end = EndState::kExited}};
  run.processes[0].facts["uncaught"] = "ValueError: fp16 needs a GPU";
  run.calls = {OpCall{.id = 1, .op = "aten::mm", .outcome = Outcome::kReturned},
               OpCall{.id = 2, .op = "aten::mm", .outcome = Outcome::kThrew}};
  Report report{.run = run};
  report.findings = {Finding{.call = 1}};
  REQUIRE(caveats(report).size() == 1);
  CHECK_THAT(caveats(report).front(), StartsWith("no finding explains what ended") &&
                                          Contains("ValueError: fp16 needs a GPU"));
  report.findings = {Finding{.call = 2}};
  CHECK(caveats(report).empty());
  report.findings.clear();
  run.processes[0].facts["uncaught"] = "KeyboardInterrupt";
  CHECK(caveats(report).empty());
}

TEST_CASE("what another process died of is said by the last words of its traceback") {
  Run run;
  run.processes = {Process{.pid = 1, .end = EndState::kExited}};
  run.processes[0].facts["uncaught"] =
      "ProcessRaisedException: \n\n-- Process 0 terminated with the following error:\n"
      "Traceback (most recent call last):\n  File \"spawn.py\", line 89, in _wrap\n    fn(i, "
      "*args)\n"
      "ValueError: the config names no data\nset data.root\n";
  REQUIRE(caveats(Report{.run = run}).size() == 1);
  CHECK_THAT(caveats(Report{.run = run}).front(),
             EndsWith(": ValueError: the config names no data"));
  run.processes[0].facts["uncaught"] = "ValueError: a Traceback (most recent call last): nothing";
  CHECK_THAT(caveats(Report{.run = run}).front(), EndsWith("last): nothing"));
}

TEST_CASE("a process that ended badly and was seen to raise nothing is not passed over") {
  Run run;
  run.processes = {Process{.pid = 1, .end = EndState::kExited}};
  run.processes[0].facts["exit.status"] = "1";
  const Report report{.run = run};
  REQUIRE(caveats(report).size() == 1);
  CHECK_THAT(caveats(report).front(),
             StartsWith("no finding explains why") && Contains(" ended with status 1: it caught"));
  run.processes.push_back(Process{.pid = 2, .end = EndState::kExited});
  run.processes[1].facts["uncaught"] = "ValueError: of the first";
  REQUIRE(caveats(report).size() == 1);
  CHECK_THAT(caveats(report).front(), EndsWith("ValueError: of the first"));
  run.processes = {Process{.pid = 1, .end = EndState::kExited}};
  run.processes[0].facts["exit.status"] = "0";
  CHECK(caveats(report).empty());
}

TEST_CASE("a finding explains what ended each rank that threw at its line") {
  const auto run = [](const std::string& line) {
    const std::string threw =
        "op aten::mm self=Half[2,2] mat2=Float[2,2] raised \"must have the same dtype\" at "
        "train.py:";
    return parse_trace_text(
               "process pid=1 rank=0 fact:uncaught=\"RuntimeError: same dtype\"\n" + threw + "7\n" +
                   "process pid=2 rank=1 fact:uncaught=\"RuntimeError: same dtype\"\n" + threw +
                   line + "\n",
               "ranks.trace")
        .run;
  };
  const auto said = [](const Run& run, Severity severity) {
    std::vector<std::string> all =
        caveats(Report{.run = run, .findings = {Finding{.severity = severity, .call = 1}}});
    std::erase_if(all, [](const auto& line) { return line.find("ended") == line.npos; });
    return all;
  };
  CHECK(said(run("7"), Severity::kError).empty());
  REQUIRE(said(run("8"), Severity::kError).size() == 1);
  CHECK_THAT(said(run("8"), Severity::kError).front(),
             StartsWith("rank 1 (pid 2) ended by RuntimeError: same dtype; an error above may be"));
  CHECK_THAT(said(run("8"), Severity::kNote).front(),
             StartsWith("no finding explains what ended rank 1 (pid 2)"));
}

TEST_CASE("a kernel that fails is not the fault of the op that the traceback names") {
  const auto run = parse_trace_text(R"(
process pid=1 fact:uncaught="RuntimeError: CUDA error: device-side assert triggered"
op aten::index self=Float[4]@cuda:0 indices=Long[2]@cuda:0, -> Float[2]@cuda:0 at train.py:5
op aten::embedding weight=Half[9,4]@cuda:0 indices=Long[2]@cuda:0 -> Half[2,4]@cuda:0 \
   at train.py:7 step 3 count 3 gpu kernel 0 2 30 0 "gather"
op aten::gather self=Half[2,4]@cuda:0 index=Long[2,1]@cuda:0 -> Half[2,1]@cuda:0 \
   at train.py:8 step 3 gpu kernel 0 1 30 0 "gather"
op aten::mul self=Half[2,1]@cuda:0 other=Half[2,1]@cuda:0 -> Half[2,1]@cuda:0 \
   at train.py:9 step 3
op aten::nll_loss_forward self=Float[2,4]@cuda:0 target=Long[2]@cuda:0 -> Float[]@cuda:0 \
   at train.py:10 step 3
op aten::item self=Float[]@cuda:0 raised "CUDA error: device-side assert triggered" c10::Error \
   at train.py:11 step 3
)",
                                    "late.trace")
                       .run;
  const std::vector<std::string> said = caveats(Report{.run = run});
  REQUIRE(said.size() == 2);
  // Line 5 was of a step before, the kernel of line 8 has ended, line 9 was given no index.
  CHECK_THAT(said[1],
             Contains("not the op of the traceback; in flight, and given indices, may have "
                      "been aten::embedding at train.py:7, aten::nll_loss_forward at "
                      "train.py:10; with CUDA_LAUNCH_BLOCKING=1"));
  Run other = run;
  other.processes[0].facts["uncaught"] = "RuntimeError: CUDA error: invalid configuration argument";
  CHECK(caveats(Report{.run = other}).size() == 1);
}

TEST_CASE("a line of casts has the GPU's time, where there was one") {
  const Run run = parse_trace_text(R"(
process pid=1 steps=1
op aten::_to_copy self=Half[4,4]@cuda:0 -> Float[4,4]@cuda:0 at train.py:30 step 1 count 300 \
   gpu kernel 0 300 2500000 0 "k" cast 1572864000 20 400000
)",
                                   "casts.trace")
                      .run;
  const std::vector<std::string> lines = cast_table(Report{.run = run, .columns = 96});
  CHECK_THAT(lines.back(),
             Contains("  300        9.4 GB   2.5 ms  Half to Float      train.py:30"));
}

TEST_CASE("a killed process is reported, one that another process ended is not") {
  Run run;
  run.processes = {Process{.pid = 1, .end = EndState::kExited},
                   Process{.pid = 2, .parent_pid = 1, .end = EndState::kRunning}};
  CHECK(caveats(Report{.run = run}).size() == 1);
  run.processes[0].facts["killed 2"] = "15";
  CHECK(caveats(Report{.run = run}).empty());
}

TEST_CASE("what is missing makes a report incomplete, what was repaired not valid") {
  Case made = load_case("clean");
  CHECK((made.report->complete() && made.report->results_valid()));
  made.report->left_out = {"a.dtrace: empty"};
  CHECK_FALSE(made.report->complete());
  CHECK_FALSE(load_case("partial").report->complete());
  CHECK_FALSE(load_case("keep_going").report->results_valid());
}

}  // namespace dtypecheck::reports
