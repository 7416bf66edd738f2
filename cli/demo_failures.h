// demo_failures.h: the known failures that `dtypecheck demo` shows, as data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::cli {

struct DemoFailure {
  const char* name;
  const char* title;
  const char* reported;  // where people met it
  const char* story;     // what went wrong there, and what stands for it here
  // What sdxl-train is told beside --policy, in a folder with two models of `sdxl-train tiny`:
  // tiny, and inpainting whose UNet has nine channels.
  std::vector<std::string> arguments;
  const char* broken;        // a policy in JSON (docs/runtime.md)
  const char* fixed;         // a named policy
  const char* says;          // by LibTorch 2.11; "" where it says nothing
  const char* said_in_1_13;  // "" where the failure cannot be shown there: it has no Half products
  const char* damage;        // what a silent failure does; "" for one that throws
  std::vector<std::string> rules;  // of the findings, all of them, in the order of the alphabet
  const char* cure;                // in the policy
};

const std::vector<DemoFailure>& demo_failures();
const DemoFailure* find_demo_failure(std::string_view name);

}  // namespace dtypecheck::cli
