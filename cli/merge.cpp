// dtypecheck merge: the traces of many processes as one file.
#include "trace/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>
#include <tuple>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/progress.h"
#include "platform/terminal.h"
#include "reports/formatting.h"
#include "reports/judging/recorded_run.h"
#include "reports/summary.h"
#include "symbols/symbols.h"
#include "trace/format.h"
#include "trace/run_folder.h"
#include "trace/sources.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

constexpr unsigned kMostThreads = 8;

struct MergeCommand {
  std::vector<std::string> inputs;
  std::string output;
};

struct Missing {
  std::string name, why;
};

// Neighbours in rank have op calls in common as a rule, and what is said of them is then short;
// traces that are merged already come behind those that may be in them.
struct Input {
  std::string path;
  bool is_merged = false;
  int rank = -1;
  std::string host;
  int64_t pid = 0, started = 0;
  uint64_t used_bytes = 0;

  auto key() const { return std::tie(is_merged, rank, path); }
  // Who wrote it. A copy of a trace has the same, and may have been made before the end.
  auto identity() const { return std::tie(host, pid, started); }
};

Input input_of(const std::string& path) {
  const trace::FileHeader header = read_trace_header(path);
  std::error_code unknown;
  const uint64_t there = fs::file_size(path, unknown);
  return {.path = path,
          .is_merged = (header.flags & trace::kFlagMerged) != 0,
          .rank = header.rank,
          .host = std::string(header.host, ::strnlen(header.host, sizeof header.host)),
          .pid = header.pid,
          .started = header.start_unix_ns,
          .used_bytes = unknown ? 0 : std::min(header.used_bytes, there)};
}

// Of each process the trace that has the most.
std::vector<std::string> drop_copies(std::vector<Input>& inputs) {
  std::vector<Input> kept;
  std::vector<std::string> dropped;
  std::map<std::tuple<std::string, int64_t, int64_t>, size_t> known;
  for (Input& input : inputs) {
    const bool is_process = !input.is_merged && input.pid != 0;
    const auto [found, is_new] =
        is_process ? known.emplace(input.identity(), kept.size()) : std::pair(known.end(), true);
    if (is_new) {
      kept.push_back(std::move(input));
      continue;
    }
    Input& other = kept[found->second];
    if (other.used_bytes < input.used_bytes) std::swap(other, input);
    dropped.push_back(input.path);
  }
  inputs = std::move(kept);
  return dropped;
}

std::vector<Input> inputs_of(const MergeCommand& command, std::vector<Missing>& missing) {
  std::vector<Input> inputs;
  const auto add = [&](const std::string& path) {
    std::error_code none;
    if (fs::equivalent(path, command.output, none)) return;  // it is made anew
    try {
      inputs.push_back(input_of(path));
    } catch (const InputError& error) {
      missing.push_back({path, error.what()});
    }
  };
  for (const std::string& input : command.inputs) {
    if (!is_folder(input)) {
      add(input);
      continue;
    }
    const std::vector<std::string> there = judging::traces_of_folder(input);
    for (const std::string& path : there) add(path);
    const bool has_merged =
        std::ranges::any_of(inputs, [](const Input& known) { return known.is_merged; });
    for (const std::string& name : expected_of(input).traces) {
      const std::string path = (fs::path(input) / name).string();
      if (has_merged || std::find(there.begin(), there.end(), path) != there.end()) continue;
      missing.push_back({path, "was there when the run ended and is missing now"});
    }
    for (const std::string& note : judging::untraced_notes(input)) missing.push_back({input, note});
  }
  std::ranges::sort(inputs, [](const Input& a, const Input& b) { return a.key() < b.key(); });
  return inputs;
}

// A share of the inputs, merged by one thread.
struct Share {
  std::unique_ptr<Symbolizer> symbolizer = make_symbolizer();
  TraceMerger merger{symbolizer.get()};
  std::vector<Missing> missing;
  std::string failure;

