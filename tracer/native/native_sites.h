// native_sites.h: which line of a C++ program runs an op, cheaply enough to ask at each op.
//
// A real unwind costs a microsecond a frame, because it interprets the unwind tables anew each
// time. What the tables say of a return address never changes, so it is read once and kept in a
// hash table (frame_rule.h); from then on a frame costs one look-up and one or two loads.
//
// The obvious way that is cheaper still, to scan the stack for words that point into the program's
// code, is wrong more often than it looks: LibTorch's frames have uninitialised parts where return
// addresses of earlier, deeper calls survive, and then two lines get one key.
//
// What is user code: the program itself and every library that is not LibTorch's, the C/C++ run
// time's or ours. In a Python program: its extensions, libraries that are linked to LibTorch and
// that no installed package brought; a walk ends at the interpreter, which called them.
//
// C++17, either C++ ABI, no LibTorch. Nothing here throws.
#pragma once

#include <cstdint>

namespace dtypecheck::tracer::native {

struct Mapping {
  uint64_t begin, end, file_offset;
  char path[512];  // empty when it does not fit
};

// Loads what the first unwind needs; call it once, outside of the hot path.
void start();
// Of a Python program. Before it, and while no extension is loaded, scan_key() is not to be called.
void start_below_python();
// Hot: an extension is loaded, as far as look_for_extensions() has seen. That is cheap as long as
// no library was loaded since.
bool has_extensions();
void look_for_extensions();
// Forgets what was learned when a library was closed, since another may lie there now. Cheap when
// none was.
void rescan();

// Hot: no allocation, and a lock only at a return address that was not seen before. A hash of the
// return addresses of the innermost kKeyFrames user frames: many, because the innermost ones may
// lie in functions of LibTorch's headers that were compiled into the program. A Sequential in a
// build without inlining has nine of them between the module and the line that calls it. 0 when
// there is no user frame within limit_bytes up the stack, or when the calling thread is not on the
// stack that it was born with (a coroutine).
constexpr int kKeyFrames = 12;
uint64_t scan_key(uint32_t limit_bytes = 1u << 20);

// Cold: unwinds, and gives the return addresses of the innermost user frames, nearest first.
// Returns how many (<= room).
int unwind(uint64_t* addresses, int room);
// Cold: the same of all frames, whoever's they are, in a Python program up to the interpreter. Of
// those that are left then, `users` is how many are the innermost up to the outermost user frame.
int unwind_all(uint64_t* addresses, int room, int* users);

// The mapping that an address lies in; false when none does.
bool find_mapping(uint64_t address, Mapping* out);

// False for LibTorch, CUDA, maths and run-time libraries and libpython, by path.
bool is_user_file(const char* path);

// What scan_key() has to equal, by a real unwind. Slow: for tests.
uint64_t unwound_key();
// How often scan_key() met a frame that it could not walk over and unwound for good.
uint64_t scan_unwinds();

}  // namespace dtypecheck::tracer::native
