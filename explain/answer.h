// answer.h: an answer in words, for a terminal, and as JSON. What comes from the log, which is
// hostile, goes through printable() in both.
#pragma once

#include <string>

#include "explain/explain.h"

namespace dtypecheck::explain {

struct TextOptions {
  bool all = false;  // every cause, op and version, not ten lines
  size_t width = 100;
};
std::string to_text(const Answer& answer, const TextOptions& options);

// One object; docs/explain.md has its fields.
std::string to_json(const Answer& answer);

// The user's own innermost frame, or the innermost one; null where there is none.
const TracebackFrame* own_frame(const Explanation& error);

// Where the text leaves two faults open: what to run, and which output means the second one; else
// empty.
std::string question(const Explanation& error);

// The message in one line, cut where it is very long.
std::string shown_message(const Explanation& error);

}  // namespace dtypecheck::explain
