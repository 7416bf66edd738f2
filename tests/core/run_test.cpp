#include "core/run.h"

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck {
namespace {

Run run_of(const std::string& text) { return parse_trace_text(text, "test").run; }

std::vector<OpCallId> ids(const std::vector<const OpCall*>& calls) {
  std::vector<OpCallId> out;
  for (const OpCall* call : calls) out.push_back(call->id);
  return out;
}

TEST_CASE("provenance goes back to the cast that made the dtype") {
  const Run run = run_of(
      "op aten::randn -> Float[2]\n"
      "op aten::_to_copy self=Float[2]<#1 -> Half[2]\n"
      "op aten::mul self=Half[2]<#2 other=Float[2]<#1 -> Half[2]\n"
      "op aten::add self=Half[2]<#3\n");
  CHECK(ids(run.provenance(run.calls[3].operands[0])) == std::vector<OpCallId>{3, 2});
  CHECK(ids(run.provenance(run.calls[3].operands[0], 1)) == std::vector<OpCallId>{3});
}

TEST_CASE("provenance follows the operand that brought the dtype") {
  const Run run = run_of(
      "op aten::zeros -> Half[2]\n"
      "op aten::ones -> Float[2]\n"
      "op aten::cat tensors=Half[2]<#1,Float[2]<#2 -> Float[4]\n"
      "op aten::add self=Float[4]<#3\n");
  CHECK(ids(run.provenance(run.calls[3].operands[0])) == std::vector<OpCallId>{3, 2});
}

TEST_CASE("provenance never loops") {
  const Run run = run_of(
      "op aten::mul_ self=Half[2]<#2\n"
      "op aten::add_ self=Half[2]<#1\n"
      "op aten::sub_ self=Half[2]<#3\n");
  CHECK(ids(run.provenance(run.calls[0].operands[0])) == std::vector<OpCallId>{2, 1});
  CHECK(ids(run.provenance(run.calls[2].operands[0])) == std::vector<OpCallId>{3});
}

TEST_CASE("an origin outside of the run ends the chain") {
  Run run = run_of("op aten::add self=Half");
  run.calls[0].operands[0].origin = 99;
  CHECK(run.provenance(run.calls[0].operands[0]).empty());
}

TEST_CASE("the device types of a process are those of its own tensors") {
  const Run run = run_of(
      "process pid=1\n"
      "op aten::add self=Half@cuda:0 -> Half@cuda:0\n"
      "op aten::cpu self=Half@cuda:0 -> Half\n"
      "process pid=2\n"
      "process pid=3\n"
      "op aten::empty -> Float@meta\n");
  CHECK(run.device_types_of(0) == std::vector<std::string>{"cpu", "cuda"});
  CHECK(run.device_types_of(1).empty());
  CHECK(run.device_types_of(2) == std::vector<std::string>{"meta"});
  CHECK(run.device_types_of(3).empty());
}

}  // namespace
}  // namespace dtypecheck
