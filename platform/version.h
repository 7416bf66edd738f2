#pragma once

namespace dtypecheck {

const char* tool_version();  // "1.0.0"

}  // namespace dtypecheck
