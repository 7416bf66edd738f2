// follow_links.h: along origins, parents or causes, from call to call.
#pragma once

namespace dtypecheck {

inline constexpr int kMaxFollowed = 64;  // more than a network's block or any nesting of ops has

// Calls `next(*at)` from `at` on with what it returned, until that is nullptr. What the links of a
// hostile trace tie into a circle ends after kMaxFollowed.
template <typename Node, typename Next>
void follow_links(const Node* at, Next next) {
  for (int followed = 0; at != nullptr && followed < kMaxFollowed; ++followed) at = next(*at);
}

}  // namespace dtypecheck
