#include "reports/judging/folded_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "platform/error.h"
#include "platform/text.h"
#include "reports/formatting.h"

namespace dtypecheck::judging {

namespace {

using Parts = std::vector<std::string>;

constexpr size_t kMaxNames = 1 << 20;
constexpr size_t kMaxDigits = 9;

bool is_number(std::string_view part) {
  return !part.empty() && part.size() <= kMaxDigits && (part.size() == 1 || part.front() != '0') &&
         part.find_first_not_of("0123456789") == part.npos;
}

bool folds(const std::string& name) {
  return std::ranges::all_of(name, [](unsigned char c) { return is_of_name(c) || c == '.'; });
}

Parts split(std::string_view text, char separator) {
  Parts parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string range_text(int first, int last) {
  if (first == last) return fmt::format("{}", first);
  return fmt::format("{}{}{}", first, last == first + 1 ? "," : "-", last);
}

// "{0-9,12,proj}"
std::string alternatives(const std::set<std::string>& values) {
  if (values.size() == 1) return *values.begin();
  std::vector<int> numbers;
  Parts pieces, words;
  for (const std::string& value : values) {
    if (is_number(value)) {
      numbers.push_back(std::stoi(value));
    } else {
      words.push_back(value);
    }
  }
  std::ranges::sort(numbers);
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    pieces.push_back(range_text(numbers[i], numbers[end - 1]));
    i = end;
  }
  pieces.insert(pieces.end(), words.begin(), words.end());
  return fmt::format("{{{}}}", fmt::join(pieces, ","));
}

// Names that differ at this place alone become one.
std::vector<Parts> folded_at(const std::vector<Parts>& names, size_t at) {
  std::map<Parts, std::set<std::string>> groups;
  for (const Parts& name : names) {
    Parts rest = name;
    rest[at].clear();
    groups[rest].insert(name[at]);
  }
  std::vector<Parts> folded;
  for (auto& [rest, values] : groups) {
    // What is folded already stands for several, and is no alternative beside others.
    std::set<std::string> plain;
    for (const std::string& value : values) {
      if (value.front() != '{') {
        plain.insert(value);
        continue;
      }
      folded.push_back(rest);
      folded.back()[at] = value;
    }
    if (plain.empty()) continue;
    folded.push_back(rest);
    folded.back()[at] = alternatives(plain);
  }
  return folded;
}

[[noreturn]] void refuse(std::string_view folded, const char* why) {
  throw InputError(fmt::format("the name {} {}", folded, why));
}

Parts values_of(const std::string& part, std::string_view folded) {
  if (part.empty() || part.front() != '{') return {part};
  if (part.back() != '}') refuse(folded, "has an unclosed brace");
  Parts values;
  for (const std::string& piece : split(std::string_view(part).substr(1, part.size() - 2), ',')) {
    const size_t dash = piece.find('-');
    if (dash == piece.npos) {
      values.push_back(piece);
      continue;
    }
    const std::string from = piece.substr(0, dash), to = piece.substr(dash + 1);
    if (!is_number(from) || !is_number(to)) refuse(folded, "has an empty range");
    const int first = std::stoi(from), last = std::stoi(to);
    if (last < first || static_cast<size_t>(last - first) >= kMaxNames)
      refuse(folded, "has an empty range");
    for (int i = first; i <= last; ++i) values.push_back(std::to_string(i));
  }
  return values;
}

std::string star_of(std::string folded) {
  for (size_t begin = folded.find('{'); begin != folded.npos; begin = folded.find('{', begin)) {
    folded.replace(begin, folded.find('}', begin) - begin + 1, "*");
  }
  return folded;
}

bool matches(const Parts& name, const Parts& star) {
  if (name.size() != star.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (star[i] != "*" && star[i] != name[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> fold_names(const std::set<std::string>& names) {
  std::map<size_t, std::vector<Parts>> by_length;
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (folds(name)) {
      Parts parts = split(name, '.');
      by_length[parts.size()].push_back(std::move(parts));
    } else {
      out.push_back(name);
    }
  }
  for (auto& [length, group] : by_length) {
    const bool has_empty = std::ranges::any_of(group, [](const Parts& name) {
      return std::ranges::any_of(name, [](const auto& part) { return part.empty(); });
    });
    for (size_t at = length; !has_empty && at-- > 1;) group = folded_at(group, at);
    for (const Parts& parts : group) out.push_back(reports::joined(parts, "."));
  }
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> unfold_name(std::string_view folded) {
  std::vector<std::string> names = {""};
  for (const std::string& part : split(folded, '.')) {
    const Parts values = values_of(part, folded);
    if (values.size() > kMaxNames / names.size())
      refuse(folded, "stands for more modules than a model has");
    std::vector<std::string> longer;
    longer.reserve(names.size() * values.size());
    for (const std::string& name : names) {
      for (const std::string& value : values) longer.push_back(name + "." + value);
    }
    names = std::move(longer);
  }
  for (std::string& name : names) name.erase(0, 1);  // the dot before the first part
  return names;
}

std::vector<std::string> starred_names(const std::set<std::string>& names,
                                       const std::set<std::string>& all) {
  std::vector<std::string> out;
  for (const std::string& folded : fold_names(names)) {
    const std::string star = star_of(folded);
    if (star == folded) {
      out.push_back(folded);
      continue;
    }
    const Parts parts = split(star, '.');
    const auto there = static_cast<size_t>(std::ranges::count_if(
        all, [&](const std::string& name) { return matches(split(name, '.'), parts); }));
    const size_t meant = unfold_name(folded).size();
    out.push_back(fmt::format("{} ({} modules)", there == meant ? star : folded, meant));
  }
  return out;
}

}  // namespace dtypecheck::judging
