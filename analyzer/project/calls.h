// calls.h: what the files of a project say of one another's functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// A function that no call in its own file leads to is judged by the calls in all other files: where
// each of them knows a tensor's dtype, or has checked it, so does the function; where one is bound
// to Python and passes on what it was given, the function is as good as bound. The facts of each
// file are kept as they are, so a change in one costs the parse of that one.
// The first `judged` files are what the run is about.
void join_calls(std::vector<SourceFacts>& all, size_t judged);

// Names of functions of which another file could tell something that matters.
struct UnseenFunctions {
  std::set<std::string> named;   // who calls or binds them, or what they read an untyped pointer as
  std::set<std::string> bodies;  // or classes: what they do with a model
};
UnseenFunctions unseen_functions(const std::vector<SourceFacts>& all);

std::string plain_name(const std::string& function);  // "forward" of "nets::NetImpl::forward/1"
// The class or namespace that a function stands in: "NetImpl" of "nets::NetImpl::forward/1".
std::string scope_name(const std::string& function);

}  // namespace dtypecheck::analyzer
