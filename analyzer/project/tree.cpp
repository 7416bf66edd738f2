#include "analyzer/project/tree.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <string>

#include "core/installed.h"
#include "platform/files.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxEntries = 20'000;
constexpr uintmax_t kMaxBytes = 64 << 20;  // of a project that are read
constexpr uintmax_t kMaxFile = 2 << 20;
constexpr size_t kMaxLineLength = 1'000;

bool is_code(const fs::path& path) {
  static const std::set<std::string> endings = {".cpp", ".cc",  ".cxx", ".c++", ".cu",
                                                ".h",   ".hpp", ".cuh", ".hh",  ".hxx",
                                                ".inl", ".inc", ".py",  ".pyi"};
  return endings.contains(path.extension().string());
}

// csrc/cpu/scatter.cpp, scatter_cpu.h: what the CPU's code has is no reason on a GPU.
bool is_of_cpu(const fs::path& file, const fs::path& root) {
  return file.lexically_relative(root).string().find("cpu") != std::string::npos;
}

bool is_of_others(const fs::path& folder) {
  return folders_of_others().contains(folder.filename().string());
}

// What gives its dispatches BFloat16.
struct Named {
  bool bfloat16 = false;
  bool autocast = false;  // its Python opens regions, whose dtype the user chooses
};

// The name stands in code, not in a comment behind it.
void look_for_names(std::string line, bool is_python, Named& named) {
  line.resize(std::min(line.find(is_python ? "#" : "//"), line.size()));
  line = lowered(line);
  const auto has = [&](const char* text) { return line.find(text) != line.npos; };
  named.bfloat16 = named.bfloat16 || has("bfloat16");
  named.autocast = named.autocast || (is_python && has("autocast(") && !has("false"));
}

void look_for_names(const fs::path& file, Named& named) {
  const bool is_python = file.extension().string().starts_with(".py");
  std::ifstream text(file);
  for (std::string line; !named.bfloat16 && std::getline(text, line);)
    look_for_names(std::move(line), is_python, named);
}

Named names_in_tree(const fs::path& root) {
  const bool is_project = is_marked(root);  // else whose the folders below are is not known
  const auto skips = [&](const fs::path& folder) {
    return !is_project || is_skipped_folder(folder) || is_of_others(folder);
  };
  uintmax_t bytes = 0;
  Named named;
  for_each_file(root, kMaxEntries, skips, [&](const fs::path& file) {
    std::error_code unknown;
    if (!is_code(file) || is_of_cpu(file, root) || !is_file(file)) return true;
    const uintmax_t size = fs::file_size(file, unknown);
    if (unknown || size > kMaxFile) return true;
    bytes += size;
    look_for_names(file, named);
    return !named.bfloat16 && bytes <= kMaxBytes;
  });
  return named;
}

Named names_in_project(const fs::path& file) {
  static std::mutex lock;
  static std::map<fs::path, Named> known;
  const fs::path root = project_root(file);
  const std::scoped_lock held(lock);
  const auto [at, is_new] = known.try_emplace(root);
  if (is_new) at->second = names_in_tree(root);
  return at->second;
}

bool has_half_alone(const Dispatch& dispatch) {
  return dispatch.cases.contains(Dtype::kHalf) && !dispatch.cases.contains(Dtype::kBFloat16);
}

bool lacks_bfloat16(const DtypeTable& table) {
  const DtypeSet dtypes = table.dtypes();
  return dtypes.contains(Dtype::kHalf) && !dtypes.contains(Dtype::kBFloat16);
}

// Those of CUDA and its libraries, and LibTorch's about them: ATen/cuda/CUDAContext.h, cublas_v2.h.
bool is_of_gpu(const Include& include) {
  static const std::regex kGpu(
      "(^|/)(cuda|hip|cub(las)?|cudnn|curand|cusparse|cufft)[^/]*(/|\\.h|$)");
  return std::regex_search(include.name, kGpu);
}

}  // namespace

bool is_source(const fs::path& file) {
  static const std::set<std::string> endings = {".cpp",  ".cc",  ".cxx", ".c++",
                                                ".cppm", ".ixx", ".cu"};
  return endings.contains(file.extension().string());
}

bool is_cuda(const fs::path& file) {
  return file.extension() == ".cu" || file.extension() == ".cuh";
}

bool is_marked(const fs::path& folder) {
  for (const char* mark : {".git", "setup.py", "pyproject.toml", "setup.cfg"}) {
    if (is_there(folder / mark)) return true;
  }
  return false;
}

fs::path project_root(const fs::path& file) {
  for (fs::path folder = file.parent_path();; folder = folder.parent_path()) {
    if (is_marked(folder)) return folder;
    if (folder == folder.parent_path()) return file.parent_path();
  }
}

fs::path repository_root(const fs::path& file) {
  fs::path root = project_root(file);
  for (fs::path folder = root; !is_there(folder / ".git");) {
    if (folder == folder.parent_path()) return root;
    folder = folder.parent_path();
    if (is_marked(folder) || is_there(folder / "CMakeLists.txt")) root = folder;
  }
  return root;
}

const std::set<std::string>& folders_of_others() {
  static const std::set<std::string> names = {
      "third_party", "third-party", "thirdparty", "3rdparty", "3rd_party",  "extern",
      "external",    "vendor",      "vendored",   "deps",     "submodules", "cutlass"};
  return names;
}

bool is_in_folder_of_others(const fs::path& file, const fs::path& root) {
  const fs::path below = file.lexically_relative(root).parent_path();
  return std::ranges::any_of(below, is_of_others);
}

void for_each_file(const fs::path& root, size_t most_entries,
                   const std::function<bool(const fs::path&)>& skips,
                   const std::function<bool(const fs::path&)>& each) {
  std::error_code error;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (most_entries-- == 0) return;
    std::error_code unknown;
    if (!at->is_directory(unknown)) {
      if (!each(at->path())) return;
    } else if (skips(at->path())) {
      at.disable_recursion_pending();
    }
  }
}

size_t nearness(const std::string& a, const std::string& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<size_t>(end - a.begin());
}

bool is_skipped_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return (name.size() > 1 && name.starts_with(".")) || name == "build" || name == "node_modules" ||
         std::count(std::begin(kPackageFolders), std::end(kPackageFolders), name) > 0;
}

std::vector<Include> includes_of(const fs::path& file) {
  static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  std::vector<Include> includes;
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (line.size() > kMaxLineLength || line.find("include") == std::string::npos) continue;
    if (std::regex_search(line, match, kInclude)) includes.push_back({match[2], match[1] == "\""});
  }
  return includes;
}

void look_around(SourceFacts& facts) {
  if (facts.dispatches.empty() && facts.tables.empty()) return;
  const std::vector<Include> includes = includes_of(facts.file);
  facts.is_of_gpu = is_cuda(facts.file) || std::ranges::any_of(includes, is_of_gpu);
  if (std::ranges::any_of(facts.dispatches, has_half_alone) ||
      std::ranges::any_of(facts.tables, lacks_bfloat16)) {
    const Named named = names_in_project(facts.file);
    facts.project_names_bfloat16 = named.bfloat16;
    facts.project_opens_autocast = named.autocast;
  }
}

}  // namespace dtypecheck::analyzer
