#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/dump.h"
#include "cli/dump_tensorboard_program.h"
#include "core/dtype_names.h"
#include "core/health.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/printable.h"
#include "platform/program.h"
#include "platform/temporary_folder.h"

namespace dtypecheck::cli {
namespace {

constexpr int kNotInstalled = 3;  // status of the program

class Scalars {
 public:
  explicit Scalars(const Run& run) : run_(run), health_(health_of(run)) {
    for (const HealthStep& step : health_.steps) last_ = std::max(last_, step.step);
  }

  std::string lines() {
    for (const HealthRow& row : health_.rows) add_row(row);
    for (const HealthStep& step : health_.steps) {
      if (step.scale == 0) continue;
      add("loss scale", step.process, step.step, step.scale);
      add("skipped steps", step.process, step.step, step.skipped);
    }
    return std::move(lines_);
  }

 private:
  void add_row(const HealthRow& row) {
    const std::string of = fmt::format("{}/{} [{}]", health_role_name(row.role),
                                       printable(place_of(row, run_)), dtype_name(row.dtype));
    const char* zero = row.role == HealthRole::kWeight ? "did not move" : "are 0";
    const auto any = [&](double HealthPoint::* field) {
      return std::ranges::any_of(row.points,
                                 [&](const HealthPoint& point) { return point.*field > 0; });
    };
    const bool has_zero = any(&HealthPoint::zero), has_beyond = any(&HealthPoint::beyond);
    for (const HealthPoint& point : row.points) {
      add("largest " + of, row.process, point.step, point.largest);
      if (has_zero) add(fmt::format("{}: {}", zero, of), row.process, point.step, point.zero);
      if (has_beyond) add("NaN or infinite: " + of, row.process, point.step, point.beyond);
    }
  }

  // No sample has a time: the steps of a run are taken to be equally long.
  double time_of(uint32_t process, uint32_t step) const {
    const Process& of = run_.processes[process];
    const double begin = static_cast<double>(of.started_unix_ns) / 1e9;
    const double end = of.ended_unix_ns == 0 ? begin : static_cast<double>(of.ended_unix_ns) / 1e9;
    return begin + (end - begin) * step / std::max(last_, 1u);
  }

  void add(const std::string& tag, uint32_t process, uint32_t step, double value) {
    const nlohmann::json line = {
        {"tag", tag}, {"step", step}, {"value", value}, {"time", time_of(process, step)}};
    lines_ += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  }

  const Run& run_;
  Health health_;
  uint32_t last_ = 0;
  std::string lines_;
};

}  // namespace

void write_tensorboard(const Run& run, const std::string& folder, const std::string& python) {
  if (run.health_steps.empty())
    throw InputError(
        "no numbers of modules were recorded, which is what TensorBoard is given; record the run "
        "with trace --health");
  const std::string program = find_program(python);
  const TemporaryFolder scratch("tensorboard");
  const std::string lines = scratch.path() + "/scalars", log = scratch.path() + "/log";
  replace_file(lines, {Scalars(run).lines()}, {.syncs = false});
  const Descriptor said(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const ChildEnd end = run_child(
      program, {program, "-B", "-c", std::string(dump_tensorboard_program::kText), lines, folder},
      current_environment(), {.out = said, .err = said});
  if (end.is_success()) return;
  const std::vector<std::string> all = printable_lines(read_file(log));
  const std::string why = all.empty() ? "" : ": " + all.back();
  if (end.exit_status == kNotInstalled)
    throw InputError(fmt::format(
        "{} has no tensorboard, which writes its event files{}; install it there (pip install "
        "tensorboard), or name the Python that has it with --python",
        program, why));
  throw InputError(fmt::format("{}: {} could not write the event file{}", folder, program, why));
}

}  // namespace dtypecheck::cli
