// bundled_headers.h: LibTorch and CUB have thousands of headers, of which the bundled sets declare
// what sources use in a few. Whatever else is included from their folders is one of these.
#pragma once

#include <llvm/Support/VirtualFileSystem.h>

#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// Clang's arguments name the folder of the bundled LibTorch.
bool has_bundled_torch(const std::vector<std::string>& arguments);

// `below`, and in the folders of the bundled sets that Clang's arguments name every header.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> with_bundled_headers(
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> below,
    const std::vector<std::string>& arguments);

}  // namespace dtypecheck::analyzer
