// parameter_names.h: parameters and buffers of the known module trees, by their TensorImpl. GIL
// held.
#pragma once

#include <string>
#include <vector>

#include "tracer/python/module_tree.h"

namespace dtypecheck::tracer::python {

std::string find_parameter_name(const void* impl);

// The tree that holds it; null where none does. Holds until the next look-up.
struct ParameterPlace {
  const std::string* root_name = nullptr;
  const std::vector<TreeNode>* tree = nullptr;
  size_t node = 0;
  const Object* tensor = nullptr;
};
ParameterPlace find_parameter(const void* impl);

// "net.0.weight" of root "net", the node of "0" and name "weight".
std::string name_in_tree(const std::string& root, const std::vector<TreeNode>& tree, size_t node,
                         const std::string& name);

}  // namespace dtypecheck::tracer::python
