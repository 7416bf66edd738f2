// dtypecheck kernel: what the names of GPU kernels, as a profiler shows them, say of their
// arithmetic.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "core/dtype_set.h"
#include "gpu/kernel_name.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/printable.h"

namespace dtypecheck::cli {

struct KernelCommand {
  std::vector<std::string> names;
  bool json = false;
};

static std::string to_json(const std::string& name,
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

static std::string to_text(const std::string& name,
                           const std::optional<gpu::KernelArithmetic>& arithmetic) {
  return fmt::format("{}\n  {}\n", printable(name),
                     arithmetic
                         ? fmt::format("{}  ({})", gpu::in_words(*arithmetic), arithmetic->family)
                         : "unknown: no kernel name of a library that dtypecheck knows");
}

static int run(const KernelCommand& command) {
  Output output = open_output("");
  size_t count = 0;
  const auto tell = [&](const std::string& name) {
    if (name.empty()) return;
    const auto arithmetic = gpu::read_kernel_name(name);
    output.stream() << (command.json ? to_json(name, arithmetic) : to_text(name, arithmetic));
    ++count;
  };
  if (command.names.empty() || command.names == std::vector<std::string>{"-"}) {
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      tell(line);
    }
  } else {
    for (const std::string& name : command.names) tell(name);
  }
  if (count == 0)
    throw InputError("no name of a kernel; give one, or a name a line on standard input");
  output.finish();
  return kClean;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<KernelCommand>();
  options
      .add("NAME", command->names,
           "names as a profiler shows them, mangled or not; - or nothing: one a line on standard "
           "input")
      .type("");
  options.add_flag("--json", command->json, "one JSON object a name");
  return [command] { return run(*command); };
}

extern const Command kernel_command = {
    .name = "kernel",
    .summary = "read dtypes, accumulator and tensor cores from the name of a GPU kernel",
    .arguments = "[--json] [NAME... | -]",
    .examples =
        "  dtypecheck kernel ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn\n"
        "  dtypecheck kernel --json - < names.txt\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
