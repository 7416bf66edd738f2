// Pairs alone: the algorithms of thrust are not here, and what calls them is seen as far as it
// goes.
#pragma once
#include <dtypecheck_cuda.h>
#include <tuple>
#include <utility>

namespace thrust {
template <typename A, typename B>
using pair = std::pair<A, B>;
template <typename... Types>
using tuple = std::tuple<Types...>;
using std::get;
using std::make_pair;
using std::make_tuple;
using std::tie;
}  // namespace thrust
