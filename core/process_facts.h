// process_facts.h: the keys of the facts of a process. C++17: the tracer writes by them what others
// read by them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtypecheck {

enum class FactKey {
#define FACT(key, ...) key,
#include "core/process_facts.inc"
#undef FACT
};

// As it stands in a trace; `rest` says which one of a family.
inline std::string fact_name(FactKey key, std::string_view rest = {}) {
  static constexpr const char* kNames[] = {
#define FACT(key, name, ...) name,
#include "core/process_facts.inc"
#undef FACT
  };
  return std::string(kNames[static_cast<size_t>(key)]).append(rest);
}

}  // namespace dtypecheck
