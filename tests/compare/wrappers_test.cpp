#include "compare/wrappers.h"

#include <catch2/catch.hpp>

namespace dtypecheck::compare {
namespace {

TEST_CASE("what wraps a module is no part of its name") {
  CHECK(without_wrappers("model.module.net.up") == "model.net.up");
  CHECK(without_wrappers("model._orig_mod.module.net._checkpoint_wrapped_module.up.weight") ==
        "model.net.up.weight");
  CHECK(without_wrappers("model") == "model");
  CHECK(without_wrappers("model.net.module.up") == "model.net.module.up");
  CHECK(without_wrappers("module.net") == "module.net");
}

DigestedProcess run_with(const std::vector<std::string>& modules) {
  DigestedProcess process;
  for (const std::string& module : modules) process.calls.push_back({.site = {.module = module}});
  process.digests.push_back({.parameter = modules.front() + ".weight"});
  return process;
}

TEST_CASE("the one model that has another name in the other run gets that name") {
  DigestedProcess a = run_with({"model.up", "ema.up"}),
                  b = run_with({"wrapped.module.up", "ema.up"});
  unify_names(a, b);
  CHECK(b.calls[0].site.module == "model.up");
  CHECK(b.digests[0].parameter == "model.up.weight");
  CHECK(b.calls[1].site.module == "ema.up");
}

TEST_CASE("of several it is not known which is which") {
  DigestedProcess a = run_with({"one.up", "two.up"}), b = run_with({"three.up", "four.up"});
  unify_names(a, b);
  CHECK(b.calls[0].site.module == "three.up");
}

}  // namespace
}  // namespace dtypecheck::compare
