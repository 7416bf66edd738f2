#include "analyzer/parse/parser_servers.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/parse/precompiled_headers.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMost = 3;  // files that are edited in turns; each takes about 50 MB

// What a parser knows before it is asked. It has looked for the folders of headers, and not again.
std::string key_of(const ParseJob& job, const std::string& pch) {
  std::string key = pch + '\n';
  for (const std::string& argument : job.arguments) key += argument + '\n';
  for (const std::string& folder : own_folders(job)) key += is_there(folder) ? '1' : '0';
  return key;
}

}  // namespace

class ParserServers::Server {
 public:
  Server(std::string file, std::string key, const std::vector<std::string>& command)
      : file(std::move(file)),
        key(std::move(key)),
        parser_(start_child(
            command, current_environment(),
            {.out = answers_.ends[1], .err = answers_.nowhere, .in = questions_.ends[0]})) {
    close(std::exchange(answers_.ends[1], -1));
    close(std::exchange(questions_.ends[0], -1));
  }
  ~Server() {
    kill(parser_, SIGKILL);
    wait_for_child(parser_);
  }
  Server(const Server&) = delete;

  // Not the whole line where the parser has ended.
  ParserAnswer ask(int timeout_s) {
    ParserAnswer answer;
    if (write(questions_.ends[1], "\n", 1) != 1) return answer;
    if (!read_answer(answers_.ends[0], timeout_s, AnswerEnd::kLine, answer.text))
      answer.failure = no_answer_within(timeout_s);
    return answer;
  }

  const std::string file, key;

 private:
  Streams questions_, answers_;
  const pid_t parser_;
};

ParserServers::ParserServers() = default;
ParserServers::~ParserServers() = default;

void ParserServers::want(const ParseJob& job, const std::string& pch) {
  wanted_ = {};
  if (pch.empty()) return;
  wanted_ = {job.file, key_of(job, pch), {"--stand-by", pch, job.file}};
  wanted_.arguments.insert(wanted_.arguments.end(), job.arguments.begin(), job.arguments.end());
}

std::optional<ParserAnswer> ParserServers::ask(const ParseJob& job, const std::string& pch,
                                               int timeout_s) {
  want(job, pch);
  if (pch.empty()) return std::nullopt;
  const auto one = std::ranges::find_if(servers_, [&](const auto& server) {
    return server->file == wanted_.file && server->key == wanted_.key;
  });
  if (one == servers_.end()) return std::nullopt;
  servers_.splice(servers_.begin(), servers_, one);
  ParserAnswer answer = (*one)->ask(timeout_s);
  const bool is_whole = answer.text.ends_with('\n');
  if (!is_whole) servers_.pop_front();
  if (!is_whole && answer.failure.empty()) return std::nullopt;
  return answer;
}

void ParserServers::start(const std::string& program) {
  if (wanted_.file.empty()) return;
  const auto one = std::ranges::find_if(
      servers_, [&](const auto& server) { return server->file == wanted_.file; });
  if (one != servers_.end() && (*one)->key == wanted_.key) return;
  if (one != servers_.end()) servers_.erase(one);
  std::vector<std::string> command = {program};
  command.insert(command.end(), wanted_.arguments.begin(), wanted_.arguments.end());
  try {
    servers_.push_front(std::make_unique<Server>(wanted_.file, wanted_.key, command));
  } catch (const InputError&) {
    return;  // the file is parsed without
  }
  if (servers_.size() > kMost) servers_.pop_back();
}

}  // namespace dtypecheck::analyzer
