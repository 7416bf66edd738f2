#include "analyzer/parse/build_files.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include "platform/files.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxLineLength = 1'000;

// "if torch.cuda.is_available():", "if(USE_CUDA)"; not their opposites.
bool asks_for_cuda(const std::string& condition) {
  const std::string text = lowered(condition);
  return text.find("cuda") != text.npos && text.find("not ") == text.npos &&
         text.find("==") == text.npos && text.find("version") == text.npos;
}

// What is for CMake itself, and what the build of LibTorch's extensions says of itself.
bool is_of_builder(const std::string& name, const std::string& value) {
  return name.starts_with("CMAKE_") || name.starts_with("Python") || value == "ON" ||
         value == "OFF" || name == "NDEBUG" || name == "_GLIBCXX_USE_CXX11_ABI";
}

// CPU_ONLY, NO_CUDA: a build for the CPU is what somebody asks for, wherever its macro stands.
bool is_without_cuda(const std::string& name) {
  const std::string text = lowered(name);
  return text.find("cpu_only") != text.npos || text.find("no_cuda") != text.npos ||
         text.find("without_cuda") != text.npos;
}

void add(std::map<std::string, BuildMacro>& macros, const std::string& name,
         const std::string& value, bool is_switch) {
  is_switch = is_switch || is_without_cuda(name);
  const auto [at, is_new] = macros.try_emplace(name, BuildMacro{value, is_switch});
  if (is_new) return;
  at->second.is_switch = at->second.is_switch && is_switch;
  if (at->second.value != value) at->second.is_switch = true;
}

// A value that is only known when it is built: what it is does not matter to most code.
std::string plain_value(std::string value) {
  const bool is_text = value.find('"') != value.npos;
  if (value.find_first_of("{}$\\\"'") == value.npos) return value;
  return is_text ? "\"\"" : "1";
}

void add_flags(const std::string& text, bool is_switch, BuildFlags& macros) {
  static const std::regex kFlag("(?:^|[\\s'\"=;(])-([DU])([A-Za-z_]\\w*)(?:=([^\\s',;)\\]]*))?");
  for (std::sregex_iterator at(text.begin(), text.end(), kFlag), end; at != end; ++at) {
    const std::string name = (*at)[2];
    const std::string value = (*at)[3].matched ? plain_value((*at)[3]) : "";
    if (is_of_builder(name, value)) continue;
    add((*at)[1] == "U" ? macros.undefined : macros.defined, name, value, is_switch);
  }
}

// ("WITH_CUDA", None), ("VERSION", "3") of define_macros.
void add_tuples(const std::string& text, bool is_switch, BuildFlags& macros) {
  static const std::regex kTuple(
      "\\(\\s*['\"]([A-Za-z_]\\w*)['\"]\\s*,\\s*(?:None|True|['\"]([^'\"]*)['\"]|(\\d+))\\s*,?\\s*"
      "\\)");
  for (std::sregex_iterator at(text.begin(), text.end(), kTuple), end; at != end; ++at) {
    const std::string value = (*at)[2].matched ? (*at)[2] : (*at)[3];
    add(macros.defined, (*at)[1], plain_value(value), is_switch);
  }
}

// Python's blocks are their indents: what stands deeper than an `if` is under it.
class PythonBlocks {
 public:
  bool is_conditional(const std::string& line) {
    const size_t indent = line.find_first_not_of(" \t");
    while (!open_.empty() && open_.back().indent >= indent) open_.pop_back();
    bool is_under = false;
    for (const Block& block : open_) is_under = is_under || block.is_condition;
    static const std::regex kHead("^\\s*(if|elif|else|except|for|while)\\b(.*)");
    std::smatch head;
    if (std::regex_match(line, head, kHead)) {
      const std::string word = head[1], condition = head[2];
      open_.push_back({indent, !(word == "if" && asks_for_cuda(condition))});
    }
    return is_under || line.find(" if ") != line.npos;
  }

 private:
  struct Block {
    size_t indent;
    bool is_condition;
  };
  std::vector<Block> open_;
};

