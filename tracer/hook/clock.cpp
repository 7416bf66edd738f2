#include "tracer/hook/clock.h"

#include <time.h>

#include "tracer/hook/facts.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer {
namespace {

// The first call of a signature is longer by what it costs to write it down.
constexpr uint64_t kTimedOneIn = 16, kTimedFirst = 2;
constexpr uint32_t kMostTimes = 1u << 20;  // 40 MB of trace

std::atomic<bool> in_timeline{false};
std::atomic<uint32_t> times{0};

void stop_timeline() {
  in_timeline.store(false);
  tracer.looks.store(tracer.options.check_values);
}

// Step 0, before training, may be millions of ops that load a model.
bool is_step_of_timeline() {
  const uint32_t step = tracer.current_step();
  if (step > tracer.options.timeline_steps) stop_timeline();
  return step > 0 && step <= tracer.options.timeline_steps;
}

void write_time(ThreadState* state, const Frame& frame, uint64_t time_ns) {
  if (times.fetch_add(1) >= kMostTimes) {
    if (in_timeline.exchange(false)) write_fact(FactKey::kTimeline, "ends where it was full");
    return stop_timeline();
  }
  auto* record = tracer.file.reserve<trace::OpTimeRecord>(trace::RecordKind::kOpTime);
  if (!record) return stop_timeline();
  record->signature = frame.signature->id;
  record->thread = static_cast<uint32_t>(state->thread_id.load(std::memory_order_relaxed));
  record->step = tracer.current_step();
  record->begin_unix_ns = frame.began_ns;
  record->time_ns = time_ns;
  tracer.file.commit(record->header);
}

}  // namespace

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

trace::CastCounters* cast_counters(trace::SignatureRecord* signature) {
  if (!(__atomic_load_n(&signature->flags, __ATOMIC_RELAXED) & trace::kSignatureCast))
    return nullptr;
  char* end = reinterpret_cast<char*>(signature) + signature->header.size_bytes;
  return reinterpret_cast<trace::CastCounters*>(end) - 1;
}

bool is_in_timeline() {
  return in_timeline.load(std::memory_order_relaxed) && is_step_of_timeline();
}

bool is_timed(const Frame& frame) {
  if (is_in_timeline()) return true;
  if (!frame.op->converts) return false;
  const uint64_t count = __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED);
  return count % kTimedOneIn == kTimedFirst;
}

void note_time(ThreadState* state, const Frame& frame) {
  const uint64_t now = now_ns();
  const uint64_t time_ns = now > frame.began_ns ? now - frame.began_ns : 0;
  trace::CastCounters* counters = frame.op->converts ? cast_counters(frame.signature) : nullptr;
  if (counters) {
    __atomic_fetch_add(&counters->timed, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counters->time_ns, time_ns, __ATOMIC_RELAXED);
  }
  if (!in_timeline.load(std::memory_order_relaxed)) return;
  const BusyScope busy(state);
  write_time(state, frame, time_ns);
}

void start_timeline() {
  times.store(0);
  in_timeline.store(tracer.options.timeline_steps > 0);
  tracer.looks.store(tracer.options.check_values || tracer.options.timeline_steps > 0);
}

}  // namespace dtypecheck::tracer
