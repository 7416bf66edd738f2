// source_owner.h: whose a source file is.
#pragma once

#include <string_view>

namespace dtypecheck::symbols {

// True for headers of LibTorch, CUDA and the C and C++ libraries, which no user of them edits.
bool is_library_source(std::string_view path);

}  // namespace dtypecheck::symbols
