// Which headers of LibTorch a source begins with, and what before them keeps them from being parsed
// first.
#include "analyzer/parse/leading_headers.h"

#include <catch2/catch.hpp>

#include "tests/files.h"

namespace dtypecheck::analyzer {

namespace {

class Tree {
 public:
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
  std::string lead(const std::string& text) {
    return leading_headers(folder_.write("src/a.cpp", text), {folder_.file("include")});
  }
  std::string bundled(const std::string& text) {
    return bundled_headers(folder_.write("src/a.cpp", text), {folder_.file("include")}).lines;
  }
  size_t large(const std::string& text) {
    return bundled_headers(folder_.write("src/a.cpp", text), {folder_.file("include")}).large.size();
  }

 private:
  test::TemporaryFolder folder_;
};

const std::string kExtension = "#include <torch/extension.h>\n";

}  // namespace

TEST_CASE("headers that a file begins with") {
  Tree tree;
  CHECK(tree.lead(kExtension) == kExtension);
  CHECK(tree.lead("#include <torch/extension.h>") == kExtension);
  for (const char* before :
       {"// why\n", "/* a\n   b */\n", "/* a */ // b\n", "#pragma once\n", "\n\n", "\xef\xbb\xbf",
        "#include <vector>\n", "#include <stdint.h>\n", "# include <map> // for x\n", "\r\n"}) {
    INFO(before);
    CHECK(tree.lead(before + kExtension) == kExtension);
  }
  CHECK(tree.lead("#ifndef A\n#define A\n" + kExtension + "#endif\n") == kExtension);
  CHECK(tree.lead("#  include <torch/extension.h> // all of it\nint x;\n") == kExtension);
}

TEST_CASE("a header that has all of LibTorch is the last that counts") {
  Tree tree;
  CHECK(tree.lead(kExtension + "#include <ATen/Dispatch.h>\n") == kExtension);
  CHECK(tree.lead(
            "#include <ATen/Dispatch.h>\n#include <vector>\n#include <c10/util/Half.h>\nint x;") ==
        "#include <ATen/Dispatch.h>\n#include <c10/util/Half.h>\n");
  CHECK(tree.lead("#include <cuda.h>\n#include <Python.h>\n" + kExtension) ==
        "#include <cuda.h>\n#include <Python.h>\n" + kExtension);
  CHECK(tree.lead("#include <ATen/Dispatch.h>\n#include <cuda.h>\nint x;") ==
        "#include <ATen/Dispatch.h>\n");
}

TEST_CASE("what may change what a header says keeps it from being parsed first") {
  Tree tree;
  for (const char* before :
       {"#define HERE\n", "#ifdef HERE\n#endif\n", "int first;\n", "#include <other.h>\n",
        "#include HERE\n", "#ifndef A\n#include <vector>\n#endif\n", "#ifndef A\n#define B\n",
        "#define A 1\n", "// goes on \\\n", "#pragma GCC poison x\n", "#undef NDEBUG\n", "/* open ",
        "\"\n", "#\n", "#include \"other.h\"\n", "#include <vector\n",
        "#include_next <vector>\n"}) {
    INFO(before);
    CHECK(tree.lead(before + kExtension).empty());
  }
  CHECK(tree.lead("").empty());
  CHECK(tree.lead("int main() {}\n" + kExtension).empty());
  CHECK(tree.lead(std::string(5000, ' ') + "\n" + kExtension).empty());
  CHECK(leading_headers(test::TemporaryFolder().file("none.cpp"), {}).empty());
}

TEST_CASE("headers of the project are looked into") {
  Tree tree;
  tree.write("src/plain.h", "#pragma once\n#include <cmath>\n" + kExtension + "int own();\n");
  tree.write("src/nothing.h", "#pragma once\n#include <cmath>\n");
  tree.write("src/macro.h", "#pragma once\n#define MINE\n");
  tree.write("src/loop.h", "#include \"loop.h\"\n" + kExtension);
  tree.write("include/project/all.h", "#ifndef ALL\n#define ALL\n" + kExtension + "#endif\n");
  CHECK(tree.lead("#include \"plain.h\"\n") == kExtension);
  CHECK(tree.lead("#include \"nothing.h\"\n" + kExtension) == kExtension);
  CHECK(tree.lead("#include <project/all.h>\n") == kExtension);
  CHECK(tree.lead("#include \"loop.h\"\n") == kExtension);
  CHECK(tree.lead("#include \"macro.h\"\n" + kExtension).empty());
  // The project's own, whatever it is called.
  tree.write("include/torch/extension.h", "#define MINE\n");
  CHECK(tree.lead(kExtension).empty());
}

TEST_CASE("the bundled headers come first, wherever one of them is included") {
  Tree tree;
  const std::string torch = "#include <torch/torch.h>\n";
  tree.write("include/net.h", "#define NET\n#include <opencv2/core.hpp>\n#include <ATen/ATen.h>\n");
  tree.write("include/ops.h", kExtension);
  CHECK(tree.bundled("#define HERE\n#include \"other.h\"\nint x;\n" + torch) == torch);
  CHECK(tree.bundled("#include <c10/util/Half.h>\n") == torch);
  CHECK(tree.bundled("#include \"net.h\"\n") == torch);
  CHECK(tree.bundled("#include <net.h>\n#include \"ops.h\"\n") == kExtension);
  CHECK(tree.bundled(torch + "#include <pybind11/pybind11.h>\n") == kExtension);
  CHECK(tree.bundled("#include <vector>\n#include \"other.h\"\nint torch;\n").empty());
  tree.write("include/torch/torch.h", "#pragma once\n");  // the project's own
  CHECK(tree.bundled(torch).empty());
}

TEST_CASE("a large header of other things may follow the bundled ones") {
  Tree tree;
  const std::string rest(150'000, '\n'), torch = "#include <torch/torch.h>\n";
  const std::string header = "#pragma once\n#include <map>\n#include <stdint.h>\n";
  tree.write("include/json.hpp", "// JSON\n" + header + "#ifdef JSON_FAST\n#endif\n" + rest);
  tree.write("include/net.h", "#define NET\n#include \"json.hpp\"\n");
  CHECK(tree.large(torch + "#include <json.hpp>\n") == 1);
  CHECK(tree.large("#define HERE\n#include \"net.h\"\n" + torch) == 1);
  CHECK(tree.large("#include <json.hpp>\n") == 0);  // without LibTorch
  // What it asks about may be said by whoever includes it.
  CHECK(tree.large("#define JSON_FAST\n" + torch + "#include <json.hpp>\n") == 0);
  CHECK(tree.large("#define JSON_FAST_\n" + torch + "#include <json.hpp>\n") == 1);
  for (const std::string& text :
       {header, header + "struct Tensor;\n" + rest, header + "#include <other.h>\n" + rest,
        "#include <map>\n" + rest, "#define ALL\n" + rest, rest}) {
    tree.write("include/json.hpp", text);
    CHECK(tree.large(torch + "#include <json.hpp>\n") == 0);
  }
}

}  // namespace dtypecheck::analyzer
