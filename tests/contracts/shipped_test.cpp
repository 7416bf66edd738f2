// The tables that ship say what is known of LibTorch from elsewhere: its own error reports.
#include <catch2/catch.hpp>

#include "rules/contracts/contracts.h"
#include "table_text.h"

using namespace dtypecheck;
using namespace dtypecheck::contracts;

namespace {

Answer ask(const std::string& device, const std::string& version, const std::string& line) {
  const Contracts& shipped = Contracts::shipped();
  return shipped.ask(shipped.find(device, version).value(), call_of(line));
}

const std::string kHalfNorm =
    "op aten::native_layer_norm input=Half[2,8] weight=Half[8] bias=Half[8]";
const std::string kHalfDataFloatNorm =
    "op aten::native_layer_norm input=Half[2,8] weight=Float[8] bias=Float[8]";

}  // namespace

TEST_CASE("2.11 on the CPU") {
  CHECK(ask("cpu", "2.11", "op aten::addmm self=Float[4] mat1=Half[2,4] mat2=Float[4,4]").message ==
        "mat1 and mat2 must have the same dtype, but got Half and Float");
  CHECK(ask("cpu", "2.11", "op aten::mm self=Float[3,4] mat2=Half[4,5]").message ==
        "expected m1 and m2 to have the same dtype, but got: float != c10::Half");
  CHECK(ask("cpu", "2.11", kHalfNorm).acceptance == Acceptance::kAccepts);
  CHECK(ask("cpu", "2.11", kHalfDataFloatNorm).results.at(0) == Dtype::kHalf);
  CHECK(ask("cpu", "2.11", "op aten::add.Tensor self=Half[4] other=BFloat16[4]").results.at(0) ==
        Dtype::kFloat);
  CHECK(ask("cpu", "2.11", "op aten::lerp.Scalar self=Float[4] end=Half[4]").message ==
        "expected dtype float for `end` but got dtype c10::Half");
  CHECK(ask("cpu", "2.11",
            "op aten::mse_loss_backward grad_output=Float[] self=Half[4] target=Float[4]")
            .acceptance == Acceptance::kRejects);
}

TEST_CASE("1.13 on the CPU") {
  const Answer norm = ask("cpu", "1.13", kHalfNorm);
  CHECK(norm.acceptance == Acceptance::kRejects);
  CHECK(norm.message == "\"LayerNormKernelImpl\" not implemented for 'Half'");
  CHECK(ask("cpu", "1.13", "op aten::addmm self=Half[4] mat1=Half[2,4] mat2=Half[4,4]").message ==
        "\"addmm_impl_cpu_\" not implemented for 'Half'");
  CHECK(ask("cpu", "1.13", "op aten::addmm self=Float[4] mat1=Half[2,4] mat2=Float[4,4]").message ==
        "mat1 and mat2 must have the same dtype");  // 2.1 names the dtypes
  CHECK(ask("cpu", "1.13", "op aten::addmm self=BFloat16[4] mat1=BFloat16[2,4] mat2=BFloat16[4,4]")
            .acceptance == Acceptance::kAccepts);
}

TEST_CASE("CUDA differs from the CPU where Half data meets Float norms") {
  const Contracts& shipped = Contracts::shipped();
  for (const char* version : {"2.1", "2.6", "2.11", "2.15"}) {
    CAPTURE(version);
    const Runtime& runtime = shipped.runtimes()[shipped.find("cuda", version).value()];
    CHECK(runtime.measured);
    const bool is_of_a_card = std::string_view(version) == "2.11";
    CHECK((runtime.line.find("gpu=pretended") == runtime.line.npos) == is_of_a_card);
    CHECK(ask("cuda", version, kHalfNorm).acceptance == Acceptance::kAccepts);
    CHECK(ask("cuda", version, kHalfDataFloatNorm).message ==
          "expected scalar type Half but found Float");
  }
}

TEST_CASE("CUDA refuses what a CPU takes") {
  for (const char* call :
       {"op aten::histc self=Half[64]", "op aten::mm self=Long[2,2] mat2=Long[2,2]",
        "op aten::native_group_norm input=Half[2,8,4] weight=Float[8] bias=Float[8]",
        "op aten::scaled_dot_product_attention query=Half[1,2,4,8] key=Half[1,2,4,8] "
        "value=Half[1,2,4,8] attn_mask=Float[4,4]"}) {
    CAPTURE(call);
    CHECK(ask("cpu", "2.15", call).acceptance == Acceptance::kAccepts);
    CHECK(ask("cuda", "2.15", call).acceptance == Acceptance::kRejects);
  }
}

TEST_CASE("every version knows the ops of a training step") {
  const Contracts& shipped = Contracts::shipped();
  CHECK(shipped.runtimes().size() >= 10);
  for (size_t i = 0; i < shipped.runtimes().size(); ++i) {
    CAPTURE(shipped.runtimes()[i].line);
    for (const char* call :
         {"op aten::addmm self=Float[4] mat1=Float[2,4] mat2=Float[4,4]",
          "op aten::mul.Tensor self=Float[4] other=Float[4]",
          "op aten::native_layer_norm input=Float[2,8] weight=Float[8] bias=Float[8]",
          "op aten::add_.Tensor self=Float[4] other=Float[4]"}) {
      CHECK(shipped.ask(i, call_of(call)).acceptance == Acceptance::kAccepts);
    }
  }
}

TEST_CASE("a kernel that came with a version is there from then on") {
  const Contracts& shipped = Contracts::shipped();
  const OpCall call = call_of(kHalfNorm);
  const std::string first = shipped.first_accepting("cpu", "1.13", call);
  REQUIRE_FALSE(first.empty());
  CHECK(shipped.first_accepting("cpu", first, call) == first);
  CHECK(shipped.first_accepting("cpu", "2.11", call) == "2.11");
}
