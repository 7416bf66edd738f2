// python_sites.h: which Python line, and which nn.Module, is running an op, without the GIL on the
// hot path.
//
// ATen's Python bindings release the GIL around each op, but the calling thread is then blocked
// below its own Python frames: nobody else can pop or change them, and each frame holds strong
// references to its code object and its locals. So the own thread's chain of frames is read with
// plain loads. The layout of those structs differs by CPython version: python_offsets.h has one
// table a version, and start() refuses what it does not know or what a self test contradicts.
//
// Compiled into stage 2; CPython is reached by dlsym alone, so no Python headers are needed and one
// build serves all. C++17, either C++ ABI. Nothing here throws.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/process_facts.h"

namespace dtypecheck::tracer::python {

// True when the process has a CPython that can be read. Takes the GIL for its self test: call it
// outside of any lock, in a thread that runs Python. `why_not` gets one line: "CPython 3.15 is
// newer than this build knows". Without a CPython in the process: false, and why_not stays empty.
bool start(std::string* why_not);
bool active();
const char* version();  // "3.11.7"; "" without Python

// The innermost frame of this thread. Both null without frames. Hot.
// Different values mean that Python has run in between. Equal ones do NOT mean that it has not: the
// next call at the same depth gets the same memory, so two Linear layers in a row look alike. Only
// for ops nested in one op is nothing else needed.
struct Top {
  const void* frame = nullptr;
  const void* instr = nullptr;
  bool operator==(const Top& o) const { return frame == o.frame && instr == o.instr; }
};
Top top();

// What identifies a site. Pointers are valid only during the op that they were read in, and are not
// to be followed. The walk ends at the innermost frame of the user's own code, once the innermost
// module is known: what lies further out (the outermost module, the variable that holds it) is
// looked up by resolve(), whose frames are still the same.
struct FrameWalk {
  // Hash of all below; 0: no frames. Equal keys are the same site, also when a code object or a
  // module died in between.
  uint64_t key = 0;
  // The innermost frame of the user's own code; null: none on the stack.
  const void* user_code = nullptr;
  const void* user_instr = nullptr;
  // The innermost frame outside of torch itself; may equal the user's.
  const void* inner_code = nullptr;
  const void* inner_instr = nullptr;
  const void* module = nullptr;  // `self` of the innermost nn.Module call; null outside of modules
};
// Hot: no GIL, no allocation, no lock. False without frames.
bool walk(FrameWalk* out);

struct Line {
  std::string file;
  std::string function;
  int line = 0;
  // Of the call, from CPython 3.11 on, in bytes from 1; 0 when not known. It ends before
  // `end_column`, so many lines below.
  int column = 0;
  int end_column = 0;
  int more_lines = 0;
};
// Whose work a call chain does: an optimizer's own; or that of the closure which an optimizer was
// given to call, the forward pass mostly.
enum class Work : uint8_t { kOther, kOptimizer, kClosure };
// A cell of a notebook, which is no file: what stood in it when it ran.
struct Cell {
  std::string name;  // "In [2]"
  std::string source;
};
struct Site {
  Line line;  // the user's; the inner one when there is no user frame
  Line inner;
  Line caller;               // the user's that called the outermost module, where `line` is in it
  std::string module;        // "unet.down_blocks.0.resnets.1.conv1"
  std::string module_class;  // "Conv2d"
  Work work = Work::kOther;
  std::vector<Cell> new_cells;  // that no site before was in
};
// Cold: takes the GIL (never call it with a lock held). In the thread of the walk and during the
// same op. False when the interpreter is finalizing, or the thread's frames are no longer the
// walk's.
bool resolve(const FrameWalk& walk, Site* out);

// The name of the parameter whose TensorImpl is at `impl` ("unet.conv_in.weight"), from the module
// trees seen so far. Cold: takes the GIL. Empty when it is no known parameter.
std::string parameter_name(const void* impl);

// What this process holds of a DTensor, and how that is cut: "Shard(0)@1", the second shard of the
// first dimension; of a mesh of two dimensions "Replicate, Shard(0)@1". Of a collective's result
// that is waited for when it is read, what it gave, once that was done; null before. `tensor` is a
// Python object. Cold: takes the GIL.
struct LocalPart {
  const void* impl = nullptr;
  std::string cut;
};
LocalPart local_part(const void* tensor);

// What this process holds of one parameter in a FlatParameter of FullyShardedDataParallel: elements
// [offset, offset + count) of the flat one, none where another process holds it.
struct FlatPart {
  std::string name;  // of the parameter
  std::string cut;   // "Flat(78)@47+31": of 78 elements those from 47 on; "Flat(78)": none
  int64_t offset = 0, count = 0;
};
// Of the FlatParameter at `impl`; empty when it is none, or this torch says less of it. Cold: takes
// the GIL.
std::vector<FlatPart> flat_parts(const void* impl);
// Of a parameter that is a view of a FlatParameter (use_orig_params=True): how it is cut; else "".
std::string flat_cut(const void* impl);

// The ranks of a process group, "0-2,5", by its C++ object or its name; empty when
// torch.distributed does not know it. Cold: takes the GIL.
std::string ranks_of_group(const void* group);
std::string ranks_of_group(const std::string& name);

// Which rank torch.distributed says that this process is, and of how many; -1 and 0 where it has
// not been set up. Cold: takes the GIL.
struct World {
  long long rank = -1, size = 0;
};
World world();

// Tensors among the local variables of a Python frame, for a refusal that no op raised; in a method
// of an nn.Module the module's own parameters as well. Of a list
// of tensors, the first one and the first of each other dtype ("grads[3]"). A tensor subclass of
// the program's own has only its name.
struct LocalTensor {
  std::string name;
  std::string dtype;   // torch's: "float16"
  std::string device;  // "cpu", "cuda:0"
  std::vector<int64_t> shape;
  bool requires_grad = false;
  bool is_leaf = false;
  std::string parameter;
  const void* impl = nullptr;
  const void* grad_impl = nullptr;
  const void* memory = nullptr;  // of an array of NumPy's
  std::string grad_dtype;        // of .grad when it is there
};
struct Refusal {
  std::string type;  // "ValueError"
  std::string message;
  // Qualified name of the innermost frame that has tensors among its locals, looking four frames
  // out at most and not past the user's own code; of the innermost frame where none has.
  std::string function;
  Site site;
  std::vector<LocalTensor> tensors;
};
// The same of the calling thread's innermost Python frames, for a C++ exception thrown outside of
// every op. Takes the GIL if `may_wait`; otherwise false when this thread does not hold it.
bool describe_innermost_call(Refusal* out, bool may_wait = false);

// The tensors among what the innermost Python frame hands over to C at this moment: to a function,
// an operator, or a store (x[at] = value), in the order of the source; the object of a method comes
// first, of a store x.
struct HandedTensors {
  enum class To : uint8_t { kFunction, kOperator, kStore };
  struct Value {
    std::string keyword;               // "" of one by position
    std::vector<const void*> tensors;  // TensorImpls, which live as long as the call
    bool is_list = false;
  };
  To to = To::kFunction;
  std::vector<Value> values;  // with those that are no tensor
};
// False where it is not known; `values` is empty or not whole then. Takes the GIL.
bool tensors_handed_over(HandedTensors* out);

// Calls `seen` when an exception leaves the program uncaught (the audit event of sys.excepthook,
// which precedes every hook the program may have set), with the GIL held. Call once, after start().
void watch_uncaught(void (*seen)(const Refusal& refusal));

// Calls `before_end` when the interpreter's atexit handlers run: ops can be called for the last
// time. Call once, after start().
void watch_end(void (*before_end)());

// Facts that only Python objects hold, as they are now: accelerate's precision and kind of launch,
// read from accelerate.state without importing it, and sys.argv. Takes the GIL.
std::vector<std::pair<FactKey, std::string>> facts();

// True in a worker process of a torch DataLoader. Takes the GIL.
bool in_data_worker();

// What the program has printed and Python still holds.
void flush_output();

// Cells are reported again, for another trace file.
void forget_cells();

// After fork in the child: caches stay, the watcher stays. Before exec or at exit: take no GIL from
// now on.
void stop();

}  // namespace dtypecheck::tracer::python
