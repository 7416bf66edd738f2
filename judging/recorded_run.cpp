#include "judging/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "symbols/symbols.h"
#include "trace/reader.h"
#include "trace/run_folder.h"
#include "trace/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

static constexpr size_t kMaxTextBytes = 256u << 20;
static constexpr size_t kMaxNoteBytes = 64 << 10;

static bool is_text_trace(const fs::path& path) { return path.extension() == ".trace"; }

static std::vector<std::string> files_in(const std::string& folder, const char* extension) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == extension) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> traces_of_folder(const std::string& folder) {
  return files_in(folder, ".dtrace");
}

static std::string without_prefix(const std::string& line) {
  const std::string_view prefix = "dtypecheck: ";
  return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
}

std::vector<std::string> untraced_notes(const std::string& folder) {
  std::vector<std::string> notes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("untraced.") || !name.ends_with(".txt")) continue;
    const std::string pid = name.substr(9, name.size() - 9 - 4);
    std::istringstream lines(read_file_if_any(entry.path().string(), kMaxNoteBytes).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      notes.push_back(printable(fmt::format("process {}: {}", pid, without_prefix(line))));
    }
  }
  std::sort(notes.begin(), notes.end());
  return notes;
}

void append_run(Run& into, Run&& more) {
  const auto calls = static_cast<OpCallId>(into.calls.size());
  const auto processes = static_cast<uint32_t>(into.processes.size());
  const auto moved = [calls](OpCallId id) { return id == kNoOpCall ? id : id + calls; };
  for (OpCall& call : more.calls) {
    call.id = moved(call.id);
    call.parent = moved(call.parent);
    call.follows = moved(call.follows);
    call.process += processes;
    for (ProcessRange& range : call.made_by) {
      range.first += processes;
      range.last += processes;
    }
    for (auto* operands : {&call.operands, &call.results}) {
      for (Operand& operand : *operands) operand.origin = moved(operand.origin);
    }
    into.calls.push_back(std::move(call));
  }
  const auto move_times = [&](auto& times, auto& to) {
    for (auto& time : times) {
      time.call = moved(time.call);
      time.process += processes;
      to.push_back(std::move(time));
    }
  };
  move_times(more.times, into.times);
  move_times(more.gpu_times, into.gpu_times);
  std::move(more.processes.begin(), more.processes.end(), std::back_inserter(into.processes));
  into.values_checked |= more.values_checked;
}

// Reads one input and notes instead of throwing, so that one bad file does not cost the others.
template <typename Read>
static bool read_or_note(Read read, RecordedRun& recorded) {
  try {
    append_run(recorded.run, read());
    return true;
  } catch (const InputError& error) {
    recorded.left_out.push_back(error.what());
    return false;
  }
}

// What core reads, and what is text; a folder may hold both.
struct SortedInputs {
  std::vector<std::string> binary, text, folders;
};

static SortedInputs sort_inputs(const std::vector<std::string>& inputs,
                                const std::set<std::string>& only) {
  SortedInputs sorted;
  for (const std::string& file : only)
    (is_text_trace(file) ? sorted.text : sorted.binary).push_back(file);
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      if (only.empty()) (is_text_trace(input) ? sorted.text : sorted.binary).push_back(input);
      continue;
    }
    if (!only.empty()) {
      sorted.folders.push_back(input);
      continue;
    }
    const auto texts = files_in(input, ".trace");
    sorted.text.insert(sorted.text.end(), texts.begin(), texts.end());
    sorted.folders.push_back(input);
    // With no trace at all core says what is missing.
    if (texts.empty() || !files_in(input, ".dtrace").empty()) sorted.binary.push_back(input);
  }
  return sorted;
}

static void add_sources(const std::string& input, RecordedRun& recorded) {
  try {
    recorded.sources.add(Sources::read(input));
  } catch (const InputError& error) {
    recorded.left_out.push_back(error.what());
  }
}

// One that os._exit ended left no end in its trace, but all that it had recorded.
static void add_end(const std::string& folder, Run& run) {
  const auto ended = ended_process_of(folder);
  for (Process& process : run.processes) {
    const bool is_of_folder = fs::path(process.file).parent_path() == fs::path(folder);
    if (!ended || !is_of_folder || process.pid != ended->pid || process.end != EndState::kRunning)
      continue;
    process.signal = ended->signal;
    if (ended->signal == 0) process.end = EndState::kExited;
  }
}

static void add_all(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

RecordedRun read_recorded_run(const std::vector<std::string>& inputs,
                              const std::set<std::string>& only) {
  const std::unique_ptr<Symbolizer> symbolizer = make_symbolizer();
  const SortedInputs sorted = sort_inputs(inputs, only);
  RecordedRun recorded;
  std::vector<std::string> unreadable;
  bool any = false;
  if (!sorted.binary.empty()) {
    any = read_or_note([&] { return read_traces(sorted.binary, &unreadable, symbolizer.get()); },
                       recorded);
  }
  add_all(recorded.left_out, unreadable);
  for (const std::string& text : sorted.text) {
    any |= read_or_note(
        [&] {
          return parse_trace_text(read_given_file(text, "check the name", kMaxTextBytes), text).run;
        },
        recorded);
  }
  for (const std::string& folder : sorted.folders) {
    add_all(recorded.left_out, untraced_notes(folder));
    add_end(folder, recorded.run);
  }
  for (const std::string& input : inputs) add_sources(input, recorded);
  recorded.sources.add(Sources::of_cells(recorded.run));
  if (!any) throw InputError(fmt::format("{}", fmt::join(recorded.left_out, "; ")));
  return recorded;
}

RecordedRun read_run_folder(const std::string& folder) {
  const bool has_trace =
      !files_in(folder, ".dtrace").empty() || !files_in(folder, ".trace").empty();
  if (has_trace) return read_recorded_run({folder});
  return {.left_out = untraced_notes(folder)};
}

}  // namespace dtypecheck::judging
