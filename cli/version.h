#pragma once

namespace dtypecheck::cli {

const char* tool_version();  // "0.1.0"

}  // namespace dtypecheck::cli
