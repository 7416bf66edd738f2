// explain.h: from the text of a message, traceback or log to what went wrong and what cures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/cause_table.h"
#include "explain/log_scanner.h"
#include "explain/ranking.h"
#include "explain/traceback.h"

namespace dtypecheck::explain {

// "mat1 has Half": whose dtype it is, where the message says so.
struct OperandDtype {
  std::string operand, dtype;
};

// One distinct error of the log. What is not ours in it, the message and the frames, is as it
// stands in the log and not safe to show.
struct Explanation {
  std::string message;  // the line it stands in, or its sentence where more stands there; empty for
                        // a report in words
  uint64_t line = 0, count = 1;
  bool is_symptom = false;
  std::vector<std::string> dtypes;  // as the message names them, in LibTorch's spelling
  std::vector<OperandDtype> operands;
  std::string meaning;
  std::vector<std::string> ops;
  std::string versions;
  bool is_missing_kernel = false;     // and `versions` says since when it is there
  std::vector<Category> categories;   // best first, never empty
  double confidence = 0, second = 0;  // of the first category and of the next one
  Scores scores{};                    // of all categories
  std::vector<Sign> signs;
  // Of the first category those that fit the message and its dtypes: what belongs to the message
  // first, then those whose signs are there.
  std::vector<Cause> causes;
  std::vector<std::string> hides;
  std::vector<TracebackFrame> frames;  // of its traceback, innermost last
};

struct Answer {
  std::vector<Explanation> errors;  // the one to look at first comes first; empty: no dtype error
  std::string other_error;          // what the text seems to be about then, or empty
  std::string torch_version;
  std::string command;  // what was run, as the log or its traceback says; may be empty
  uint64_t size_bytes = 0;
};

// The scanner has been fed and finished.
Answer explain(const LogScanner& scanner);

}  // namespace dtypecheck::explain
