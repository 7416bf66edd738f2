#include "core/autocast_record.h"

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck {
namespace {

// A linear layer whose input and weight autocast casts.
const char* const kLinear =
    "op aten::linear input=Float[2,4] weight=Float[4,4]%net.weight^^ -> BFloat16[2,4] at "
    "train.py:9 phase forward "
    "step 1-3 count 3 entered train.py:5 autocast cpu:BFloat16 wrapper id #1\n"
    "op aten::_to_copy self=Float[2,4] -> BFloat16[2,4] at train.py:9 phase forward step 1-3 count "
    "3 parent #1\n"
    "op aten::_to_copy self=Float[4,4]%net.weight^^ -> BFloat16[4,4] at train.py:9 phase forward "
    "step 1-3 count 3 parent #1\n"
    "op aten::linear input=BFloat16[2,4] weight=BFloat16[4,4] -> BFloat16[2,4] at train.py:9 phase "
    "forward step 1-3 "
    "count 3 autocast off inner parent #1\n";

std::vector<AutocastRecord> records_of(const std::string& text) {
  return autocast_records(parse_trace_text("process steps=3\n" + text, "test").run);
}

TEST_CASE("a call that ran in the region's dtype") {
  const std::vector<AutocastRecord> records = records_of(kLinear);
  REQUIRE(records.size() == 1);
  const AutocastRecord& record = records[0];
  CHECK(record.call == 1);
  CHECK(record.decision == AutocastDecision::kLowerPrecision);
  CHECK(record.device == "cpu");
  CHECK(record.region_dtype == Dtype::kBFloat16);
  CHECK(record.entered.line == 5);
  CHECK(record.casts == 6);
  CHECK(record.cache_hits == 0);
  CHECK(record.why.empty());
}

TEST_CASE("a weight from the cache costs no cast") {
  const std::vector<AutocastRecord> records = records_of(
      "op aten::linear input=BFloat16[2,4] weight=Float[4,4]^^ -> BFloat16[2,4] phase forward "
      "count 5 "
      "autocast cpu:BFloat16 wrapper id #1\n"
      "op aten::linear input=BFloat16[2,4] weight=BFloat16[4,4] -> BFloat16[2,4] phase forward "
      "count 5 autocast off inner "
      "parent #1\n");
  CHECK(records.at(0).casts == 0);
  CHECK(records.at(0).cache_hits == 5);
}

TEST_CASE("an op of the Float list, and one that promotes") {
  const std::vector<AutocastRecord> records = records_of(
      "op aten::mse_loss self=BFloat16[2] target=BFloat16[2] -> Float[] phase forward autocast "
      "cpu:BFloat16 wrapper id #1\n"
      "op aten::mse_loss self=Float[2] target=Float[2] -> Float[] phase forward autocast off inner "
      "parent #1\n"
      "op aten::cat tensors=Float[2],BFloat16[2] -> Float[4] phase forward autocast cpu:BFloat16 "
      "wrapper id #3\n"
      "op aten::cat tensors=Float[2],Float[2] -> Float[4] phase forward autocast off inner parent "
      "#3\n");
  REQUIRE(records.size() == 2);
  CHECK(records[0].decision == AutocastDecision::kFloat);
  CHECK(records[1].decision == AutocastDecision::kPromote);
}

TEST_CASE("a wrapper whose own op is not seen inside") {
  const std::vector<AutocastRecord> records = records_of(
      "op aten::matmul self=Float[2,2] other=Float[2,2] -> BFloat16[2,2] phase forward autocast "
      "cpu:BFloat16 wrapper id #1\n"
      "op aten::_to_copy self=Float[2,2] -> BFloat16[2,2] phase forward count 2 parent #1\n"
      "op aten::mm self=BFloat16[2,2] mat2=BFloat16[2,2] -> BFloat16[2,2] phase forward parent "
      "#1\n");
  REQUIRE(records.size() == 1);
  CHECK(records[0].decision == AutocastDecision::kLowerPrecision);
  CHECK(records[0].casts == 2);
  CHECK_FALSE(records[0].cache_hits.has_value());
}

std::string why_of(const std::string& line) {
  for (const AutocastRecord& record : records_of(kLinear + line)) {
    if (record.call == 5) return record.why;
  }
  return "not listed";
}

TEST_CASE("why autocast did not reach an op") {
  CHECK(why_of("op aten::softmax self=Float[2] -> Float[2] phase forward autocast cpu:BFloat16") ==
        "autocast for cpu has no rule for aten::softmax");
  CHECK(why_of("op mine::gelu x=Float[2] -> Float[2] phase forward autocast cpu:BFloat16") ==
        "mine::gelu is no op of LibTorch, so autocast has no rule for it");
  CHECK(why_of("op aten::linear input=Float[2,4] weight=Float[4,4] -> Float[2,4] phase forward "
               "entered train.py:7") == "the innermost region switches autocast off");
  CHECK(why_of("op aten::linear input=Float[2,4] weight=Float[4,4] -> Float[2,4] phase forward") ==
        "no region was open in this thread");
  CHECK(why_of("op aten::linear input=Float[2,4] weight=Float[4,4] -> Float[2,4] phase forward "
               "autocast cuda:Half") == "the region is for cuda, the operands are on cpu");
}

TEST_CASE("what autocast has nothing to do with is not listed") {
  CHECK(why_of("op aten::relu self=Float[2] -> Float[2] phase forward") ==
        "not listed");  // no rule elsewhere either
  CHECK(why_of("op aten::linear input=Double[2,4] -> Double[2,4] phase forward") == "not listed");
  CHECK(why_of("op aten::add self=Long[2] -> Long[2] phase forward autocast cpu:BFloat16") ==
        "not listed");
  CHECK(why_of("op aten::linear input=Float[2,4] -> Float[2,4] phase backward") == "not listed");
  CHECK(why_of("op aten::addmm mat1=BFloat16[2,4] -> BFloat16[2,4] phase forward autocast "
               "cpu:BFloat16 parent #4") == "not listed");  // inside a call that was handled
  CHECK(records_of("op aten::linear input=Float[2,4] -> Float[2,4] phase forward\n").empty());
}

TEST_CASE("parents that lead in a circle") {
  const std::vector<AutocastRecord> records = records_of(
      "op aten::linear input=Float[2] -> Float[2] phase forward autocast cpu:BFloat16 id #1 parent "
      "#2\n"
      "op aten::linear input=Float[2] -> Float[2] phase forward autocast cpu:BFloat16 id #2 parent "
      "#1\n");
  CHECK(records.size() == 2);
}

}  // namespace
}  // namespace dtypecheck
