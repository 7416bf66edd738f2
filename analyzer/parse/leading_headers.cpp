#include "analyzer/parse/leading_headers.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/project/tree.h"
#include "platform/files.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxDepth = 8;
constexpr size_t kMaxLines = 2'000;  // before the first declaration
constexpr size_t kMaxLineLength = 1'000;
constexpr uintmax_t kMaxLarge = 4 << 20;
constexpr size_t kMaxHeaders = 400;  // of the project, that are looked at for what they include

bool is_torchs(std::string_view name) {
  return name.starts_with("torch/") || name.starts_with("ATen/") || name.starts_with("c10/");
}

// Those of the bundled set that declare pybind11 as well.
bool binds(std::string_view name) {
  return name == "torch/extension.h" || name == "torch/python.h" || name.starts_with("pybind11/");
}

// Headers that include nearly all of the others: what follows them costs little.
bool has_all(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "torch/extension.h", "torch/torch.h",   "torch/all.h",    "torch/script.h",
      "torch/types.h",     "torch/library.h", "torch/python.h", "ATen/ATen.h"};
  for (const std::string_view one : kNames) {
    if (name == one) return true;
  }
  return false;
}

// Their order does not matter, by the standard.
bool is_standard(std::string_view name) {
  static const std::set<std::string_view> c = {"assert.h", "float.h",  "inttypes.h", "limits.h",
                                               "math.h",   "stddef.h", "stdint.h",   "stdio.h",
                                               "stdlib.h", "string.h", "time.h",     "stdbool.h"};
  return name.find_first_of("./") == name.npos || name.starts_with("experimental/") ||
         c.contains(name);
}

// Of others, and kept in their place.
bool is_companion(std::string_view name) {
  return name == "Python.h" || name.starts_with("pybind11/") || name.starts_with("cuda");
}

// The project's own header of that name; "" where it has none.
fs::path find_own(const Include& include, const fs::path& from,
                  const std::vector<std::string>& folders) {
  if (include.is_quoted && is_file(from.parent_path() / include.name))
    return (from.parent_path() / include.name).lexically_normal();
  for (const std::string& folder : folders) {
    if (is_file(fs::path(folder) / include.name))
      return (fs::path(folder) / include.name).lexically_normal();
  }
  return {};
}

// It has a guard, and includes standard headers only.
bool stands_alone(const fs::path& header, std::string_view text) {
  const size_t first = text.starts_with("#") ? 0 : text.find("\n#") + 1;
  const std::string_view directive = text.substr(first);
  const std::vector<Include> includes = includes_of(header);
  return (directive.starts_with("#pragma once") || directive.starts_with("#ifndef ")) &&
         std::ranges::all_of(includes,
                             [](const Include& include) { return is_standard(include.name); });
}

