// doc.h: the document of a rule of a run, or of a check of source. The pages of the command line
// and every report format read it from here.
#pragma once

#include "core/finding.h"

namespace dtypecheck {

struct Doc {
  const char* id;
  Severity severity;  // the usual one; a finding may have another
  const char* summary;
  const char* why;
  const char* fix;
  // A case that fires and a near miss that does not: trace text with # EXPECT lines, or C++ with
  // // EXPECT lines. It is shown on the page, and is a test.
  const char* example;
  const char* alias = nullptr;  // what others call the fault
};

}  // namespace dtypecheck
