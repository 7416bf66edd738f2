#include "analyzer/parse/worker.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <regex>
#include <thread>

#include "analyzer/parse/facts_cache.h"
#include "analyzer/parse/parser_process.h"
#include "analyzer/parse/parser_servers.h"
#include "analyzer/parse/precompiled_headers.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"

namespace dtypecheck::analyzer {

namespace {

constexpr uintmax_t kMaxSource = 16 << 20;

SourceFacts not_parsed(const ParseJob& job, std::string why) {
  SourceFacts facts{.file = job.file};
  facts.problems.push_back(std::move(why));
  return facts;
}

ParserAnswer ask_parser(const ParseJob& job, const std::string& pch, const WorkerOptions& options) {
  if (options.servers != nullptr) {
    if (auto answer = options.servers->ask(job, pch, options.timeout_s)) return *answer;
  }
  std::vector<std::string> arguments;
  if (!pch.empty()) arguments = {"--with-pch", pch};
  if (!job.joined.empty()) arguments.insert(arguments.end(), {"--join", job.joined});
  arguments.push_back(job.file);
  arguments.insert(arguments.end(), job.arguments.begin(), job.arguments.end());
  return run_parser(options.program, arguments, options.timeout_s);
}

SourceFacts parse_anew(const ParseJob& job, const WorkerOptions& options) {
  const std::string pch = options.headers == nullptr ? "" : options.headers->for_job(job);
  ParserAnswer answer = ask_parser(job, pch, options);
  if (answer.crashed && !pch.empty()) answer = ask_parser(job, "", options);
  if (!answer.failure.empty()) return not_parsed(job, answer.failure);
  try {
    SourceFacts facts = facts_from_json(answer.text);
    if (!pch.empty()) options.headers->add_files_in_that_of(job, facts);
    return facts;
  } catch (const InputError& error) {
    return not_parsed(job, error.what());
  }
}

// export module net; or the "module;" before its headers.
bool is_module(const std::string& text) {
  static const std::regex kModule("(^|\n)(export )?module( [^\n;=(]*)?;");
  return std::regex_search(text, kModule);
}

// Clang would want what it imports, built.
void say_module(SourceFacts& facts) {
  const std::string said =
      facts.file + ": a C++20 module, of which what it imports and exports is not seen";
  for (std::vector<std::string>* said_of : {&facts.problems, &facts.lost}) {
    if (!said_of->empty()) said_of->insert(said_of->begin(), said);
  }
}

SourceFacts parse(const ParseJob& job, const WorkerOptions& options) {
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(job.file, unknown);
  if (!unknown && size > kMaxSource) {
    return not_parsed(
        job, fmt::format("{} MB; a source longer than {} MB is assumed to be generated", size >> 20,
                         kMaxSource >> 20));
  }
  const auto text = read_file_if_any(job.file, kMaxSource);
  if (text && text->find('\0') != text->npos) {
    return not_parsed(
        job, "has bytes that are 0, so it is no source; one in UTF-16 has to be saved in UTF-8");
  }
  const auto anew = [&] {
    SourceFacts facts = parse_anew(job, options);
    if (text && !facts.lost.empty() && is_module(*text)) say_module(facts);
    return facts;
  };
  if (options.cache == nullptr) return anew();
  if (auto known = options.cache->find(job)) {
    if (options.servers != nullptr) options.servers->want(job, options.headers->ready_for_job(job));
    return std::move(*known);
  }
  SourceFacts facts = anew();
  options.cache->keep(job, facts);
  return facts;
}

}  // namespace

std::vector<SourceFacts> parse_all(const std::vector<ParseJob>& jobs, const WorkerOptions& options,
                                   const std::function<void(size_t)>& done) {
  if (access(options.program.c_str(), X_OK) != 0) {
    throw InputError(fmt::format("{}: {}; {}", options.program, strerror(errno), analyzer_cure()));
  }
  if (options.headers != nullptr) options.headers->expect(jobs, options.jobs);
  std::vector<SourceFacts> all(jobs.size());
  std::atomic<size_t> next = 0;
  std::mutex lock;  // of what follows
  size_t through = 0;
  std::string failure;
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        all[i] = parse(jobs[i], options);
      } catch (const std::exception& error) {
        const std::scoped_lock held(lock);
        failure = error.what();
        next = jobs.size();
        return;
      }
      const std::scoped_lock held(lock);
      done(++through);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::min<size_t>(std::max(1U, options.jobs), jobs.size()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw InputError(failure);
  return all;
}

}  // namespace dtypecheck::analyzer
