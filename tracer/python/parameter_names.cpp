#include "tracer/python/parameter_names.h"

#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/python/module_names.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

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
  std::vector<std::pair<std::shared_ptr<Scan>, size_t>> flattened;  // nodes
  uint64_t roots_seen = ~uint64_t{0};
  std::chrono::steady_clock::time_point next_scan;
};
Index& parameter_index() {
  static Index* instance = new Index;
  return *instance;
}

void add_tensors(const std::shared_ptr<Scan>& scan, size_t node, ModuleDict which) {
  for (const auto& [key, tensor] : Items(module_dict(scan->tree[node].module, which))) {
    const void* impl = tensor_impl(tensor);
    if (impl == nullptr) continue;
    parameter_index().by_impl.emplace(impl, Entry{scan, node, which, text_of(key), tensor});
  }
}

// FullyShardedDataParallel has a handle of what it flattened, and gives each module below it views
// of that for the time that it runs.
bool is_flattened(const Scan& scan, const std::vector<bool>& flattened, size_t node) {
  const int parent = scan.tree[node].parent;
  if (parent >= 0 && flattened[static_cast<size_t>(parent)]) return true;
  Object* own = module_dict(scan.tree[node].module, ModuleDict::kItself);
  return dict_item(own, "_handle") != nullptr && dict_item(own, "_fully_sharded_module_to_handle");
}

void note_flattened(const std::shared_ptr<Scan>& scan) {
  std::vector<bool> flattened(scan->tree.size());
  for (size_t node = 0; node < scan->tree.size(); ++node) {
    flattened[node] = is_flattened(*scan, flattened, node);
    if (flattened[node]) parameter_index().flattened.emplace_back(scan, node);
  }
}

bool add_view(const std::shared_ptr<Scan>& scan, size_t node, ModuleDict which, const void* impl) {
  for (const auto& [key, tensor] : Items(module_dict(scan->tree[node].module, which))) {
    if (!is_plain_tensor(tensor) || tensor_impl(tensor) != impl) continue;
    parameter_index().by_impl[impl] = Entry{scan, node, which, text_of(key), tensor};
    return true;
  }
  return false;
}

// A view is another tensor each time that the module runs.
bool find_view(const void* impl) {
  if (parameter_index().roots_seen != roots_changed()) return false;
  for (const auto& [scan, node] : parameter_index().flattened)
    if (still_in_tree(scan->tree, node) && (add_view(scan, node, ModuleDict::kItself, impl) ||
                                            add_view(scan, node, ModuleDict::kParameters, impl)))
      return true;
  return false;
}

void scan_roots() {
  Index& index = parameter_index();
  const auto begin = std::chrono::steady_clock::now();
  index.by_impl.clear();
  index.flattened.clear();
  index.roots_seen = roots_changed();
  for (const Root& root : known_roots()) {
    auto scan = std::make_shared<Scan>(Scan{root.name, module_tree(root.module)});
    for (size_t node = 0; node < scan->tree.size(); ++node) {
      add_tensors(scan, node, ModuleDict::kParameters);
      add_tensors(scan, node, ModuleDict::kBuffers);
    }
    note_flattened(scan);
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
  if (has_news || std::chrono::steady_clock::now() >= parameter_index().next_scan) {
    scan_roots();
    if (const Entry* entry = look_up(impl)) return entry;
  }
  return find_view(impl) ? look_up(impl) : nullptr;
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

}  // namespace dtypecheck::tracer::python
