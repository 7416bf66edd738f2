// module_names.h: the path of a module as the user knows it, "unet.down_blocks.0.resnets.1.conv1".
//
// The outermost module call on the stack is the root; its name is the variable that its caller
// holds it in. The rest is found along the module calls below it. Roots are kept with their names,
// so that a block that is called alone later (gradient checkpointing) and parameters asked for in
// the optimizer have the same path. GIL held throughout.
#pragma once

#include <string>
#include <vector>

#include "tracer/python/frames.h"
#include "tracer/python/module_tree.h"

namespace dtypecheck::tracer::python {

struct ModuleName {
  std::string path;
  std::string class_name;
  size_t outermost = 0;  // index of the frame that calls the root
};
// Of the innermost module call; empty outside of modules.
ModuleName name_innermost_module(const Frames& frames);

struct Root {
  Object* module = nullptr;  // borrowed: dropped from the list when the module dies
  std::string name;
};
// Those seen so far; `roots_changed` counts additions and deaths.
const std::vector<Root>& known_roots();
uint64_t roots_changed();

}  // namespace dtypecheck::tracer::python
