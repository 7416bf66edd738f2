#include "core/op_call.h"

#include <catch2/catch.hpp>

#include "core/finding.h"
#include "trace/text.h"

namespace dtypecheck {
namespace {

OpCall call_of(const std::string& line) { return parse_trace_text(line, "test").run.calls.at(0); }

TEST_CASE("dtypes of the operands") {
  const OpCall call =
      call_of("op aten::add self=Half[2] other=Float[] index=Long[2] number=Double[]$ absent=none");
  CHECK(call.floating_dtypes() == Dtype::kHalf);  // 0-d tensors and numbers do not promote
  CHECK(call.operand("absent")->kind == TensorKind::kUndefined);
  CHECK(call.operand("missing") == nullptr);
  CHECK(call.first_operand_in(kLowPrecision)->name == "self");
  CHECK(call.first_operand_in(Dtype::kBool) == nullptr);
}

TEST_CASE("an operand of unknown shape promotes") {
  CHECK(call_of("op aten::add self=Half other=Float").floating_dtypes().size() == 2);
}

TEST_CASE("the result's dtype") {
  CHECK(call_of("op aten::a -> Half[2],Float[1]").result_dtype() == Dtype::kHalf);
  CHECK_FALSE(call_of("op aten::a").result_dtype().has_value());
  CHECK_FALSE(call_of("op aten::a -> none").result_dtype().has_value());
}

TEST_CASE("scalars and names") {
  const OpCall call = call_of("op aten::layer_norm eps:=1e-08");
  CHECK(call.scalar("eps")->value == 1e-8);
  CHECK(call.scalar("alpha") == nullptr);
  CHECK(call.short_op() == "layer_norm");
}

TEST_CASE("autocast regions are found by device") {
  const OpCall call = call_of("op aten::a autocast cpu:BFloat16");
  REQUIRE(call.autocast.region_for("cpu") != nullptr);
  CHECK(call.autocast.region_for("cpu")->dtype == Dtype::kBFloat16);
  CHECK(call.autocast.region_for("cuda") == nullptr);
}

TEST_CASE("devices") {
  CHECK(Device{"cuda", 1}.to_string() == "cuda:1");
  CHECK(Device{}.to_string() == "cpu");
}

TEST_CASE("severities parse from their names") {
  for (Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError}) {
    CHECK(parse_severity(severity_name(severity)) == severity);
  }
  CHECK_FALSE(parse_severity("fatal").has_value());
}

}  // namespace
}  // namespace dtypecheck
