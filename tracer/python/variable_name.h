// variable_name.h: by which name the program holds a module.
#pragma once

#include <functional>
#include <string>

#include "tracer/python/frames.h"

namespace dtypecheck::tracer::python {

struct HeldModule {
  Object* root = nullptr;  // the module that the variable holds
  std::string name;        // its name: "unet" of `unet` as of `self.unet`
  explicit operator bool() const { return root != nullptr; }
};
// Looks from frames[first], which called `module`, outwards: for a variable or an attribute of one
// that is `module`, or is a module that has it below. Names that `is_taken` holds for are a last
// resort.
HeldModule find_holder(const Frames& frames, size_t first, Object* module,
                       const std::function<bool(const HeldModule&)>& is_taken);

}  // namespace dtypecheck::tracer::python
