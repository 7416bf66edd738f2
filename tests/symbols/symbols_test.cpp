#include "symbols/symbols.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "symbols/function_name.h"
#include "symbols/source_owner.h"
#include "tests/files.h"

namespace dtypecheck {
namespace {

const std::string kFixtures = DTYPECHECK_SYMBOL_FIXTURES;
const std::string kSource = DTYPECHECK_SOURCE_DIR "/tests/symbols/traced.cpp";

struct Call {
  std::string path;
  uint64_t begin = 0, file_offset = 0, address = 0;
};

// What a fixture printed, by label.
std::map<std::string, Call> run_fixture(const std::string& name) {
  std::map<std::string, Call> calls;
  FILE* output = popen((kFixtures + "/" + name).c_str(), "r");
  REQUIRE(output != nullptr);
  std::array<char, 4096> line;
  while (fgets(line.data(), line.size(), output)) {
    std::istringstream words(line.data());
    std::string label;
    Call call;
    words >> label >> std::hex >> call.begin >> call.file_offset >> call.address >> call.path;
    calls[label] = call;
  }
  REQUIRE(pclose(output) == 0);
  REQUIRE(calls.size() == 6);
  return calls;
}

int line_of(const std::string& label) {
  std::ifstream source(kSource);
  std::string text;
  for (int line = 1; std::getline(source, text); ++line) {
    if (text.ends_with("// at: " + label)) return line;
  }
  FAIL("no line is marked " << label);
  return 0;
}

SourceLine resolve(Symbolizer& symbolizer, const Call& call) {
  return symbolizer.resolve(call.path, call.begin, call.file_offset, call.address);
}

}  // namespace

TEST_CASE("return addresses become the lines that made the calls") {
  const std::string fixture = GENERATE(from_range(std::vector<std::string>{DTYPECHECK_WITH_LINES}));
  INFO(fixture);
  const std::map<std::string, Call> calls = run_fixture(fixture);
  const std::unique_ptr<Symbolizer> symbolizer = make_symbolizer();
  const std::map<std::string, std::string> functions = {{"plain", "sdxl::Block::forward"},
                                                        {"inlined", "sdxl::helper"},
                                                        {"wrapped", "sdxl::Block::forward"},
                                                        {"last", "sdxl::leave"}};
  for (const auto& [label, function] : functions) {
    INFO(label);
    const SourceLine line = resolve(*symbolizer, calls.at(label));
    CHECK(line.file == kSource);
    CHECK(line.line == line_of(label));
    CHECK(line.function == function);
  }
  CHECK(resolve(*symbolizer, calls.at("lambda")).line == line_of("lambda"));
}

#ifdef DTYPECHECK_LINE_TABLES
TEST_CASE("line tables alone give the lines") {
  const std::map<std::string, Call> calls = run_fixture(DTYPECHECK_LINE_TABLES);
  const std::unique_ptr<Symbolizer> symbolizer = make_symbolizer();
  for (const std::string label : {"plain", "inlined", "wrapped", "lambda", "last"}) {
    INFO(label);
    const SourceLine line = resolve(*symbolizer, calls.at(label));
    CHECK(line.file == kSource);
    CHECK(line.line == line_of(label));
    CHECK_FALSE(line.function.empty());
  }
}
#endif

TEST_CASE("a function that a library header wrote has a name and no line") {
  const std::string fixture = GENERATE(from_range(std::vector<std::string>{DTYPECHECK_WITH_LINES}));
  INFO(fixture);
  const SourceLine line = resolve(*make_symbolizer(), run_fixture(fixture).at("outlined"));
  CHECK_FALSE(line.known());
  CHECK(line.function == "at::outlined_op<int>");
}

TEST_CASE("without debug information there is the symbol and the offset") {
  const std::map<std::string, Call> calls = run_fixture("traced_no_debug");
  const SourceLine line = resolve(*make_symbolizer(), calls.at("plain"));
  CHECK_FALSE(line.known());
  CHECK_THAT(line.function, Catch::StartsWith("traced_no_debug: sdxl::Block::forward+0x"));
}

TEST_CASE("without symbols there is the file and the offset") {
  const Call call = run_fixture("traced_stripped").at("plain");
  std::ostringstream offset;
  offset << "traced_stripped+0x" << std::hex << call.address - call.begin + call.file_offset;
  const SourceLine line = resolve(*make_symbolizer(), call);
  CHECK_FALSE(line.known());
  CHECK(line.function == offset.str());
}

TEST_CASE("what is no ELF file gives the offset") {
  test::TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::unique_ptr<Symbolizer> symbolizer = make_symbolizer();
  const std::vector<std::string> paths = {
      folder.file("none"),      folder.path(), pipe, "", "/dev/zero", folder.write("text", "x"),
      folder.write("empty", "")};
  for (const std::string& path : paths) {
    INFO(path);
    const SourceLine line = symbolizer->resolve(path, 0x1000, 0x200, 0x1234);
    CHECK_FALSE(line.known());
    CHECK(line.function == path.substr(path.rfind('/') + 1) + "+0x434");
  }
}

TEST_CASE("damaged ELF files do no harm") {
  const Call call = run_fixture("traced_o2").at("wrapped");
  const std::string whole = test::read_bytes(call.path);
  REQUIRE(whole.size() > 4096);
  test::TemporaryFolder folder;
  uint64_t random = 1;
  const auto next = [&random](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  size_t still_right = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    if (i % 4 == 0) bytes.resize(next(bytes.size()));
    if (bytes.empty()) continue;
    for (uint64_t flips = 1 + next(i % 2 ? 4 : 400); flips > 0; --flips) {
      bytes[next(bytes.size())] ^= static_cast<char>(1 << next(8));
    }
    Call damaged = call;
    damaged.path = folder.write("damaged", bytes);
    const SourceLine line = resolve(*make_symbolizer(), damaged);
    CHECK_FALSE((line.function.empty() && line.known()));
    still_right += line.line == line_of("wrapped");
  }
  CHECK(still_right > 20);  // or the loop did not get as far as the debug information
}

TEST_CASE("functions are named without their signature") {
  using symbols::without_signature;
  CHECK(symbols::readable_name("main") == "main");
  CHECK(symbols::readable_name("_ZN4sdxl5Block7forwardEi") == "sdxl::Block::forward");
  CHECK(symbols::readable_name("_Z") == "_Z");
  CHECK(without_signature("at::Tensor run<float>(at::Tensor const&, int)") == "run<float>");
  CHECK(without_signature("Net::forward(at::Tensor) const") == "Net::forward");
  CHECK(without_signature("Net::operator()(at::Tensor) const") == "Net::operator()");
  CHECK(without_signature("(anonymous namespace)::step(int)") == "(anonymous namespace)::step");
  CHECK(without_signature("(anonymous namespace)::table") == "(anonymous namespace)::table");
  CHECK(without_signature("train(int)::{lambda(float)#1}::operator()(float) const") ==
        "train(int)::{lambda(float)#1}::operator()");
  CHECK(without_signature("Tensor::operator bool() const") == "Tensor::operator bool");
  CHECK(without_signature("apply(void (*)(int), int) [clone .isra.0]") == "apply");
  CHECK(without_signature("") == "");
}

TEST_CASE("sources are distinguished by folder") {
  CHECK(symbols::is_library_source("/usr/include/ATen/core/TensorBody.h"));
  CHECK(symbols::is_library_source("/v/lib/python3.11/site-packages/torch/include/ATen/ops/to.h"));
  CHECK(symbols::is_library_source("/opt/libtorch/include/c10/util/Exception.h"));
  CHECK(symbols::is_library_source("/usr/include/c++/12/bits/invoke.h"));
  CHECK_FALSE(symbols::is_library_source("/home/me/torch/train.cpp"));
  CHECK_FALSE(symbols::is_library_source("/home/me/include/unet.h"));
  CHECK_FALSE(symbols::is_library_source(""));
}

}  // namespace dtypecheck
