#include "tracer/python/parameter_names.h"

#include <chrono>
#include <memory>
#include <unordered_map>

#include "tracer/python/module_names.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck {
namespace tracer {
namespace python {

namespace {

struct Scan {
  std::string root_name;
  std::vector<TreeNode> tree;
};

struct Entry {
  std::shared_ptr<Scan> scan;
  size_t node = 0;
  ModuleDict dict = ModuleDict::kParameters;
  std::string name;
  const Object* tensor = nullptr;
};

// Guarded by the GIL, never freed.
struct Index {
  std::unordered_map<const void*, Entry> by_impl;
  uint64_t roots_seen = ~uint64_t{0};
  std::chrono::steady_clock::time_point next_scan;
};
Index& parameter_index() {
  static Index* instance = new Index;
  return *instance;
}

void add_tensors(const std::shared_ptr<Scan>& scan, size_t node, ModuleDict which) {
  Object* tensors = module_dict(scan->tree[node].module, which);
  std::ptrdiff_t at = 0;
  Object* key = nullptr;
  Object* tensor = nullptr;
  while (tensors != nullptr && api.PyDict_Next(tensors, &at, &key, &tensor) != 0) {
    const void* impl = tensor_impl(tensor);
    if (impl == nullptr) continue;
    parameter_index().by_impl.emplace(impl, Entry{scan, node, which, text_of(key), tensor});
  }
}

void scan_roots() {
  Index& index = parameter_index();
  const auto begin = std::chrono::steady_clock::now();
  index.by_impl.clear();
  index.roots_seen = roots_changed();
  for (const Root& root : known_roots()) {
    auto scan = std::make_shared<Scan>(Scan{root.name, module_tree(root.module)});
    for (size_t node = 0; node < scan->tree.size(); ++node) {
      add_tensors(scan, node, ModuleDict::kParameters);
      add_tensors(scan, node, ModuleDict::kBuffers);
    }
  }
  const auto end = std::chrono::steady_clock::now();
  index.next_scan = end + 50 * (end - begin);  // at most a fiftieth of the time goes to this
}

// True when the tree still holds this tensor under this name: the address may have a new owner.
bool still_holds(const Entry& entry, const void* impl) {
  if (parameter_index().roots_seen != roots_changed()) return false;  // its root may be gone
  if (!still_in_tree(entry.scan->tree, entry.node)) return false;
  Object* tensors = module_dict(entry.scan->tree[entry.node].module, entry.dict);
  Object* tensor = dict_item(tensors, entry.name.c_str());
  return tensor != nullptr && tensor == entry.tensor && tensor_impl(tensor) == impl;
}

const Entry* look_up(const void* impl) {
  const auto at = parameter_index().by_impl.find(impl);
  if (at == parameter_index().by_impl.end() || !still_holds(at->second, impl)) return nullptr;
  return &at->second;
}

const Entry* find_entry(const void* impl) {
  if (impl == nullptr) return nullptr;
  if (const Entry* entry = look_up(impl)) return entry;
  const bool has_news = parameter_index().roots_seen != roots_changed();
  if (!has_news && std::chrono::steady_clock::now() < parameter_index().next_scan) return nullptr;
  scan_roots();
  return look_up(impl);
}

}  // namespace

std::string find_parameter_name(const void* impl) {
  const Entry* entry = find_entry(impl);
  return entry ? name_in_tree(entry->scan->root_name, entry->scan->tree, entry->node, entry->name)
               : std::string();
}

ParameterPlace find_parameter(const void* impl) {
  const Entry* entry = find_entry(impl);
  if (!entry) return {};
  return {&entry->scan->root_name, &entry->scan->tree, entry->node, entry->tensor};
}

std::string name_in_tree(const std::string& root, const std::vector<TreeNode>& tree, size_t node,
                         const std::string& name) {
  return join_path(join_path(root, path_in_tree(tree, node)), name);
}

}  // namespace python
}  // namespace tracer
}  // namespace dtypecheck
