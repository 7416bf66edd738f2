// phrase_finder.h: finds many phrases in a stream in one pass, without regard to case
// (Aho-Corasick, as one table of transitions). Line ends and tabs count as blanks, so a phrase that
// a terminal wrapped is found.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

class PhraseFinder {
 public:
  explicit PhraseFinder(const std::vector<std::string_view>& phrases);

  // Calls hit(phrase index, end offset in `text`) for each phrase that ends in `text`, in their
  // order; one may have begun in the text of an earlier call.
  template <typename Hit>
  void feed(std::string_view text, Hit&& hit) {
    const size_t lane = text.size() / kLanes;
    if (lane < kLeastLane + longest_) return step_through(text, 0, hit);
    follow_lanes(text, lane);
    for (const std::vector<Found>& found : found_) {
      for (const Found& one : found) hit_all(one.state, one.end, hit);
    }
    step_through(text, lane * kLanes, hit);
  }

 private:
  // A step waits for the one before it, so a long text is followed at several places at once. The
  // state is what the last longest_ bytes left, and so is known after as many.
  static constexpr size_t kLanes = 4, kLeastLane = 4096;
  struct Found {
    uint32_t state;
    size_t end;
  };

  uint32_t after(uint32_t state, char c) const {
    return next_[state + class_of_[static_cast<unsigned char>(c)]];
  }

  template <typename Hit>
  void hit_all(uint32_t state, size_t end, Hit&& hit) const {
    for (uint32_t phrase : ends_[(state - first_final_) / classes_]) hit(phrase, end);
  }

  template <typename Hit>
  void step_through(std::string_view text, size_t begin, Hit&& hit) {
    for (size_t i = begin; i < text.size(); ++i) {
      state_ = after(state_, text[i]);
      if (state_ >= first_final_) hit_all(state_, i + 1, hit);
    }
  }

  // Leaves what ends in each lane in found_, and the state after the last one in state_.
  void follow_lanes(std::string_view text, size_t lane);

  // States are row offsets in next_; those in which a phrase ends come last, so that one comparison
  // tells.
  std::vector<uint32_t> next_;
  std::vector<std::vector<uint32_t>> ends_;
  std::array<uint8_t, 256> class_of_{};
  uint32_t classes_ = 1;  // class 0 is every byte that no phrase has
  uint32_t first_final_ = 0;
  uint32_t state_ = 0;
  size_t longest_ = 0;  // of the phrases, in bytes
  std::array<std::vector<Found>, kLanes> found_;
};

}  // namespace dtypecheck::explain
