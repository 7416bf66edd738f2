#pragma once

namespace dtypecheck {

const char* tool_version();  // "0.1.0"

}  // namespace dtypecheck
