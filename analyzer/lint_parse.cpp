#include "analyzer/lint_parse.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "analyzer/parse/facts_cache.h"
#include "analyzer/parse/merge_facts.h"
#include "analyzer/parse/parser_servers.h"
#include "analyzer/parse/precompiled_headers.h"
#include "analyzer/parse/worker.h"
#include "analyzer/project/calls.h"
#include "analyzer/project/fields.h"
#include "analyzer/project/joined.h"
#include "analyzer/project/neighbours.h"
#include "analyzer/project/tree.h"
#include "platform/cache_folder.h"
#include "platform/install_paths.h"
#include "platform/version.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

fs::path analyzer_program() {
  return fs::path(own_executable()).parent_path() / "dtypecheck-analyzer";
}

fs::path stubs_folder() {
  const fs::path installed =
      fs::path(own_executable()).parent_path().parent_path() / "share/dtypecheck/analyzer/stubs";
  return fs::exists(installed) ? installed : fs::path(source_tree()) / "analyzer/stubs";
}

// One for each file, and a second one where it asks about macros that a build may set either way.
std::vector<ParseJob> jobs_of(const std::vector<std::string>& files, const Database& database,
                              const Toolkits& toolkits, const std::vector<std::string>& folders) {
  const fs::path stubs = stubs_folder();
  std::vector<ParseJob> jobs;
  for (const std::string& file : files) {
    const std::string full = fs::absolute(file).lexically_normal().string();
    const CompileCommand* known = database ? database->find(full) : nullptr;
    jobs.push_back({full, parse_arguments(full, known, toolkits, stubs, folders)});
    if (known != nullptr) continue;
    auto others = with_other_switches(full, jobs.back().arguments);
    if (!others.empty()) jobs.push_back({full, std::move(others)});
  }
  return jobs;
}

// The facts of a file's jobs in one.
std::vector<SourceFacts> by_file(std::vector<SourceFacts> all) {
  std::vector<SourceFacts> merged;
  for (SourceFacts& facts : all) {
    if (!merged.empty() && merged.back().file == facts.file) {
      add_facts_of_other_switches(merged.back(), std::move(facts));
    } else {
      merged.push_back(std::move(facts));
    }
  }
  return merged;
}

// Empty where there is none that may be used.
fs::path cache_folder() {
  const fs::path root = cache_root();
  if (root.empty() || !make_cache_folder(root / "lint").empty()) return {};
  return make_cache_folder(root / "lint/pch").empty() ? root / "lint" : fs::path();
}

// What the facts depend on besides sources and arguments: the program that finds them.
std::string version_of(const fs::path& program) {
  std::error_code error;
  const auto size = fs::file_size(program, error);
  const auto time = fs::last_write_time(program, error).time_since_epoch().count();
  return fmt::format("{} {} {}", tool_version(), size, time);
}

// What stays the same through a run: the program that parses, and what is known already.
class Parser {
 public:
  Parser(const Database& database, const Toolkits& toolkits, const ParseOptions& options)
      : database_(database), toolkits_(toolkits), options_(options), program_(analyzer_program()) {
    const fs::path folder = options.no_cache ? fs::path() : cache_folder();
    if (folder.empty()) return;
    cache_ = std::make_unique<FactsCache>(folder, version_of(program_), stamps_);
    headers_ = std::make_unique<PrecompiledHeaders>(folder / "pch", program_.string(),
                                                    version_of(program_), stamps_,
                                                    options.servers != nullptr);
  }

  std::vector<SourceFacts> parse(const std::vector<std::string>& files) {
    return by_file(parse(jobs_of(files, database_, toolkits_, options_.folders)));
  }

  // Each file with its sources before it, whose folders of headers are its own then, too.
  std::vector<SourceFacts> parse(const std::vector<Joined>& joined,
                                 const std::vector<SourceFacts>& all) {
    std::vector<ParseJob> jobs;
    for (const Joined& one : joined) {
      jobs.push_back(jobs_of({all[one.file].file}, database_, toolkits_, options_.folders).front());
      jobs.back().joined = one.text;
      for (const ParseJob& other : jobs_of(one.sources, database_, toolkits_, options_.folders))
        add_folders_of(other, jobs.back());
    }
    return parse(jobs);
  }

 private:
  static void add_folders_of(const ParseJob& other, ParseJob& job) {
    for (const std::string& folder : own_folders(other)) {
      // Those for includes in quotes alone stay so: one may have a math.h.
      const auto has = [&](const std::string& flag, const ParseJob& one) {
        const std::array<std::string, 2> words = {flag, folder};
        return std::search(one.arguments.begin(), one.arguments.end(), words.begin(),
                           words.end()) != one.arguments.end();
      };
      const std::string flag = has("-iquote", other) ? "-iquote" : "-I";
      if (!has(flag, job)) job.arguments.insert(job.arguments.end(), {flag, folder});
    }
  }

