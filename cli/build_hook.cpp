// dtypecheck build-hook: the tracer's stage 2 for one LibTorch, from what was built ahead or from
// its sources. Stage 1 calls it in the middle of a traced program (tracer/protocol.md), in several
// processes at once.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "platform/error.h"
#include "platform/install_paths.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "tracer/build/hook_cache.h"
#include "tracer/build/hook_compiler.h"
#include "tracer/build/libtorch_info.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

struct BuildHookCommand {
  std::string libtorch, output;
  bool force = false;
  bool cache = false;
  bool operators = false;
  bool cuda = false;
};

static constexpr std::chrono::seconds kLongestWait{120};
// A compile error would come again at each process of a run; it is believed for so long.
static constexpr std::chrono::minutes kFailureStays{10};

// Held by the process that builds; the system lets go of it when that process dies.
class BuildLock {
 public:
  explicit BuildLock(const std::string& output) {
    const std::string path = output + ".lock";
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0)
      throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
    while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        ::close(fd_);
        throw InputError(fmt::format(
            "{}: another process has been building it for {} s; try again when it is done", output,
            kLongestWait.count()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  ~BuildLock() { ::close(fd_); }
  BuildLock(const BuildLock&) = delete;

 private:
  int fd_ = -1;
};

static bool failed_lately(const std::string& output) {
  std::error_code none;
  const auto written = fs::last_write_time(output + ".log", none);
  return !none && fs::file_time_type::clock::now() - written < kFailureStays;
}

static void link_prebuilt(const PrebuiltHook& hook, const std::string& output) {
  const std::string unfinished = fmt::format("{}.new.{}", output, ::getpid());
  std::error_code error;
  fs::create_symlink(hook.path, unfinished, error);
  if (!error) fs::rename(unfinished, output, error);
  if (error) throw InputError(fmt::format("{}: cannot be written: {}", output, error.message()));
}

static HookSources sources_or_throw(const LibTorchInfo& libtorch) {
  const auto sources = hook_sources();
  if (sources) return *sources;
  throw InputError(fmt::format(
      "no tracer was built ahead for LibTorch {} with C++ ABI {}, and its sources are not "
      "installed; install dtypecheck again, with share/dtypecheck",
      libtorch.version.to_string(), libtorch.cxx11_abi));
}

static int build(const BuildHookCommand& command) {
  const LibTorchInfo libtorch = inspect_libtorch(command.libtorch);
  const BuildLock lock(command.output);
  if (!command.force && fs::exists(command.output)) return kClean;  // another process was faster
  const std::vector<PrebuiltHook> prebuilt = prebuilt_hooks();
  if (const PrebuiltHook* hook = find_prebuilt_hook(prebuilt, libtorch)) {
    link_prebuilt(*hook, command.output);
    return kClean;
  }
  if (!command.force && failed_lately(command.output)) {
    throw InputError(fmt::format(
        "the tracer for LibTorch {} could not be compiled before; see {}.log, and try again with "
        "dtypecheck build-hook --force",
        libtorch.version.to_string(), command.output));
  }
  compile_hook(libtorch, sources_or_throw(libtorch), command.output);
  return kClean;
}

// What was not compiled before is, in the cache folder; `what` is its name in a complaint.
static std::string compiled_once(const BuildHookCommand& command, const std::string& name,
                                 const std::string& what,
                                 const std::function<void(const std::string&)>& compile) {
  std::string why_no_cache;
  const std::string folder = hook_cache("", &why_no_cache);
  if (!why_no_cache.empty()) throw InputError(why_no_cache);
  const std::string output = folder + "/" + name;
  const BuildLock lock(output);
  if (!command.force && fs::exists(output)) return output;
  if (!command.force && failed_lately(output)) {
    throw InputError(fmt::format(
        "{} could not be compiled before; see {}.log, and try again with --force", what, output));
  }
  compile(output);
  return output;
}

static std::string operators_library(const BuildHookCommand& command) {
  const LibTorchInfo libtorch = inspect_libtorch(command.libtorch);
  const std::vector<PrebuiltHook> prebuilt = prebuilt_operators();
  if (const PrebuiltHook* found = find_prebuilt_hook(prebuilt, libtorch)) return found->path;
  const auto sources = operators_sources();
  if (!sources) {
    throw InputError(fmt::format(
        "no operators were built ahead for LibTorch {} with C++ ABI {}, and this dtypecheck has no "
        "kernels to compile them with; install one that was built with -DDTYPECHECK_KERNELS=ON",
        libtorch.version.to_string(), libtorch.cxx11_abi));
  }
  return compiled_once(
      command, operators_name(*sources, libtorch.library),
      fmt::format("the operators for LibTorch {}", libtorch.version.to_string()),
      [&](const std::string& output) { compile_hook(libtorch, *sources, output); });
}

static std::string cuda_library(const BuildHookCommand& command) {
  const std::string built = cuda_kernels_library();
  if (!built.empty()) return built;
  const auto sources = cuda_kernels_sources();
  if (!sources) throw InputError("this dtypecheck has no kernels for a GPU");
  return compiled_once(command, cuda_kernels_name(*sources), sources->name,
                       [&](const std::string& output) { compile_cuda_kernels(*sources, output); });
}

// Prints where the libraries are, one a line. Those on the CPU do without what a GPU takes.
static int build_operators(const BuildHookCommand& command) {
  std::string lines = operators_library(command) + "\n";
  if (command.cuda) {
    try {
      lines += cuda_library(command) + "\n";
    } catch (const InputError& error) {
      print_line(error.what());
    }
  }
  return print_text(lines);
}

// Called by stage 1, the reason belongs to the notes of the process that asks.
static void leave_note(const std::string& reason) {
  const char* folder = std::getenv("DTYPECHECK_RUN");
  if (!folder) return;
  const std::string path = fmt::format("{}/untraced.{}.txt", folder, ::getppid());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string line = printable(reason) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(fd, line.data(), line.size());
  ::close(fd);
}

static int print_cache() {
  std::string why_no_cache;
  const std::string folder = hook_cache("", &why_no_cache);
  if (!why_no_cache.empty()) throw InputError(why_no_cache);
  return print_text(folder + "\n");
}

// Stage 1 says no more than this: a second line would be about the same.
static int run(const BuildHookCommand& command) {
  if (command.cache) return print_cache();
  if (command.operators && !command.libtorch.empty()) return build_operators(command);
  if (command.libtorch.empty() || command.output.empty())
    throw InputError("--libtorch and --output are required; see dtypecheck build-hook --help");
  try {
    return build(command);
  } catch (const InputError& error) {
    if (std::getenv("DTYPECHECK_RUN") == nullptr) throw;
    const std::string reason =
        fmt::format("{}; pid {} runs on untraced", error.what(), ::getppid());
    leave_note(reason);
    throw InputError(reason);
  }
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<BuildHookCommand>();
  options.add("--libtorch", command->libtorch, "the libtorch_cpu.so that the programs load")
      .type("FILE");
  options.add("-o,--output", command->output, "file to write its tracer to").type("FILE");
  options.add_flag("--force", command->force, "build it even if it exists or failed recently");
  options.add_flag("--cache", command->cache, "only print the folder that tracers are kept in");
  options.add_flag(
      "--operators", command->operators,
      "print the path of the library of torch.ops.dtypecheck for it; build it if it is missing");
  options.add_flag(
      "--cuda", command->cuda,
      "with --operators, also print the path of the kernels for NVIDIA GPUs, which nvcc builds");
  return [command] { return run(*command); };
}

extern const Command build_hook_command = {
    .name = "build-hook",
    .summary = "build the tracer for a LibTorch without a prebuilt one; trace does this itself",
    .arguments = "[OPTIONS] --libtorch FILE -o FILE",
    .examples =
        "  dtypecheck build-hook --libtorch "
        ".venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so -o hook.so\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
