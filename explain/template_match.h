// template_match.h: a message as LibTorch prints it, with "{}" where the dtypes stand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

struct TemplateMatch {
  size_t begin = 0, end = 0;  // in the text
  std::vector<std::string> holes;
};

// Finds `pattern` in `text` from `from` on, both in normal form. A hole takes at most 120
// characters, as few as it can.
std::optional<TemplateMatch> find_template(std::string_view text, std::string_view pattern,
                                           size_t from = 0);

// The match that has the byte before `at` in it.
std::optional<TemplateMatch> find_template_around(std::string_view text, std::string_view pattern,
                                                  size_t at);

// The longest stretch of a pattern (as written) without a hole and quotation marks, and, where that
// is long enough, without marks that are also written full-width: what a log is searched for.
inline constexpr size_t kShortestAnchor = 5;
std::string_view anchor_of(std::string_view pattern);

}  // namespace dtypecheck::explain
