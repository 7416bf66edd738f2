#include "platform/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "platform/error.h"

namespace fs = std::filesystem;

namespace dtypecheck {

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code error;
  path_ = (fs::temp_directory_path(error) / fmt::format("dtypecheck-{}.XXXXXX", name)).string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw InputError(fmt::format("{}: cannot be made: {}", path_, std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace dtypecheck
