#include "analyzer/parse/standing_parsers.h"

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

class StandingParsers::Standing {
 public:
  Standing(std::string file, std::string key, const std::vector<std::string>& command)
      : file(std::move(file)),
        key(std::move(key)),
        parser_(start_child(
            command, current_environment(),
            {.out = answers_.ends[1], .err = answers_.nowhere, .in = questions_.ends[0]})) {
    close(std::exchange(answers_.ends[1], -1));
    close(std::exchange(questions_.ends[0], -1));
  }
  ~Standing() {
    kill(parser_, SIGKILL);
    wait_for_child(parser_);
  }
  Standing(const Standing&) = delete;

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

StandingParsers::StandingParsers() = default;
StandingParsers::~StandingParsers() = default;

void StandingParsers::want(const ParseJob& job, const std::string& pch) {
  wanted_ = {};
  if (pch.empty()) return;
  wanted_ = {job.file, key_of(job, pch), {"--stand-by", pch, job.file}};
  wanted_.arguments.insert(wanted_.arguments.end(), job.arguments.begin(), job.arguments.end());
}

std::optional<ParserAnswer> StandingParsers::ask(const ParseJob& job, const std::string& pch,
                                                 int timeout_s) {
  want(job, pch);
  if (pch.empty()) return std::nullopt;
  const auto one = std::find_if(standing_.begin(), standing_.end(), [&](const auto& standing) {
    return standing->file == wanted_.file && standing->key == wanted_.key;
  });
  if (one == standing_.end()) return std::nullopt;
  standing_.splice(standing_.begin(), standing_, one);
  ParserAnswer answer = (*one)->ask(timeout_s);
  const bool is_whole = answer.text.ends_with('\n');
  if (!is_whole) standing_.pop_front();
  if (!is_whole && answer.failure.empty()) return std::nullopt;
  return answer;
}

void StandingParsers::start(const std::string& program) {
  if (wanted_.file.empty()) return;
  const auto one = std::find_if(standing_.begin(), standing_.end(), [&](const auto& standing) {
    return standing->file == wanted_.file;
  });
  if (one != standing_.end() && (*one)->key == wanted_.key) return;
  if (one != standing_.end()) standing_.erase(one);
  std::vector<std::string> command = {program};
  command.insert(command.end(), wanted_.arguments.begin(), wanted_.arguments.end());
  try {
    standing_.push_front(std::make_unique<Standing>(wanted_.file, wanted_.key, command));
  } catch (const InputError&) {
    return;  // the file is parsed without
  }
  if (standing_.size() > kMost) standing_.pop_back();
}

}  // namespace dtypecheck::analyzer
