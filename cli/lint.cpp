// dtypecheck lint: parses C++ and CUDA sources, judges what they do with tensors, writes what it
// finds.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "analyzer/allowed.h"
#include "analyzer/check.h"
#include "analyzer/compile_command.h"
#include "analyzer/facts_cache.h"
#include "analyzer/op_calls.h"
#include "analyzer/worker.h"
#include "cli/baseline.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/fixes.h"
#include "cli/install_paths.h"
#include "cli/judged_report.h"
#include "cli/nearest.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "core/error.h"
#include "rules/rule.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

constexpr size_t kMaxFileBytes = 16 << 20;  // what is longer is generated
constexpr size_t kMaxFiles = 20'000;

struct LintCommand {
  std::vector<std::string> paths;
  std::string build;  // -p
  std::string torch;
  unsigned jobs = 0;
  int timeout_s = 300;
  bool fix = false;
  bool no_cache = false;
  std::string baseline;
  std::string write_baseline;
  bool list = false;
  std::string explain;
  ReportOptions report{.fail_on = "warning"};
};

bool is_source(const fs::path& path) {
  static const std::set<std::string> endings = {".cpp", ".cc", ".cxx", ".c++", ".cu"};
  return endings.contains(path.extension().string());
}

bool is_skipped(const fs::path& folder) {
  std::error_code unknown;
  const std::string name = folder.filename().string();
  return (name.size() > 1 && name.starts_with(".")) || name == "node_modules" ||
         name == "site-packages" || fs::exists(folder / "CMakeCache.txt", unknown);
}

void add_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  std::vector<std::string> found;
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (at->is_directory(unknown)) {
      if (is_skipped(at->path())) at.disable_recursion_pending();
    } else if (is_source(at->path()) && at->is_regular_file(unknown)) {
      found.push_back(at->path().lexically_normal().string());
    }
    if (found.size() > kMaxFiles) {
      throw InputError(fmt::format("{}: more than {} sources; name the folders that matter",
                                   folder.string(), kMaxFiles));
    }
  }
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

using Database = std::optional<analyzer::CompileDatabase>;

std::vector<std::string> sources_of(const std::vector<std::string>& paths,
                                    const Database& database) {
  if (paths.empty() && database) return database->files();
  if (paths.empty()) {
    throw InputError("no file given; name sources or folders of them, or a database with -p");
  }
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      add_folder(path, files);
    } else if (fs::is_regular_file(status)) {
      files.push_back(path);
    } else {
      throw InputError(fmt::format("{}: expected a C++ or CUDA source or a folder of them, and {}",
                                   path, fs::exists(status) ? "it is neither" : "there is none"));
    }
  }
  if (files.empty()) {
    throw InputError(fmt::format("{}: no .cpp, .cc, .cxx or .cu in it", paths.front()));
  }
  return files;
}

std::string text_of(const std::string& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown) || fs::file_size(file, unknown) > kMaxFileBytes)
    return "";
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// What reading sources tells of each, once.
class Sources {
 public:
  const std::string& text(const std::string& file) {
    const auto [at, is_new] = texts_.try_emplace(file);
    if (is_new) at->second = text_of(file);
    return at->second;
  }
  const analyzer::Allowances& allowances(const std::string& file) {
    const auto at = allowances_.find(file);
    return at != allowances_.end() ? at->second
                                   : allowances_.try_emplace(file, text(file)).first->second;
  }
  std::string line(const std::string& file, int number) {
    std::istringstream lines(text(file));
    std::string line;
    while (number-- > 0 && std::getline(lines, line)) continue;
    const size_t first = line.find_first_not_of(" \t");
    return first == line.npos ? "" : line.substr(first);
  }

 private:
  std::map<std::string, std::string> texts_;
  std::map<std::string, analyzer::Allowances> allowances_;
};

fs::path analyzer_program() {
  return fs::path(own_executable()).parent_path() / "dtypecheck-analyzer";
}

fs::path stubs_folder() {
  const fs::path installed =
      fs::path(own_executable()).parent_path().parent_path() / "share/dtypecheck/analyzer/stubs";
  return fs::exists(installed) ? installed : fs::path(DTYPECHECK_SOURCE_DIR) / "analyzer/stubs";
}

std::vector<analyzer::ParseJob> jobs_of(const std::vector<std::string>& files,
                                        const Database& database,
                                        const analyzer::Toolkits& toolkits) {
  const fs::path stubs = stubs_folder();
  std::vector<analyzer::ParseJob> jobs;
  for (const std::string& file : files) {
    const std::string full = fs::absolute(file).lexically_normal().string();
    const analyzer::CompileCommand* known = database ? database->find(full) : nullptr;
    jobs.push_back({full, analyzer::parse_arguments(full, known, toolkits, stubs)});
  }
  return jobs;
}

