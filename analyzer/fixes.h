// fixes.h: applies the mechanical cures of findings to the sources.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"

namespace dtypecheck::analyzer {

struct AppliedFixes {
  size_t findings = 0;
  size_t files = 0;
  std::vector<std::string> in_the_way;  // "a.cu:12": the file has changed or two cures overlap
  std::vector<std::string> broken;      // "a.cu:12": the file would not compile with the cure
};

// Which of these files, that have just been written, compile no longer.
using BrokenFiles = std::function<std::vector<std::string>(const std::vector<std::string>& files)>;

// Rewrites the files, and drops the findings whose cures were all applied. A finding is cured in
// full or not at all; where two want the same place the first one gets it, and a cure with which a
// file compiles no longer is taken back. Throws InputError when a file cannot be written.
AppliedFixes apply_fixes(std::vector<Finding>& findings, const BrokenFiles& broken);

// What is put before a line is given as "new line\n" and as many blanks as its column asks for; it
// gets the indentation that stands there, or goes beside what stands on the line, { run(x); }, and
// leaves no blanks behind at a line's end.
void reindent(SourceEdit& edit, std::string_view text);

}  // namespace dtypecheck::analyzer
