// neighbours.h: the files of a project that are parsed beside those that a run is about.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// The sources around `files`, in their project, that name one of the functions: twelve at most,
// those that name most of them first.
std::vector<std::string> sources_that_name(const std::set<std::string>& functions,
                                           const std::vector<std::string>& files);

}  // namespace dtypecheck::analyzer