// $XDG_CACHE_HOME/dtypecheck/lint or ~/.cache/dtypecheck/lint; empty where there is neither.
fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "dtypecheck/lint";
  const char* home = std::getenv("HOME");
  return home == nullptr || home[0] != '/' ? fs::path() : fs::path(home) / ".cache/dtypecheck/lint";
}

// What the facts depend on besides sources and arguments: the program that finds them.
std::string version_of(const fs::path& program) {
  std::error_code error;
  const auto size = fs::file_size(program, error);
  const auto time = fs::last_write_time(program, error).time_since_epoch().count();
  return fmt::format("{} {} {}", tool_version(), size, time);
}

std::unique_ptr<analyzer::FactsCache> open_cache(const LintCommand& command) {
  const fs::path folder = cache_folder();
  if (command.no_cache || folder.empty()) return nullptr;
  return std::make_unique<analyzer::FactsCache>(folder, version_of(analyzer_program()));
}

std::vector<analyzer::SourceFacts> parse(const std::vector<analyzer::ParseJob>& jobs,
                                         const LintCommand& command) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const auto cache = open_cache(command);
  const analyzer::WorkerOptions options = {.program = analyzer_program().string(),
                                           .jobs = command.jobs > 0 ? command.jobs : cores,
                                           .timeout_s = command.timeout_s,
                                           .cache = cache.get()};
  const bool shows_progress = isatty(STDERR_FILENO) != 0 && jobs.size() > 1;
  const auto facts = analyzer::parse_all(jobs, options, [&](size_t done) {
    if (shows_progress) fmt::print(stderr, "\rdtypecheck: {} of {} files", done, jobs.size());
  });
  if (shows_progress) fmt::print(stderr, "\r\x1b[K");
  return facts;
}

// Sources that include the same header say the same of it.
void add_findings(std::vector<Finding>& all, const analyzer::SourceFacts& facts) {
  for (Finding& finding : analyzer::judge(facts)) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Finding& other) {
      return other.rule == finding.rule && other.site == finding.site &&
             other.column == finding.column && other.message == finding.message;
    });
    if (!known) all.push_back(std::move(finding));
  }
}

uint64_t fnv1a(std::string_view text, uint64_t hash = 14695981039346656037u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
  return text;
}

// By what stands there, not by where: the rule, the file's name, the function, the line's text and
// which of those that are alike it is.
void give_ids(reports::Report& report, Sources& sources) {
  std::map<uint64_t, int> seen;
  for (Finding& finding : report.findings) {
    const SourceLine& line = finding.site.line;
    uint64_t id = fnv1a(finding.rule);
    for (const std::string& part :
         {fs::path(line.file).filename().string(), line.function,
          without_blanks(sources.line(line.file, line.line)), finding.message}) {
      id = fnv1a(part, fnv1a("\n", id));
    }
    finding.id = fmt::format("{:016x}", fnv1a(std::to_string(seen[id]++), id));
  }
}

void drop_allowed(reports::Report& report, Sources& sources, bool all) {
  std::set<std::string> files;
  for (const Finding& finding : report.findings) files.insert(finding.site.line.file);
  for (const std::string& file : files) {
    for (const int line : sources.allowances(file).without_reason()) {
      report.remarks.push_back(fmt::format(
          "{}:{}: allow() without a reason allows nothing; write it behind a colon", file, line));
    }
  }
  if (all) return;
  const size_t dropped = std::erase_if(report.findings, [&](const Finding& finding) {
    const SourceLine& line = finding.site.line;
    return sources.allowances(line.file).allows(finding.rule, line.line);
  });
  if (dropped > 0) {
    report.remarks.push_back(
        fmt::format("{} finding{} accepted by comments in the source; --all shows {}", dropped,
                    dropped == 1 ? "" : "s", dropped == 1 ? "it" : "them"));
  }
}

void drop_known(reports::Report& report, const Baseline& baseline, const std::string& path) {
  const size_t dropped = baseline.drop_known(report.findings);
  report.remarks.push_back(
      fmt::format("{} finding{} of {} left out", dropped, dropped == 1 ? "" : "s", path));
}

void write_baseline(const reports::Report& report, const std::string& path) {
  Output output = open_output(path);
  output.stream() << baseline_text(report.findings, report.base_folder);
  output.finish();
  fmt::print(stderr, "dtypecheck: {} finding{} in {}; --baseline {} leaves them out\n",
             report.findings.size(), report.findings.size() == 1 ? "" : "s", path, path);
}

