// parse_arguments.cpp: how a file is parsed that no build system describes. Its include folders are
// those that resolve what it includes, and no others: a folder too many can hide a system header.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <regex>
#include <set>

#include "analyzer/parse/build_files.h"
#include "analyzer/parse/compile_command.h"
#include "analyzer/project/tree.h"
#include "platform/files.h"
#include "platform/libtorch_version.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxEntries = 50'000;  // of a project's tree
constexpr size_t kMaxHeaders = 400;     // that are looked at for what they include
constexpr size_t kMaxLineLength = 1'000;

bool is_header(const fs::path& path) {
  static const std::set<std::string> endings = {".h",   ".hpp", ".cuh", ".hh", ".hxx",
                                                ".inl", ".inc", ".ipp", ".tpp"};
  return endings.contains(path.extension().string());
}

// A source may be included as well as a header.
bool may_be_included(const fs::path& path) {
  static const std::set<std::string> endings = {".cu", ".cpp", ".cc", ".cxx", ".def"};
  return is_header(path) || endings.contains(path.extension().string());
}

// Every header of a project, by its file name.
using Headers = std::multimap<std::string, fs::path>;

// What a tree says of how it is built, read once.
struct Project {
  fs::path root;
  Headers headers;
  BuildFlags flags;
};

// How many folders lie between two files.
size_t distance(const fs::path& a, const fs::path& b) {
  const fs::path way = b.parent_path().lexically_relative(a.parent_path());
  return static_cast<size_t>(std::distance(way.begin(), way.end()));
}

// The header of the tree that an include means: of several the nearest.
fs::path resolve(const Include& include, const fs::path& from, const Headers& headers) {
  const fs::path beside = (from.parent_path() / include.name).lexically_normal();
  if (include.is_quoted && is_there(beside)) return beside;
  const fs::path name = fs::path(include.name).lexically_normal();
  fs::path best;
  const auto [first, last] = headers.equal_range(name.filename().string());
  for (auto header = first; header != last; ++header) {
    const std::string full = header->second.string();
    if (!full.ends_with("/" + name.string())) continue;
    if (best.empty() || distance(from, header->second) < distance(from, best)) {
      best = header->second;
    }
  }
  return best;
}

// Of a folder that nothing marks as a project's part, what folders above it have: under the name
// itself, or in a folder that is named as one for headers or for shared code.
fs::path resolve_above(const Include& include, const fs::path& from) {
  constexpr int kMostParents = 4;
  static const std::vector<std::string> kFolders = {"",    "include", "inc", "headers", "common",
                                                    "src", "shared",  "lib", "utils"};
  fs::path folder = from.parent_path();
  for (int up = 0; up <= kMostParents && folder != folder.root_path(); ++up) {
    if (folder == "/usr" || folder == "/usr/local") return {};  // that is the system's
    for (const std::string& below : kFolders) {
      const fs::path header = (folder / below / include.name).lexically_normal();
      if (is_file(header)) return header;
    }
    if (is_marked(folder)) return {};  // what lies beside a project is none of its own
    folder = folder.parent_path();
  }
  return {};
}

// The repository of a file; of one that nothing marks as a project's, what the user named is one
// tree.
fs::path tree_of(const fs::path& file, const std::vector<std::string>& named) {
  fs::path root = repository_root(file);
  if (is_marked(root)) return root;
  for (const std::string& folder : named) {
    const fs::path full = (fs::absolute(folder) / "").lexically_normal().parent_path();
    const fs::path below = root.lexically_relative(full);
    if (!below.empty() && *below.begin() != "..") root = full;
  }
  return root;
}

bool is_system_header(const std::string& name) {
  for (const char* folder : {"/usr/include", "/usr/local/include"}) {
    if (is_there(fs::path(folder) / name)) return true;
  }
  return name.find('.') == std::string::npos || name.starts_with("ATen/") ||
         name.starts_with("torch/") || name.starts_with("c10/");
}

