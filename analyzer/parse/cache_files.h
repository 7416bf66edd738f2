// cache_files.h: what the caches of the analyzer share: names by content, files written whole.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dtypecheck::analyzer {

// Whole or not at all, whoever else writes. False: it could not be written.
bool write_file(const std::filesystem::path& path, std::string_view text);

std::string content_of(const std::string& file);  // a hash of it; "" where there is none

// "size time" of files, "" where there is none; each is asked for once in a run, which has
// thousands of LibTorch's headers to ask about. Any thread may call it.
class Stamps {
 public:
  std::string stamp_of(const std::string& file);

 private:
  std::mutex lock_;
  std::unordered_map<std::string, std::string> known_;
};

}  // namespace dtypecheck::analyzer
