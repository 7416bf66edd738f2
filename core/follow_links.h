// follow_links.h: follows origins, parents or causes from call to call.
#pragma once

namespace dtypecheck {

inline constexpr int kMaxFollowed = 64;  // more than a network's block or any nesting of ops has

// Calls `next` on `at` and on each result until that is nullptr. The links of a hostile trace may
// form a circle, so it stops after kMaxFollowed.
template <typename Node, typename Next>
void follow_links(const Node* at, Next next) {
  for (int followed = 0; at != nullptr && followed < kMaxFollowed; ++followed) at = next(*at);
}

}  // namespace dtypecheck
