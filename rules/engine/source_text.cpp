#include "rules/engine/source_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/text.h"

namespace dtypecheck::rules {
namespace {

constexpr int kMostLines = 5000;  // of a file that is searched
constexpr int kMostOfCall = 12;   // lines of one call
constexpr int kMostAround = 5;    // lines above a cast: what is kept of them (trace/sources.h)

// A line of Python without what a '#' outside of quotes begins.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

int depth_of(char c) { return (c == '(' || c == '[') - (c == ')' || c == ']'); }

// The bracket that opens what this one closes, or the other way; npos where the text has none.
size_t other_bracket(std::string_view text, size_t bracket) {
  const size_t step = depth_of(text[bracket]);
  int depth = 0;
  for (size_t i = bracket; i < text.size(); i += step) {
    depth += depth_of(text[i]);
    if (depth == 0) return i;
  }
  return text.npos;
}

// Where "a.b(c).d" begins, which ends before `end`.
size_t begin_of_chain(std::string_view text, size_t end) {
  while (end > 0) {
    const char last = text[end - 1];
    if (depth_of(last) < 0) {
      const size_t opening = other_bracket(text, end - 1);
      if (opening == text.npos) return end;
      end = opening;
    } else if (is_of_name(last) || last == '.') {
      --end;
    } else {
      return end;
    }
  }
  return end;
}

}  // namespace

std::vector<TextLine> lines_with(const LineText& line_text, const std::string& file,
                                 std::string_view piece) {
  std::vector<TextLine> found;
  for (int number = 1; number < kMostLines; ++number) {
    const std::string line = line_text(file, number);
    const std::string_view text = without_comment(line);
    if (text.find(piece) != text.npos)
      found.push_back({{.file = file, .line = number}, std::string(text)});
  }
  return found;
}

std::string question_above(const LineText& line_text, const SourceLine& line) {
  const auto indent = [](std::string_view text) { return text.find_first_not_of(" \t"); };
  const size_t own = indent(line_text(line.file, line.line));
  for (int i = 1; i <= kMostAround && own != std::string::npos; ++i) {
    const std::string text = line_text(line.file, line.line - i);
    const std::string_view plain = trimmed(text);
    const bool asks = plain.starts_with("if ") || plain.starts_with("elif ");
    if (asks && indent(text) < own) return std::string(plain);
  }
  return "";
}

std::string call_at(const LineText& line_text, const SourceLine& line) {
  std::string text;
  for (int i = 0; i < kMostOfCall; ++i) {
    const std::string next = line_text(line.file, line.line + i);
    if (next.empty()) break;
    text += (text.empty() || text.ends_with('(') ? "" : " ");
    text += trimmed(without_comment(next));
    if (std::count(text.begin(), text.end(), '(') <= std::count(text.begin(), text.end(), ')'))
      break;
  }
  return text;
}

std::vector<std::string_view> arguments_of(std::string_view text, size_t opening) {
  const size_t closing = other_bracket(text, opening);
  if (closing == text.npos) return {};
  std::vector<std::string_view> all;
  int depth = 0;
  for (size_t i = opening + 1, begin = i; i <= closing; ++i) {
    depth += depth_of(text[i]);
    if (i < closing && (depth > 0 || text[i] != ',')) continue;
    all.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return all;
}

std::string call_around(std::string_view text, size_t place) {
  constexpr size_t kMostShown = 72;
  size_t opening = text.npos;
  int depth = 0;
  for (size_t i = place; i-- > 0 && depth <= 0;) {
    depth += depth_of(text[i]);
    if (depth > 0) opening = i;
  }
  const size_t own = text.find('(', place);  // ".half()"
  if (text[place] == '.' && own != text.npos) opening = own;
  if (opening == text.npos || text[opening] == '[') return std::string(text.substr(0, kMostShown));
  const size_t closing = other_bracket(text, opening);
  const size_t end = closing == text.npos ? text.size() : closing + 1;
  const size_t begin = begin_of_chain(text, opening);
  const std::string_view whole = text.substr(begin, end - begin);
  if (whole.size() <= kMostShown) return std::string(whole);
  const size_t dot = text.rfind('.', opening);
  const bool is_chain = text.substr(begin, opening - begin).find_first_of("([") != text.npos;
  const size_t name = dot == text.npos || dot < begin || !is_chain ? begin : dot;
  const std::string_view call = text.substr(name, end - name);
  if (call.size() <= kMostShown) return std::string(call);
  const std::string_view called = text.substr(name, opening - name);
  const std::vector<std::string_view> arguments = arguments_of(text, opening);
  const auto argument = std::ranges::find_if(arguments, [&](const auto& one) {
    return place < static_cast<size_t>(one.data() - text.data()) + one.size();
  });
  const bool is_shown = place > opening && argument != arguments.end() &&
                        called.size() + argument->size() <= kMostShown;
  if (!is_shown) return fmt::format("{}(…)", called);
  return argument == arguments.begin() ? fmt::format("{}({}, …)", called, *argument)
                                       : fmt::format("{}(…, {})", called, *argument);
}

}  // namespace dtypecheck::rules
