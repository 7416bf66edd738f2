// hidden_headers.h: a system may have LibTorch or CUDA in its own include folders, where every
// parse looks last. Beside another LibTorch, or the bundled minimum, a header of theirs would be
// mixed in wherever the others lack it, and its declarations collide.
#pragma once

#include <llvm/Support/VirtualFileSystem.h>

#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// The file system without what collides with the sets that Clang's arguments choose.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> without_colliding_headers(
    const std::vector<std::string>& arguments);

}  // namespace dtypecheck::analyzer
