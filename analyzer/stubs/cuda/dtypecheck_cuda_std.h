// cuda/std/…: the standard library under another name.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cuda::std {
using namespace ::std;
}  // namespace cuda::std
