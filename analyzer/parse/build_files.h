// build_files.h: what a project's own build files give its sources, where no compile database says
// so: setup.py and whatever Python builds extensions of LibTorch, CMakeLists.txt.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace dtypecheck::analyzer {

struct BuildMacro {
  std::string value;       // "" for a macro that is only defined
  bool is_switch = false;  // under a condition, or with several values: it may be on or off
};

struct BuildFlags {
  std::map<std::string, BuildMacro> defined;
  std::map<std::string, BuildMacro> undefined;  // -U, which takes back what a default defines
  std::string standard = "17";                  // the latest that is asked for, and no earlier one
};

// Adds what a build file says, and nothing for any other file. A condition that asks for CUDA
// counts as true, for kernels are parsed; any other makes a switch of what stands under it.
void read_build_file(const std::filesystem::path& file, BuildFlags& flags);

}  // namespace dtypecheck::analyzer
