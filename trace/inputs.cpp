// trace_inputs.cpp: trace files and folders of them, for trace_reader.h.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>

#include "platform/error.h"
#include "platform/files.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace dtypecheck {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("{}: {}", path, why));
}

std::vector<std::string> traces_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".dtrace") paths.push_back(entry->path().string());
  }
  if (error) refuse(folder, fmt::format("cannot be read: {}", error.message()));
  if (paths.empty()) {
    refuse(folder,
           "a folder without *.dtrace files, expected the folder of a run; "
           "record one with dtypecheck trace -- PROGRAM");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_merged_trace(const std::string& path) {
  try {
    return read_trace_header(path).flags & trace::kFlagMerged;
  } catch (const InputError&) {
    return false;  // reading all of it says why
  }
}

// Collects what can be read, and why the rest cannot.
class Inputs {
 public:
  explicit Inputs(Symbolizer* symbolizer) : symbolizer_(symbolizer) {}

  void read(const std::string& input) {
    try {
      if (!is_folder(input)) return read_file(input);
      for (const std::string& path : traces_in(input)) read_file(path);
    } catch (const InputError& error) {
      unreadable_.push_back(error.what());
    }
  }

  // A merged trace may lie beside those that it was made of: a process is read once.
  void read_merged() {
    for (const std::string& path : merged_) {
      note_instead_of_throwing([&] {
        Run more;
        read_trace_file(path, more, symbolizer_);
        const size_t known = known_of(more);
        if (known == more.processes.size()) return;
        if (known > 0) {
          refuse(path, fmt::format("{} of its {} processes are in another trace that is read; name "
                                   "it, or the others, alone",
                                   known, more.processes.size()));
        }
        read_trace_file(path, run_, symbolizer_);
      });
    }
  }

  Run take_run() { return std::move(run_); }
  const std::vector<std::string>& unreadable() const { return unreadable_; }

  void require_some() const {
    if (!run_.processes.empty()) return;
    if (unreadable_.empty())
      throw InputError("no trace given, expected *.dtrace files or the folder of a run");
    const size_t more = unreadable_.size() - 1;
    throw InputError(unreadable_.front() +
                     (more == 0 ? "" : fmt::format(" (and {} more that cannot be read)", more)));
  }

 private:
  void read_file(const std::string& path) {
    std::error_code ignored;
    if (!seen_.insert(fs::weakly_canonical(path, ignored).string()).second) return;
    if (is_merged_trace(path)) return merged_.push_back(path);
    note_instead_of_throwing([&] { read_trace_file(path, run_, symbolizer_); });
  }

  template <typename Read>
  void note_instead_of_throwing(const Read& read) {
    try {
      read();
    } catch (const InputError& error) {
      unreadable_.push_back(error.what());
    }
  }

  size_t known_of(const Run& more) const {
    const auto identity = [](const Process& process) {
      return std::tuple(std::string_view(process.host), process.pid, process.started_unix_ns);
    };
    return static_cast<size_t>(
        std::count_if(more.processes.begin(), more.processes.end(), [&](const Process& process) {
          return std::any_of(
              run_.processes.begin(), run_.processes.end(),
              [&](const Process& other) { return identity(other) == identity(process); });
        }));
  }

  Symbolizer* symbolizer_;
  Run run_;
  std::vector<std::string> unreadable_, merged_;
  std::set<std::string>
      seen_;  // a file that is named, and lies in a folder that is named, is read once
};

}  // namespace

std::vector<std::string> trace_files(const std::string& input) {
  return is_folder(input) ? traces_in(input) : std::vector<std::string>{input};
}

void read_trace_file(const std::string& path, Run& run, Symbolizer* symbolizer) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (status.type() == fs::file_type::not_found)
    refuse(path, "no such file or folder, expected a trace");
  if (fs::exists(status) && !fs::is_regular_file(status))
    refuse(path, "not a regular file, expected a trace");
  const std::string bytes = dtypecheck::read_file(path, trace::kMaxFileBytes);
  read_trace_bytes(bytes.data(), bytes.size(), path, run, symbolizer);
}

trace::FileHeader read_trace_header(const std::string& path) {
  trace::FileHeader header{};
  const OpenFile file = open_file(path);
  const ssize_t got = ::pread(file.fd, &header, sizeof header, 0);
  const bool is_trace =
      got == sizeof header && std::memcmp(header.magic, trace::kMagic, sizeof trace::kMagic) == 0;
  return is_trace ? header : trace::FileHeader{};
}

Run read_traces(const std::vector<std::string>& inputs, std::vector<std::string>* unreadable,
                Symbolizer* symbolizer) {
  Inputs all(symbolizer);
  for (const std::string& input : inputs) all.read(input);
  all.read_merged();
  all.require_some();
  if (unreadable != nullptr) *unreadable = all.unreadable();
  return all.take_run();
}

}  // namespace dtypecheck
