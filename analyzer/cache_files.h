// cache_files.h: what the caches of the analyzer share: names by content, files written whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace dtypecheck::analyzer {

// Whole or not at all, whoever else writes. False: it could not be written.
bool write_file(const std::filesystem::path& path, std::string_view text);

std::string stamp_of(const std::string& file);    // "size time"; "" where there is none
std::string content_of(const std::string& file);  // a hash of it; "" where there is none

}  // namespace dtypecheck::analyzer
