// Files that are not what they say: each is refused with its reason, and whole ones are read.
#include "runtime/safetensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "platform/error.h"
#include "tests/files.h"

namespace dtypecheck::runtime {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

namespace {

std::string with_length(const std::string& header, uint64_t length, size_t data_bytes) {
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text + header + std::string(data_bytes, 'x');
}

std::string content(const std::string& header, size_t data_bytes) {
  return with_length(header, header.size(), data_bytes);
}

std::string entry(const std::string& dtype, const std::string& shape, uint64_t begin,
                  uint64_t end) {
  return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", dtype, shape, begin,
                     end);
}

}  // namespace

TEST_CASE("a whole file is read") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write(
      "a", content(fmt::format(R"({{"b":{},"__metadata__":{{"format":"pt"}},"a":{},"none":{}}})",
                               entry("BF16", "[2,3]", 4, 16), entry("F32", "[]", 0, 4),
                               entry("F16", "[0,7]", 4, 4)),
                   16));
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.metadata().at("format") == "pt");
  const StoredTensor& b = file.tensors()[1];
  CHECK(b.name == "b");
  CHECK(b.dtype == Dtype::kBFloat16);
  CHECK(b.shape == std::vector<int64_t>{2, 3});
  CHECK(b.bytes.size() == 12);
}

TEST_CASE("what is written is read again") {
  const test::TemporaryFolder folder;
  const float values[3] = {1, 2, 3};
  const auto bytes = std::as_bytes(std::span(values));
  const StoredTensor tensors[] = {{"x", Dtype::kFloat, {3}, bytes},
                                  {"y", Dtype::kFloat, {1, 1}, bytes.first(4)}};
  const std::string path = folder.file("b");
  write_safetensors(path, {tensors[0], tensors[1]}, {{"format", "pt"}});
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 2);
  CHECK(std::memcmp(file.tensors()[0].bytes.data(), values, sizeof values) == 0);
  CHECK(file.tensors()[1].shape == std::vector<int64_t>{1, 1});
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  CHECK_THROWS_WITH(write_safetensors(folder.file("no/b"), {}, {}),
                    Contains("no/b: cannot be written: No such file or directory"));
}

TEST_CASE("a file that is no safetensors file is refused") {
  struct Case {
    const char* what;
    std::string content, error;
  };
  const std::string good = entry("F32", "[2]", 0, 8);
  const Case cases[] = {
      {"empty", "", "has 0 bytes, too few"},
      {"length past the end", with_length("{}", 3, 0), "says its header has 3 bytes, at most 2"},
      {"length of all ones", with_length("{}", ~uint64_t{0}, 0), "header has 18446744073709551615"},
      {"no JSON", content("{\"a\":", 0), "the header is not a JSON object"},
      {"a list", content("[]", 0), "the header is not a JSON object"},
      {"deep", content(std::string(100000, '['), 0), "the header is not a JSON object"},
      {"twice", content(fmt::format(R"({{"a":{0},"a":{0}}})", good), 8), "a is there twice"},
      {"entry is no object", content(R"({"a":1})", 0), "a: is not an object"},
      {"no dtype", content(R"({"a":{"shape":[]}})", 0), "a: has no dtype"},
      {"no shape", content(R"({"a":{"dtype":"F32"}})", 0), "a: has no shape"},
      {"no offsets", content(R"({"a":{"dtype":"F32","shape":[]}})", 0), "a: has no data_offsets"},
      {"unknown dtype", content(fmt::format(R"({{"a":{}}})", entry("F4", "[2]", 0, 8)), 8),
       "a: unknown dtype F4"},
      {"negative size", content(fmt::format(R"({{"a":{}}})", entry("F32", "[-2]", 0, 8)), 8),
       "a: shape is not a list of whole numbers"},
      {"fraction", content(fmt::format(R"({{"a":{}}})", entry("F32", "[2.0]", 0, 8)), 8),
       "a: shape is not a list of whole numbers"},
      {"overflow",
       content(fmt::format(R"({{"a":{}}})", entry("F32", "[4294967296,4294967296,4]", 0, 0)), 0),
       "a: shape has more elements than can be counted"},
      {"past the end", content(fmt::format(R"({{"a":{}}})", good), 7),
       "a: data_offsets are 0 to 8, the file has 7 bytes of data"},
      {"backwards", content(fmt::format(R"({{"a":{}}})", entry("F32", "[2]", 8, 0)), 8),
       "a: data_offsets are 8 to 0"},
      {"another size", content(fmt::format(R"({{"a":{}}})", entry("F32", "[1]", 0, 8)), 8),
       "a: shape and dtype make 4 bytes, data_offsets span 8"},
      {"overlap",
       content(fmt::format(R"({{"a":{},"b":{}}})", good, entry("F32", "[2]", 4, 12)), 12),
       "b overlaps another tensor"},
      {"the same bytes", content(fmt::format(R"({{"a":{0},"b":{0}}})", good), 8),
       "overlaps another tensor"},
      {"hole", content(fmt::format(R"({{"a":{}}})", entry("F32", "[1]", 4, 8)), 8),
       "a has unused bytes before it"},
      {"left over", content(fmt::format(R"({{"a":{}}})", good), 9),
       "1 bytes after the last tensor"},
      {"escapes in a name", content("{\"\\u001b[31m\":1}", 0), "?[31m: is not an object"},
  };
  const test::TemporaryFolder folder;
  for (const Case& c : cases) {
    INFO(c.what);
    const std::string path = folder.write("bad", c.content);
    CHECK_THROWS_WITH(SafetensorsFile(path), Contains(path + ": ") && Contains(c.error));
  }
  CHECK_THROWS_WITH(SafetensorsFile(folder.file("none")), Contains("No such file or directory"));
  CHECK_THROWS_WITH(SafetensorsFile(folder.path()), Contains("is not a file"));
}

TEST_CASE("shards stay in their folder") {
  const test::TemporaryFolder folder;
  const std::string empty = content("{}", 0);
  folder.write("m-1.safetensors", empty);
  folder.write("m-2.safetensors", empty);
  const std::string index = "m.safetensors.index.json";
  folder.write(
      index,
      R"({"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}})");
  CHECK(open_weights(folder.path(), "m").size() == 2);
  folder.write(index, R"({"weight_map":{"a":"../m-1.safetensors"}})");
  CHECK_THROWS_WITH(open_weights(folder.path(), "m"),
                    Contains("expected files of the same folder, got ../m-1.safetensors"));
  folder.write(index, R"({"weight_map":{"a":"m-3.safetensors"}})");
  CHECK_THROWS_WITH(open_weights(folder.path(), "m"), Contains("m-3.safetensors: No such"));
  folder.write(index, R"({"weights":1})");
  CHECK_THROWS_WITH(open_weights(folder.path(), "m"), Contains("weight_map: is missing"));
  CHECK_THROWS_WITH(open_weights(folder.path(), "other"), Contains("is not there"));
  folder.write("half.fp16.safetensors", empty);
  CHECK(open_weights(folder.path(), "half").size() == 1);
}

}  // namespace dtypecheck::runtime
