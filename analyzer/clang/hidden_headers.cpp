#include "analyzer/clang/hidden_headers.h"

#include <llvm/ADT/SmallString.h>

namespace dtypecheck::analyzer {

using llvm::StringRef;
using llvm::Twine;

namespace {

constexpr StringRef kSystemFolders[] = {"/usr/include/", "/usr/local/include/"};

class Hiding : public llvm::vfs::ProxyFileSystem {
 public:
  Hiding(bool hides_torch, bool hides_cuda)
      : ProxyFileSystem(llvm::vfs::getRealFileSystem()),
        hides_torch_(hides_torch),
        hides_cuda_(hides_cuda) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const Twine& path) override {
    if (hides(path)) return make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::status(path);
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const Twine& path) override {
    if (hides(path)) return make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::openFileForRead(path);
  }
  bool exists(const Twine& path) override { return !hides(path) && ProxyFileSystem::exists(path); }

 private:
  bool hides(const Twine& twine) const {
    llvm::SmallString<256> buffer;
    const StringRef path = twine.toStringRef(buffer);
    for (StringRef name : kSystemFolders) {
      if (!path.starts_with(name)) continue;
      name = path.drop_front(name.size());
      return (hides_torch_ && is_torchs(name)) || (hides_cuda_ && is_in_toolkit(path));
    }
    return false;
  }
  static bool is_torchs(StringRef name) {
    const StringRef folder = name.split('/').first;
    return folder == "ATen" || folder == "c10" || folder == "torch" || folder == "caffe2";
  }
  // CUDA's headers lie below /usr/include only as links into the toolkit's own folder.
  static bool is_in_toolkit(StringRef path) {
    llvm::SmallString<256> real;
    return !llvm::vfs::getRealFileSystem()->getRealPath(path, real) && real.str().contains("/cuda");
  }

  bool hides_torch_, hides_cuda_;
};

bool has(const std::string& folder, StringRef name) {
  return llvm::vfs::getRealFileSystem()->exists(folder + "/" + name.str());
}

}  // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> without_colliding_headers(
    const std::vector<std::string>& arguments) {
  bool has_torch = false, has_bundled_cuda = false;
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "-isystem") continue;
    const std::string& folder = arguments[i + 1];
    has_torch = has_torch || has(folder, "ATen");
    has_bundled_cuda = has_bundled_cuda || has(folder, "dtypecheck_cuda.h");
  }
  if (!has_torch && !has_bundled_cuda) return llvm::vfs::getRealFileSystem();
  return llvm::makeIntrusiveRefCnt<Hiding>(has_torch, has_bundled_cuda);
}

}  // namespace dtypecheck::analyzer
