// leading_headers.h: the headers of LibTorch that a source begins with.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// Lines of #include, such that parsing them first changes nothing: before them the source, and the
// headers of its project that it includes there, say nothing but comments, guards and standard
// headers. "" where there are none. `folders` are where the project's headers are looked for.
std::string leading_headers(const std::string& file, const std::vector<std::string>& folders);

// The same where the bundled headers stand in for LibTorch's. They are one set, and nothing that a
// source says before them changes it: wherever the source, or a header of its project, includes one
// of them, all of them may come first.
std::string bundled_headers(const std::string& file, const std::vector<std::string>& folders);

}  // namespace dtypecheck::analyzer