// What the project does not have may stand beside it: packages of one repository share headers,
// and programs of a folder what is above them.
std::vector<std::string> inferred_includes(const fs::path& file, const Project& project,
                                           const Project& repository) {
  std::vector<std::string> arguments;
  std::set<std::string> added;
  std::vector<fs::path> open = {file};
  std::set<fs::path> seen = {file};
  for (size_t next = 0; next < open.size() && next < kMaxHeaders; ++next) {
    const fs::path from = open[next];
    for (const Include& include : includes_of(from)) {
      if (!include.is_quoted && is_system_header(include.name)) continue;
      fs::path header = resolve(include, from, project.headers);
      if (header.empty()) header = resolve(include, from, repository.headers);
      if (header.empty() && !is_system_header(include.name)) header = resolve_above(include, from);
      if (header.empty()) continue;
      if (seen.insert(header).second) open.push_back(header);
      const std::string full = header.string();
      const std::string name = fs::path(include.name).lexically_normal().string();
      if (!full.ends_with("/" + name)) continue;  // ../x.h, found beside
      const std::string folder = full.substr(0, full.size() - name.size() - 1);
      const char* how = is_in_folder_of_others(header, repository.root) ? "-isystem"
                        : include.is_quoted                             ? "-iquote"
                                                                        : "-I";
      if (added.insert(how + folder).second) {
        arguments.insert(arguments.end(), {how, folder});
      }
    }
  }
  return arguments;
}

// That of the project, or what the headers of LibTorch ask for, where it is later.
std::string standard_of(const Project& project, const Toolkits& toolkits) {
  const auto version = parse_version(toolkits.torch_version);
  const std::string of_headers = version ? fmt::format("{}", language_of_headers(*version)) : "";
  return "-std=c++" + std::max(project.flags.standard, of_headers);
}

Project read_project(const fs::path& root) {
  Project project = {root, {}, {}};
  for_each_file(root, kMaxEntries, is_skipped_folder, [&](const fs::path& file) {
    if (may_be_included(file)) project.headers.emplace(file.filename().string(), file);
    if (!is_in_folder_of_others(file, root)) read_build_file(file, project.flags);
    return true;
  });
  return project;
}

const Project& project_at(const fs::path& root) {
  static std::mutex lock;
  static std::map<fs::path, Project> known;
  const std::scoped_lock held(lock);
  const auto at = known.find(root);
  return at != known.end() ? at->second : known.emplace(root, read_project(root)).first->second;
}

std::string definition(const std::string& name, const BuildMacro& macro) {
  return "-D" + name + (macro.value.empty() ? "" : "=" + macro.value);
}

void add_macros(std::vector<std::string>& arguments, const BuildFlags& macros) {
  for (const auto& [name, macro] : macros.defined) {
    if (!macro.is_switch) arguments.push_back(definition(name, macro));
  }
  for (const auto& [name, macro] : macros.undefined) arguments.push_back("-U" + name);
}

// The macros of the project's build that a file asks about.
std::vector<std::string> macros_asked_for(const fs::path& file, const BuildFlags& macros) {
  static const std::regex kCondition("^\\s*#\\s*(?:if|ifdef|ifndef|elif)\\b(.*)");
  static const std::regex kName("[A-Za-z_]\\w*");
  std::vector<std::string> asked;
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (line.size() > kMaxLineLength || !std::regex_match(line, match, kCondition)) continue;
    const std::string condition = match[1];
    for (std::sregex_iterator at(condition.begin(), condition.end(), kName), end; at != end; ++at) {
      const std::string name = at->str();
      const bool is_known = macros.defined.contains(name);
      if (is_known && std::find(asked.begin(), asked.end(), name) == asked.end()) {
        asked.push_back(name);
      }
    }
  }
  return asked;
}

// CUDA 13 moved thrust and cub; nvcc adds the folder by itself, Clang does not.
void add_toolkit(std::vector<std::string>& arguments, const Toolkits& toolkits) {
  arguments.insert(arguments.end(), {"-isystem", toolkits.cuda_root + "/include/cccl"});
}

void add_cuda(std::vector<std::string>& arguments, const Toolkits& toolkits,
              const fs::path& stubs) {
  arguments.insert(arguments.end(),
                   {"-x", "cuda", "--cuda-host-only", "-Wno-unknown-cuda-version"});
  for (const char* macro :
       {"HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS"}) {
    arguments.push_back(std::string("-D__CUDA_NO_") + macro + "__");  // as torch gives nvcc
  }
  if (!toolkits.cuda_root.empty()) {
    arguments.push_back("--cuda-path=" + toolkits.cuda_root);
    arguments.insert(arguments.end(), {"-isystem", (stubs / "nvcc").string()});
    arguments.insert(arguments.end(), {"-include", "dtypecheck_nvcc.h"});
    add_toolkit(arguments, toolkits);
    return;
  }
  // The stubs' folder as a toolkit that is none: what Clang finds by itself would change them.
  // fprintf and its like may be called from kernels, as nvcc has it.
  const std::string stub = (stubs / "cuda").string();
  arguments.insert(arguments.end(), {"--cuda-path=" + stub, "-nocudainc", "-nocudalib", "-Xclang",
                                     "-fcuda-allow-variadic-functions", "-isystem", stub,
                                     "-include", "dtypecheck_cuda.h"});
}

