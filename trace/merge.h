// merge.h: the traces of many processes to one, in which equal op calls are stored once, with the
// processes that made them. Traces come one at a time and are forgotten, so that memory grows with
// the op calls that differ, not with the number of processes.
//
// Op calls are equal where the op, its place, phase and parent, the autocast state, and the dtypes,
// kinds and device types of the operands are, which is what the tracer takes for one signature. A
// GPU's number is none of it: each rank of a node has its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace dtypecheck {

class TraceMerger {
 public:
  explicit TraceMerger(Symbolizer* symbolizer = nullptr);
  ~TraceMerger();

  // All processes of a trace, which may be a merged one; `name` is where it was read from. Throws
  // InputError where nothing can be read, or where some but not all of a merged trace's processes
  // are there already.
  void add(std::string_view bytes, const std::string& name);
  // What is known to belong to the run and is missing in it: a report says so.
  void add_missing(const std::string& name, const std::string& why);

  size_t process_count() const;
  size_t op_call_count() const;
  // Names of traces whose processes were there already: they count once.
  const std::vector<std::string>& seen_twice() const;

  // The merged trace. Throws InputError where it is larger than a trace may be.
  std::string bytes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dtypecheck
