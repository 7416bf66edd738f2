// Every refusal that the contract tables measured or read in LibTorch is a message that explain
// knows: a new table brings new sentences, and this names those that are missing.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "explain/explain.h"

using namespace dtypecheck::explain;

// What LibTorch says of other things than dtypes.
static bool is_about_something_else(const std::string& text) {
  for (const char* part :
       {"INTERNAL ASSERT FAILED", "is not differentiable with respect to", "must be a matrix",
        "expected a tensor with 3 or 4 dimensions", "expected the frequency dimension",
        "to be true, but got false", "Expected a value of type"}) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

static std::string dtype_spelling(char style) {
  switch (style) {
    case 'T':
      return "c10::Half";
    case 'P':
      return "torch.float16";
    case 'H':
      return "torch.HalfTensor";
    case 'G':
      return "torch.cuda.HalfTensor";
    case 'C':
      return "CPUHalfType";
    default:
      return "Half";
  }
}

// "{S1}" stands for a dtype, see docs/contracts.md.
static std::string with_dtypes(std::string text) {
  for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    if (at + 3 < text.size() && text[at + 3] == '}')
      text.replace(at, 4, dtype_spelling(text[at + 1]));
  }
  return text;
}

static Answer answer_to(const std::string& text) {
  LogScanner scanner;
  scanner.feed(text);
  scanner.finish();
  return explain(scanner);
}

static void check_messages_of(const std::string& path) {
  std::ifstream table(path);
  REQUIRE(table.is_open());
  size_t checked = 0;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("message ")) continue;
    const size_t type = line.find(' ', 8) + 1;
    const std::string text = with_dtypes(line.substr(line.find(' ', type) + 1));
    if (is_about_something_else(text)) continue;
    INFO(text);
    const Answer answer = answer_to(text);
    CHECK_FALSE(answer.errors.empty());
    if (!answer.errors.empty()) CHECK(!answer.errors[0].message.empty());
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("refusals measured on the CPU") {
  check_messages_of(DTYPECHECK_SOURCE_DIR "/rules/contracts/cpu.contracts");
}

TEST_CASE("refusals read for CUDA") {
  check_messages_of(DTYPECHECK_SOURCE_DIR "/rules/contracts/cuda.contracts");
}
