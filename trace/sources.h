// sources.h: the source lines that a run's op calls were made from, kept in its folder, so that a
// report that is made elsewhere or later shows what ran.
//
//   <run folder>/sources.json
//     {"files": [{"path": "/home/me/train.py", "hash": "0123456789abcdef", "lines": {"40": "…"}}]}
//
// `hash` is FNV-1a of the whole file. Of each line where an op was called the lines around it are
// kept as well; of libraries only those of calls that threw. A notebook's cell is a file of its
// own, "In [2]", whose text came with the trace. A merged trace, all.dtrace, has those of its runs
// beside it, in all.dtrace.sources.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/run.h"

namespace dtypecheck {

class Sources {
 public:
  // Of the files that have not changed since the run began: others may not be what ran.
  static Sources of_run(const Run& run, std::filesystem::file_time_type started_at);
  // Of the notebooks' cells that the trace itself has.
  static Sources of_cells(const Run& run);
  // What the run folder has, or what stands beside the trace; nothing where there is none. Throws
  // InputError where it is no such file.
  static Sources read(const std::string& run);
  // `name` stands for the file in messages.
  static Sources parse(std::string_view text, const std::string& name);

  // To the run folder, or beside the trace. Writes no file where there are no lines, and removes
  // what stood beside a trace of that name before. Throws OutputError.
  void write(const std::string& run) const;

  // The line as it stands in the file, without its end; "" when it was not kept.
  std::string line(const std::string& file, int number) const;
  // The text is what was run as this file. False where nothing of it was kept.
  bool is_text_of(const std::string& file, std::string_view text) const;
  // The same of what the file holds now.
  bool is_unchanged(const std::string& file) const;

  void add(Sources&& more);  // of another run; what is known of a file stays

 private:
  struct File {
    uint64_t hash = 0;
    std::map<int, std::string> lines;
  };
  std::map<std::string, File> files_;
};

}  // namespace dtypecheck
