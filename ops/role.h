// role.h: what an argument of an op is for. The numbers stand in a trace.
#pragma once

#include <cstdint>

namespace dtypecheck {

enum class Role : uint8_t { kInput = 0, kWeight = 1, kBias = 2, kState = 3, kOut = 4 };
constexpr Role kLastRole = Role::kOut;

}  // namespace dtypecheck
