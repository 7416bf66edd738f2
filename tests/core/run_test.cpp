#include "core/run.h"

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck {
namespace {

Run run_of(const std::string& text) { return parse_trace_text(text, "test").run; }

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
