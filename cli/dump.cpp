// dtypecheck dump: traces as text that tests and people read, or as one JSON object an op call.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "judging/recorded_run.h"
#include "platform/output.h"
#include "platform/terminal.h"
#include "trace/op_call_fields.h"
#include "trace/text.h"

namespace dtypecheck::cli {

struct DumpCommand {
  std::vector<std::string> inputs;
  std::string format = "text";
};

static void write_json_lines(const Run& run, std::ostream& out) {
  for (const OpCall& call : run.calls) out << trace::op_call_json_line(call, run) << '\n';
}

static int run(const DumpCommand& command) {
  const judging::RecordedRun recorded = judging::read_recorded_run(command.inputs);
  for (const std::string& left_out : recorded.left_out) say(left_out);
  Output output = open_output("");
  if (command.format == "jsonl") {
    write_json_lines(recorded.run, output.stream());
  } else {
    output.stream() << to_text(recorded.run);
  }
  output.finish();
  return kClean;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<DumpCommand>();
  options.add("INPUT", command->inputs, "*.dtrace files, run folders or *.trace text")
      .type("")
      .required();
  options.add_choice("--format", command->format, {"text", "jsonl"},
                     "jsonl has one op call a line; default: text");
  return [command] { return run(*command); };
}

extern const Command dump_command = {
    .name = "dump",
    .summary = "write a trace as text or as JSON lines",
    .arguments = "[OPTIONS] INPUT...",
    .examples =
        "  dtypecheck dump run.trace\n"
        "  dtypecheck dump dtypecheck-runs/* --format jsonl\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
