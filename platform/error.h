// error.h: what the libraries throw when input cannot be used. Only cli/ prints it.
#pragma once

#include <stdexcept>
#include <string>

namespace dtypecheck {

// The message names the object, what was expected, what came, and the way out; lower case, no full
// stop.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace dtypecheck
