// dtypecheck demo: known failures of SDXL training, each broken, found and fixed on a tiny model;
// and where there is no trainer for them, a first one in Python. demo.py shows them.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/demo_programs.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/program.h"
#include "platform/temporary_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {
namespace {

struct DemoCommand {
  std::string failure, out, trainer, python = "python3";
  bool keep_broken = false;
};

// "" where none is named, and none is beside this program.
std::string trainer_of(const DemoCommand& command) {
  const fs::path path = command.trainer.empty()
                            ? fs::path(own_executable()).parent_path() / "sdxl-train"
                            : fs::absolute(command.trainer);
  if (access(path.c_str(), X_OK) == 0) return path.string();
  if (command.trainer.empty()) return "";
  throw InputError(fmt::format("{}: is not there, and the demo trains with it", path.string()));
}

int run(const DemoCommand& command) {
  const TemporaryFolder folder("demo");
  const std::string script = folder.path() + "/demo.py", python = find_program(command.python);
  replace_file(script, {demo_programs::kDemo}, {.syncs = false});
  replace_file(folder.path() + "/train.py", {demo_programs::kFirst}, {.syncs = false});
  const std::string out = command.out.empty() ? "" : fs::absolute(command.out).string();
  std::vector<std::string> words = {
      python,        "-B", script,         own_executable(), trainer_of(command),
      source_tree(), out,  command.failure};
  if (command.keep_broken) words.push_back("--keep-broken");
  return run_child(python, words, current_environment()).exit_status;
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<DemoCommand>();
  options
      .add("--failure", command->failure,
           "only this one of cpu-half-norm, t5-fused-rmsnorm, text-encoder-half, float16-weights, "
           "unscale-fp16-grads; or sdxl-lora, of diffusers, in a source tree")
      .type("NAME");
  options.add_flag("--keep-broken", command->keep_broken, "stop at the broken run and its report");
  options.add("--out", command->out, "folder that keeps the models, policies and traces")
      .type("DIR");
  options.add("--trainer", command->trainer, "another sdxl-train; default: the one beside this")
      .type("FILE");
  options
      .add("--python", command->python,
           "the Python whose torch trains, but for sdxl-train; default: python3")
      .type("EXE");
  return [command] { return run(*command); };
}

}  // namespace

extern const Command demo_command = {
    .name = "demo",
    .summary = "show known failures of SDXL training, broken, found and fixed",
    .arguments = "[OPTIONS]",
    .examples =
        "  dtypecheck demo\n"
        "  dtypecheck demo --failure text-encoder-half --keep-broken\n"
        "  dtypecheck demo --failure float16-weights --out demo\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
