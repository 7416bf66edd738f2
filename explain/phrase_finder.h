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

  // Calls hit(phrase index, end offset in `text`) for each phrase that ends in `text`; one may have
  // begun in the text of an earlier call.
  template <typename Hit>
  void feed(std::string_view text, Hit&& hit) {
    uint32_t state = state_;
    for (size_t i = 0; i < text.size(); ++i) {
      state = next_[state + class_of_[static_cast<unsigned char>(text[i])]];
      if (state >= first_final_) {
        for (uint32_t phrase : ends_[(state - first_final_) / classes_]) hit(phrase, i + 1);
      }
    }
    state_ = state;
  }

 private:
  // States are row offsets in next_; those in which a phrase ends come last, so that one comparison
  // tells.
  std::vector<uint32_t> next_;
  std::vector<std::vector<uint32_t>> ends_;
  std::array<uint8_t, 256> class_of_{};
  uint32_t classes_ = 1;  // class 0 is every byte that no phrase has
  uint32_t first_final_ = 0;
  uint32_t state_ = 0;
};

}  // namespace dtypecheck::explain