// The cures of what is at the fail level or above: a note may well be so on purpose.
void fix(reports::Report& report, const std::string& fail_on) {
  std::vector<Finding> cured, others;
  for (Finding& finding : report.findings) {
    const bool counts = any_at_least({finding}, fail_on);
    (counts ? cured : others).push_back(std::move(finding));
  }
  const AppliedFixes applied = apply_fixes(cured);
  report.findings = std::move(cured);
  for (Finding& finding : others) report.findings.push_back(std::move(finding));
  report.remarks.push_back(fmt::format("{} finding{} cured in {} file{}", applied.findings,
                                       applied.findings == 1 ? "" : "s", applied.files,
                                       applied.files == 1 ? "" : "s"));
  for (const std::string& place : applied.not_applied) {
    report.remarks.push_back(fmt::format(
        "{}: not cured, another cure is in its way or the file has changed; run it again", place));
  }
}

void describe_scan(reports::Report& report, const std::vector<analyzer::SourceFacts>& all,
                   const analyzer::Toolkits& toolkits) {
  reports::SourceScan scan;
  std::map<std::string, size_t> missing;
  for (const analyzer::SourceFacts& facts : all) {
    if (!facts.parsed) {
      ++scan.not_analysed;
      const std::string why = facts.problems.empty() ? "it cannot be read" : facts.problems.front();
      report.left_out.push_back(fmt::format("{}: {}", facts.file, why));
      continue;
    }
    ++scan.analysed;
    scan.functions += facts.functions;
    if (facts.error_count > 0 || !facts.missing_headers.empty()) ++scan.partly;
    for (const std::string& header : facts.missing_headers) ++missing[header];
    if (facts.error_count > 0 && !facts.problems.empty()) {
      report.remarks.push_back(fmt::format(
          "{}: analysed in part, {} error{}, the first: {}", facts.file, facts.error_count,
          facts.error_count == 1 ? "" : "s", facts.problems.front()));
    }
  }
  for (const auto& [header, count] : missing) {
    report.remarks.push_back(
        fmt::format("{}: not found, included by {} file{}; what needs it is not seen", header,
                    count, count == 1 ? "" : "s"));
  }
  scan.headers =
      toolkits.torch_root.empty()
          ? "the bundled minimal LibTorch"
          : fmt::format("LibTorch {} of {}", toolkits.torch_version, toolkits.torch_root);
  if (toolkits.torch_root.empty()) {
    report.remarks.push_back(
        "no LibTorch was found, so a small bundled one was used, and calls outside of it are not "
        "seen; --torch names one");
  }
  report.scan = scan;
}

bool is_found(const std::vector<Finding>& findings, const std::string& id) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.rule == id; });
}

// What source analysis calls the faults that the rules of a run find.
std::vector<std::string> tags_of(const std::string& rule) {
  if (rule == "fp16-trainable") return {"scaler-half-params"};
  if (rule == "mixed-operands") return {"module-half-input-float"};
  if (rule == "half-not-implemented") return {"half-cpu-norm"};
  return {};
}

std::vector<reports::RuleText> texts_of(const std::vector<Finding>& findings) {
  std::vector<reports::RuleText> texts;
  for (const analyzer::Check* check : analyzer::all_checks()) {
    const analyzer::CheckDoc& doc = check->doc;
    if (!is_found(findings, doc.id)) continue;
    texts.push_back({doc.id, doc.summary, doc.why, doc.fix, check->example, doc.severity});
  }
  for (const rules::Rule* rule : rules::all_rules()) {
    const rules::RuleDoc& doc = rule->doc;
    if (!is_found(findings, doc.id)) continue;
    texts.push_back(
        {doc.id, doc.summary, doc.why, doc.fix, rule->example, doc.severity, tags_of(doc.id)});
  }
  return texts;
}

int print_text(const std::string& text) {
  Output output = open_output("");
  output.stream() << text;
  output.finish();
  return kClean;
}

int list_checks() {
  std::string text;
  for (const analyzer::Check* check : analyzer::all_checks()) {
    text += fmt::format("{:<33}{:<9}{}\n", check->doc.id, severity_name(check->doc.severity),
                        check->doc.summary);
  }
  return print_text(text +
                    "\ndtypecheck lint --explain ID shows the reason, the cure and an example\n");
}

int explain_check(const std::string& id) {
  const analyzer::Check* check = analyzer::find_check(id);
  if (check == nullptr) {
    std::vector<std::string> ids;
    for (const analyzer::Check* one : analyzer::all_checks()) ids.push_back(one->doc.id);
    throw InputError(
        fmt::format("unknown check {}{}", id,
                    suggestion(id, ids, "dtypecheck lint --list-checks shows them all")));
  }
  const analyzer::CheckDoc& doc = check->doc;
  std::string example;
  std::istringstream lines(check->example);
  for (std::string line; std::getline(lines, line);) {
    example += line.empty() ? "\n" : fmt::format("  {}\n", line);
  }
  return print_text(fmt::format("{} ({})\n{}\nwhy\n{}\nfix\n{}\nexample\n{}", doc.id,
                                severity_name(doc.severity), wrapped(doc.summary, 2),
                                wrapped(doc.why, 2), wrapped(doc.fix, 2), example));
}

