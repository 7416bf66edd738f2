// leading_headers.h: the headers of LibTorch that a source begins with.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// Lines of #include, such that parsing them first changes nothing: before them the source, and the
// headers of its project that it includes there, say nothing but comments, guards and standard
// headers. "" where there are none. `folders` are where the project's headers are looked for.
std::string leading_headers(const std::string& file, const std::vector<std::string>& folders);

}  // namespace dtypecheck::analyzer
