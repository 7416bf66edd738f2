#include "cli/dump_parquet.h"

#include <fmt/format.h>

#include <fstream>

#include "cli/dump_parquet_script.h"
#include "cli/temporary_file.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/program.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::cli {

static constexpr int kNoPackage = 3;  // as the script says it

void write_parquet(const Run& run, std::ostream& out) {
  const TemporaryFile lines, parquet;
  {
    std::ofstream to(lines.path(), std::ios::binary);
    for (const OpCall& call : run.calls) to << trace::op_call_json_line(call, run) << '\n';
    to.flush();
    if (!to) throw InputError(fmt::format("{}: cannot be written", lines.path()));
  }
  const std::string python = find_program("python3");
  const ChildEnd end = run_child(python,
                                 {"python3", "-B", "-c", std::string(dump_parquet_script::kText),
                                  lines.path(), parquet.path()},
                                 current_environment());
  if (end.exit_status == kNoPackage) {
    throw InputError(
        fmt::format("{} has neither duckdb nor pyarrow, which write Parquet; pip install duckdb, "
                    "or write --format jsonl",
                    python));
  }
  if (!end.is_success()) throw InputError("no Parquet was written, for the reason above");
  out << std::ifstream(parquet.path(), std::ios::binary).rdbuf();
}

}  // namespace dtypecheck::cli
