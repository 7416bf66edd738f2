#include "reports/judging/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

// toml++ 3.3 assumes of "[[&" what only its next check finds: an assert that fails, or undefined
// behaviour where NDEBUG is set. Without both it reports the error.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "platform/error.h"
#include "platform/files.h"
#include "platform/nearest.h"
#include "platform/printable.h"
#include "reports/judging/known_ids.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

namespace {

constexpr size_t kMaxBytes = 4 << 20;

std::string place(const std::string& path, const toml::source_position& at) {
  return fmt::format("{}:{}", path, at.line);
}

// toml++ 3.3 runs into undefined behaviour at letters beyond ASCII where it looks for a blank, so
// it is not shown any: a byte of them is "<~c3~>", which TOML takes in quotes and comments alone.
std::string without_letters(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    byte < 0x80 ? ascii += c : ascii += fmt::format("<~{:02x}~>", byte);
  }
  return ascii;
}

std::string with_letters(std::string_view ascii) {
  constexpr size_t kMarkBytes = 6;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string text;
  for (size_t i = 0; i < ascii.size();) {
    const std::string_view mark = ascii.substr(i, kMarkBytes);
    const bool is_mark = mark.size() == kMarkBytes && mark.starts_with("<~") &&
                         mark.ends_with("~>") && mark[2] >= '8' && is_hex(mark[2]) &&
                         is_hex(mark[3]);
    text += is_mark ? static_cast<char>(value(mark[2]) * 16 + value(mark[3])) : ascii[i];
    i += is_mark ? kMarkBytes : 1;
  }
  return text;
}

class Reader {
 public:
  explicit Reader(Config& config) : config_(config) {}

  void read(const toml::table& table) {
    for (const auto& [key, value] : table) {
      if (key == "accept") {
        read_accepted(value);
      } else if (const toml::table* of_command = value.as_table()) {
        for (const auto& [name, value] : *of_command) add(std::string(key), name, value);
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
    ConfigEntry& entry = config_.entries.emplace_back();
    entry.command = command;
    entry.key = with_letters(key.str());
    entry.line = static_cast<int>(key.source().begin.line);
    if (const auto text = value.value_exact<std::string>()) {
      entry.value = with_letters(*text);
    } else if (const auto flag = value.value_exact<bool>()) {
      entry.value = *flag ? "true" : "false";
    } else if (const auto number = value.value_exact<int64_t>()) {
      entry.value = std::to_string(*number);
    } else {
      fail(value, fmt::format("{}: expected a text, a number, true or false",
                              printable(with_letters(key.str()))));
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
                         printable(with_letters(key.str()))));
      }
      const auto said = value.value_exact<std::string>();
      if (!said || said->empty())
        fail(value, fmt::format("{}: expected a text", printable(with_letters(key.str()))));
      *text = with_letters(*said);
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
  const toml::parse_result parsed = toml::parse(without_letters(text), path);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    throw InputError(fmt::format("{}: {}", place(path, error.source().begin),
                                 printable(with_letters(error.description()))));
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
