// whole_file.h: files that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::runtime {

// Written beside `path` and then moved there, so that a full disk or a kill leaves the old file.
// Throws InputError; what was begun is then removed.
void replace_file(const std::string& path, const std::vector<std::string_view>& pieces);

}  // namespace dtypecheck::runtime
