// Finds: a library that makes Double the default dtype when it is imported, so that what the
// program makes without a dtype is Double, and all that comes of it.
// Misses: libraries of which no line is kept, as installed ones, and those that set it in a
// function. Silent where the program's own file sets a default or asks for Double somewhere.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/requests.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/source_text.h"

namespace dtypecheck::rules {
namespace {

constexpr double kMost = 0.5;  // of the ops that give floating numbers

struct MadeInDouble {
  const OpCall* first = nullptr;         // that no line gave a dtype
  uint64_t in_double = 0, floating = 0;  // ops that the program calls
  bool is_asked_for = false;             // by a line of its own file
  std::set<std::string> files;           // of which a line called an op
};

// The program's own file, as it was started: "train.py", "./run/train.py".
bool is_main_file(const std::string& file, std::string script) {
  if (script.starts_with("./")) script.erase(0, 2);
  return !script.empty() && (file == script || file.ends_with("/" + script));
}

std::string script_of(const Process& process) {
  const std::vector<std::string> words = words_of_command(process);
  return words.empty() ? "" : words.front();
}

bool asks_for_double(const RunIndex& index, const OpCall& call) {
  const ScalarArgument* dtype = call.scalar("dtype");
  const bool makes = index.has(call, ops::kCast | ops::kFactory);
  return makes && dtype != nullptr && dtype->dtype == Dtype::kDouble;
}

void collect(const RunIndex& index, const OpCall& call, const std::string& script,
             MadeInDouble& seen) {
  for (const SourceLine* line : {&call.site.line, &call.site.inner, &call.site.caller})
    if (line->known()) seen.files.insert(line->file);
  if (call.parent != kNoOpCall || !call.result_dtype() || !kFloating.contains(*call.result_dtype()))
    return;
  const bool is_double = call.result_dtype() == Dtype::kDouble;
  ++seen.floating;
  seen.in_double += is_double;
  if (!is_double) return;
  seen.is_asked_for |= asks_for_double(index, call) && is_main_file(call.site.line.file, script);
  const bool is_of_default = index.is_unasked(&call) && call.operands.empty();
  if (seen.first == nullptr && is_of_default) seen.first = &call;
}

// A package's __init__.py is run before any other file of it.
std::set<std::string> with_packages(const std::set<std::string>& files) {
  constexpr int kMostFolders = 3;
  std::set<std::string> all = files;
  for (std::string file : files) {
    for (int i = 0; i < kMostFolders && file.rfind('/') != file.npos; ++i) {
      file.erase(file.rfind('/'));
      all.insert(file + "/__init__.py");
    }
  }
  return all;
}

// A line that is not indented runs when its file is imported.
std::optional<SourceLine> setter(const LineText& line_text, const MadeInDouble& seen,
                                 const std::string& script) {
  std::optional<SourceLine> found;
  for (const std::string& file : with_packages(seen.files)) {
    for (const auto& [line, text] : lines_with(line_text, file, "set_default_")) {
      if (is_main_file(file, script)) return std::nullopt;
      const bool is_double = text.find("float64") != text.npos || text.find("ouble") != text.npos;
      const bool runs = text.starts_with("torch.set_default_") || text.starts_with("set_default_");
      if (runs && is_double && !found) found = line;
    }
  }
  return found;
}

void check_process(const Process& process, const MadeInDouble& seen, Findings& out) {
  const std::string script = script_of(process);
  if (seen.first == nullptr || seen.is_asked_for || script.empty()) return;
  const double share = double(seen.in_double) / double(seen.floating);
  const auto line = share < kMost ? std::nullopt : setter(out.options().line_text, seen, script);
  if (!line) return;
  const Site site{.line = *line};
  const std::string message =
      fmt::format("everything that no line gives a dtype is Double since {}", place(site));
  out.add(*seen.first, message, [&] {
    return Details{
        .why = fmt::format("that line makes it the default when its file is imported; {:.0f} % of "
                           "the program's ops on floating numbers give Double, which takes twice "
                           "the memory of Float, and {}{} is the first that does for want of a "
                           "dtype",
                           100 * share, seen.first->op, at_place(seen.first->site)),
        .site = site};
  });
}

void check_run(const RunIndex& index, Findings& out) {
  const Run& run = index.run();
  std::map<uint32_t, MadeInDouble> processes;
  for (const OpCall& call : index.judged_calls())
    collect(index, call, script_of(run.process_of(call)), processes[call.process]);
  for (const auto& [id, seen] : processes) check_process(run.processes[id], seen, out);
}

}  // namespace

const Rule default_double = {
    .doc = {.id = "default-double",
            .severity = Severity::kNote,
            .summary = "an import made Double the default dtype, and the program computes in it",
            .why = "torch.set_default_dtype() holds for the whole process: a library that calls it "
                   "when it is imported decides for its user's layers, data and optimizer, too. "
                   "The numbers are right, at twice the memory and a fraction of a GPU's speed.",
            .fix = "Behind the import: torch.set_default_dtype(torch.float32).",
            .example = R"(
process pid=1 fact:python.argv="train.py"
# LINE net/tensor.py:3: torch.set_default_dtype(torch.float64)
op aten::empty.memory_format -> Double[32,8] at train.py:17 phase load
op aten::linear input=Double[64,8] weight=Double[32,8]<#1 bias=none -> Double[64,32] at train.py:22 phase forward
op aten::tensordot self=Double[8,4] other=Double[4,8] -> Double[8,8] at net/tensor.py:15 phase forward
# EXPECT net/tensor.py:3: note: everything that no line gives a dtype is Double since net/tensor.py:3 [default-double]
# EXPECT-FIX torch.set_default_dtype(torch.float32)
# One that is asked for.
process pid=2 fact:python.argv="solve.py"
op aten::empty.memory_format dtype:=Double -> Double[32,8] at solve.py:17 phase load
op aten::tensordot self=Double[8,4] other=Double[4,8] -> Double[8,8] at net/tensor.py:15 phase forward
)"},
    .check_run = check_run,
    .costs_only = true,
};

}  // namespace dtypecheck::rules
