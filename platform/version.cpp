#include "platform/version.h"

namespace dtypecheck {

const char* tool_version() { return DTYPECHECK_VERSION; }

}  // namespace dtypecheck
