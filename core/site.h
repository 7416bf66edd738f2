// site.h: where in a program an op was called.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/codes.h"

namespace dtypecheck {

const char* phase_name(Phase phase);  // "load", "forward", …; "unknown"

// From where to where a call reaches that begins on a line. Columns are bytes of UTF-8 and count
// from 1; `end_column` is that of the byte behind. CPython tells it from 3.11 on.
struct Extent {
  int column = 0;
  int end_line = 0;
  int end_column = 0;

  bool known() const { return column > 0; }
  bool operator==(const Extent&) const = default;
};

// One source line. Empty file: not known (then function may still hold "libfoo.so+0x1a2b").
struct SourceLine {
  std::string file;
  int line = 0;
  std::string function;
  Extent extent;  // of the call there; two calls of one line are at the same line all the same

  bool known() const { return !file.empty(); }
  bool operator==(const SourceLine& other) const {
    return line == other.line && file == other.file && function == other.function;
  }
};

// A line is the user's own where there is one (outside site-packages and LibTorch): the line that
// they can edit. The inner line is the innermost one outside of torch, in diffusers, say; it equals
// the line when no library lies between. In an extension of a Python program, the line is C++ and
// the caller is the line of Python that called it; without debug information, the line is Python's
// and the inner one has the name of the function. In a model's own code, the caller is the user's
// line that called the outermost module.
struct Site {
  SourceLine line;
  SourceLine inner;
  SourceLine caller;
  std::string module;        // "unet.time_embedding.linear_1"; empty outside of every module
  std::string module_class;  // "Linear"
  Phase phase = Phase::kUnknown;

  bool operator==(const Site&) const = default;
};

// How people are shown a file: relative to the folder that dtypecheck runs in when it lies below,
// and what a package manager installed from the package's name on: "diffusers/models/….py".
std::string shown_path(const std::string& file);
// The file as it was recorded, or relative to the folder when it lies below it.
std::string path_below(std::string folder, const std::string& file);

const SourceLine& best_line(const Site& site);  // the user's, else the inner one

// "train.py:91", the best line as it is shown; "" when it is not known.
std::string place(const Site& site);
// The same with the file as it was recorded: "/home/me/train.py:91".
std::string recorded_place(const Site& site);
// " at train.py:91", or in a library " at embeddings.py:12, called from train.py:91", and in an
// extension; or "".
std::string at_place(const Site& site);
bool is_cpp_file(std::string_view file);  // ends as sources of C++ and CUDA do
// The line lies in a package that pip or the system installed.
bool is_installed(const SourceLine& line);
// The innermost line is another one than the user's.
bool has_inner(const Site& site);
// The op is called by the user's own line, which they can edit, not by a library below it.
bool is_users_own(const Site& site);

}  // namespace dtypecheck