void read_standard(const std::string& text, BuildFlags& flags) {
  static const std::regex kLater("(?:c\\+\\+|_STANDARD[ )]+|cxx_std_)(20|2a|23|2b)\\b");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.size() > kMaxLineLength || !std::regex_search(line, match, kLater)) continue;
    const std::string found = match[1] == "2a" ? "20" : match[1] == "2b" ? "23" : match[1].str();
    flags.standard = std::max(flags.standard, found);
  }
}

void read_python(const std::string& text, BuildFlags& macros) {
  const bool has_tuples = text.find("define_macros") != text.npos;
  PythonBlocks blocks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view said = trimmed(line);
    if (said.empty() || said.front() == '#' || line.size() > kMaxLineLength) continue;
    const bool is_switch = blocks.is_conditional(line);
    add_flags(line, is_switch, macros);
    if (has_tuples) add_tuples(line, is_switch, macros);
  }
}

std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() <= kMaxLineLength) kept += line.substr(0, line.find('#')) + "\n";
  }
  return kept;
}

struct CMakeCommand {
  std::string name, arguments;
};

// The command that begins at or after `at`, which moves behind it.
std::optional<CMakeCommand> next_command(const std::string& text, size_t& at) {
  const size_t open = text.find('(', at);
  if (open == text.npos) return std::nullopt;
  size_t end = open;
  while (end > at && text[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > at && is_of_name(text[begin - 1])) --begin;
  size_t close = open + 1;
  for (int depth = 1; close < text.size(); ++close) {
    depth += (text[close] == '(') - (text[close] == ')');
    if (depth == 0) break;
  }
  at = std::min(close + 1, text.size());
  return CMakeCommand{lowered(text.substr(begin, end - begin)),
                      text.substr(open + 1, close - open - 1)};
}

// target_compile_definitions(target PRIVATE A B=1)
void add_definitions(const CMakeCommand& command, bool is_switch, BuildFlags& macros) {
  static const std::regex kName("[A-Za-z_]\\w*");
  std::istringstream words(command.arguments);
  std::string word;
  if (command.name == "target_compile_definitions") words >> word;  // the target
  while (words >> word) {
    if (word.starts_with("-D")) word = word.substr(2);
    if (word == "PRIVATE" || word == "PUBLIC" || word == "INTERFACE") continue;
    const size_t is = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, is);
    if (!std::regex_match(name, kName)) continue;
    const std::string value = is < word.size() ? plain_value(word.substr(is + 1)) : "";
    if (!is_of_builder(name, value)) add(macros.defined, name, value, is_switch);
  }
}

void read_cmake(const std::string& whole, BuildFlags& macros) {
  const std::string text = without_comments(whole);
  std::vector<bool> conditions;
  size_t at = 0;
  while (const auto command = next_command(text, at)) {
    const std::string& name = command->name;
    if (name == "if") {
      conditions.push_back(!asks_for_cuda(command->arguments));
    } else if ((name == "else" || name == "elseif") && !conditions.empty()) {
      conditions.back() = true;
    } else if (name == "endif" && !conditions.empty()) {
      conditions.pop_back();
    }
    const bool is_switch =
        std::find(conditions.begin(), conditions.end(), true) != conditions.end();
    const bool defines = name == "target_compile_definitions" ||
                         name == "add_compile_definitions" || name == "add_definitions";
    if (defines) {
      add_definitions(*command, is_switch, macros);
    } else if (name != "execute_process" && name != "add_custom_command") {
      add_flags(command->arguments, is_switch, macros);
    }
  }
}

bool is_cmake(const fs::path& file) {
  return file.filename() == "CMakeLists.txt" || file.extension() == ".cmake";
}

}  // namespace

void read_build_file(const fs::path& file, BuildFlags& flags) {
  const bool is_python = file.extension() == ".py";
  const bool names_standard =
      file.filename() == "pyproject.toml" || file.filename() == "meson.build";
  if (!is_python && !is_cmake(file) && !names_standard) return;
  const auto text = read_file_if_any(file, kMaxBytes);
  if (!text) return;
  const std::string folder = lowered(file.parent_path().filename().string());
  const bool builds = file.filename() == "setup.py" || folder.find("build") != folder.npos ||
                      text->find("cpp_extension") != text->npos;
  if (is_python && !builds) return;
  read_standard(*text, flags);
  if (is_cmake(file)) read_cmake(*text, flags);
  if (is_python) read_python(*text, flags);
}

}  // namespace dtypecheck::analyzer
