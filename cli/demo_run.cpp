#include "cli/demo_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/exit_status.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "reports/formatting.h"
#include "reports/judging/judged_report.h"
#include "reports/judging/recorded_run.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

DemoFolder::DemoFolder(const std::string& named) : is_ours_(named.empty()) {
  std::string path = named;
  std::error_code error;
  if (is_ours_) {
    path = (fs::temp_directory_path(error) / "dtypecheck-demo.XXXXXX").string();
    if (!mkdtemp(path.data())) throw InputError(fmt::format("{}: cannot be made", path));
  } else {
    if (fs::exists(path, error) && !fs::is_empty(path, error)) {
      throw InputError(fmt::format("{}: is not an empty folder; name a new one", path));
    }
    fs::create_directories(path, error);
    if (error) throw InputError(fmt::format("{}: {}", path, error.message()));
    fs::permissions(path, fs::perms::owner_all, error);
  }
  path_ = fs::absolute(path).string();
}

DemoFolder::~DemoFolder() {
  std::error_code ignored;
  fs::current_path("/", ignored);
  if (is_ours_) fs::remove_all(path_, ignored);
}

void DemoFolder::enter() const { fs::current_path(path_); }

Ended run_quietly(const std::vector<std::string>& program, const std::string& log,
                  const Environment& environment) {
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) throw InputError(fmt::format("{}: {}", log, strerror(errno)));
  const ChildEnd end = run_child(program[0], program, environment, {.out = fd, .err = fd});
  close(fd);
  return {end.signal == 0 ? end.exit_status : kSignalBase + end.signal,
          printable_lines(read_file(log))};
}

Ended trace_quietly(const std::string& run_folder, const std::vector<std::string>& program,
                    const std::string& shown) {
  std::vector<std::string> command = {own_executable(), "trace",    "--no-report",
                                      "--out",          run_folder, "--"};
  command.insert(command.end(), program.begin(), program.end());
  std::vector<std::string> words = program;
  words.front() = shown;
  say_line(fmt::format("$ dtypecheck trace -- {}", fmt::join(words, " ")));
  return run_quietly(command, run_folder + ".log");
}

std::vector<std::string> print_report(const std::string& run_folder, const std::string& base) {
  const judging::RecordedRun recorded = judging::read_run_folder(run_folder);
  if (recorded.run.calls.empty()) {
    throw InputError(fmt::format(
        "{}: nothing was recorded{}", run_folder,
        recorded.left_out.empty() ? "; see dtypecheck doctor" : ": " + recorded.left_out.front()));
  }
  reports::Report report = judging::judged_report(recorded, {});
  report.base_folder = base;
  reports::shorten_paths(report);
  Output out = open_output("");
  if (report.findings.empty()) out.stream() << "findings: none\n";
  if (!report.findings.empty()) judging::write_report(report, {}, out, STDOUT_FILENO);
  out.finish();
  std::vector<std::string> rules;
  for (const Finding& finding : report.findings) rules.push_back(finding.rule);
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  return rules;
}

void fail(const std::string& what, const Ended& ended) {
  throw InputError(
      fmt::format("{}: ended with {}{}", what, ended.status,
                  ended.lines.empty() ? "" : "; its last line: " + ended.lines.back()));
}

void say_line(const std::string& text) {
  Output out = open_output("");
  out.stream() << text << (text.ends_with('\n') ? "" : "\n");
  out.finish();
}

std::string bold(const std::string& text) {
  return wants_colour(STDOUT_FILENO) ? "\x1b[1m" + text + "\x1b[0m" : text;
}

}  // namespace dtypecheck::cli
