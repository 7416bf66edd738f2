// The module tree: what counts as a share of a dtype, what is an island, which blocks are one.
#include "reports/module_map.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck::reports {

static const ModuleNode& child(const ModuleNode& node, const std::string& name) {
  for (const ModuleNode& one : node.children) {
    if (std::find(one.names.begin(), one.names.end(), name) != one.names.end()) return one;
  }
  FAIL("no " << name << " in " << node.path);
  return node;
}

static const Shares& own(const ModuleNode& node, MapView view) {
  return node.own[static_cast<size_t>(view)];
}

static ModuleNode map_of(const std::string& text, std::vector<Finding> findings = {}) {
  const Run run = parse_trace_text("process steps=2\n" + text, "map.trace").run;
  Report report{.run = run, .findings = std::move(findings)};
  return module_map(report);
}

// A layer with a weight in one dtype, called in another.
static std::string layer(const std::string& path, const std::string& weight,
                         const std::string& input) {
  return fmt::format(
      "op aten::linear input={2}[2,4] weight={1}[8,4]%{0}.weight -> {2}[2,8] at m.py:3 in {0} "
      "(Linear) phase forward step 1-2 count 6\n",
      path, weight, input);
}

TEST_CASE("weights count once, activations as often as they were made") {
  const ModuleNode root =
      map_of(layer("net.a", "Half", "Float") + layer("net.a", "Half", "Float") +
             "op aten::mm self=Float[2,8] mat2=Float[8,4] -> Float[2,4] at m.py:4 in net.a "
             "(Linear) phase backward\n");
  const ModuleNode& a = child(child(root, "net"), "a");
  CHECK(own(a, MapView::kWeights) == Shares{{Dtype::kHalf, 32}});
  CHECK(own(a, MapView::kActivations) == Shares{{Dtype::kFloat, 12}});
  CHECK(own(a, MapView::kGradients) == Shares{{Dtype::kFloat, 1}});
  CHECK(own(a, MapView::kBytes) == Shares{{Dtype::kFloat, 12 * 64 + 32}});
  CHECK(own(a, MapView::kTime).empty());  // nothing was timed
  CHECK(a.module_class == "Linear");
  CHECK(child(root, "net").all == a.own);
}

TEST_CASE("of a call that autocast takes, only the inner one makes an activation") {
  const ModuleNode root = map_of(
      "op aten::linear input=Float[2,4] weight=Float[8,4]%a.weight -> BFloat16[2,8] at m.py:3 in "
      "net.a phase forward step 1-2 count 2 autocast cpu:BFloat16 wrapper\n"
      "op aten::_to_copy self=Float[2,4] -> BFloat16[2,4] at m.py:3 in net.a phase forward step "
      "1-2 count 2 parent #1\n"
      "op aten::linear input=BFloat16[2,4] weight=BFloat16[8,4] -> BFloat16[2,8] at m.py:3 in "
      "net.a phase forward step 1-2 count 2 autocast off inner parent #1\n");
  const ModuleNode& a = child(child(root, "net"), "a");
  CHECK(own(a, MapView::kActivations) == Shares{{Dtype::kBFloat16, 2}});
  CHECK(a.casts_per_step == 1);
}

TEST_CASE("blocks that are alike are one, and one that differs stands apart") {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    for (const char* name : {"to_q", "to_k", "to_v"})
      text += layer(fmt::format("net.blocks.{}.{}", i, name), "Half", "Half");
  }
  const ModuleNode same = map_of(text);
  const ModuleNode& blocks = child(child(same, "net"), "blocks");
  REQUIRE(blocks.children.size() == 1);
  const ModuleNode& block = blocks.children[0];
  CHECK(block.names.size() == 10);
  CHECK(shown_name(block) == "*");
  CHECK(block.path == "net.blocks.0");
  REQUIRE(block.children.size() == 1);
  CHECK(shown_name(block.children[0]) == "to_q, to_k, to_v");
  CHECK(own(block.children[0], MapView::kWeights) == Shares{{Dtype::kHalf, 32. * 30}});

  const ModuleNode other = map_of(text + layer("net.blocks.4.to_k", "Float", "Half"));
  const ModuleNode& apart = child(child(other, "net"), "blocks");
  REQUIRE(apart.children.size() == 2);
  CHECK(apart.children[0].names.size() == 9);
  CHECK(apart.children[1].names == std::vector<std::string>{"4"});
}

TEST_CASE("models are never one, however alike") {
  CHECK(map_of(layer("a.x", "Half", "Half") + layer("b.x", "Half", "Half")).children.size() == 2);
}

TEST_CASE("an island is what few others of its model are like") {
  std::string text;
  for (const char* name : {"a", "b", "c", "d"})
    text += layer(fmt::format("net.{}", name), "Half", "Half");
  const ModuleNode one = map_of(text + layer("net.e", "Float", "Half"));
  CHECK(child(child(one, "net"), "e").is_island);
  CHECK_FALSE(child(child(one, "net"), "a").is_island);
  const ModuleNode three =
      map_of(text + layer("net.e", "Float", "Half") + layer("net.f", "Float", "Half") +
             layer("net.g", "Float", "Half"));
  CHECK_FALSE(child(child(three, "net"), "e").is_island);
}

TEST_CASE("a norm is marked where it ran in low precision, not where its output is") {
  const auto norm = [](const std::string& input) {
    return map_of("op aten::native_layer_norm input=" + input + "[2,4] weight=" + input +
                  "[4]%net.norm.weight -> " + input +
                  "[2,4] at m.py:3 in net.norm (LayerNorm) phase forward\n");
  };
  CHECK(child(child(norm("Half"), "net"), "norm").has_low_norm);
  CHECK_FALSE(child(child(norm("Float"), "net"), "norm").has_low_norm);
}

TEST_CASE("models with findings come first") {
  Finding finding;
  finding.rule = "mixed-operands";
  finding.site.module = "b.x";
  const ModuleNode root = map_of(
      layer("a.x", "Half", "Half") + layer("a.y", "Half", "Half") + layer("b.x", "Half", "Half"),
      {finding});
  REQUIRE(root.children.size() == 2);
  CHECK(root.children[0].path == "b");
  CHECK(child(root.children[0], "x").findings == std::vector<size_t>{0});
}

TEST_CASE("paths that are no paths of modules do no harm") {
  const std::string deep(20000, '.');
  const ModuleNode root =
      map_of("op aten::relu self=Half[2] -> Half[2] in \"" + deep + "\" phase forward\n");
  CHECK(root.children.size() == 1);
}

}  // namespace dtypecheck::reports
