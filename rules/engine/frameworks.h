// frameworks.h: what to ask a framework for in place of weights in 16 bits; the table is
// rules/data/frameworks.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/run.h"

namespace dtypecheck::rules {

struct FrameworkSetting {
  std::string name, value, instead;  // "precision", "16-true" or "*", "bf16-mixed"
  std::string arguments;             // what `cure` types in its place; "" where it tries nothing
  bool is_typed = false;             // on a command line: `instead` is what to type there
};

struct FrameworkDefault {
  std::string function, name, what, instead;
};

struct Framework {
  std::string name, read;
  std::vector<std::string> files, run;
  std::vector<FrameworkSetting> settings;
  std::vector<FrameworkDefault> defaults;

  bool has_file(std::string_view path) const;
};

const std::vector<Framework>& frameworks();
// Those whose sources called an op of the run or hold one of the lines, in the table's order.
std::vector<const Framework*> frameworks_of(const Run& run,
                                            const std::vector<SourceLine>& lines = {});
// Throws InputError: "rules/data/frameworks.txt:12: …".
std::vector<Framework> read_frameworks(std::string_view text);

}  // namespace dtypecheck::rules
