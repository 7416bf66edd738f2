#include "analyzer/cache_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "platform/hash.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

static constexpr uintmax_t kMaxFile = 64 << 20;

std::optional<std::string> read_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxFile)
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return std::nullopt;
  return text.str();
}

bool write_file(const fs::path& path, std::string_view text) {
  const std::string draft =
      fmt::format("{}.{}.{}", path.string(), getpid(), reinterpret_cast<uintptr_t>(&text));
  {
    std::ofstream out(draft, std::ios::binary);
    out << text;
    out.flush();
    if (!out) {
      unlink(draft.c_str());
      return false;
    }
  }
  chmod(draft.c_str(), 0600);
  if (rename(draft.c_str(), path.c_str()) == 0) return true;
  unlink(draft.c_str());
  return false;
}

std::string stamp_of(const std::string& file) {
  struct stat about;
  if (stat(file.c_str(), &about) != 0) return "";
  return fmt::format("{} {}.{}", about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

std::string content_of(const std::string& file) {
  const auto text = read_file(file);
  return text ? fmt::format("{:016x}", fnv1a(*text)) : "";
}

void make_private_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
}

}  // namespace dtypecheck::analyzer
