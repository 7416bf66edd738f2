// trace_inputs.cpp: trace files and folders of them, for trace_reader.h.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

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

// Collects what can be read, and why the rest cannot.
class Inputs {
 public:
  explicit Inputs(Symbolizer* symbolizer) : symbolizer_(symbolizer) {}

  void read(const std::string& input) {
    try {
      std::error_code ignored;
      if (!fs::is_directory(input, ignored)) return read_file(input);
      for (const std::string& path : traces_in(input)) read_file(path);
    } catch (const InputError& error) {
      unreadable_.push_back(error.what());
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
    try {
      read_trace_file(path, run_, symbolizer_);
    } catch (const InputError& error) {
      unreadable_.push_back(error.what());
    }
  }

  Symbolizer* symbolizer_;
  Run run_;
  std::vector<std::string> unreadable_;
  std::set<std::string>
      seen_;  // a file that is named, and lies in a folder that is named, is read once
};

}  // namespace

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

Run read_traces(const std::vector<std::string>& inputs, std::vector<std::string>* unreadable,
                Symbolizer* symbolizer) {
  Inputs all(symbolizer);
  for (const std::string& input : inputs) all.read(input);
  all.require_some();
  if (unreadable != nullptr) *unreadable = all.unreadable();
  return all.take_run();
}

}  // namespace dtypecheck
