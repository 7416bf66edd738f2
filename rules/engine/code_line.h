// code_line.h: one statement of a program, in Python or in C++, read as tokens and no further than
// cures need: calls with their arguments, operators with their two sides, subscripts, assignments.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/line_text.h"
#include "core/site.h"

namespace dtypecheck::rules {

struct Span {  // bytes of the text
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const Span&) const = default;
};

struct CodeLine {
  struct Argument {
    std::string keyword;  // "" where it is given by its position
    Span value;
  };
  struct Call {
    Span callee;  // "F.mse_loss", "nn.Linear(4, 4)"
    Span whole;
    std::vector<Argument> arguments;
    bool has_star = false;  // "*args": what stands where is not known
  };
  struct Operation {
    std::string sign;  // "@", "+=", "=": of an assignment the left side is the target
    Span left, right;

    bool is_unary() const { return left.begin == left.end; }  // "-x", "~x": in Python alone
  };
  struct Subscript {
    Span base, index, whole;
  };

  std::string text;
  bool is_cpp = false;
  std::vector<Call> calls;
  std::vector<Operation> operations;
  std::vector<Subscript> subscripts;
  // Where the interpreter says that the op was called; empty where it does not.
  Span focus;

  CodeLine(std::string text, bool is_cpp);
  // The line, and those after it up to where its brackets close.
  static CodeLine at(const LineText& line_text, const SourceLine& line);

  // The same text with nothing in it but the call, operation or subscript of the focus; nullopt
  // where the focus is none of these.
  std::optional<CodeLine> focused() const;

  std::string_view text_of(Span span) const {
    return std::string_view(text).substr(span.begin, span.end - span.begin);
  }
  // The parts of a list, tuple or braces: "[a, b]"; the span itself where it is none.
  std::vector<Span> elements(Span span) const;
  // A name, an attribute, a call, a subscript, a bracket: ".to()" can be appended to it as it is.
  bool is_primary(Span span) const;
  // No literal, so that it may be a tensor: not "0.5", "-1", "(2, 3)", "True", "torch.float16".
  bool may_be_tensor(Span span) const;
  // Its text is on one line and stands there once, as a word of its own.
  bool is_unique(Span span) const;
};

// The file ends as sources of C++ and CUDA do.
bool is_cpp_file(std::string_view file);

}  // namespace dtypecheck::rules
