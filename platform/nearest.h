// nearest.h: the word that a mistyped one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck {

// Letters to insert, drop, replace or swap with their neighbour to get from one word to the other.
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `words`; empty when none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

// "; did you mean 'report'?", or what to say instead when nothing is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                       const std::string& otherwise);

}  // namespace dtypecheck
