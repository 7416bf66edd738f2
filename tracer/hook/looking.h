// looking.h: how LibTorch comes to call us at each op, and when it does not.
#pragma once

namespace dtypecheck::tracer {

struct ThreadState;
struct Frame;

// From now on ops are seen: handed to LibTorch at the trampoline of stage 1, or where that does not
// work (another observer is there, LibTorch asks its own function) by a callback registered with
// LibTorch, which costs more.
void start_looking();
void look_in_child();  // after fork, in the only thread: what others held is free, and its ops are
                       // new
void make_room_for_observer();  // somebody else is about to register a callback

void set_recording(bool on);  // --steady pauses and resumes recording
void leave(bool out);         // for benchmarks: LibTorch as if we had never come, and back
bool is_looking();
bool wake_up();  // a throw: look again. True when it had looked away

// Hot. An op that has called nothing worth recording so far is not expected to: what it calls now
// is not announced to us at all. Every so often it is, and if there is something then, it is
// announced from then on.
void mute_inner_calls(ThreadState* state, const Frame& frame);

}  // namespace dtypecheck::tracer
