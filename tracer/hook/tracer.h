// tracer.h: the state of stage 2 in this process. One object, never destroyed: ops run after static
// destructors too.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "trace/format.h"
#include "trace/writer.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/hook/origins.h"
#include "tracer/preload/stage1.h"

namespace dtypecheck::tracer {

struct Options {
  bool steady = false;
  int look_away_after = -1;  // with steady, for tests: looks at so many steps, and then no more
  bool check_values = false;
  bool values = false;      // digests of them
  bool health = false;      // numbers of modules over the run
  bool keep_going = false;  // with fix as well: both stand in the dispatcher
  bool fix = false;
  bool draws = false;     // random numbers are recorded, or another run's are given
  bool in_float = false;  // some modules compute in Float
  bool seeds = false;     // torch's random numbers on the CPU are seeded with `seed`
  uint32_t seed = 0;
  bool nudge = false;           // with keep_going: drawn numbers are off in their last bits
  bool pretended = false;       // on a GPU that computes nothing
  uint32_t most_steps = 0;      // the program is ended after so many; 0: it is not
  uint32_t timeline_steps = 0;  // 0: none is wanted
  uint32_t leave_after = 0;     // recording ends after so many steps, and the program goes on
};

// What is looked at step by step: all of the first steps, and then one in as many.
constexpr uint32_t kEveryStepUntil = 16;

struct Tracer {
  const DtypecheckStage1* stage1 = nullptr;
  Options options;
  bool python = false;  // lines come from CPython frames
  std::atomic<bool> on{
      false};  // off for good after trouble, and in a forked child until its first op
  std::atomic<bool> looks{false};         // at values, or at the clock, in each op
  std::atomic<bool> forked{false};        // in such a child
  std::atomic<uint32_t> step{0};          // optimizer steps completed
  std::atomic<bool> trained{false};       // a backward pass was seen
  std::atomic<bool> forward_seen{false};  // an op in a module, or one that autograd recorded
  std::atomic<uint32_t> new_signatures{0};
  bool data_worker = false;  // all that this process does is load data
  trace::TraceFile file;

  KeyedTable<trace::SignatureRecord*, 1 << 16> signatures;
  KeyedTable<uint32_t, 1 << 15> sites;       // site key to site id
  KeyedTable<uint32_t, 1 << 14> lines;       // file, function and line to the id of a line record
  KeyedTable<uint32_t, 1 << 12> messages;    // (signature, message) pairs that were written
  KeyedTable<uint32_t, 1 << 14> parameters;  // storage of a parameter to its name
  Origins origins;
  std::atomic<uint32_t> makers[1 << 16];  // by signature: describe.h, maker_of()

  uint32_t current_step() const {
    return forward_seen.load(std::memory_order_relaxed) ? step.load(std::memory_order_relaxed) + 1
                                                        : 0;
  }
  // Hot. True while this process records; a forked child begins with its first op, so that one
  // which runs none leaves no file.
  bool is_on() {
    return on.load(std::memory_order_relaxed) ||
           (forked.load(std::memory_order_relaxed) && begin_in_child());
  }
  bool may_record() const {
    return on.load(std::memory_order_relaxed) || forked.load(std::memory_order_relaxed);
  }
  bool begin_in_child();
};

// Zero pages until used, and no destructor: ops run after ours would have. Its address is known
// when this is compiled, which a pointer's would not be.
extern std::aligned_storage_t<sizeof(Tracer), 64> tracer_room;
[[maybe_unused]] static Tracer& tracer = reinterpret_cast<Tracer&>(tracer_room);

// Recording ends, as by the exception of this text; "" for none.
void suspend(const char* uncaught);

}  // namespace dtypecheck::tracer
