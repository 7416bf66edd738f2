#include "tracer/python/module_watch.h"

#include <unordered_map>
#include <unordered_set>

namespace dtypecheck::tracer::python {

std::atomic<uint32_t> module_generations[1u << kGenerationBits];

namespace {

constexpr uint32_t kMaxGenerations = 64;

// Guarded by the GIL; never freed, since modules die until the very end of the process.
struct Watch {
  std::unordered_map<Object*, Object*> module_of_weakref;
  std::unordered_set<const Object*> modules;
  Object* callback = nullptr;
  void (*died)(const Object* module) = nullptr;
};
Watch& watch() {
  static Watch* instance = new Watch;
  return *instance;
}

// Called by CPython with the weak reference of a module that is about to be freed.
Object* module_died(Object*, Object* weakref) {
  const auto at = watch().module_of_weakref.find(weakref);
  if (at != watch().module_of_weakref.end()) {
    const Object* module = at->second;
    watch().module_of_weakref.erase(at);
    watch().modules.erase(module);
    generation_of(module).fetch_add(1, std::memory_order_relaxed);
    if (watch().died != nullptr) watch().died(module);
    api.Py_DecRef(weakref);
  }
  return return_none();
}

}  // namespace

void on_module_death(void (*died)(const Object* module)) { watch().died = died; }

bool is_watched(const Object* module) { return watch().modules.count(module) != 0; }

void watch_module(Object* module) {
  Watch& w = watch();
  if (is_watched(module) || module_generation(module) >= kMaxGenerations) return;
  if (w.callback == nullptr) {
    w.callback = new_callback("dtypecheck_module_died", module_died, kOneArgument).release();
  }
  Object* weakref = w.callback == nullptr ? nullptr : api.PyWeakref_NewRef(module, w.callback);
  if (weakref == nullptr) return api.PyErr_Clear();
  w.module_of_weakref.emplace(weakref, module);
  w.modules.insert(module);
}

}  // namespace dtypecheck::tracer::python
