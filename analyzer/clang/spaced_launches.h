// spaced_launches.h: nvcc takes `<< <` and `>> >` around the arguments of a kernel launch, which
// formatters that do not know CUDA write, and {x, y} among them for a dim3; Clang does not.
#pragma once

#include <llvm/Support/VirtualFileSystem.h>

#include <string>

namespace dtypecheck::analyzer {

// `below`, whose files have the three brackets of each launch together, and (x, y) for {x, y}. No
// line and no column of anything else changes.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> with_joined_launches(
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> below);

// The text so changed; false: there is nothing to change.
bool join_launches(std::string& text);

}  // namespace dtypecheck::analyzer
