#include "explain/normal_text.h"

#include <algorithm>

namespace dtypecheck::explain {

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Box drawing (U+2500 to U+257F) and typographic quotes (U+2018 to U+201F), three bytes each in
// UTF-8.
static bool is_decoration(std::string_view text, size_t at) {
  if (at + 2 >= text.size() || text[at] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const auto third = static_cast<unsigned char>(text[at + 2]);
  if (second == 0x94 || second == 0x95) return true;
  return second == 0x80 && third >= 0x98 && third <= 0x9f;
}

// ASCII for its full-width forms (U+FF01 to U+FF5E), which a Chinese or Japanese keyboard types,
// and for CJK's blank, comma, full stop and brackets (U+3000 to U+3011), three bytes each; else 0.
static char narrow(std::string_view text, size_t at) {
  if (at + 2 >= text.size()) return 0;
  const int place = (static_cast<unsigned char>(text[at + 1]) - 0xbc) * 64 +
                    static_cast<unsigned char>(text[at + 2]) - 0x80;
  if (text[at] == '\xef') return place >= 1 && place <= 0x5e ? static_cast<char>(' ' + place) : 0;
  if (text[at] != '\xe3' || text[at + 1] != '\x80' || text[at + 2] > '\x91') return 0;
  return text[at + 2] == '\x81' ? ',' : text[at + 2] == '\x82' ? '.' : ' ';
}

template <typename Emit>
static void normalize(std::string_view text, Emit&& emit) {
  char last = 0;
  const auto put = [&](char c, size_t at) {
    if (c == ' ' && last == ' ') return;
    last = c;
    emit(c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c, at);
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\'' || c == '"' || c == '`') continue;
    if (is_decoration(text, i)) {
      i += 2;
      c = ' ';
    }
    // A wide bracket, comma or colon has its blank in itself.
    if (const char narrowed = narrow(text, i)) {
      if (narrowed == '(') put(' ', i);
      put(narrowed, i);
      i += 2;
      if (std::string_view("),.:;").find(narrowed) != std::string_view::npos) put(' ', i);
      continue;
    }
    put(c == '\n' || c == '\r' || c == '\t' || c == '\0' ? ' ' : c, i);
  }
}

std::string normal_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  normalize(text, [&](char c, size_t) { out += c; });
  return out;
}

PlacedText placed_normal_text(std::string_view text) {
  PlacedText out;
  out.text.reserve(text.size());
  out.origins.reserve(text.size());
  normalize(text, [&](char c, size_t at) {
    out.text += c;
    out.origins.push_back(static_cast<uint32_t>(at));
  });
  return out;
}

// Calls found(place) for each place of the phrase, until it answers false.
template <typename Found>
static void find_places(std::string_view text, std::string_view phrase, Found&& found) {
  const bool open = phrase.ends_with('*');
  const bool goes_before = phrase.starts_with('*');
  if (open) phrase.remove_suffix(1);
  if (goes_before) phrase.remove_prefix(1);
  for (size_t at = text.find(phrase); at != std::string_view::npos;
       at = text.find(phrase, at + 1)) {
    size_t end = at + phrase.size();
    const bool begins =
        goes_before || at == 0 || !is_word(text[at - 1]) || !is_word(phrase.front());
    const bool ends = open || end == text.size() || !is_word(text[end]) || !is_word(phrase.back());
    if (!begins || !ends) continue;
    size_t begin = at;
    while (open && end < text.size() && is_word(text[end])) ++end;
    while (goes_before && begin > 0 && is_word(text[begin - 1])) --begin;
    if (!found(Span{begin, end})) return;
  }
}

std::vector<Span> places_of(std::string_view text, std::string_view phrase) {
  std::vector<Span> places;
  find_places(text, phrase, [&](Span place) {
    places.push_back(place);
    return true;
  });
  return places;
}

bool has_phrase(std::string_view text, std::string_view phrase) {
  bool is_there = false;
  find_places(text, phrase, [&](Span) {
    is_there = true;
    return false;
  });
  return is_there;
}

bool has_phrase(std::string_view text, const std::vector<std::string>& any_of) {
  return std::ranges::any_of(any_of,
                             [&](std::string_view phrase) { return has_phrase(text, phrase); });
}

}  // namespace dtypecheck::explain
