#include "tracer/build/hook_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/program.h"
#include "platform/progress.h"
#include "platform/temporary_folder.h"
#include "platform/terminal.h"

namespace fs = std::filesystem;

namespace dtypecheck {

using Words = std::vector<std::string>;

// A folder for the objects, gone at the end whichever way that comes.
class BuildFolder {
 public:
  explicit BuildFolder(const std::string& output)
      : path_(fmt::format("{}.build.{}", output, ::getpid())) {
    std::error_code error;
    fs::create_directory(path_, error);
    if (error)
      throw InputError(fmt::format("{}: cannot be made: {}", path_.string(), error.message()));
  }
  ~BuildFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  BuildFolder(const BuildFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// The compiler is no part of the traced run.
static Environment compiler_environment() {
  Environment environment = current_environment();
  for (const char* name : {"LD_PRELOAD", "DTYPECHECK_RUN", "DTYPECHECK_HOOKS", "DTYPECHECK_EXE",
                           "DTYPECHECK_OPTIONS"}) {
    unset_variable(environment, name);
  }
  return environment;
}

// Runs with stdout and stderr in `log`; gives the process id, or -1.
static pid_t start(const Words& command, const std::string& log) {
  static const Environment environment = compiler_environment();
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  pid_t child = -1;
  try {
    child = start_child(command, environment, {.out = fd, .err = fd});
  } catch (const InputError& error) {
    [[maybe_unused]] const ssize_t written = ::write(fd, error.what(), std::strlen(error.what()));
  }
  ::close(fd);
  return child;
}

static bool run_quietly(const Words& command, const std::string& log) {
  const pid_t child = start(command, log);
  return child > 0 && wait_for_child(child).is_success();
}

struct Job {
  Words command;
  std::string log;
};

// A translation unit with ATen's headers takes 700 MB, in the middle of somebody's run: few at
// once. False when one failed; the others that run are awaited.
static bool run_side_by_side(const std::vector<Job>& jobs) {
  const size_t room = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
  size_t next = 0, running = 0;
  bool good = true;
  while (running > 0 || (good && next < jobs.size())) {
    if (good && next < jobs.size() && running < room) {
      const Job& job = jobs[next++];
      if (start(job.command, job.log) > 0) {
        ++running;
      } else {
        good = false;
      }
      continue;
    }
    good &= wait_for_child(-1).is_success();
    --running;
  }
  return good;
}

// $CXX may hold options, or a launcher such as ccache.
static std::vector<Words> compiler_candidates() {
  std::vector<Words> candidates;
  if (const char* cxx = std::getenv("CXX")) {
    std::istringstream words(cxx);
    Words command{std::istream_iterator<std::string>(words), {}};
    if (!command.empty()) candidates.push_back(command);
  }
  for (const char* name : {"c++", "g++", "clang++"}) candidates.push_back({name});
  return candidates;
}

// A compiler that is there may lack its headers: it has to take a line before it is given minutes
// of work.
static Words find_compiler(const std::string& standard, const BuildFolder& build) {
  const std::string probe = build.file("probe.cpp");
  std::ofstream(probe) << "#include <string>\nstd::string s;\n";
  for (Words compiler : compiler_candidates()) {
    try {
      compiler[0] = find_program(compiler[0]);
    } catch (const InputError&) {
      continue;
    }
    Words command = compiler;
    command.insert(command.end(), {"-std=" + standard, "-fsyntax-only", probe});
    if (run_quietly(command, build.file("probe.log"))) return compiler;
  }
  throw InputError(
      fmt::format("no C++ compiler for {} was found ($CXX, c++, g++, clang++); install one, for "
                  "example: apt-get install g++",
                  standard));
}

static std::string language_standard(const Version& libtorch, bool needs_cxx20 = false) {
  return fmt::format("c++{}", needs_cxx20 ? 20 : language_of_headers(libtorch));
}

std::string usable_compiler(const Version& libtorch) {
  const TemporaryFolder folder("compiler");
  try {
    const BuildFolder build(folder.path() + "/probe");
    return fmt::format("{}", fmt::join(find_compiler(language_standard(libtorch), build), " "));
  } catch (const InputError&) {
    return "";
  }
}

// NDEBUG is part of the ABI: RecordFunction has a member more without it.
static Words compile_flags(const LibTorchInfo& libtorch, const HookSources& sources) {
  Words flags = {"-std=" + language_standard(libtorch.version, sources.needs_cxx20),
                 "-O2",
                 "-DNDEBUG",
                 "-fPIC",
                 "-fvisibility=hidden",
                 "-fvisibility-inlines-hidden",
                 "-w",
                 fmt::format("-D_GLIBCXX_USE_CXX11_ABI={}", libtorch.cxx11_abi),
                 "-I" + sources.root};
  // As system headers; /usr/include itself is searched anyway, and naming it would break the order
  // of the standard ones.
  for (const std::string& folder : libtorch.include_folders) {
    if (folder == "/usr/include") continue;
    flags.push_back("-isystem");
    flags.push_back(folder);
  }
  return flags;
}

static std::vector<Job> compile_jobs(const Words& compiler, const LibTorchInfo& libtorch,
                                     const HookSources& sources, const BuildFolder& build,
                                     Words& objects) {
  std::vector<Job> jobs;
  const Words flags = compile_flags(libtorch, sources);
  for (const std::string& source : sources.files) {
    const std::string object = build.file(fmt::format("{}.o", objects.size()));
    Words command = compiler;
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-c", (fs::path(sources.root) / source).string(), "-o", object});
    jobs.push_back({command, object + ".log"});
    objects.push_back(object);
  }
  return jobs;
}

[[noreturn]] static void fail(const std::string& what, const std::vector<Job>& jobs,
                              const std::string& output) {
  const std::string log = output + ".log";
  std::ofstream file(log);
  for (const Job& job : jobs) {
    const auto said = read_file_if_any(job.log);
    if (said) file << fmt::format("{}\n{}\n", fmt::join(job.command, " "), *said);
  }
  throw InputError(fmt::format("{} could not be compiled with {}; what the compiler said is in {}",
                               what, jobs[0].command[0], log));
}

static void put(const std::string& library, const std::string& output) {
  if (::rename(library.c_str(), output.c_str()) != 0)
    throw InputError(fmt::format("{}: cannot be written: {}", output, std::strerror(errno)));
}

void compile_hook(const LibTorchInfo& libtorch, const HookSources& sources,
                  const std::string& output) {
  if (libtorch.include_folders.empty()) {
    throw InputError(
        fmt::format("{}: LibTorch {} came without headers, so {} cannot be compiled for it; "
                    "install its wheel or "
                    "development package",
                    libtorch.library, libtorch.version.to_string(), sources.name));
  }
  const BuildFolder build(output);
  const Words compiler =
      find_compiler(language_standard(libtorch.version, sources.needs_cxx20), build);
  const std::string what =
      fmt::format("{} for LibTorch {}", sources.name, libtorch.version.to_string());
  print_line(fmt::format("compiling {}, once …", what));
  const Progress progress("compiling");
  Words objects;
  std::vector<Job> jobs = compile_jobs(compiler, libtorch, sources, build, objects);
  if (!run_side_by_side(jobs)) fail(what, jobs, output);

  // Not linked to LibTorch: its symbols come from the copy that the program has loaded.
  Job link{compiler, build.file("link.log")};
  const std::string library = build.file("hook.so");
  link.command.insert(link.command.end(), {"-shared", "-o", library, "-pthread"});
  link.command.insert(link.command.end(), objects.begin(), objects.end());
  link.command.push_back("-ldl");
  if (!sources.library.empty()) {
    const std::string folder = fs::path(sources.library).parent_path().string();
    link.command.insert(link.command.end(), {sources.library, "-Wl,-rpath," + folder});
  }
  if (!run_side_by_side({link})) fail(what, {link}, output);
  put(library, output);
}

static std::string find_nvcc() {
  Words places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(name)) places.push_back(std::string(home) + "/bin/nvcc");
  places.insert(places.end(), {"nvcc", "/usr/local/cuda/bin/nvcc"});
  for (const std::string& place : places) {
    try {
      return find_program(place);
    } catch (const InputError&) {
    }
  }
  throw InputError(
      "no nvcc was found (CUDA_HOME, PATH, /usr/local/cuda) to compile the kernels for a GPU with; "
      "install a CUDA toolkit of 12.4 or later");
}

// Its flags stand in a file, which CMake reads too.
static Words nvcc_flags(const HookSources& sources) {
  Words flags;
  std::ifstream file(fs::path(sources.root) / "kernels/cuda/nvcc.txt");
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] == '-') flags.push_back(line);
  return flags;
}

void compile_cuda_kernels(const HookSources& sources, const std::string& output) {
  const BuildFolder build(output);
  const std::string library = build.file("kernels.so");
  Job job{{find_nvcc()}, build.file("nvcc.log")};
  Words& command = job.command;
  for (const std::string& flag : nvcc_flags(sources)) command.push_back(flag);
  command.insert(command.end(),
                 {"-w", "--threads=0", "-I" + sources.root, "-shared", "-o", library});
  command.insert(command.end(), sources.files.begin(), sources.files.end());
  const std::string folder = fs::path(sources.library).parent_path().string();
  command.insert(command.end(), {sources.library, "-Xlinker=-rpath=" + folder});
  print_line(fmt::format("compiling {}, once; it takes minutes …", sources.name));
  const Progress progress("nvcc is at work");
  if (!run_side_by_side({job})) fail(sources.name, {job}, output);
  put(library, output);
}

}  // namespace dtypecheck
