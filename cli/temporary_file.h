// temporary_file.h: a file in the folder for temporary files, as long as the object lives.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "platform/error.h"

namespace dtypecheck::cli {

class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / "dtypecheck-XXXXXX").string();
    const int fd = error ? -1 : ::mkstemp(path_.data());
    if (fd < 0)
      throw InputError(fmt::format("{}: cannot be made: {}", path_, std::strerror(errno)));
    ::close(fd);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dtypecheck::cli
