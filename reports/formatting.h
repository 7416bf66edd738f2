// formatting.h: how all formats say the same things: numbers, places, processes, origins.
// What comes back is for people and printable (printable.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"

namespace dtypecheck::reports {

std::string grouped(uint64_t number);                           // 41,312
std::string counted(uint64_t number, const std::string& what);  // "1 error", "2 errors"
std::string number_text(double number);  // "288"; "0.5" of what happens in every other step
std::string joined(const std::vector<std::string>& parts, const std::string& between);
// The field's values among the processes, each once; "" is none.
std::vector<std::string> values_of(const Run& run, std::string Process::* field);

// A path as the reference of a URI: "file:///home/me/a%20b.py", "src/train.py".
std::string uri_of(const std::string& path);

std::string place(const SourceLine& line);                          // "train.py:1065"; "" not known
std::string code_at(const Report& report, const SourceLine& line);  // the line's text, or ""

// The line with those around it, as far as they are known, without the blanks that all begin with;
// nothing where the line itself is not known.
struct ExcerptLine {
  int number = 0;
  std::string text;
  bool is_here = false;
};
std::vector<ExcerptLine> excerpt_at(const Report& report, const SourceLine& line, int around);

std::string when(const Report& report, const Finding& finding);  // "forward, step 1, 3 times"
std::string time_text(int64_t unix_ns);                       // "2026-11-22 10:10:07 UTC"; "" of 0
std::string duration_text(double seconds);                    // "350 ms", "11 s", "2 h 5 min"
std::string process_label(const Run& run, uint32_t process);  // "rank 1 (pid 4242)"
std::string raised(const OpCall& call,
                   const char* verb = "raised");  // "aten::addmm raised", "… raised ValueError"
// "ValueError: no data" of an exception whose message quotes another process's traceback, as those
// of torch.multiprocessing.spawn and of a DataLoader's workers do; any other message as it is.
std::string raised_at_last(const std::string& message);
// How a run went on from a call that keep-going repaired or --fix served; "" of any other.
std::string went_on(const OpCall& call);

// Between its first op and its end; none where no end was recorded.
std::optional<double> seconds_of(const Process& process);
const Process* process_at(const Run& run, uint32_t process);  // nullptr when there is none

// What may be done about a finding, and under which label: "fix" is what was proven by running the
// program with it, or stands in a check of source; "workaround" is what was proven and gives up
// what ran in 16 bits; everything else is a "try". Both are empty where nothing is known.
struct Fix {
  const char* label = "";
  std::string text;
};
Fix fix_of(const Report& report, const Finding& finding);

}  // namespace dtypecheck::reports
