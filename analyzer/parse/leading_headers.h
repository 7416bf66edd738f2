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
struct BundledHeaders {
  std::string lines;  // "": it includes none of them
  // The large headers of other things (tree.h) that it includes as well, and that say the same
  // behind these lines: they include nothing but standard headers, and ask about no macro that the
  // source or a header of its project defines.
  std::vector<std::string> large;
};
BundledHeaders bundled_headers(const std::string& file, const std::vector<std::string>& folders);

}  // namespace dtypecheck::analyzer
