// dtypecheck probe: measures the op contracts of an installed LibTorch, with the Python that has
// it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/pretended_gpu.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/program.h"
#include "platform/temporary_folder.h"
#include "platform/terminal.h"
#include "rules/contracts/contracts.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

struct ProbeCommand {
  std::string python = "python3";
  std::string output;
  std::string device = "cpu";
  int jobs = 0;
  double op_limit = 0;
};

static std::vector<std::string> call_of(const ProbeCommand& command) {
  std::vector<std::string> call = {command.python,
                                   "-B",
                                   probe_script(),
                                   "-o",
                                   command.output,
                                   "--device",
                                   command.device.substr(0, command.device.find(':'))};
  if (command.jobs > 0) call.insert(call.end(), {"--jobs", std::to_string(command.jobs)});
  if (command.op_limit > 0)
    call.insert(call.end(), {"--op-limit", fmt::format("{}", command.op_limit)});
  return call;
}

// The script has said how much it measured; that this build can use it is seen by reading it.
static void say_what_was_measured(const std::string& path) {
  contracts::Contracts measured;
  measured.add(read_file(path), path);
  const std::string target = measured.runtimes().front().to_string();
  print_line(
      fmt::format("the contracts of {} are in {}; dtypecheck report --contracts {} --target {}",
                  target, path, path, target));
}

// "cuda:sm_90" is measured on a pretended GPU: LibTorch's own code says what it refuses.
static Environment environment_of(const ProbeCommand& command, const std::string& folder) {
  Environment environment = current_environment();
  const size_t colon = command.device.find(':');
  if (colon == command.device.npos) return environment;
  const std::string gpu = pretended_gpu_of(command.device.substr(colon + 1));
  pretend_gpu(environment, gpu, 1, 0, folder);
  return environment;
}

static int run(const ProbeCommand& command) {
  const std::string python = find_program(command.python);
  const TemporaryFolder links("probe");
  const ChildEnd end = run_child(python, call_of(command), environment_of(command, links.path()));
  if (end.signal != 0) {
    throw InputError(fmt::format("{}: was killed by signal {}; nothing was written to {}",
                                 command.python, end.signal, command.output));
  }
  if (end.exit_status == kCouldNotDo) return kCouldNotDo;  // the script has said why
  if (end.exit_status != 0) {
    throw InputError(
        fmt::format("{}: ended with status {} and measured nothing; it has to be Python "
                    "3.8 or later, with torch 1.13 or later",
                    command.python, end.exit_status));
  }
  say_what_was_measured(command.output);
  return kClean;
}

static std::vector<std::string> devices() {
  std::vector<std::string> names = {"cpu", "cuda"};
  for (const std::string& capability : pretended_capabilities())
    names.push_back("cuda:" + capability);
  return names;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<ProbeCommand>();
  options
      .add("--python", command->python,
           "interpreter of the environment whose torch is measured; default: python3")
      .type("EXE");
  options.add("-o,--output", command->output, "file for the contracts").type("FILE").required();
  options.add_choice("--device", command->device, devices(),
                     "the device to measure; with a compute capability it may be a GPU that this "
                     "machine lacks; default: cpu");
  options.add("--jobs", command->jobs, "processes that measure; default: one a core, at most 4")
      .type("N")
      .range(1, 256);
  options
      .add("--op-limit", command->op_limit,
           "seconds after which an op is given up and left out; default: 60")
      .type("SECONDS")
      .positive();
  return [command] { return run(*command); };
}

extern const Command probe_command = {
    .name = "probe",
    .summary = "measure which dtypes the ops of an installed LibTorch accept",
    .arguments = "[OPTIONS] -o FILE",
    .examples =
        "  dtypecheck probe -o mine.contracts\n"
        "  dtypecheck probe --python other-env/bin/python -o other.contracts\n"
        "  dtypecheck probe --device cuda:sm_90 -o h100.contracts\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
