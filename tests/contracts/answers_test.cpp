// What the tables say to op calls, and where they say nothing.
#include <catch2/catch.hpp>

#include "platform/error.h"
#include "rules/contracts/contracts.h"
#include "table_text.h"

using namespace dtypecheck;
using namespace dtypecheck::contracts;

namespace {

const Contracts& table() {
  static const Contracts contracts = [] {
    Contracts made;
    made.add(kTable, "a.contracts");
    return made;
  }();
  return contracts;
}

Answer ask(const std::string& version, const std::string& line, Mode mode = Mode::kCall) {
  return table().ask(table().find("cpu", version).value(), call_of(line), mode);
}

const std::string kAddmm = "op aten::addmm self=Half[4] mat1=Half[2,4] mat2=Half[4,4] ";

}  // namespace

TEST_CASE("accepted, with the result's dtype") {
  const Answer answer = ask("2.11", kAddmm);
  CHECK(answer.acceptance == Acceptance::kAccepts);
  CHECK(answer.results == std::vector{Dtype::kHalf});
}

TEST_CASE("refused, with the message that this version prints") {
  const Answer missing = ask("1.13.1", kAddmm);
  CHECK(missing.acceptance == Acceptance::kRejects);
  CHECK(missing.error_type == "NotImplementedError");
  CHECK(missing.message == "\"addmm_impl_cpu_\" not implemented for 'Half'");
  const Answer mixed = ask("2.11.3", "op aten::addmm self=Float[4] mat1=Half[2,4] mat2=Float[4,4]");
  CHECK(mixed.message == "mat1 and mat2 must have the same dtype, but got Half and Float");
}

TEST_CASE("the trace's name for what is added to a product is understood") {
  CHECK(ask("2.11", "op aten::addmm bias=Half[4] mat1=Half[2,4] mat2=Half[4,4]").acceptance ==
        Acceptance::kAccepts);
}

TEST_CASE("a tensor without dimensions is another operand than one with") {
  const std::string other = "op aten::add.Tensor self=Half[4] other=Float";
  CHECK(ask("2.11", other + "[4]").results == std::vector{Dtype::kFloat});
  CHECK(ask("2.11", other + "[]").results == std::vector{Dtype::kHalf});
}

TEST_CASE("a list is asked by the dtypes in it") {
  CHECK(ask("2.11", "op aten::cat tensors=Half[4],Half[4],Float[4]").results ==
        std::vector{Dtype::kFloat});
  CHECK(ask("2.11", "op aten::cat tensors=Half[4],Half[4]").results == std::vector{Dtype::kHalf});
  CHECK(ask("2.11", "op aten::cat tensors=Half[4],Float[4],Double[4]").acceptance ==
        Acceptance::kUnknown);
}

TEST_CASE("several results") {
  const Answer answer =
      ask("2.11",
          "op aten::native_batch_norm input=Float[4] weight=Float[4] bias=Float[4] mean=Float[4]");
  CHECK(answer.results == std::vector{Dtype::kFloat, Dtype::kFloat, Dtype::kFloat});
}

TEST_CASE("under autocast the row of its dtype answers") {
  const std::string call = kAddmm + "autocast cpu:Half";
  CHECK(ask("2.11", call, Mode::kAutocast).acceptance == Acceptance::kAccepts);
  const Answer refused =
      ask("2.11", "op aten::addmm self=Double[4] mat1=Half[2,4] mat2=Half[4,4] autocast cpu:Half",
          Mode::kAutocast);
  CHECK(refused.message == "got double for the Half region, and {X9} is no placeholder");
  // 1.13 has no Half autocast on the CPU: it turns itself off, and the plain row holds.
  CHECK(ask("1.13", call, Mode::kAutocast).acceptance == Acceptance::kRejects);
}

TEST_CASE("the backward row is its own") {
  const std::string call = "op aten::mse_loss self=Half[4] target=Float[4]";
  CHECK(ask("2.11", call).acceptance == Acceptance::kAccepts);
  CHECK(ask("2.11", call, Mode::kBackward).acceptance == Acceptance::kRejects);
  CHECK(ask("1.13", call, Mode::kBackward).acceptance == Acceptance::kUnknown);
}

TEST_CASE("what was not measured is not known") {
  CHECK(ask("2.11", "op aten::addmm self=Half[4] mat1=Half[2,4]").acceptance ==
        Acceptance::kUnknown);
  CHECK(ask("2.11", "op aten::nothing self=Half[4]").acceptance == Acceptance::kUnknown);
  CHECK(ask("2.11", "op aten::add.Tensor self=Half[4] other=Double[4]").acceptance ==
        Acceptance::kUnknown);
  CHECK(ask("2.11", "op aten::cat tensors=Float8_e4m3fn[4],Half[4]").acceptance ==
        Acceptance::kUnknown);
  CHECK(ask("1.13",
            "op aten::native_batch_norm input=Float[4] weight=Float[4] bias=Float[4] mean=Float[4]")
            .acceptance == Acceptance::kUnknown);
  CHECK(table().ask(99, call_of(kAddmm)).acceptance == Acceptance::kUnknown);
}

TEST_CASE("the first version that accepts") {
  CHECK(table().first_accepting("cpu", "1.13.1", call_of(kAddmm)) == "2.11");
  CHECK(table().first_accepting("cpu", "2.12", call_of(kAddmm)) == "");
  CHECK(table().first_accepting("cuda", "1.13", call_of(kAddmm)) == "");
}

