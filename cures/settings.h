// settings.h: what a program's command line, environment and configuration files say of dtypes, and
// what they might say instead. Most trainers are configured, not edited.
#pragma once

#include <string>
#include <vector>

#include "core/run.h"
#include "cures/patch.h"

namespace dtypecheck::cures {

struct Setting {
  std::string text;    // for people: "--mixed_precision bf16"
  Dtype dtype;         // what is asked for
  Program program;     // with the changed command line and environment
  Patch patch;         // of a configuration file; empty where none changes
  std::string prompt;  // the command to type; "" where only a file changes
};

// Empty if the command names no dtype, or its interpreter could not be asked. `run` was made by it.
std::vector<Setting> settings_of(const Program& program, const Run& run);

}  // namespace dtypecheck::cures
