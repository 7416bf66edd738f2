// finding.h: what a rule says about op calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cure.h"
#include "core/edit.h"
#include "core/op_call.h"

namespace dtypecheck {

// error: threw, or surely throws or corrupts. warning: silent damage, or a failure on the named
// target. note: cost.
enum class Severity : uint8_t { kNote = 0, kWarning = 1, kError = 2 };
const char* severity_name(Severity severity);
std::optional<Severity> parse_severity(std::string_view text);

// A further place of a finding about source, with what is there.
struct NotedPlace {
  SourceLine line;
  int column = 1;
  int end_column = 2;
  std::string note;
};

struct Finding {
  // Stable between runs: a hash of the rule, the place and the op, not of counts, paths above the
  // project or addresses.
  std::string id;
  std::string rule;
  Severity severity = Severity::kWarning;
  std::string message;  // one line, lower-case start is fine, no full stop
  std::string why;
  std::string fix;                // the likeliest cure; of a finding about source the smallest one
  std::string proof;              // what came of running the program with it; "": it was not tried
  std::string diff;               // of the sources, where there is a proof
  bool is_workaround = false;     // proven, and gives up what ran in 16 bits
  std::vector<Cure> cures;        // all that were thought of, the best first
  SourceLine origin;              // where the odd operand got its dtype, where that is another line
  OpCallId call = kNoOpCall;      // what it is about; none for a finding about the whole run
  std::vector<OpCallId> related;  // further calls of the same cause
  std::string odd_operand;  // name of the operand that is the odd one out; empty when there is none
  Site site;           // where a user can act; the call's own site unless the rule says otherwise
  int column = 0;      // of source that was analysed, from 1; 0: only the line is known
  int end_column = 0;  // one past the last character
  std::vector<NotedPlace> places;  // further places of the same fault, in source that was analysed
  std::vector<SourceEdit> edits;   // the cure, where it is mechanical: all of them or none
  bool is_asked_for = false;       // 16-bit weights, by an option of the command line that says so
  bool is_loaded_low =
      false;           // of 16-bit weights of a file, which nothing in the program asked for
  uint64_t count = 1;  // how often it happened
  uint32_t first_step = 0;
  std::string follows;   // id of the finding that this one is a consequence of
  uint32_t process = 0;  // index into Run::processes
};

}  // namespace dtypecheck