TEST_CASE("a target is a device and a version") {
  CHECK(parse_target("cuda:2.11").device == "cuda");
  CHECK(parse_target("cpu:1.13.1").version == "1.13.1");
  for (const char* text : {"", "cuda", ":2.11", "cuda:", "cuda:latest", "2.11:cuda:1"}) {
    CHECK_THROWS_AS(parse_target(text), InputError);
  }
}

TEST_CASE("an unknown target lists what is known") {
  CHECK(table().runtimes()[table().find_target({"cpu", "2.11"})].version == "2.11.0");
  CHECK_THROWS_WITH(table().find_target({"cuda", "2.11"}),
                    Catch::Matchers::Contains("--target cuda:2.11") &&
                        Catch::Matchers::Contains("cpu: 1.13.1, 2.11.0"));
  CHECK_THROWS_AS(table().find_target({"cpu", "2.1"}), InputError);  // 2.1 is not 2.11
}

namespace {

Contracts wide() {
  Contracts made;
  made.add(
      "dtypecheck contracts 2\n"
      "runtime 0 cpu 2.10.0 measured 2026-11-22 modes=plain\n"
      "runtime 1 cpu 2.11.0 measured 2026-11-22 dtypes=fhbdliscuoFHD modes=plain,grad\n"
      "message 0 RuntimeError expected Long or Int, got {S1}\n"
      "message 1 RuntimeError got {T0} and {T1}\n"
      "op aten::embedding weight\n"
      "plain 0 ^=*\n"
      "op aten::embedding weight indices:l\n"
      "plain 1 ?=d ^=*\n"
      "index 1 0=.[li] m0=*\n"
      "op aten::index self indices[]:l\n"
      "plain 1 ^=*\n"
      "index 1 0=.[lio] ?=*\n"
      "op aten::index self indices[]:o\n"
      "plain 1 ^=*\n"
      "index 1 0=.o ?=*\n"
      "op aten::mm self,mat2\n"
      "plain * ^=[fhbdlisuFD]~ m1=*\n"
      "grad 1 ^=[fhbd]~ m1=*\n"
      "end 9\n",
      "a.contracts");
  return made;
}

Answer ask_wide(const std::string& line, const std::string& version = "2.11") {
  static const Contracts contracts = wide();
  return contracts.ask(contracts.find("cpu", version).value(), call_of(line));
}

}  // namespace

TEST_CASE("integers, bool and complex operands") {
  CHECK(ask_wide("op aten::mm self=Long[2,2] mat2=Long[2,2]").results == std::vector{Dtype::kLong});
  CHECK(ask_wide("op aten::mm self=ComplexFloat[2,2] mat2=Float[2,2]").message ==
        "got c10::complex<float> and float");
  CHECK(ask_wide("op aten::mm self=Long[2,2] mat2=Float[2,2]").message == "got long int and float");
  CHECK(ask_wide("op aten::mm self=Char[2,2] mat2=Byte[2,2]").acceptance == Acceptance::kUnknown);
  CHECK(ask_wide("op aten::mm self=Half[2,2]^ mat2=Byte[2,2]").acceptance == Acceptance::kUnknown);
  // Float8 is none of the dtypes of this runtime, and the older one knows no integers.
  CHECK(ask_wide("op aten::mm self=Float8_e5m2[2,2] mat2=Float8_e5m2[2,2]").acceptance ==
        Acceptance::kUnknown);
  CHECK(ask_wide("op aten::mm self=Long[2,2] mat2=Long[2,2]", "2.10").acceptance ==
        Acceptance::kUnknown);
}

TEST_CASE("the dtype of indices") {
  const std::string embedding = "op aten::embedding weight=";
  CHECK(ask_wide(embedding + "Half[4,2] indices=Int[2]").results == std::vector{Dtype::kHalf});
  CHECK(ask_wide(embedding + "Float[4,2] indices=Float[2]").message ==
        "expected Long or Int, got Float");
  // In Double the call with Long is not known; of BFloat16 and the like all that was measured is.
  CHECK(ask_wide(embedding + "Double[4,2] indices=Int[2]").acceptance == Acceptance::kUnknown);
  CHECK(ask_wide(embedding + "Long[4,2] indices=Int[2]").results == std::vector{Dtype::kLong});
  CHECK(ask_wide(embedding + "Long[4,2] indices=Bool[2]").acceptance == Acceptance::kRejects);
  // Source says nothing of them, and tables that know no integers pass them over.
  CHECK(ask_wide(embedding + "Half[4,2]").results == std::vector{Dtype::kHalf});
  CHECK(ask_wide(embedding + "Half[4,2] indices=Float[2]", "2.10").acceptance ==
        Acceptance::kUnknown);
  CHECK(ask_wide(embedding + "Half[4,2] indices=Bool[2]", "2.10").acceptance ==
        Acceptance::kAccepts);
}

TEST_CASE("a row that had the call's own indices comes first") {
  CHECK(ask_wide("op aten::index self=Half[4] indices=Bool[4],Bool[4]").acceptance ==
        Acceptance::kAccepts);
  CHECK(ask_wide("op aten::index self=Half[4] indices=Int[4],Int[4]").acceptance ==
        Acceptance::kUnknown);
  CHECK(ask_wide("op aten::index self=Half[4] mask=Bool[4]").acceptance == Acceptance::kUnknown);
}
