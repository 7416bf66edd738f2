#include "analyzer/parse/cache_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/hash.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

bool write_file(const fs::path& path, std::string_view text) {
  try {
    replace_file(path.string(), {text}, {.mode = 0600, .syncs = false});
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::string Stamps::stamp_of(const std::string& file) {
  const std::scoped_lock held(lock_);
  const auto [at, is_new] = known_.try_emplace(file);
  struct stat about;
  if (is_new && stat(file.c_str(), &about) == 0) {
    at->second =
        fmt::format("{} {}.{}", about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  }
  return at->second;
}

std::string content_of(const std::string& file) {
  const auto text = read_file_if_any(file);
  return text ? hash_text(fnv1a(*text)) : "";
}

}  // namespace dtypecheck::analyzer
