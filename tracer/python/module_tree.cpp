#include "tracer/python/module_tree.h"

#include <algorithm>
#include <unordered_set>

#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr size_t kMaxNodes = 200000;

struct Wrapper {
  const char* type;  // null: any
  const char* child;
};
constexpr Wrapper kWrappers[] = {
    {nullptr, "_orig_mod"},
    {nullptr, "_fsdp_wrapped_module"},
    {nullptr, "_checkpoint_wrapped_module"},
    {"DistributedDataParallel", "module"},
    {"DataParallel", "module"},
    {"FullyShardedDataParallel", "module"},
    {"DeepSpeedEngine", "module"},
};

bool is_peft_model(const Object* module) {
  return type_name(type_of(module)).rfind("Peft", 0) == 0;
}

bool is_peft_tuner(const Object* module) {
  const Ref bases = attribute(type_of(module), "__mro__");
  for (std::ptrdiff_t i = 0; i < sequence_size(bases.get()); ++i) {
    if (type_name(sequence_item(bases.get(), i)) == "BaseTuner") return true;
  }
  return false;
}

// Whether a node is only its parent's wrapped module.
bool is_wrapped(const std::vector<TreeNode>& tree, const TreeNode& node) {
  if (node.parent < 0) return false;
  const TreeNode& parent = tree[static_cast<size_t>(node.parent)];
  const std::string type = type_name(type_of(parent.module));
  for (const Wrapper& w : kWrappers) {
    if (node.name == w.child && (w.type == nullptr || type == w.type)) return true;
  }
  if (node.name == "base_model") return is_peft_model(parent.module);
  return node.name == "model" && is_peft_tuner(parent.module);
}

// torch.nn.Module, once it is imported; kept, since it is asked for often.
Object* module_type() {
  static Object* type = nullptr;
  if (type == nullptr) {
    type = imported_item("torch.nn.modules.module", "Module");
    if (type != nullptr) api.Py_IncRef(type);
  }
  return type;
}

}  // namespace

bool is_module(const Object* object) { return is_instance(object, module_type()); }

Object* module_dict(Object* module, ModuleDict which) {
  static Object* const keys[] = {new_text("_modules"), new_text("_parameters"),
                                 new_text("_buffers")};
  const Ref dict = instance_dict(module);
  if (which == ModuleDict::kItself)
    return is_instance(dict.get(), api.PyDict_Type) ? dict.get() : nullptr;
  Object* key = keys[static_cast<size_t>(which)];
  if (!is_instance(dict.get(), api.PyDict_Type) || key == nullptr) return nullptr;
  Object* found = api.PyDict_GetItemWithError(dict.get(), key);
  if (found == nullptr) api.PyErr_Clear();
  return is_instance(found, api.PyDict_Type) ? found : nullptr;
}

std::vector<TreeNode> module_tree(Object* root, const Object* target) {
  std::vector<TreeNode> tree;
  std::unordered_set<const Object*> seen{root};
  tree.push_back({root, -1, std::string()});
  for (size_t i = 0; i < tree.size() && tree.size() < kMaxNodes; ++i) {
    if (tree[i].module == target) return tree;
    for (const auto& [key, child] : Items(module_dict(tree[i].module, ModuleDict::kModules))) {
      if (!is_module(child) || !seen.insert(child).second) continue;
      tree.push_back({child, static_cast<int>(i), text_of(key)});
      if (child == target) return tree;
    }
  }
  return tree;
}

bool ends_with_module(const std::vector<TreeNode>& tree, const Object* target) {
  return !tree.empty() && tree.back().module == target;
}

std::string path_in_tree(const std::vector<TreeNode>& tree, size_t node) {
  std::string path;
  for (const TreeNode* n = &tree[node]; n->parent >= 0; n = &tree[static_cast<size_t>(n->parent)]) {
    if (!is_wrapped(tree, *n)) path = join_path(n->name, path);
  }
  return path;
}

bool still_in_tree(const std::vector<TreeNode>& tree, size_t node) {
  std::vector<size_t> down;  // from below the root to the node
  for (size_t n = node; tree[n].parent >= 0; n = static_cast<size_t>(tree[n].parent))
    down.push_back(n);
  std::reverse(down.begin(), down.end());
  return std::all_of(down.begin(), down.end(), [&tree](size_t n) {
    Object* parent = tree[static_cast<size_t>(tree[n].parent)].module;
    Object* children = module_dict(parent, ModuleDict::kModules);
    return children != nullptr && dict_item(children, tree[n].name.c_str()) == tree[n].module;
  });
}

std::string join_path(const std::string& head, const std::string& tail) {
  if (head.empty() || tail.empty()) return head + tail;
  return head + "." + tail;
}

}  // namespace dtypecheck::tracer::python
