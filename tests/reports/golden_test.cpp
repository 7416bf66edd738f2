// Whole reports against the files in golden/. `tests/approve CASE` writes them anew.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/files.h"
#include "tests/reports/cases.h"

namespace dtypecheck::reports {

static std::string golden_path(const std::string& name, const std::string& format) {
  const std::string extension = format == "text" ? "txt" : format == "junit" ? "xml" : format;
  return fmt::format("{}/tests/reports/golden/{}.{}", DTYPECHECK_SOURCE_DIR, name, extension);
}

// Of a page only what is made from the report: its style and script are files of their own.
static std::string compared(const std::string& format, const std::string& output) {
  if (format != "html") return output;
  const size_t begin = output.find("<main>");
  const size_t end = output.find("</main>");
  REQUIRE(begin < end);
  return output.substr(begin, end - begin) + "</main>\n";
}

static bool is_approved(const std::string& name) {
  const char* approved = std::getenv("DTYPECHECK_APPROVE");
  return approved != nullptr && (approved == name || std::string(approved) == "all");
}

// Where two texts part, in few words: a whole page in a test's output helps nobody.
static std::string first_difference(const std::string& got, const std::string& wanted) {
  std::istringstream got_lines(got), wanted_lines(wanted);
  for (int number = 1;; ++number) {
    std::string a, b;
    const bool more_got = static_cast<bool>(std::getline(got_lines, a));
    const bool more_wanted = static_cast<bool>(std::getline(wanted_lines, b));
    if (!more_got && !more_wanted) return "";
    if (more_got == more_wanted && a == b) continue;
    return fmt::format("line {}\ngot:    {:.300}\nwanted: {:.300}", number, a, b);
  }
}

// SARIF has a schema and a test of its own.
static std::vector<std::string> formats() {
  std::vector<std::string> names = {
#define FORMAT(name, summary, form) #name,
#include "reports/format_list.inc"
#undef FORMAT
  };
  std::erase(names, "sarif");
  return names;
}

TEST_CASE("a report is as approved") {
  const std::string name = GENERATE(from_range(case_names()));
  const std::string format = GENERATE(from_range(formats()));
  const Case made = load_case(name);
  const std::string output = compared(format, written(*made.report, format));
  const std::string path = golden_path(name, format);
  if (is_approved(name)) std::ofstream(path) << output;
  INFO(path << " differs; after a look at the difference: tests/approve " << name);
  CHECK(first_difference(output, test::read_bytes(path)) == "");
}

}  // namespace dtypecheck::reports
