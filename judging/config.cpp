#include "judging/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "judging/known_ids.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/nearest.h"
#include "platform/printable.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

namespace {

constexpr size_t kMaxBytes = 4 << 20;

std::string place(const std::string& path, const toml::source_position& at) {
  return fmt::format("{}:{}", path, at.line);
}

bool is_beyond_ascii(std::string_view text, size_t at) {
  return at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80;
}

// The first character beyond ASCII that stands neither in a comment nor in a text in quotes, or
// there behind a backslash and blanks; npos for none. An unfinished text ends with its line, or
// with the file.
size_t find_bare_letter(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  size_t i = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  std::string_view end;  // of the text in quotes that i is in
  while (i < text.size()) {
    const char c = text[i];
    if (!end.empty()) {
      const bool is_over = text.substr(i).starts_with(end) || (end.size() == 1 && c == '\n');
      if (c == '\\' && end.front() == '"') {
        const size_t next = std::min(text.find_first_not_of(" \t\r\n", i + 1), text.size());
        if (is_beyond_ascii(text, next)) return next;
        ++i;  // what is behind a backslash ends nothing
      }
      i += is_over ? end.size() : 1;
      if (is_over) end = {};
      continue;
    }
    if (is_beyond_ascii(text, i)) return i;
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      const std::string_view one = text.substr(i, 1);
      const std::string_view three = text.substr(i, 3);
      end = three == std::string(3, c) ? three : one;
      i += end.size();
    } else {
      ++i;
    }
  }
  return text.npos;
}

// toml++ 3.3 runs into undefined behaviour at such a letter, where it looks for a blank. TOML
// has no use for one there either, but at the begin of a line that a backslash joins to the last.
void refuse_bare_letters(std::string_view text, const std::string& path) {
  const size_t at = find_bare_letter(text);
  if (at == text.npos) return;
  throw InputError(
      fmt::format("{}:{}: a character beyond ASCII outside of quotes, or behind a backslash", path,
                  1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n')));
}

class Reader {
 public:
  explicit Reader(Config& config) : config_(config) {}

  void read(const toml::table& table) {
    for (const auto& [key, value] : table) {
      if (key == "accept") {
        read_accepted(value);
      } else if (const toml::table* of_command = value.as_table()) {
        for (const auto& [name, setting] : *of_command) add(std::string(key), name, setting);
      } else {
        add("", key, value);
      }
    }
  }

 private:
  [[noreturn]] void fail(const toml::node& node, const std::string& what) const {
    throw InputError(fmt::format("{}: {}", place(config_.path, node.source().begin), what));
  }

  void add(const std::string& command, const toml::key& key, const toml::node& value) {
    Setting& setting = config_.settings.emplace_back();
    setting.command = command;
    setting.key = key.str();
    setting.line = static_cast<int>(key.source().begin.line);
    if (const auto text = value.value_exact<std::string>()) {
      setting.value = *text;
    } else if (const auto flag = value.value_exact<bool>()) {
      setting.value = *flag ? "true" : "false";
    } else if (const auto number = value.value_exact<int64_t>()) {
      setting.value = std::to_string(*number);
    } else {
      fail(value,
           fmt::format("{}: expected a text, a number, true or false", printable(key.str())));
    }
  }

  void read_accepted(const toml::node& node) {
    const toml::array* all = node.as_array();
    if (all == nullptr) fail(node, "accept: expected a list of tables: [[tool.dtypecheck.accept]]");
    for (const toml::node& one : *all) {
      const toml::table* table = one.as_table();
      if (table == nullptr) fail(one, "accept: expected tables with rule and reason");
      config_.accepted.push_back(accepted_in(*table));
    }
  }

  rules::Suppression accepted_in(const toml::table& table) const {
    rules::Suppression accepted;
    accepted.text_line = static_cast<int>(table.source().begin.line);
    for (const auto& [key, value] : table) {
      if (key == "line") {
        const auto line = value.value_exact<int64_t>();
        if (!line || *line < 1 || *line > INT32_MAX) fail(value, "line: expected a number from 1");
        accepted.line = static_cast<int>(*line);
        continue;
      }
      std::string* text = key == "rule"     ? &accepted.rule
                          : key == "file"   ? &accepted.file
                          : key == "module" ? &accepted.module_glob
                          : key == "reason" ? &accepted.reason
                                            : nullptr;
      if (text == nullptr) {
        fail(value,
             fmt::format("accept: unknown key {}; there are rule, file, line, module and reason",
                         printable(key.str())));
      }
      const auto said = value.value_exact<std::string>();
      if (!said || said->empty())
        fail(value, fmt::format("{}: expected a text", std::string(key.str())));
      *text = *said;
    }
    check(table, accepted);
    return accepted;
  }

  void check(const toml::table& table, const rules::Suppression& accepted) const {
    if (accepted.rule.empty() || accepted.reason.empty())
      fail(table, "accept: give rule and reason; why is it accepted?");
    if (!is_known_id(accepted.rule)) {
      fail(table, fmt::format("accept: unknown rule {}{}", printable(accepted.rule),
                              suggestion(accepted.rule, known_ids(),
                                         "dtypecheck rules and dtypecheck lint --list-checks have "
                                         "them all")));
    }
    if (accepted.line > 0 && accepted.file.empty()) fail(table, "accept: a line needs its file");
    if (!accepted.file.empty() && !accepted.module_glob.empty())
      fail(table, "accept: give file or module, not both");
  }

  Config& config_;
};

}  // namespace

std::optional<Config> parse_config(std::string_view text, const std::string& path,
                                   bool is_project) {
  refuse_bare_letters(text, path);
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    throw InputError(
        fmt::format("{}: {}", place(path, error.source().begin), printable(error.description())));
  }
  const toml::table* table = &parsed.table();
  if (is_project) table = parsed.table()["tool"]["dtypecheck"].as_table();
  if (table == nullptr) return std::nullopt;
  Config config{.path = path, .folder = fs::path(path).parent_path().string()};
  Reader(config).read(*table);
  return config;
}

static std::optional<Config> config_in(const fs::path& folder) {
  for (const bool is_project : {false, true}) {
    const fs::path path = folder / (is_project ? "pyproject.toml" : "dtypecheck.toml");
    std::error_code none;
    if (!fs::exists(path, none)) continue;
    auto config = parse_config(read_file(path.string(), kMaxBytes), path.string(), is_project);
    if (config) return config;
  }
  return std::nullopt;
}

static bool ignores_project = false;

void ignore_project_config() { ignores_project = true; }

const Config* project_config() {
  if (ignores_project) return nullptr;
  std::error_code none;
  static const std::optional<Config> config = find_config(fs::current_path(none).string());
  return config ? &*config : nullptr;
}

std::optional<Config> find_config(const std::string& folder) {
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (auto config = config_in(at)) return config;
    std::error_code none;
    if (fs::exists(at / ".git", none) || at == at.parent_path()) break;
  }
  return std::nullopt;
}

}  // namespace dtypecheck::judging
