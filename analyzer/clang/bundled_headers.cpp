#include "analyzer/clang/bundled_headers.h"

#include <llvm/ADT/SmallString.h>

namespace dtypecheck::analyzer {

using llvm::StringRef;
using llvm::Twine;

namespace {

// What one header of the bundled set declares for all that lies below a folder.
struct Family {
  StringRef folder;  // below the folder of the set
  StringRef header;
};
constexpr Family kTorch[] = {{"ATen/", "dtypecheck_torch.h"},
                             {"c10/", "dtypecheck_torch.h"},
                             {"caffe2/", "dtypecheck_torch.h"},
                             {"torch/", "dtypecheck_torch.h"}};
constexpr Family kCuda[] = {{"cub/", "cub/cub.cuh"},
                            {"cuda/std/", "dtypecheck_cuda_std.h"},
                            {"cuda/", "dtypecheck_cuda_std.h"}};

class Bundled : public llvm::vfs::ProxyFileSystem {
 public:
  Bundled(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> below, std::string torch,
          std::string cuda)
      : ProxyFileSystem(std::move(below)), torch_(std::move(torch)), cuda_(std::move(cuda)) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const Twine& path) override {
    auto found = ProxyFileSystem::status(path);
    const std::string instead = found ? "" : header_for(path);
    if (instead.empty()) return found;
    if (instead.ends_with("/")) return folder(path);
    found = ProxyFileSystem::status(instead);
    if (!found) return found;
    auto status = llvm::vfs::Status::copyWithNewName(*found, instead);
    status.ExposesExternalVFSPath = true;  // it is known by the name of the file that it is
    return status;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const Twine& path) override {
    auto found = ProxyFileSystem::openFileForRead(path);
    const std::string instead = found ? "" : header_for(path);
    return instead.empty() ? std::move(found) : ProxyFileSystem::openFileForRead(instead);
  }

 private:
  static llvm::vfs::Status folder(const Twine& path) {
    return {path, llvm::vfs::getNextVirtualUniqueID(),      llvm::sys::TimePoint<>(), 0, 0,
            0,    llvm::sys::fs::file_type::directory_file, llvm::sys::fs::all_read};
  }
  // "/" behind it: a folder of such headers. "": none of ours.
  std::string header_for(const Twine& twine) const {
    llvm::SmallString<256> buffer;
    const StringRef path = twine.toStringRef(buffer);
    const std::string of_torch = header_below(path, torch_, kTorch);
    return of_torch.empty() ? header_below(path, cuda_, kCuda) : of_torch;
  }
  static std::string header_below(StringRef path, const std::string& set,
                                  llvm::ArrayRef<Family> families) {
    if (set.empty() || !path.consume_front(set) || !path.consume_front("/")) return "";
    // What one of the set includes is looked for beside it first.
    if (path.rsplit('/').second.starts_with("dtypecheck_")) return "";
    for (const Family& family : families) {
      if (family.folder.starts_with((path + "/").str())) return set + "/";
    }
    for (const Family& family : families) {
      if (!path.starts_with(family.folder)) continue;
      // Those of the standard library have no suffix.
      const bool is_header = path.contains('.') != family.folder.starts_with("cuda/");
      return set + "/" + (is_header ? family.header.str() : "");
    }
    return "";
  }

  std::string torch_, cuda_;
};

// The folder of the arguments that has this header of ours.
std::string set_with(StringRef header, llvm::vfs::FileSystem& files,
                     const std::vector<std::string>& arguments) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i].starts_with("-i") && files.exists(arguments[i + 1] + "/" + header.str()))
      return arguments[i + 1];
  }
  return "";
}

}  // namespace

bool has_bundled_torch(const std::vector<std::string>& arguments) {
  return !set_with("dtypecheck_torch.h", *llvm::vfs::getRealFileSystem(), arguments).empty();
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> with_bundled_headers(
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> below,
    const std::vector<std::string>& arguments) {
  const std::string torch = set_with("dtypecheck_torch.h", *below, arguments);
  const std::string cuda = set_with("dtypecheck_cuda.h", *below, arguments);
  if (torch.empty() && cuda.empty()) return below;
  return llvm::makeIntrusiveRefCnt<Bundled>(std::move(below), torch, cuda);
}

}  // namespace dtypecheck::analyzer
