// temporary_folder.h: a folder of this process's own, gone with the object.
#pragma once

#include <string>

namespace dtypecheck {

class TemporaryFolder {
 public:
  // In the system's folder for such, as dtypecheck-NAME.<random>, mode 0700. Throws InputError.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dtypecheck