void sort_by_severity(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
}

int run(const LintCommand& command) {
  if (command.list) return list_checks();
  if (!command.explain.empty()) return explain_check(command.explain);
  Database database;
  if (!command.build.empty()) database = analyzer::CompileDatabase::read(command.build);
  std::optional<Baseline> baseline;
  if (!command.baseline.empty()) baseline = Baseline::read(command.baseline);
  const std::vector<std::string> files = sources_of(command.paths, database);
  const analyzer::Toolkits toolkits = command.torch == "bundled"
                                          ? analyzer::bundled_toolkits()
                                          : analyzer::find_toolkits(command.torch, files.front());
  const auto all = parse(jobs_of(files, database, toolkits), command);

  Sources sources;
  Run ops;
  reports::Report report{.run = ops, .tool_version = tool_version(), .all = command.report.all};
  report.base_folder = fs::current_path().string();
  for (const analyzer::SourceFacts& facts : all) add_findings(report.findings, facts);
  for (Finding& finding : analyzer::judge_ops(all, toolkits.torch_version, ops)) {
    report.findings.push_back(std::move(finding));
  }
  describe_scan(report, all, toolkits);
  if (report.scan->analysed == 0) {
    throw InputError(fmt::format("nothing could be analysed; {}", report.left_out.front()));
  }
  give_ids(report, sources);
  drop_allowed(report, sources, command.report.all);
  if (!command.write_baseline.empty()) {
    write_baseline(report, command.write_baseline);
    return kClean;
  }
  if (baseline) drop_known(report, *baseline, command.baseline);
  if (command.fix) fix(report, command.report.fail_on);
  sort_by_severity(report.findings);
  report.rules = texts_of(report.findings);
  report.line_text = [&](const std::string& file, int line) { return sources.line(file, line); };
  report.file_text = [&](const std::string& file) { return sources.text(file); };
  Output output = open_output(command.report.output);
  write_report(report, command.report.format, output, STDOUT_FILENO);
  return any_at_least(report.findings, command.report.fail_on) ? kFound : kClean;
}

std::function<int()> set_up(CLI::App& app) {
  auto command = std::make_shared<LintCommand>();
  app.add_option("PATH", command->paths, "C++ and CUDA sources, or folders of them")->type_name("");
  app.add_option("-p,--build", command->build,
                 "build folder, or its compile_commands.json, all of whose files are meant where "
                 "no PATH is "
                 "given; without it flags are inferred")
      ->type_name("DIR");
  app.add_option(
         "--torch", command->torch,
         "folder of the LibTorch to parse against, or `bundled`; default: that of the active "
         "Python, of a .venv above the first source, or of the system")
      ->type_name("DIR");
  app.add_option("-j,--jobs", command->jobs, "files at a time; default: the number of cores")
      ->type_name("N");
  app.add_option("--timeout", command->timeout_s, "seconds for one file; default: 300")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400).description(""));
  add_report_options(app, command->report, "file for the findings; default: standard output",
                     "exit with 1 on findings of this severity or above; default: warning");
  app.add_flag("--fix", command->fix,
               "apply the cures that are mechanical, of findings at the --fail-on level or above");
  app.add_option("--baseline", command->baseline, "file of findings that are not told again")
      ->type_name("FILE");
  app.add_option("--write-baseline", command->write_baseline,
                 "write what is found now into such a file, and nothing else")
      ->type_name("FILE");
  app.add_flag("--no-cache", command->no_cache,
               "parse every file anew; else what is known of unchanged files is kept in "
               "~/.cache/dtypecheck/lint");
  app.add_flag("--all", command->report.all, "show every finding in full, and accepted ones too");
  app.add_flag("--list-checks", command->list, "list the checks");
  app.add_option("--explain", command->explain, "all there is to know about one check")
      ->type_name("ID");
  return [command] { return run(*command); };
}

}  // namespace

extern const Command lint_command = {
    .name = "lint",
    .summary = "find dtype faults in C++ and CUDA source before it runs",
    .arguments = "[OPTIONS] [PATH...]",
    .examples =
        "  dtypecheck lint csrc\n"
        "  dtypecheck lint -p build src\n"
        "  dtypecheck lint --fix csrc/ops.cu\n"
        "  dtypecheck lint --format sarif -o lint.sarif csrc\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
