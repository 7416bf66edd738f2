// dtypecheck doctor: what is there to trace with, what works, and what to do: ten lines, for people
// and for reports of faults. Nothing is guessed: the Python is asked, and stage 1 preloaded into
// it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/doctor_probe.h"
#include "cli/exit_status.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/program.h"
#include "platform/temporary_folder.h"
#include "platform/version.h"
#include "tracer/build/hook_cache.h"
#include "tracer/build/hook_compiler.h"
#include "tracer/build/libtorch_info.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {
namespace {

struct DoctorCommand {
  std::string python = "python3";
};

struct PythonFacts {
  std::string path, version, implementation;
  bool free_threaded = false, preloaded = false;
  std::vector<std::string> torch, cupti;
  std::string why_not;  // why it could not be asked; the rest is then empty
};

// The lines, and what has to be done before a program can be traced.
struct Examination {
  std::string text;
  std::vector<std::string> cures;

  void line(const char* label, const std::string& what) {
    text += fmt::format("{:<11}{}\n", label, printable(what));
  }
  void cure(const std::string& what) { cures.push_back(what); }
};

std::string system_name() {
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::erase(line, '"');
    return line.substr(12);
  }
  return "Linux";
}

void examine_system(Examination& seen) {
  utsname machine{};
  ::uname(&machine);
  seen.line("dtypecheck", fmt::format("{}  {}", tool_version(), own_executable()));
  seen.line("system", fmt::format("{}, glibc {}, {}", system_name(), gnu_get_libc_version(),
                                  machine.machine));
}

Environment environment_with_stage1(const std::string& folder) {
  Environment environment = current_environment();
  add_preload(environment, preloadable(preload_library(), folder));
  allow_preload_before_sanitizers(environment);
  return environment;
}

