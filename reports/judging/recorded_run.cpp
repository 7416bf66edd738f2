#include "reports/judging/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/printable.h"
#include "platform/program.h"
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
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> traces_of_folder(const std::string& folder) {
  return files_in(folder, ".dtrace");
}

static std::string without_prefix(const std::string& line) {
  const std::string_view prefix = "dtypecheck: ";
  return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
}

// What stage 1 writes of each program that is started in an environment without it, with the path
// and the arguments behind tabs. Programs that will run no op are no loss.
static std::optional<std::string> note_text(const std::string& line) {
  constexpr std::string_view kStarted = "started without LD_PRELOAD:\t";
  const std::string text = without_prefix(line);
  if (!text.starts_with(kStarted)) return text;
  std::vector<std::string> words;
  std::istringstream rest(text.substr(kStarted.size()));
  for (std::string word; std::getline(rest, word, '\t');) words.push_back(word);
  if (words.empty()) return std::nullopt;
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  if (!may_run_libtorch(words.front(), arguments)) return std::nullopt;
  return fmt::format(
      "{} was started in an environment without LD_PRELOAD and DTYPECHECK_RUN, and ran "
      "untraced; start it with the environment of the process that starts it",
      fmt::join(arguments.empty() ? words : arguments, " "));
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
      const auto text = note_text(line);
      if (text) notes.push_back(printable(fmt::format("process {}: {}", pid, *text)));
    }
  }
  std::ranges::sort(notes);
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
  move_times(more.health, into.health);
  for (HealthStep step : more.health_steps) {
    step.process += processes;
    into.health_steps.push_back(step);
  }
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

static SortedInputs sort_inputs(const std::vector<std::string>& inputs) {
  SortedInputs sorted;
  for (const std::string& input : inputs) {
    if (!is_folder(input)) {
      (is_text_trace(input) ? sorted.text : sorted.binary).push_back(input);
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
    const bool is_of_folder =
        fs::path(process.file).parent_path() == fs::path(folder + "/x").parent_path();
    if (!ended || !is_of_folder || process.pid != ended->pid || process.end != EndState::kRunning)
      continue;
    process.signal = ended->signal;
    if (ended->signal == 0) process.end = EndState::kExited;
  }
}

static void add_all(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// What is missing beside the files that could not be read. A merged trace stands for the files that
// it was made of, which may be gone.
static void add_missing(RecordedRun& recorded, const std::vector<std::string>& folders,
                        bool is_one_machine) {
  std::vector<ExpectedRun> expected;
  for (const std::string& folder : folders) {
    expected.push_back(expected_of(folder));
    expected.back().is_one_machine = is_one_machine;
  }
  add_all(recorded.left_out, missing_processes(recorded.run, expected));
}

static RecordedRun read_inputs(const std::vector<std::string>& inputs) {
  const std::unique_ptr<Symbolizer> symbolizer = make_symbolizer();
  const SortedInputs sorted = sort_inputs(inputs);
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

static std::vector<std::string> folders_of(const std::vector<std::string>& inputs) {
  std::vector<std::string> folders;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(folders),
               [](const std::string& input) { return is_folder(input); });
  return folders;
}

RecordedRun read_recorded_run(const std::vector<std::string>& inputs) {
  RecordedRun recorded = read_inputs(inputs);
  add_missing(recorded, folders_of(inputs), /*is_one_machine=*/false);
  return recorded;
}

RecordedRun read_one_input(const std::string& input) {
  return is_folder(input) ? read_recorded_run({input}) : read_inputs({input});
}

RecordedRun read_run_folder(const std::string& folder) {
  const bool has_trace =
      !files_in(folder, ".dtrace").empty() || !files_in(folder, ".trace").empty();
  if (!has_trace) return {.left_out = untraced_notes(folder)};
  RecordedRun recorded = read_inputs({folder});
  add_missing(recorded, {folder}, /*is_one_machine=*/true);
  return recorded;
}

}  // namespace dtypecheck::judging
