#include "explain/phrase_finder.h"

#include <algorithm>
#include <map>

namespace dtypecheck::explain {

static unsigned char folded(unsigned char c) {
  if (c == '\n' || c == '\r' || c == '\t') return ' ';
  return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

namespace {

struct Node {
  std::map<uint8_t, uint32_t> children;
  std::vector<uint32_t> ends;
};

// The phrases as a tree, then each node's row of transitions in breadth-first order.
class Builder {
 public:
  Builder(const std::array<uint8_t, 256>& class_of, uint32_t classes)
      : class_of_(class_of), classes_(classes), nodes_(1) {}

  void add(std::string_view phrase, uint32_t index) {
    uint32_t at = 0;
    for (unsigned char c : phrase) {
      const auto [child, is_new] = nodes_[at].children.try_emplace(class_of_[c], nodes_.size());
      at = child->second;
      if (is_new) nodes_.emplace_back();
    }
    nodes_[at].ends.push_back(index);
  }

  // rows[node][class]: where to go from a node.
  std::vector<std::vector<uint32_t>> rows() {
    std::vector<std::vector<uint32_t>> rows(nodes_.size(), std::vector<uint32_t>(classes_, 0));
    std::vector<uint32_t> fallback(nodes_.size(), 0), order = {0};
    for (size_t i = 0; i < order.size(); ++i) {
      const uint32_t at = order[i];
      if (at != 0) rows[at] = rows[fallback[at]];
      for (const auto& [symbol, child] : nodes_[at].children) {
        fallback[child] = at == 0 ? 0 : rows[fallback[at]][symbol];
        rows[at][symbol] = child;
        order.push_back(child);
      }
      const std::vector<uint32_t>& inherited = nodes_[fallback[at]].ends;
      if (at != 0)
        nodes_[at].ends.insert(nodes_[at].ends.end(), inherited.begin(), inherited.end());
    }
    return rows;
  }

  const std::vector<uint32_t>& ends(size_t node) const { return nodes_[node].ends; }

 private:
  const std::array<uint8_t, 256>& class_of_;
  uint32_t classes_;
  std::vector<Node> nodes_;
};

}  // namespace

void PhraseFinder::follow_lanes(std::string_view text, size_t lane) {
  std::array<uint32_t, kLanes> states = {state_};
  for (size_t k = 1; k < kLanes; ++k) {
    for (char c : text.substr(k * lane - longest_, longest_)) states[k] = after(states[k], c);
  }
  for (std::vector<Found>& found : found_) found.clear();
  for (size_t i = 0; i < lane; ++i) {
    uint32_t highest = 0;
    for (size_t k = 0; k < kLanes; ++k) {
      states[k] = after(states[k], text[k * lane + i]);
      highest = std::max(highest, states[k]);
    }
    if (highest < first_final_) continue;
    for (size_t k = 0; k < kLanes; ++k) {
      if (states[k] >= first_final_) found_[k].push_back({states[k], k * lane + i + 1});
    }
  }
  state_ = states.back();
}

PhraseFinder::PhraseFinder(const std::vector<std::string_view>& phrases) {
  for (std::string_view phrase : phrases) longest_ = std::max(longest_, phrase.size());
  for (std::string_view phrase : phrases) {
    for (unsigned char c : phrase) {
      if (!class_of_[folded(c)]) class_of_[folded(c)] = static_cast<uint8_t>(classes_++);
    }
  }
  for (int c = 0; c < 256; ++c) class_of_[c] = class_of_[folded(static_cast<unsigned char>(c))];

  Builder builder(class_of_, classes_);
  for (size_t i = 0; i < phrases.size(); ++i) builder.add(phrases[i], static_cast<uint32_t>(i));
  const std::vector<std::vector<uint32_t>> rows = builder.rows();

  std::vector<uint32_t> offset(rows.size());
  uint32_t used = 0;
  for (bool final : {false, true}) {
    if (final) first_final_ = used;
    for (size_t node = 0; node < rows.size(); ++node) {
      if (builder.ends(node).empty() == final) continue;
      offset[node] = used;
      used += classes_;
      if (final) ends_.push_back(builder.ends(node));
    }
  }
  next_.resize(used);
  for (size_t node = 0; node < rows.size(); ++node) {
    for (uint32_t symbol = 0; symbol < classes_; ++symbol) {
      next_[offset[node] + symbol] = offset[rows[node][symbol]];
    }
  }
}

}  // namespace dtypecheck::explain
