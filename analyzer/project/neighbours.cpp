#include "analyzer/project/neighbours.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "analyzer/project/calls.h"
#include "analyzer/project/tree.h"
#include "platform/files.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxNeighbours = 12;
constexpr size_t kMaxEntries = 20'000;
constexpr uintmax_t kMaxFile = 1 << 20;
constexpr uintmax_t kMaxBytes = 64 << 20;

// Which of the functions the text names.
std::set<std::string> names_in(std::string_view text, const std::set<std::string>& functions) {
  std::set<std::string> found;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    while (i < text.size() && is_of_name(text[i])) ++i;
    if (i == begin) {
      ++i;
      continue;
    }
    std::string name(text.substr(begin, i - begin));
    if (functions.contains(name)) found.insert(std::move(name));
  }
  return found;
}

std::string_view behind_brackets(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '<' ? 1 : text[i] == ')' || text[i] == '>' ? -1 : 0;
    if (depth <= 0) return trimmed(text.substr(i + 1));
  }
  return "";
}

// Whether it may stand at a body: NetImpl::, class Net {, "net(int n) {"; not net(n), Net net;.
bool has_body(std::string_view text, const std::string& name) {
  for (const size_t at : places_of_word(text, name)) {
    std::string_view rest = trimmed(text.substr(at + name.size()));
    if (rest.starts_with('<')) rest = behind_brackets(rest);
    if (rest.starts_with('{') || rest.starts_with(':') || rest.starts_with("final")) return true;
    rest = rest.starts_with('(') ? behind_brackets(rest) : "";  // const, noexcept, ->, a comment
    if (!rest.empty() && (is_of_name(rest[0]) || std::strchr(":{-/", rest[0]) != nullptr))
      return true;
  }
  return false;
}

bool may_cast_models(std::string_view text) {
  const auto has = [&](const char* word) { return text.find(word) != text.npos; };
  return has(".to(") || has("->to(") || has("set_default_dtype");
}

// What the judged files define, as others name it: "NetImpl" and "Net" of "NetImpl::forward/1".
std::set<std::string> own_names(const std::vector<SourceFacts>& all, size_t judged) {
  std::set<std::string> names;
  for (size_t i = 0; i < judged; ++i) {
    for (const std::string& function : all[i].defined) {
      const std::string scope = scope_name(function);
      names.insert(scope.empty() ? plain_name(function) : scope);
      if (scope.ends_with("Impl")) names.insert(scope.substr(0, scope.size() - 4));
    }
  }
  names.erase("main");
  return names;
}

std::string text_of(const fs::path& file) {
  return read_file_if_any(file.string(), kMaxFile).value_or("");
}

// The headers that these sources include, of which some declare what they call or define.
class Headers {
 public:
  Headers(std::set<std::string> names, const std::vector<SourceFacts>& all) {
    for (const SourceFacts& facts : all) {
      for (const std::string& file : facts.files) read_.insert(fs::path(file).lexically_normal());
      for (const auto* functions : {&facts.defined, &facts.module_functions}) {
        for (const std::string& function : *functions) names.insert(scope_name(function));
      }
    }
    for (const fs::path& file : read_) {
      if (!is_source(file) && !names_in(text_of(file), names).empty())
        declaring_.insert(file.filename());
    }
  }

  bool are_others(const fs::path& source) const {
    bool has_other = false;
    for (const Include& include : includes_of(source)) {
      const fs::path header = (source.parent_path() / include.name).lexically_normal();
      if (!include.is_quoted || !is_file(header)) continue;
      if (read_.contains(header)) return false;
      has_other = has_other || declaring_.contains(header.filename());
    }
    return has_other;
  }

 private:
  std::set<fs::path> read_, declaring_;  // the latter without their folders
};

}  // namespace

std::vector<std::string> sources_that_tell_of(const UnseenFunctions& functions,
                                              const std::vector<SourceFacts>& all, size_t judged) {
  struct Found {
    size_t names, nearness;
    std::string file;
  };
  std::vector<Found> found;
  std::set<std::string> wanted = functions.named;
  wanted.insert(functions.bodies.begin(), functions.bodies.end());
  if (wanted.empty() || all.empty()) return {};
  const std::set<std::string> own = own_names(all, judged);
  const auto tells = [&](const std::string& text, const std::set<std::string>& names) {
    return may_cast_models(text) || !names_in(text, own).empty() ||
           std::ranges::any_of(names, [&](const std::string& name) {
             return functions.named.contains(name) || has_body(text, name);
           });
  };
  std::set<fs::path> known;
  for (const SourceFacts& facts : all) known.insert(fs::absolute(facts.file).lexically_normal());
  const Headers headers(wanted, all);
  const auto near = [&](const fs::path& file) {
    size_t nearest = 0;
    for (const fs::path& one : known)
      nearest = std::max(nearest, nearness(one.string(), file.string()));
    return nearest;
  };
  const fs::path root = repository_root(*known.begin());
  const auto skips = [&](const fs::path& folder) {
    return is_skipped_folder(folder) || folders_of_others().contains(folder.filename().string());
  };
  uintmax_t bytes = 0;
  for_each_file(root, kMaxEntries, skips, [&](const fs::path& file) {
    if (!is_source(file) || !is_file(file) || known.contains(file)) return true;
    const std::string text = text_of(file);
    bytes += text.size();
    const std::set<std::string> names = names_in(text, wanted);
    if (!names.empty() && tells(text, names) && !headers.are_others(file))
      found.push_back({names.size(), near(file), file.string()});
    return bytes <= kMaxBytes;
  });
  std::ranges::sort(found, [](const Found& a, const Found& b) {
    return std::tie(b.names, b.nearness, a.file) < std::tie(a.names, a.nearness, b.file);
  });
  std::vector<std::string> neighbours;
  for (const Found& one : found) {
    if (neighbours.size() < kMaxNeighbours) neighbours.push_back(one.file);
  }
  return neighbours;
}

}  // namespace dtypecheck::analyzer
