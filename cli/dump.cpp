// dtypecheck dump: a trace in the formats of other tools.
#include "cli/dump.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/report_options.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/terminal.h"
#include "reports/judging/recorded_run.h"
#include "trace/op_call_fields.h"
#include "trace/text.h"

namespace dtypecheck::cli {

struct DumpCommand {
  std::vector<std::string> inputs;
  std::string format = "text";
  std::string output;
  std::string python = "python3";
};

static void write_json_lines(const Run& run, std::ostream& out) {
  for (const OpCall& call : run.calls) out << trace::op_call_json_line(call, run) << '\n';
}

static void write_text(const Run& run, std::ostream& out) { out << to_text(run); }

constexpr const char* kTensorboard = "tensorboard";

struct DumpFormat {
  const char* name;
  const char* about;
  void (*write)(const Run& run, std::ostream& out);
  bool is_binary = false;
};
constexpr DumpFormat kFormats[] = {
    {"text", "for people and for tests", write_text},
    {"jsonl", "one op call a line", write_json_lines},
    {"sqlite", "a database", write_sqlite, true},
    {"perfetto", "a time line for ui.perfetto.dev, of the steps that trace --timeline timed",
     write_perfetto},
    {kTensorboard, "event files in the folder of -o, of what trace --health followed", nullptr},
};

static int run(const DumpCommand& command) {
  const auto format = std::ranges::find_if(
      kFormats, [&](const DumpFormat& one) { return command.format == one.name; });
  if (format->is_binary && command.output.empty() && is_terminal(STDOUT_FILENO)) {
    throw InputError(
        fmt::format("{} is no text for a terminal; name a file with -o", format->name));
  }
  if (format->write == nullptr && command.output.empty())
    throw InputError("event files lie in a folder; name one with -o");
  const judging::RecordedRun recorded = judging::read_recorded_run(command.inputs);
  if (format->write == nullptr) {
    write_tensorboard(recorded.run, command.output, command.python);
    return status_of_whole(recorded, "the dump");
  }
  if (command.format == "perfetto" && recorded.run.times.empty())
    throw InputError(
        "nothing was timed, so there is no time line; record the run with trace --timeline 3, "
        "which times three steps");
  // What others write may fail, and leaves no empty file then.
  std::ostringstream bytes;
  if (format->is_binary) format->write(recorded.run, bytes);
  Output output = open_output(command.output);
  if (format->is_binary) {
    output.stream() << bytes.str();
  } else {
    format->write(recorded.run, output.stream());
  }
  output.finish();
  return status_of_whole(recorded, "the dump");
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<DumpCommand>();
  options.add("INPUT", command->inputs, "*.dtrace files, run folders or *.trace text")
      .type("")
      .required();
  std::vector<std::string> names;
  std::string about;
  for (const DumpFormat& format : kFormats) {
    names.emplace_back(format.name);
    about += fmt::format("{}{}: {}", about.empty() ? "" : "; ", format.name, format.about);
  }
  options.add_choice("--format", command->format, names, about + "; default: text");
  options.add("-o,--output", command->output, "file to write; default: standard output")
      .type("FILE");
  options
      .add("--python", command->python,
           "the Python whose tensorboard writes event files; default: python3")
      .type("PYTHON");
  return [command] { return run(*command); };
}

extern const Command dump_command = {
    .name = "dump",
    .summary =
        "write a trace as text, as JSON lines, as a database, a time line or for TensorBoard",
    .arguments = "[OPTIONS] INPUT...",
    .examples =
        "  dtypecheck dump run.trace\n"
        "  dtypecheck dump dtypecheck-runs/* --format jsonl\n"
        "  dtypecheck dump run.trace --format sqlite -o run.db\n"
        "  dtypecheck dump dtypecheck-runs/* --format perfetto -o run.json\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
