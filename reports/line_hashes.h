// line_hashes.h: what tells a line of a file again when lines above it were added or removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::reports {

// For each line the value that GitHub's code scanning computes as primaryLocationLineHash, and
// warns about when it finds another: a hash of the first hundred characters from the start of the
// line on that are neither blank nor tab, and how often it came in the file so far.
std::vector<std::string> line_hashes(std::string_view text);

}  // namespace dtypecheck::reports
