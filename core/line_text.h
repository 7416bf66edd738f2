// line_text.h: how what quotes the program's source is given it.
#pragma once

#include <functional>
#include <string>

namespace dtypecheck {

// The text of a source line, as it stands there; "" when it is not known.
using LineText = std::function<std::string(const std::string& file, int line)>;

}  // namespace dtypecheck
