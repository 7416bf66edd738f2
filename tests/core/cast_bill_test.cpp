#include "core/cast_bill.h"

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck {
namespace {

Run run_of(const std::string& text, const std::string& process = "process steps=3") {
  return parse_trace_text(process + "\n" + text, "test").run;
}
CastBill bill_of(const std::string& text) { return cast_bill(run_of(text)); }

// A linear layer whose input and weight autocast casts, and whose input's gradient is cast back.
const char* const kLinear =
    "op aten::linear input=Float[2,4] weight=Float[4,4]%net.weight^^ -> BFloat16[2,4] at "
    "train.py:9 in net phase forward step 1-3 count 3 autocast cpu:BFloat16 wrapper id #1\n"
    "op aten::_to_copy self=Float[2,4] -> BFloat16[2,4] at train.py:9 in net phase forward step "
    "1-3 count 3 parent #1\n"
    "op aten::_to_copy self=Float[4,4]%net.weight^^ -> BFloat16[4,4] at train.py:9 in net phase "
    "forward step 1-3 count 3 parent #1\n"
    "op aten::linear input=BFloat16[2,4] weight=BFloat16[4,4] -> BFloat16[2,4] at train.py:9 phase "
    "forward step 1-3 count 3 autocast off inner parent #1\n"
    "op aten::_to_copy self=BFloat16[4,4] -> Float[4,4] at train.py:9 in net phase backward step "
    "1-3 count 3\n";

TEST_CASE("what the casts of a step cost, and which weights are cast again") {
  const CastBill bill = bill_of(kLinear);
  REQUIRE(bill.lines.size() == 2);
  const CastLine& cast = bill.lines[0].is_backward ? bill.lines[1] : bill.lines[0];
  CHECK(cast.site.line.line == 9);
  CHECK((cast.from == Dtype::kFloat && cast.to == Dtype::kBFloat16));
  CHECK(cast.reason == CastReason::kAutocast);
  CHECK(cast.count == 6);
  CHECK(cast.cost.casts == 2);
  CHECK(cast.cost.written_bytes == 2 * 2 * 4 + 2 * 4 * 4);
  CHECK(cast.cost.moved_bytes() == 3 * cast.cost.written_bytes);
  CHECK(cast.weights_per_step == 1);
  CHECK(cast.weights == std::vector<std::string>{"net.weight"});
  CHECK(cast.repeats);
  CHECK_FALSE(cast.uncached);
  CHECK_FALSE(cast.cost.cpu_ns);
  CHECK(bill.per_step.casts == 3);
  REQUIRE(bill.modules.size() == 1);
  CHECK(bill.modules[0].module == "net");
}

TEST_CASE("the cast of a gradient is put down to what cast in forward") {
  const CastBill bill = bill_of(kLinear);
  for (const CastLine& line : bill.lines) CHECK(line.reason == CastReason::kAutocast);
  CHECK(bill_of("op aten::_to_copy self=BFloat16[4] -> Float[4] at train.py:9 phase backward\n")
            .lines.at(0)
            .reason == CastReason::kGradient);
}

CastReason reason_of(const std::string& text) { return bill_of(text).lines.at(0).reason; }

TEST_CASE("who wanted a cast") {
  CHECK(reason_of("op aten::_to_copy self=Float[2] -> Half[2] phase forward\n") ==
        CastReason::kAsked);
  CHECK(reason_of("op aten::copy_ self=Half[2] src=Float[2] -> Half[2] phase optimizer\n") ==
        CastReason::kAsked);
  CHECK(reason_of("op mine::f x=Float[2] y=Half[2] -> Half[2] id #1\n"
                  "op aten::_to_copy self=Float[2] -> Half[2] parent #1\n") == CastReason::kAsked);
  CHECK(reason_of("op aten::sum self=Half[2] dtype:=Float -> Float[] id #1\n"
                  "op aten::_to_copy self=Half[2] -> Float[2] parent #1\n") == CastReason::kAsked);
  CHECK(reason_of("op aten::add self=Float[2] other=Half[2] -> Float[2] id #1\n"
                  "op aten::_to_copy self=Half[2] -> Float[2] parent #1\n") ==
        CastReason::kPromotion);
  CHECK(reason_of("op aten::softmax self=Half[2] -> Half[2] id #1\n"
                  "op aten::_to_copy self=Half[2] -> Float[2] parent #1\n") == CastReason::kOp);
}

TEST_CASE("what a compiler casts of fake tensors moves nothing, and is no cast") {
  CHECK(bill_of("op aten::_to_copy self=Float[2]~fake -> Half[2]~fake phase forward\n"
                "op aten::_to_copy self=Float[2]~meta -> Half[2]~meta phase forward\n")
            .lines.empty());
}

TEST_CASE("copies that keep the dtype, and what threw, are no casts") {
  CHECK(bill_of("op aten::copy_ self=Half[2] src=Half[2] -> Half[2]\n"
                "op aten::_to_copy self=Half[2] -> Half[2]@cuda\n"
                "op aten::_to_copy self=Half[2] raised \"no\"\n")
            .lines.empty());
}

TEST_CASE("a cast that another cast makes is one") {
  const CastBill bill = bill_of(
      "op aten::copy_ self=Half[2] src=Float[2] -> Half[2] id #1\n"
      "op aten::_to_copy self=Float[2] -> Half[2] parent #1\n");
  CHECK(bill.per_step.casts == 1);
}

TEST_CASE("what is cast in one step of many is not cast a step") {
  const std::string once = "op aten::_to_copy self=Float[2] -> Half[2] phase forward step 1\n";
  CHECK(cast_bill(run_of(once, "process steps=30")).per_step.casts == 0);
  CHECK(cast_bill(run_of(once, "process steps=3")).per_step.casts == 1);
}

TEST_CASE("what was counted and timed is believed before the first shape") {
  const CastBill bill = bill_of(
      "op aten::_to_copy self=Float[2] -> Half[2] phase forward step 1-3 count 30 "
      "cast 3000 2 4000\n");
  CHECK(bill.per_step.read_bytes == 4000);
  CHECK(bill.per_step.written_bytes == 2000);
  CHECK(bill.per_step.cpu_ns == 20000);
}

TEST_CASE("time of the GPU, and its share of what ops did there") {
  const CastBill bill = bill_of(
      "op aten::_to_copy self=Float[2]@cuda:0 -> Half[2]@cuda:0 phase forward step 1-3 count 3 gpu "
      "kernel 0 3 600 0 \"copy\"\n"
      "op aten::mm self=Half[2,2]@cuda:0 -> Half[2,2]@cuda:0 phase forward gpu kernel 0 3 1800 0 "
      "\"gemm\"\n");
  CHECK(bill.per_step.gpu_ns == 200);
  CHECK(bill.gpu_share == 0.25);
}

TEST_CASE("the share of the run is reported where its whole time was traced") {
  const std::string cast =
      "op aten::_to_copy self=Float[2] -> Half[2] phase forward step 1-2 count 2 cast 4 2 500\n";
  CHECK(cast_bill(run_of(cast, "process steps=2 started=1000 ended=2000")).cpu_share == 0.5);
  CHECK_FALSE(
      cast_bill(run_of(cast, "process steps=9 steps_traced=2 started=1000 ended=2000")).cpu_share);
  CHECK_FALSE(cast_bill(run_of(cast, "process steps=2 started=1000 end=running")).cpu_share);
}

TEST_CASE("casts of a model that is loaded are no part of a step") {
  const CastBill bill =
      bill_of("op aten::_to_copy self=Float[8] -> Half[8] phase load count 5 cast 100 0 0 id #9\n" +
              std::string(kLinear));
  CHECK(bill.per_step.casts == 3);
  REQUIRE(bill.lines.size() == 3);
  CHECK(bill.lines[2].is_once);
  CHECK(bill.lines[2].cost.written_bytes == 200);
}

TEST_CASE("steps that were not traced are no steps") {
  const CastBill bill = cast_bill(
      run_of("op aten::_to_copy self=Float[2] -> BFloat16[2] phase forward step 1-300 count 3\n",
             "process steps=300 steps_traced=3"));
  CHECK(bill.per_step.casts == 1);
}

TEST_CASE("a weight that requires no gradient is cast in each use") {
  const std::string linear =
      "op aten::linear weight=Float[4,4]%net.weight -> BFloat16[2,4] phase forward step 1-3 count "
      "6 autocast cpu:BFloat16 wrapper id #1\n"
      "op aten::_to_copy self=Float[4,4]%net.weight -> BFloat16[4,4] phase forward step 1-3 count "
      "6 parent #1\n";
  CHECK(bill_of(linear).lines.at(0).uncached);
}

TEST_CASE("of two models at one line, the frozen one alone is cast in each use") {
  const CastBill bill = bill_of(
      "op aten::linear weight=Float[4,4]%net.weight^^ -> BFloat16[2,4] at net.py:5 phase forward "
      "step 1-3 count 3 autocast cpu:BFloat16 wrapper id #1\n"
      "op aten::_to_copy self=Float[4,4]%net.weight^^ -> BFloat16[4,4] at net.py:5 phase forward "
      "step 1-3 count 3 parent #1\n"
      "op aten::_to_copy self=Float[4,4]%reference.weight -> BFloat16[4,4] at net.py:5 phase "
      "forward step 1-3 count 3 parent #1\n");
  REQUIRE(bill.lines.size() == 1);
  CHECK(bill.lines[0].weights_per_step == 2);
  CHECK(bill.lines[0].uncached_per_step == 1);
  CHECK(bill.lines[0].uncached_weights == std::vector<std::string>{"reference.weight"});
}

TEST_CASE("shapes that cannot be cost nothing") {
  CHECK(bill_of("op aten::_to_copy self=Float[-2,3] -> BFloat16[2] phase forward\n")
            .per_step.moved_bytes() == 0);
}

TEST_CASE("parents that lead in a circle") {
  CHECK(bill_of("op aten::_to_copy self=Float[2] -> Half[2] id #1 parent #2\n"
                "op aten::_to_copy self=Float[2] -> Half[2] id #2 parent #1\n")
            .lines.empty());
}

}  // namespace
}  // namespace dtypecheck
