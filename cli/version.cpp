#include "cli/version.h"

namespace dtypecheck::cli {

const char* tool_version() { return DTYPECHECK_VERSION; }

}  // namespace dtypecheck::cli
