// function_name.h: a function as people call it.
#pragma once

#include <string>

namespace dtypecheck::symbols {

// "_ZN5Block7forwardERKN2at6TensorE" -> "Block::forward"; without parameters, return type and
// qualifiers, which would fill the line of a report. A name that is not mangled stays as it is.
std::string readable_name(const char* symbol);

// The same of a demangled name.
std::string without_signature(const std::string& demangled);

}  // namespace dtypecheck::symbols
