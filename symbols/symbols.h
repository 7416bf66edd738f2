// symbols.h: return addresses of C++ programs to lines.
#pragma once

#include <memory>

#include "trace/reader.h"

namespace dtypecheck {

// Reads ELF and DWARF with elfutils' libdw, debug files found by build id or debug link included;
// asks no debuginfod server, since a report does not use the network. Every file is read once.
//
// With debug information, a line is the innermost one that is not in a header of LibTorch or the
// C++ library: `x.to(torch::kHalf)` is inlined from TensorBody.h, and the line that wrote it is
// wanted. Where the whole function comes from such a header, the line stays empty and the function
// names it: the caller has the line. Without debug information: "trainer: main+0x1a2", or
// "trainer+0x11a2" without symbols.
std::unique_ptr<Symbolizer> make_symbolizer();

}  // namespace dtypecheck
