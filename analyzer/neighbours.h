// neighbours.h: the files of a project that are parsed beside those that a run is about.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace dtypecheck::analyzer {

// The sources around `files`, in their project, that name one of the functions; those that name
// most come first, and of the others a few at most are left out.
std::vector<std::string> sources_that_name(const std::set<std::string>& functions,
                                           const std::vector<std::string>& files);

}  // namespace dtypecheck::analyzer
