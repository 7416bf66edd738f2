// normal_text.h: the form in which texts are compared: lower case, one blank for any run of white
// space, no quotation marks, no box-drawing characters, ASCII for its full-width forms. People
// retype, wrap and decorate messages; what is left is what they keep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

std::string normal_text(std::string_view text);

// The same, with the place in the original of each of its bytes.
struct PlacedText {
  std::string text;
  std::vector<uint32_t> origins;
};
PlacedText placed_normal_text(std::string_view text);

// Where a phrase stands in a text, with the rest of its word where it leaves an end open.
struct Span {
  size_t begin = 0, end = 0;
};
std::vector<Span> places_of(std::string_view text, std::string_view phrase);

// Whether `phrase` (in normal form) stands in `text` as whole words; one that ends in '*' may go
// on, and one that begins with '*' may end a word: "*rmsnorm" stands in "LlamaRMSNorm".
bool has_phrase(std::string_view text, std::string_view phrase);
bool has_phrase(std::string_view text, const std::vector<std::string>& any_of);

}  // namespace dtypecheck::explain
