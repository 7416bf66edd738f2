#include "tracer/python/module_names.h"

#include <algorithm>
#include <unordered_map>

#include "tracer/python/frame_walk.h"
#include "tracer/python/module_watch.h"
#include "tracer/python/text.h"
#include "tracer/python/variable_name.h"

namespace dtypecheck::tracer::python {

namespace {

struct Roots {
  std::vector<Root> list;
  uint64_t changes = 0;
  // Modules below a root that were called alone, with their paths: a call with gradient
  // checkpointing makes many.
  std::unordered_map<const Object*, std::string> path_of_inner;
};
Roots& roots() {
  static Roots* instance = new Roots;  // never freed: modules die until the very end of the process
  return *instance;
}

void forget_module(const Object* module) {
  auto& list = roots().list;
  roots().path_of_inner.erase(module);
  const auto gone = std::remove_if(list.begin(), list.end(),
                                   [module](const Root& r) { return r.module == module; });
  if (gone == list.end()) return;
  list.erase(gone, list.end());
  roots().path_of_inner.clear();
  ++roots().changes;
}

void keep_root(Object* module, const std::string& name) {
  on_module_death(forget_module);
  watch_module(module);
  if (!is_watched(module)) return;
  roots().list.push_back({module, name});
  ++roots().changes;
}

struct ModuleCall {
  Object* module = nullptr;
  size_t frame = 0;
};

// Innermost first; a module that calls itself through a second frame is one call.
std::vector<ModuleCall> module_calls(const Frames& frames) {
  std::vector<ModuleCall> calls;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].kind() != CodeKind::kModuleCall) continue;
    auto* module = const_cast<Object*>(module_called_in(frames[i].frame, frames[i].code_class));
    if (!is_module(module)) continue;
    if (!calls.empty() && calls.back().module == module) {
      calls.back().frame = i;
    } else {
      calls.push_back({module, i});
    }
  }
  return calls;
}

bool has_state(Object* module) {
  for (ModuleDict which : {ModuleDict::kParameters, ModuleDict::kBuffers, ModuleDict::kModules}) {
    const Items items(module_dict(module, which));
    if (items.begin() != items.end()) return true;
  }
  return false;
}

bool path_below(Object* root, const Object* module, std::string* path) {
  const std::vector<TreeNode> tree = module_tree(root, module);
  if (!ends_with_module(tree, module)) return false;
  *path = path_in_tree(tree, tree.size() - 1);
  return true;
}

bool path_in_known_root(Object* module, std::string* path) {
  const auto known = roots().path_of_inner.find(module);
  if (known != roots().path_of_inner.end()) return *path = known->second, true;
  for (const Root& root : roots().list) {
    std::string below;
    if (!path_below(root.module, module, &below)) continue;
    *path = join_path(root.name, below);
    watch_module(module);
    if (is_watched(module)) roots().path_of_inner.emplace(module, *path);
    return true;
  }
  return false;
}

bool is_taken(const HeldModule& held) {
  const auto& list = roots().list;
  return !held.name.empty() && std::any_of(list.begin(), list.end(), [&held](const Root& r) {
    return r.name == held.name && r.module != held.root;
  });
}

// Two models that a loop over a list gives one name are two: "encoder" and "encoder_2".
std::string free_name(const Object* root, const std::string& name) {
  std::string free = name;
  for (int n = 2; !name.empty(); ++n) {
    const auto& list = roots().list;
    const bool is_free = std::none_of(list.begin(), list.end(), [&](const Root& r) {
      return r.name == free && r.module != root;
    });
    if (is_free) break;
    free = name + "_" + std::to_string(n);
  }
  return free;
}

std::string path_of_root(const Frames& frames, const ModuleCall& call) {
  std::string path;
  for (const Root& root : roots().list) {
    if (root.module == call.module) return root.name;
  }
  if (path_in_known_root(call.module, &path)) return path;
  HeldModule held = find_holder(frames, call.frame + 1, call.module, is_taken);
  std::string class_name = type_name(type_of(call.module));
  if (!held) {
    if (!has_state(call.module)) return class_name;
    class_name = free_name(call.module, class_name);
    keep_root(call.module, class_name);
    return class_name;
  }
  if (has_state(held.root)) held.name = free_name(held.root, held.name);
  if (has_state(held.root)) keep_root(held.root, held.name);
  path_below(held.root, call.module, &path);
  path = join_path(held.name, path);
  return path.empty() ? class_name : path;
}

// Extends `path` of `outer` to `inner`, which it called.
std::string path_of_callee(const std::string& path, Object* outer, const ModuleCall& inner) {
  std::string below;
  if (path_below(outer, inner.module, &below)) return join_path(path, below);
  if (path_in_known_root(inner.module, &below)) return below;
  const Ref dict = instance_dict(outer);  // held past nn.Module's __setattr__
  for (const auto& [key, value] : Items(dict.get())) {
    if (value == inner.module) return join_path(path, text_of(key));
  }
  return join_path(path, type_name(type_of(inner.module)));
}

}  // namespace

ModuleName name_innermost_module(const Frames& frames) {
  ModuleName name;
  const std::vector<ModuleCall> calls = module_calls(frames);
  if (calls.empty()) return name;
  name.outermost = calls.back().frame;
  name.path = path_of_root(frames, calls.back());
  for (size_t i = calls.size() - 1; i-- > 0;) {
    name.path = path_of_callee(name.path, calls[i + 1].module, calls[i]);
  }
  name.class_name = type_name(type_of(calls.front().module));
  if (has_state(calls.front().module) || calls.size() > 1) watch_module(calls.front().module);
  return name;
}

const std::vector<Root>& known_roots() { return roots().list; }
uint64_t roots_changed() { return roots().changes; }

}  // namespace dtypecheck::tracer::python
