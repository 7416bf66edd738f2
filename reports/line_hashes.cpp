#include "reports/line_hashes.h"

#include <fmt/format.h>

#include <cstdint>
#include <unordered_map>

#include "platform/utf8.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kWindow = 100;
constexpr uint64_t kBase = 37;
constexpr uint16_t kEnd = 65535;  // stands behind the last character

// The characters as UTF-16, as GitHub's own program sees them; a byte that is no UTF-8 is U+FFFD.
std::vector<uint16_t> utf16(std::string_view text) {
  std::vector<uint16_t> units;
  units.reserve(text.size() + kWindow + 1);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    i += c.length;
    uint32_t code = c.valid ? c.value : 0xfffd;
    if (code >= 0x10000) {
      units.push_back(static_cast<uint16_t>(0xd800 + ((code - 0x10000) >> 10)));
      code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    units.push_back(static_cast<uint16_t>(code));
  }
  return units;
}

}  // namespace

std::vector<std::string> line_hashes(std::string_view text) {
  // What counts: no blanks, line ends as \n, the end, and zeros for the last lines.
  std::vector<uint16_t> characters;
  std::vector<size_t> starts = {0};
  bool after_return = false;
  for (const uint16_t c : utf16(text)) {
    const bool skipped = c == ' ' || c == '\t' || (c == '\n' && after_return);
    after_return = c == '\r';
    if (skipped) continue;
    characters.push_back(c == '\r' ? '\n' : c);
    if (characters.back() == '\n') starts.push_back(characters.size());
  }
  characters.push_back(kEnd);
  characters.resize(characters.size() + kWindow, 0);

  uint64_t top = 1;  // kBase to the power of kWindow
  for (size_t i = 0; i < kWindow; ++i) top *= kBase;
  uint64_t hash = 0;  // of the window that begins at `at`
  for (size_t i = 0; i < kWindow; ++i) hash = hash * kBase + characters[i];
  std::vector<std::string> hashes;
  std::unordered_map<uint64_t, int> seen;
  size_t at = 0;
  for (const size_t start : starts) {
    for (; at < start; ++at) hash = hash * kBase + characters[at + kWindow] - top * characters[at];
    hashes.push_back(fmt::format("{:x}:{}", hash, ++seen[hash]));
  }
  return hashes;
}

}  // namespace dtypecheck::reports
