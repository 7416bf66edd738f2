// module_watch.h: notices when a module that a site was named for dies, so that a new module at the
// same address is not taken for it: the generation of its address, which is part of a walk's key,
// goes up.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {

inline constexpr unsigned kGenerationBits = 12;
extern std::atomic<uint32_t> module_generations[1u << kGenerationBits];

inline std::atomic<uint32_t>& generation_of(const void* module) {
  const uint64_t hash = reinterpret_cast<uint64_t>(module) * 0x9E3779B97F4A7C15u;
  return module_generations[hash >> (64 - kGenerationBits)];
}
inline uint64_t module_generation(const void* module) {
  return generation_of(module).load(std::memory_order_relaxed);
}

// GIL held. Calls `died` with the address when the module goes, besides raising its generation. An
// address that sees module after module (one made anew in each step) is given up after a while: its
// key then stays as it is.
void watch_module(Object* module);
void on_module_death(void (*died)(const Object* module));
bool is_watched(const Object* module);

}  // namespace dtypecheck::tracer::python
