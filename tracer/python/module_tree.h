// module_tree.h: nn.Module trees, read from the instances' dictionaries alone, so that no code of
// the program runs. GIL held throughout; pointers are borrowed and hold as long as no Python code
// runs.
#pragma once

#include <string>
#include <vector>

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {

bool is_module(const Object* object);

// module.__dict__["_modules"] and its like, or that dictionary itself; null unless it is a dict.
// Borrowed.
enum class ModuleDict { kModules, kParameters, kBuffers, kItself };
Object* module_dict(Object* module, ModuleDict which);

struct TreeNode {
  Object* module = nullptr;
  int parent = -1;   // index; -1: the root
  std::string name;  // under which the parent holds it
};
// Breadth first, each module once, under its first name. With `target`, ends when that is found: it
// is the last node then.
std::vector<TreeNode> module_tree(Object* root, const Object* target = nullptr);
bool ends_with_module(const std::vector<TreeNode>& tree, const Object* target);

// The dotted path of a node below the root, without the segments that only wrappers add (DDP's
// `module`, torch.compile's
// `_orig_mod`, peft's `base_model.model`); empty for the root.
std::string path_in_tree(const std::vector<TreeNode>& tree, size_t node);

// True when the parents still hold one another down to this node.
bool still_in_tree(const std::vector<TreeNode>& tree, size_t node);

// "a" + "b" = "a.b"; either may be empty.
std::string join_path(const std::string& head, const std::string& tail);

}  // namespace dtypecheck::tracer::python
