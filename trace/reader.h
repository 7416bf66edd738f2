// trace_reader.h: trace files to a Run. Trusts nothing that stands in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/run.h"
#include "trace/format.h"

namespace dtypecheck {

// Return addresses of C++ programs become lines here; see symbols/. The reader calls it for each
// address once.
class Symbolizer {
 public:
  virtual ~Symbolizer() = default;
  // address lies in [begin, end) of a file that was mapped from file_offset on. Never throws;
  // function + offset ("trainer+0x1a2b") in SourceLine::function with no file when there is no
  // debug information.
  virtual SourceLine resolve(const std::string& path, uint64_t begin, uint64_t file_offset,
                             uint64_t address) = 0;
};

// Appends one process and its op calls to `run`. A file that holds a usable header and is then cut
// short, bit-flipped or uncommitted gives what can be read, and Process::damaged says what was
// wrong. Throws InputError when nothing can be read: no such file, empty, another format, another
// version, another byte order; the message names file, what was expected, what came and the way
// out. A signature that returned at times and threw at others is two op calls, and each of its
// further messages one more (trace_signatures.h). Facts "argv" and "executable" become members of
// Process; "keep-going" = "on" is added when the results of the run are not valid. Without a
// symbolizer the function of an address is "path+0xoffset".
void read_trace_file(const std::string& path, Run& run, Symbolizer* symbolizer = nullptr);

// The same from memory, for tests and the fuzz target; `name` stands for the path in messages.
void read_trace_bytes(const void* data, size_t size_bytes, const std::string& name, Run& run,
                      Symbolizer* symbolizer = nullptr);

// The traces in a folder, sorted by name, or the one file that is named. Throws InputError where
// the folder has none.
std::vector<std::string> trace_files(const std::string& input);

// As it stands there; zeros for what is no trace. Throws InputError where the file cannot be
// opened.
trace::FileHeader read_trace_header(const std::string& path);

// Files and folders (every *.dtrace in them, sorted by name) to one run. A file that cannot be read
// is left out and noted in `unreadable` ("path: reason"); throws InputError when none can be.
Run read_traces(const std::vector<std::string>& inputs,
                std::vector<std::string>* unreadable = nullptr, Symbolizer* symbolizer = nullptr);

}  // namespace dtypecheck