PythonFacts ask_python(const std::string& named) {
  PythonFacts facts;
  try {
    facts.path = find_program(named);
    facts.why_not = why_not_traceable(facts.path);
    if (!facts.why_not.empty()) return facts;
    const TemporaryFolder folder("dtypecheck-doctor");
    const std::string log = folder.path() + "/python.log";
    const Descriptor file(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    run_child(facts.path, {facts.path, "-B", "-c", std::string(doctor_probe::kText)},
              environment_with_stage1(folder.path()), {.out = file, .err = file});
    const std::vector<std::string> said = printable_lines(read_file(log));
    const auto json = nlohmann::json::parse(said.empty() ? "" : said.back());
    facts.version = json.at("version");
    facts.implementation = json.at("implementation");
    facts.free_threaded = json.at("free_threaded");
    facts.preloaded = json.at("preloaded");
    facts.torch = json.at("torch").get<std::vector<std::string>>();
    facts.cupti = json.at("cupti").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    facts.why_not = "gave no answer: is it a Python 3?";
  } catch (const InputError& error) {
    facts.why_not = error.what();
  }
  return facts;
}

std::string what_python_misses(const PythonFacts& python) {
  if (python.implementation != "CPython")
    return ": Python lines and module names need CPython; ops are recorded without them";
  if (python.free_threaded)
    return ", free-threaded: Python lines and module names need a build with the GIL; ops are "
           "recorded without them";
  return "";
}

void examine_python(const PythonFacts& python, Examination& seen) {
  if (!python.why_not.empty()) {
    seen.line("python", fmt::format("{}: {}", python.path, python.why_not));
    return seen.cure("name the Python that has torch with --python");
  }
  seen.line("python", fmt::format("{} {}{}  {}", python.implementation, python.version,
                                  what_python_misses(python), python.path));
  const char* others = std::getenv("LD_PRELOAD");
  const std::string beside =
      others && *others ? fmt::format("; LD_PRELOAD holds {} too", others) : "";
  if (python.preloaded) return seen.line("preload", "works" + beside);
  seen.line("preload", "does not work in this Python" + beside);
  seen.cure(
      "a process that ignores LD_PRELOAD cannot be traced: use a Python without raised "
      "privileges");
}

void examine_torch(const PythonFacts& python, Examination& seen) {
  if (python.torch.empty()) {
    seen.line("torch", "none in this Python");
    return seen.cure("install torch in it, or name the Python that has it with --python");
  }
  try {
    const LibTorchInfo libtorch = inspect_libtorch(python.torch.front() + "/lib/libtorch_cpu.so");
    seen.line("torch", fmt::format("{}, {} C++ ABI  {}", libtorch.full_version,
                                   libtorch.cxx11_abi ? "new" : "old", python.torch.front()));
    if (python.torch.size() > 1) {
      seen.line("", fmt::format("{} is another torch, which this Python does not import",
                                python.torch[1]));
    }
    const std::vector<PrebuiltHook> hooks = prebuilt_hooks();
    const PrebuiltHook* hook = find_prebuilt_hook(hooks, libtorch);
    const std::string compiler = usable_compiler(libtorch.version);
    seen.line("compiler", compiler.empty() ? "none" : compiler);
    if (hook != nullptr) return seen.line("tracer", fmt::format("prebuilt: {}", hook->path));
    const std::string why = is_release(libtorch) ? "no tracer was built ahead for it"
                                                 : "not a release, so no tracer was built ahead";
    if (!compiler.empty() && !libtorch.include_folders.empty()) {
      return seen.line("tracer", fmt::format("{}; it is compiled once, at the first run", why));
    }
    seen.line("tracer", why);
    seen.cure(compiler.empty() ? "install a C++ compiler, for example: apt-get install g++"
                               : "install this torch with its headers");
  } catch (const InputError& error) {
    seen.line("torch", error.what());
    seen.cure("install a torch of 1.13 or later");
  }
}

void examine_cache(Examination& seen) {
  const TemporaryFolder folder("dtypecheck-doctor");
  std::string why_not;
  const std::string cache = hook_cache(folder.path(), &why_not);
  seen.line("cache", why_not.empty()
                         ? cache
                         : fmt::format("{}; each run keeps its tracer in its own folder", why_not));
}

std::string gpus() {
  std::string names;
  std::error_code none;
  for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    std::ifstream facts(gpu.path() / "information");
    for (std::string line; std::getline(facts, line);) {
      if (!line.starts_with("Model:")) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ",
                           line.substr(std::min(line.find_first_not_of(" \t", 6), line.size())));
    }
  }
  return names;
}

void examine_rest(const PythonFacts& python, Examination& seen) {
  const std::string gpu = gpus();
  seen.line("gpu", fmt::format("{}; CUPTI {}", gpu.empty() ? "none" : gpu,
                               python.cupti.empty() ? "not found" : python.cupti.front()));
  const fs::path analyzer = fs::path(own_executable()).parent_path() / "dtypecheck-analyzer";
  seen.line("lint", ::access(analyzer.c_str(), X_OK) == 0
                        ? analyzer.string()
                        : "none, for C++ and CUDA source; " + analyzer_cure());
}

int run(const DoctorCommand& command) {
  Examination seen;
  examine_system(seen);
  const PythonFacts python = ask_python(command.python);
  examine_python(python, seen);
  if (python.why_not.empty()) examine_torch(python, seen);
  examine_cache(seen);
  examine_rest(python, seen);
  for (const std::string& cure : seen.cures) seen.line("to do", cure);
  if (seen.cures.empty()) {
    seen.line("all well", fmt::format("dtypecheck trace -- {} train.py", command.python));
  }
  print_text(seen.text);
  return seen.cures.empty() ? kClean : kFound;
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<DoctorCommand>();
  options.add("--python", command->python, "the Python of the programs to trace; default: python3")
      .type("EXE");
  return [command] { return run(*command); };
}

}  // namespace

extern const Command doctor_command = {
    .name = "doctor",
    .summary = "check what can be traced here, what cannot, and what to do about it",
    .arguments = "[OPTIONS]",
    .examples =
        "  dtypecheck doctor\n"
        "  dtypecheck doctor --python .venv/bin/python\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