  void add(const Input* begin, const Input* end) {
    try {
      for (const Input* input = begin; input != end; ++input) add(input->path);
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }

 private:
  void add(const std::string& path) {
    std::string bytes;
    try {
      bytes = read_file(path, trace::kMaxFileBytes);
      if (bytes.empty()) throw InputError(fmt::format("{}: empty", path));
    } catch (const InputError& error) {
      missing.push_back({path, error.what()});
      return;
    }
    try {
      merger.add(bytes, path);
    } catch (const InputError& error) {
      missing.push_back({path, error.what()});
    }
  }
};

void throw_if_failed(const Share& share) {
  if (!share.failure.empty()) throw InputError(share.failure);
}

// Each thread merges neighbours; what they made is merged in their order.
void merge_all(const std::vector<Input>& inputs, Share& all) {
  const size_t count = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const auto merged =
      std::ranges::find_if(inputs, [](const Input& input) { return input.is_merged; });
  const size_t plain = static_cast<size_t>(merged - inputs.begin());
  const auto begin_of = [&](size_t share) { return inputs.data() + plain * share / count; };
  std::vector<Share> others(count - 1);
  std::vector<std::thread> threads;
  for (size_t i = 0; i + 1 < count; ++i) {
    threads.emplace_back([&, i] { others[i].add(begin_of(i + 1), begin_of(i + 2)); });
  }
  all.add(begin_of(0), begin_of(1));
  for (std::thread& thread : threads) thread.join();
  throw_if_failed(all);
  for (Share& other : others) {
    throw_if_failed(other);
    if (other.merger.process_count() > 0) all.merger.add(other.merger.bytes(), "a part");
    all.missing.insert(all.missing.end(), other.missing.begin(), other.missing.end());
  }
  all.add(inputs.data() + plain, inputs.data() + inputs.size());
  throw_if_failed(all);
}

void say_first(const std::vector<std::string>& lines, const char* what) {
  if (lines.empty()) return;
  print_line(fmt::format("{}{}{}", lines.front(),
                         lines.size() == 1 ? "" : fmt::format(" (and {} more)", lines.size() - 1),
                         what));
}

// The lines that the runs kept, for a report of the merged trace to quote.
Sources sources_of(const std::vector<std::string>& inputs, std::vector<Missing>& missing) {
  Sources all;
  for (const std::string& input : inputs) {
    try {
      all.add(Sources::read(input));
    } catch (const InputError& error) {
      missing.push_back({input, error.what()});
    }
  }
  return all;
}

int run(const MergeCommand& command) {
  std::vector<Missing> missing;
  std::vector<Input> inputs = inputs_of(command, missing);
  std::vector<std::string> copies = drop_copies(inputs);
  auto progress = std::make_unique<Progress>(
      fmt::format("merging {}", reports::counted(inputs.size(), "trace")));
  Share all;
  merge_all(inputs, all);
  missing.insert(missing.end(), all.missing.begin(), all.missing.end());
  if (all.merger.process_count() == 0) {
    throw InputError(missing.empty() ? "no trace given, expected *.dtrace files or run folders"
                                     : missing.front().why);
  }
  const size_t processes = all.merger.process_count();
  const Sources sources = sources_of(command.inputs, missing);
  std::vector<std::string> reasons;
  for (const Missing& one : missing) {
    const std::string prefix = one.name + ": ";
    all.merger.add_missing(one.name,
                           one.why.starts_with(prefix) ? one.why.substr(prefix.size()) : one.why);
    reasons.push_back(one.why);
  }
  const std::string bytes = all.merger.bytes();
  replace_file(command.output, {bytes}, {.mode = 0600});
  sources.write(command.output);
  if (reasons.empty()) {  // each was read, and says of itself what it lacks
    const judging::RecordedRun merged = judging::read_one_input(command.output);
    reasons = reports::what_is_missing({.run = merged.run, .left_out = merged.left_out});
  }
  progress.reset();
  const auto& twice = all.merger.seen_twice();
  copies.insert(copies.end(), twice.begin(), twice.end());
  say_first(copies, ": its processes were read already and count once");
  say_first(reasons, "; what could be read is merged");
  print_line(fmt::format("{} of {} in {}", reports::counted(all.merger.op_call_count(), "op call"),
                         reports::counted(processes, "process"), command.output));
  return reasons.empty() ? kClean : kCouldNotDo;
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<MergeCommand>();
  options.add("RUN", command->inputs, "run folders, *.dtrace files, merged ones too")
      .type("")
      .required();
  options.add("-o,--output", command->output, "the merged trace").type("FILE").required();
  return [command] { return run(*command); };
}

}  // namespace

extern const Command merge_command = {
    .name = "merge",
    .summary = "merge the traces of many processes into one",
    .arguments = "[OPTIONS] RUN... -o FILE",
    .examples = "  dtypecheck merge dtypecheck-runs/* -o all.dtrace\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
