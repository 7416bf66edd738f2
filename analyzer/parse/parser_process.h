// parser_process.h: one run of dtypecheck-analyzer.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck::analyzer {

struct ParserAnswer {
  std::string text;     // what it wrote
  std::string failure;  // why that is not the whole answer; empty: it is
  bool crashed = false;
};

// Throws InputError when the program cannot be started at all.
ParserAnswer run_parser(const std::string& program, const std::vector<std::string>& arguments,
                        int timeout_s);

// What asking one takes. A pipe, and a place for what nobody reads.
struct Streams {
  Streams();
  ~Streams();
  Streams(const Streams&) = delete;

  int ends[2] = {-1, -1};
  int nowhere;
};
enum class AnswerEnd { kLine, kClosed };
// Until there is no more of it, too. False when the time is up or the answer is too long.
bool read_answer(int from, int timeout_s, AnswerEnd end, std::string& text);
std::string no_answer_within(int timeout_s);

}  // namespace dtypecheck::analyzer
