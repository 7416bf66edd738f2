// progress.h: what takes long says so, on a terminal alone.
#pragma once

#include <memory>
#include <string>

namespace dtypecheck {

// From two seconds on, while it lives, the terminal at stderr has a line "dtypecheck: reading 12
// traces … 4 s" that counts on and is gone at the end. Where stderr is no terminal, nothing at all.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  void now(std::string what);  // what comes next; the seconds go on

 private:
  struct Line;
  std::unique_ptr<Line> line_;
};

}  // namespace dtypecheck
