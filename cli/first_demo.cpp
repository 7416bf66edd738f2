// The first demo, where torch is all that is there: a few lines of training that die of a Float
// mask among BFloat16 latents, what is found, and the same with the cure.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "cli/demo_run.h"
#include "cli/exit_status.h"
#include "cli/first_demo_program.h"
#include "platform/error.h"
#include "platform/program.h"

namespace dtypecheck::cli {

static constexpr const char* kProgram = "train.py";

// Asked before, in a tenth of a second: an import that fails looks like a failure of the demo.
static void require_torch(const std::string& python) {
  const Ended ended = run_quietly(
      {python, "-c", "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 3)"},
      "torch.log");
  if (ended.status == 0) return;
  if (ended.status != 3) fail(python, ended);
  throw InputError(
      fmt::format("{}: has no torch, and the demo trains with it; install it there, or name the "
                  "Python that has it with --python",
                  python));
}

static std::string last_words(const Ended& ended) {
  std::string last;
  for (const std::string& line : ended.lines) {
    if (!line.empty() && !line.starts_with("dtypecheck: ")) last = line;
  }
  return last;
}

static void show_broken(const std::string& python, const std::string& base) {
  say_line(fmt::format("\n{}", bold("1. A Float mask among BFloat16 latents")));
  const Ended broken = trace_quietly("broken", {python, kProgram}, "python");
  if (broken.status != 1) fail("the broken training", broken);
  say_line(fmt::format("{}\n\n{}", last_words(broken), bold("What dtypecheck says of it")));
  if (print_report("broken", base).empty()) throw InputError("the mistake was not found");
}

static void show_cured(const std::string& python, const std::string& base) {
  say_line(fmt::format("\n{}", bold("2. The mask is cast where it is made")));
  const Ended cured = trace_quietly("cured", {python, kProgram, "--cast-mask"}, "python");
  if (cured.status != 0) fail("the cured training", cured);
  say_line(last_words(cured));
  const std::vector<std::string> found = print_report("cured", base);
  if (found.empty()) return;
  throw InputError(fmt::format("the cured training has findings of {}", fmt::join(found, ", ")));
}

int first_demo(const std::string& named_python, const std::string& out) {
  const std::string python = find_program(named_python);
  const DemoFolder folder(out);
  folder.enter();
  require_torch(python);
  std::ofstream(kProgram) << first_demo_program::kText;
  say_line("A small denoiser is trained for three steps, its frozen layers in bfloat16.");
  show_broken(python, folder.path());
  show_cured(python, folder.path());
  say_line("\nYour own program: dtypecheck trace -- python train.py");
  return kClean;
}

}  // namespace dtypecheck::cli
