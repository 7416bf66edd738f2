// dtypecheck demo: known failures of SDXL training, each broken, found and fixed on a tiny model;
// and where there is no trainer for them, a first one in Python (first_demo.cpp).
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
#include <memory>

#include "cli/command.h"
#include "cli/demo_failures.h"
#include "cli/demo_run.h"
#include "cli/exit_status.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/nearest.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "reports/formatting.h"
#include "reports/judging/judged_report.h"
#include "reports/judging/recorded_run.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {
namespace {

struct DemoCommand {
  std::string failure, out, program, python = "python3";
  bool keep_broken = false;
};

std::string trainer_beside_this() {
  return (fs::path(own_executable()).parent_path() / "sdxl-train").string();
}

std::string trainer(const std::string& named) {
  const fs::path path = named.empty() ? trainer_beside_this() : named;
  if (access(path.c_str(), X_OK) == 0) return fs::absolute(path).string();
  throw InputError(fmt::format(
      "{}: is not there, and the demo trains with it; build dtypecheck with its reference runtime "
      "(-DDTYPECHECK_RUNTIME=ON, after scripts/setup)",
      path.string()));
}

class Demo {
 public:
  explicit Demo(const DemoCommand& command)
      : keep_broken_(command.keep_broken),
        trainer_(trainer(command.program)),
        folder_(command.out) {
    folder_.enter();
  }

  void make_models() {
    make_model("tiny", "4");
    make_model("inpainting", "9");
    say_line(
        fmt::format("{}: a tiny SDXL, every layer of the real one, small widths, random weights",
                    folder_.path()));
  }

  void show(const DemoFailure& failure) {
    heading(failure);
    fs::create_directory(failure.name);
    const std::string policy = fmt::format("{}/broken.json", failure.name);
    std::ofstream(policy) << failure.broken << '\n';
    show_broken(failure, policy);
    if (!keep_broken_) show_fixed(failure);
  }

 private:
  void make_model(const std::string& name, const std::string& channels) {
    const std::vector<std::string> command = {trainer_, "tiny", name, "--unet-channels", channels};
    const Ended ended = run_quietly(command, name + ".log");
    if (ended.status != 0) fail("sdxl-train tiny", ended);
  }

  std::vector<std::string> program_of(const DemoFailure& failure, const std::string& policy) const {
    std::vector<std::string> words = {trainer_};
    words.insert(words.end(), failure.arguments.begin(), failure.arguments.end());
    words.insert(words.end(), {"--policy", policy});
    return words;
  }

  // Runs it under the tracer into folder/name/run, and gives back what it wrote.
  static Ended trace(const DemoFailure& failure, const std::string& run,
                     const std::vector<std::string>& program) {
    return trace_quietly(run_folder(failure, run), program, "sdxl-train");
  }

  static std::string run_folder(const DemoFailure& failure, const std::string& run) {
    return fmt::format("{}/{}", failure.name, run);
  }

  void show_broken(const DemoFailure& failure, const std::string& policy) {
    say_line(fmt::format("\n{}\n$ cat {}\n{}", bold("broken"), policy, failure.broken));
    std::vector<std::string> program = program_of(failure, policy);
    program.push_back("--keep-broken");
    const Ended ended = trace(failure, "broken", program);
    say_line(last_words(ended));
    require_said(failure, ended);
    const std::vector<std::string> found = report(failure, "broken");
    if (found != failure.rules) {
      throw InputError(fmt::format(
          "{}: expected findings of {}, got {}; --out DIR keeps the run and its whole report",
          failure.name, fmt::join(failure.rules, ", "),
          found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "))));
    }
    if (ended.status == 0) say_line(wrapped(fmt::format("damage: {}", failure.damage), 0));
  }

  // Which LibTorch it is, the demo does not ask.
  static void require_said(const DemoFailure& failure, const Ended& ended) {
    const std::string last = last_words(ended);
    const auto is_in = [&](const std::string& text) {
      return !text.empty() && last.find(text) != std::string::npos;
    };
    const bool as_expected = ended.status == 0 ? failure.says.empty()
                                               : is_in(failure.says) || is_in(failure.said_in_1_13);
    if (!as_expected) fail(fmt::format("{}, broken", failure.name), ended);
  }

  void show_fixed(const DemoFailure& failure) {
    say_line(fmt::format("\n{}  {}", bold("fixed"), failure.cure));
    const Ended ended = trace(failure, "fixed", program_of(failure, failure.fixed));
    if (ended.status != 0) fail(failure.name + ", fixed", ended);
    say_line(last_words(ended));
    const std::vector<std::string> found = report(failure, "fixed");
    if (!found.empty()) {
      throw InputError(fmt::format("{}: the fixed run has findings of {}", failure.name,
                                   fmt::join(found, ", ")));
    }
  }

  // Prints the findings; gives back their rules, each once, sorted.
  static std::vector<std::string> report(const DemoFailure& failure, const std::string& run) {
    return print_report(run_folder(failure, run), source_tree());
  }

  // The last step or the error; what the tracer adds begins with its name.
  static std::string last_words(const Ended& ended) {
    std::string last;
    for (const std::string& line : ended.lines) {
      const bool is_step = line.starts_with("step ");
      const bool is_more = last.starts_with("step ") && !line.starts_with("sdxl-train: ");
      if (!line.starts_with("dtypecheck: ") && !line.empty() && (is_step || !is_more)) last = line;
    }
    return last;
  }

  void heading(const DemoFailure& failure) {
    say_line(fmt::format("\n{}\n  reported: {}\n{}",
                         bold(fmt::format("==== {}: {}", failure.name, failure.title)),
                         failure.reported, wrapped(failure.story, 2)));
  }

  bool keep_broken_;
  std::string trainer_;
  DemoFolder folder_;
};

std::vector<std::string> names_of_failures() {
  std::vector<std::string> names;
  for (const DemoFailure& failure : demo_failures()) names.push_back(failure.name);
  return names;
}

// Those of the name, or all of them.
std::vector<const DemoFailure*> chosen(const std::string& name) {
  std::vector<const DemoFailure*> all;
  for (const DemoFailure& failure : demo_failures()) {
    if (name.empty() || failure.name == name) all.push_back(&failure);
  }
  if (!all.empty()) return all;
  const std::vector<std::string> names = names_of_failures();
  throw InputError(fmt::format(
      "unknown failure {}{}", printable(name),
      suggestion(name, names, fmt::format("expected one of {}", fmt::join(names, ", ")))));
}

// An installed wheel has no trainer: it shows what needs torch alone.
bool wants_first_demo(const DemoCommand& command) {
  return command.failure.empty() && command.program.empty() && !command.keep_broken &&
         access(trainer_beside_this().c_str(), X_OK) != 0;
}

int run(const DemoCommand& command) {
  if (wants_first_demo(command)) return first_demo(command.python, command.out);
  const std::vector<const DemoFailure*> failures = chosen(command.failure);
  Demo demo(command);
  demo.make_models();
  for (const DemoFailure* failure : failures) demo.show(*failure);
  return kClean;
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<DemoCommand>();
  options
      .add("--failure", command->failure,
           fmt::format("only this one of {}", fmt::join(names_of_failures(), ", ")))
      .type("NAME");
  options.add_flag("--keep-broken", command->keep_broken, "stop at the broken run and its report");
  options.add("--out", command->out, "folder that keeps the models, policies and traces")
      .type("DIR");
  options.add("--trainer", command->program, "another sdxl-train; default: the one beside this")
      .type("FILE");
  options
      .add("--python", command->python,
           "where there is no sdxl-train: the Python whose torch trains; default: python3")
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