  std::vector<SourceFacts> parse(const std::vector<ParseJob>& jobs) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const WorkerOptions worker = {.program = program_.string(),
                                  .jobs = options_.jobs > 0 ? options_.jobs : cores,
                                  .timeout_s = options_.timeout_s,
                                  .cache = cache_.get(),
                                  .headers = headers_.get(),
                                  .servers = jobs.size() == 1 ? options_.servers : nullptr};
    const bool shows_progress = isatty(STDERR_FILENO) != 0 && jobs.size() > 1;
    auto all = parse_all(jobs, worker, [&](size_t done) {
      if (shows_progress) fmt::print(stderr, "\rdtypecheck: {} of {} files", done, jobs.size());
    });
    if (shows_progress) fmt::print(stderr, "\r\x1b[K");
    if (worker.servers != nullptr) worker.servers->start(worker.program);
    return all;
  }

  const Database& database_;
  const Toolkits& toolkits_;
  const ParseOptions& options_;
  fs::path program_;
  Stamps stamps_;
  std::unique_ptr<FactsCache> cache_;
  std::unique_ptr<PrecompiledHeaders> headers_;
};

// Files that call or bind the functions of these, or define what they call; and then theirs.
void add_neighbours(std::vector<SourceFacts>& all, Parser& parser) {
  constexpr int kRounds = 2;
  const size_t judged = all.size();
  for (int round = 0; round < kRounds; ++round) {
    const auto neighbours = sources_that_tell_of(unseen_functions(all), all, judged);
    if (neighbours.empty()) return;
    for (SourceFacts& facts : parser.parse(neighbours)) all.push_back(std::move(facts));
  }
}

// What becomes of modules where they are made in one file and defined in others.
void add_joined(std::vector<SourceFacts>& all, size_t judged, Parser& parser) {
  const std::vector<Joined> joined = sources_to_join(all, judged);
  if (joined.empty()) return;
  std::vector<SourceFacts> found = parser.parse(joined, all);
  for (size_t i = 0; i < joined.size(); ++i) take_joined(all, joined[i], std::move(found[i]));
}

}  // namespace

std::vector<SourceFacts> parse(const std::vector<std::string>& files, const Database& database,
                               const Toolkits& toolkits, const ParseOptions& options) {
  Parser parser(database, toolkits, options);
  std::vector<SourceFacts> all = parser.parse(files);
  const size_t judged = all.size();
  join_fields(all);
  if (!options.alone) add_neighbours(all, parser);
  if (!options.alone) add_joined(all, judged, parser);
  join_calls(all, judged);
  // What a neighbour casts counts, and without neighbours nobody knows.
  const bool lowers = options.alone || std::ranges::any_of(all, [](const auto& facts) {
                        return facts.lowers_modules;
                      });
  DtypeSet default_dtype;
  for (const SourceFacts& facts : all) default_dtype |= facts.default_dtype;
  all.resize(judged);
  for (SourceFacts& facts : all) {
    facts.lowers_modules = lowers;
    facts.default_dtype = default_dtype;
  }
  for (SourceFacts& facts : all) look_around(facts);
  return all;
}

std::vector<std::string> files_with_more_errors(const std::vector<std::string>& edited,
                                                const std::vector<SourceFacts>& before,
                                                const Database& database, const Toolkits& toolkits,
                                                ParseOptions options) {
  std::map<std::string, std::vector<std::string>> edited_in;  // by the source that includes it
  std::map<std::string, uint64_t> errors;
  for (const std::string& file : edited) {
    const auto reads_it = [&](const SourceFacts& facts) {
      const auto& read = facts.files;
      return facts.file == file || std::find(read.begin(), read.end(), file) != read.end();
    };
    const auto source = std::ranges::find_if(before, reads_it);
    if (source == before.end()) continue;
    edited_in[source->file].push_back(file);
    errors[source->file] = source->error_count;
  }
  std::vector<std::string> sources;
  for (const auto& [source, files] : edited_in) sources.push_back(source);
  options.alone = true;
  const std::vector<SourceFacts> after = parse(sources, database, toolkits, options);
  std::vector<std::string> broken;
  for (const SourceFacts& facts : after) {
    const bool is_whole = facts.parsed && facts.error_count <= errors[facts.file];
    const std::vector<std::string>& files = edited_in[facts.file];
    if (!is_whole) broken.insert(broken.end(), files.begin(), files.end());
  }
  return broken;
}

}  // namespace dtypecheck::analyzer
