// dtypecheck explain: from a message, a traceback or a whole log to what went wrong and what cures
// it; with --kernel, what the names of GPU kernels, as a profiler shows them, say of their
// arithmetic.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "core/dtype_set.h"
#include "explain/answer.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "rules/kernel_names/kernel_name.h"

namespace dtypecheck::cli {

struct ExplainCommand {
  std::vector<std::string> words;
  bool json = false, all = false, is_kernel = false;
};

// `name` and `way_out` are for the message of what cannot be read.
static void feed_from(int fd, const std::string& name, const char* way_out,
                      explain::LogScanner& scanner) {
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError(fmt::format("{}: {}; {}", name, strerror(errno), way_out));
    if (got == 0) return;
    scanner.feed({buffer.data(), static_cast<size_t>(got)});
  }
}

// A log may be larger than memory, and a pipe as `<(command)` makes it.
static void feed_file(const std::string& path, explain::LogScanner& scanner) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int error = errno;
  constexpr char kWayOut[] = "name a log, or pipe it: dtypecheck explain - < LOG";
  if (fd < 0) throw InputError(fmt::format("{}: {}; {}", path, strerror(error), kWayOut));
  feed_from(fd, path, kWayOut, scanner);
}

// No message of LibTorch is one word with a dot or a slash inside and no bracket or quote: such an
// argument is the name of a log, whether it is there or not.
static bool is_meant_as_file(const std::string& text) {
  if (is_there(text)) return true;
  const size_t dot = text.rfind('.'), slash = text.rfind('/');
  const bool has_extension = dot != std::string::npos && dot > 0 && dot + 1 < text.size();
  return (slash != std::string::npos || has_extension) &&
         text.find_first_of(" \t\n:()'\"") == std::string::npos;
}

static std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

static std::string kernel_json(const std::string& name,
                               const std::optional<gpu::KernelArithmetic>& arithmetic) {
  nlohmann::ordered_json json = {{"name", name}};
  if (arithmetic) {
    json["family"] = arithmetic->family;
    const auto add = [&](const char* key, std::optional<Dtype> dtype) {
      if (dtype) json[key] = dtype_name(*dtype);
    };
    add("in", arithmetic->in);
    add("out", arithmetic->out);
    add("math", arithmetic->math);
    if (arithmetic->is_tf32) json["math"] = "TF32";
    add("sum", arithmetic->sum);
    if (arithmetic->tensor_core) json["tensor_core"] = *arithmetic->tensor_core;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

static std::string kernel_text(const std::string& name,
                               const std::optional<gpu::KernelArithmetic>& arithmetic) {
  return fmt::format("{}\n  {}\n", printable(name),
                     arithmetic
                         ? fmt::format("{}  ({})", gpu::in_words(*arithmetic), arithmetic->family)
                         : "unknown: no kernel name of a library that dtypecheck knows");
}

static int explain_kernels(const ExplainCommand& command) {
  Output output = open_output("");
  size_t count = 0;
  const auto explain = [&](const std::string& name) {
    if (name.empty()) return;
    const auto arithmetic = gpu::read_kernel_name(name);
    output.stream() << (command.json ? kernel_json(name, arithmetic)
                                     : kernel_text(name, arithmetic));
    ++count;
  };
  if (command.words.empty() || command.words == std::vector<std::string>{"-"}) {
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      explain(line);
    }
  } else {
    for (const std::string& name : command.words) explain(name);
  }
  if (count == 0)
    throw InputError("no name of a kernel; give one, or a name a line on standard input");
  output.finish();
  return kClean;
}

static int run(const ExplainCommand& command) {
  if (command.is_kernel) return explain_kernels(command);
  explain::LogScanner scanner;
  const std::string text = joined(command.words);
  if (text.empty() || text == "-") {
    feed_from(STDIN_FILENO, "standard input", "give the text as an argument", scanner);
  } else if (command.words.size() == 1 && is_meant_as_file(text)) {
    feed_file(text, scanner);
  } else {
    scanner.feed(text);
  }
  scanner.finish();
  if (scanner.size_bytes() == 0) {
    throw InputError(
        "nothing to explain: the text is empty; give a message, or a log on standard input");
  }
  const explain::Answer answer = explain::explain(scanner);
  constexpr int kNoTerminal = 100;
  const auto width = static_cast<size_t>(std::max(columns_of(STDOUT_FILENO, kNoTerminal), 40));
  Output output = open_output("");
  output.stream() << (command.json ? explain::to_json(answer)
                                   : explain::to_text(answer, {command.all, width}));
  output.finish();
  return kClean;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<ExplainCommand>();
  options
      .add("TEXT", command->words,
           "a message or traceback, or the name of a log; - or nothing: a log on standard input")
      .type("");
  options.add_flag("--json", command->json, "one JSON object");
  const Option all = options.add_flag("--all", command->all,
                                      "show all causes, ops and versions, not only the likeliest");
  options
      .add_flag("--kernel", command->is_kernel,
                "read the names of GPU kernels, mangled or not: in which dtypes they compute; "
                "standard input has one name a line")
      .excludes(all);
  return [command] { return run(*command); };
}

extern const Command explain_command = {
    .name = "explain",
    .summary = "explain a dtype error: a message, a traceback or a whole log",
    .arguments = "[--json] [--all | --kernel] [TEXT | LOG | -]",
    .examples =
        "  dtypecheck explain \"expected scalar type Float but found Half\"\n"
        "  dtypecheck explain train.log\n"
        "  python train.py 2>&1 | dtypecheck explain -\n"
        "  dtypecheck explain --kernel ampere_h16816gemm_128x128_ldg8_stages_32x5_nn\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
