// frames.h: a call chain as cold code sees it, from a running thread or from a traceback. GIL held
// throughout.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracer/python/code_class.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

struct PythonFrame {
  const char* frame = nullptr;
  Object* code = nullptr;
  const void* instr = nullptr;
  int line = 0;  // of a traceback; 0: where `instr` is
  CodeClass code_class = 0;
  Ref owner;  // the frame object of a traceback

  CodeKind kind() const { return kind_of(code_class); }
};
using Frames = std::vector<PythonFrame>;  // innermost first

Frames own_frames();
Frames frames_from(const char* frame);  // this one and those that called it
Frames traceback_frames(Object* traceback);

Line line_of(Object* code, const void* instr);
// With the class in the function's name from before 3.11, too, where code objects do not know it.
Line line_of(const PythonFrame& frame);

struct Variable {
  std::string name;
  Object* value = nullptr;  // borrowed
};
// Parameters and locals of a function, with those that inner functions share; of a module or class
// body, its names.
std::vector<Variable> locals_of(const PythonFrame& frame);
Object* globals_of(const PythonFrame& frame);
// What a function or method was given first, `self` as a rule; null without one. Borrowed.
Object* first_argument(const PythonFrame& frame);
bool is_function_frame(const PythonFrame& frame);

// The frames that matter of a chain.
struct KeyFrames {
  const PythonFrame* user = nullptr;
  const PythonFrame* inner = nullptr;
};
KeyFrames key_frames(const Frames& frames);

}  // namespace dtypecheck::tracer::python