void add_macros_of(const fs::path& file, std::set<std::string>& macros) {
  static const std::regex kDefine("^\\s*#\\s*(define|undef)\\s+(\\w+)");
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (line.size() > kMaxLineLength || line.find('#') == line.npos) continue;
    if (std::regex_search(line, match, kDefine)) macros.insert(match[2]);
  }
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& folders) : folders_(folders) {}

  // False: no more is to be read.
  bool read(const fs::path& file, size_t depth) {
    if (depth > kMaxDepth) return false;
    if (!seen_.insert(file).second) return true;  // it has a guard, or says nothing anyway
    std::ifstream text(file);
    std::string guard;
    bool in_comment = false;
    for (std::string line; std::getline(text, line);) {
      if (++lines_ > kMaxLines || line.size() > kMaxLineLength) return false;
      if (line.ends_with('\\')) return false;
      if (lines_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      const std::string said = without_comments(line, in_comment);
      if (said.empty() || is_guard(said, guard)) continue;
      const bool is_open = !guard.empty() && guard != kDefined;  // a condition, not a guard
      if (is_open || !take(said, file, depth)) return false;
    }
    return guard.empty() && text.eof();
  }

  std::string lines() const { return kept_; }

 private:
  static std::string without_comments(std::string_view line, bool& in_comment) {
    std::string left;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string_view two = line.substr(i, 2);
      if (in_comment) {
        in_comment = two != "*/";
        i += !in_comment;
      } else if (two == "/*") {
        in_comment = true;
        ++i;
      } else if (two == "//") {
        break;
      } else {
        left += line[i];
      }
    }
    return std::string(trimmed(left));
  }

  // The words of a directive: "include <x>" of "#  include <x>"; "" of anything else.
  static std::string_view directive(std::string_view said) {
    return said.front() == '#' ? trimmed(said.substr(1)) : "";
  }

  // #pragma once, or #ifndef NAME with #define NAME behind it.
  static bool is_guard(const std::string& said, std::string& guard) {
    const std::string_view words = directive(said);
    if (words == "pragma once") return true;
    if (words.starts_with("ifndef ") && guard.empty()) {
      guard = trimmed(words.substr(7));
      return true;
    }
    if (words.starts_with("define ") && !guard.empty() && trimmed(words.substr(7)) == guard) {
      guard = kDefined;
      return true;
    }
    return words.starts_with("endif") && guard == kDefined && (guard.clear(), true);
  }

  bool take(const std::string& said, const fs::path& file, size_t depth) {
    const std::string_view words = directive(said);
    if (!words.starts_with("include")) return false;
    const std::string_view what = trimmed(words.substr(7));
    if (what.size() < 3) return false;
    const bool is_quoted = what.front() == '"';
    if (what.back() != (is_quoted ? '"' : '>') || (!is_quoted && what.front() != '<')) return false;
    const std::string name(what.substr(1, what.size() - 2));
    const fs::path own = find_own({name, is_quoted}, file, folders_);
    if (!own.empty()) return read(own, depth + 1);
    if (is_standard(name)) return true;
    if (!is_torchs(name) && !is_companion(name)) return false;
    waiting_ += "#include <" + name + ">\n";
    if (is_torchs(name)) kept_ += std::exchange(waiting_, "");
    return !has_all(name);
  }

  static constexpr const char* kDefined = "#";  // no name of a macro

  const std::vector<std::string>& folders_;
  std::set<fs::path> seen_;
  std::string kept_, waiting_;  // of these, whether one of LibTorch follows is not known yet
  size_t lines_ = 0;
};

}  // namespace

std::string leading_headers(const std::string& file, const std::vector<std::string>& folders) {
  Reader reader(folders);
  reader.read(file, 0);
  return reader.lines();
}

BundledHeaders bundled_headers(const std::string& file, const std::vector<std::string>& folders) {
  std::vector<fs::path> open = {file};
  std::set<fs::path> seen = {file};
  std::map<std::string, std::string> large;  // texts
  BundledHeaders found;
  bool includes_one = false, includes_bindings = false;
  for (size_t next = 0; next < open.size() && next < kMaxHeaders; ++next) {
    const fs::path from = open[next];
    for (const Include& include : includes_of(from)) {
      const fs::path own = find_own(include, from, folders);
      if (own.empty()) {
        includes_bindings = includes_bindings || binds(include.name);
        includes_one = includes_one || is_torchs(include.name);
      } else if (seen.insert(own).second) {
        std::string text = read_file_if_any(own.string(), kMaxLarge).value_or("");
        if (is_large_of_other_things(text) && stands_alone(own, text))
          large.emplace(own.string(), std::move(text));
        else
          open.push_back(own);
      }
    }
  }
  if (!includes_one && !includes_bindings) return found;
  found.lines = includes_bindings ? "#include <torch/extension.h>\n" : "#include <torch/torch.h>\n";
  std::set<std::string> macros;
  for (size_t i = 0; i < open.size() && !large.empty(); ++i) add_macros_of(open[i], macros);
  for (const auto& [name, text] : large) {
    const auto is_unasked = [&](const auto& macro) { return places_of_word(text, macro).empty(); };
    if (std::ranges::all_of(macros, is_unasked)) found.large.push_back(name);
  }
  return found;
}

}  // namespace dtypecheck::analyzer