// Folders of others that a build system gives as if they were the project's own.
bool is_of_others(const fs::path& folder) {
  const std::string path = folder.string();
  return path.starts_with("/usr/") || path.find("-packages/") != path.npos ||
         is_there(folder / "ATen") || is_there(folder / "torch/csrc") ||
         is_there(folder / "pybind11");
}

// The arguments of a database, with what is not the project's own marked as a system's.
void add_known(std::vector<std::string>& arguments, const CompileCommand& command) {
  arguments.push_back("-working-directory=" + command.directory);
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    std::string argument = command.arguments[i];
    std::string folder = argument.starts_with("-I") ? argument.substr(2) : "";
    const bool is_next = argument == "-I" && i + 1 < command.arguments.size();
    if (is_next) folder = command.arguments[i + 1];
    if (!folder.empty() && is_of_others(fs::path(command.directory) / folder)) {
      arguments.insert(arguments.end(), {"-isystem", folder});
      i += is_next;
    } else {
      arguments.push_back(std::move(argument));
    }
  }
}

}  // namespace

std::vector<std::string> parse_arguments(const fs::path& file, const CompileCommand* command,
                                         const Toolkits& toolkits, const fs::path& stubs,
                                         const std::vector<std::string>& named) {
  const Project& project = project_at(project_root(file));
  std::vector<std::string> arguments;
  if (is_cuda(file))
    add_cuda(arguments, toolkits, stubs);
  else if (is_header(file))
    arguments = {"-x", "c++"};
  bool has_standard = false;
  if (command != nullptr) {
    add_known(arguments, *command);
    has_standard = std::ranges::any_of(
        arguments, [](const std::string& argument) { return argument.starts_with("-std="); });
  } else {
    const Project& repository = project_at(tree_of(file, named));
    const std::vector<std::string> inferred = inferred_includes(file, project, repository);
    arguments.insert(arguments.end(), inferred.begin(), inferred.end());
    add_macros(arguments, project.flags);
    arguments.push_back("-DTORCH_EXTENSION_NAME=extension");  // as the builder of extensions does
  }
  for (const std::string& name : folders_of_others()) {
    arguments.push_back("--system-header-prefix=" + name + "/");
  }
  if (!has_standard) arguments.push_back(standard_of(project, toolkits));
  for (const std::string& include : toolkits.torch_includes) {
    arguments.insert(arguments.end(), {"-isystem", include});
  }
  if (toolkits.torch_includes.empty()) {
    arguments.insert(arguments.end(), {"-isystem", (stubs / "torch").string()});
  }
  if (!is_cuda(file)) {  // for .cpp that names CUDA's runtime or half types: one set or the other
    if (!toolkits.cuda_root.empty()) {
      arguments.insert(arguments.end(), {"-isystem", toolkits.cuda_root + "/include"});
      add_toolkit(arguments, toolkits);
    } else {
      const char* how = toolkits.torch_includes.empty() ? "-isystem" : "-idirafter";
      arguments.insert(arguments.end(), {how, (stubs / "cuda").string()});
    }
  }
  for (const std::string& include : toolkits.vendor_includes) {
    arguments.insert(arguments.end(), {"-idirafter", include});
  }
  arguments.insert(arguments.end(), {"-idirafter", (stubs / "common").string()});
  return arguments;
}

std::vector<std::string> with_other_switches(const fs::path& file,
                                             const std::vector<std::string>& arguments) {
  const BuildFlags& macros = project_at(project_root(file)).flags;
  const std::vector<std::string> asked = macros_asked_for(file, macros);
  if (asked.empty()) return {};
  std::vector<std::string> others = arguments;
  for (const std::string& name : asked) {
    const std::string define = definition(name, macros.defined.at(name));
    if (std::erase(others, define) == 0) others.push_back(define);
  }
  return others;
}

}  // namespace dtypecheck::analyzer
