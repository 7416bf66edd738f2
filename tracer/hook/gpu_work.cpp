#include "tracer/hook/gpu_work.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tracer/gpu/gpu.h"
#include "tracer/hook/clock.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer {
namespace {

std::atomic<bool> tried{false};
std::atomic<const DtypecheckGpu*> gpu{nullptr};       // while it records
std::atomic<const DtypecheckGpu*> recorder{nullptr};  // once it is loaded
std::atomic<uint64_t> without_room{0}, of_turns_before{0};
KeyedTable<trace::GpuWorkRecord*, 1 << 15> works;

// An observer is there (see return_to_gpu()), and from which step on.
std::atomic<bool> is_away{false};
uint32_t away_since = 0, next_try = 0, tries = 0;
std::string& gaps() {
  static auto* text = new std::string;
  return *text;
}
std::atomic<bool> may_complain{true};

// What stage 3 knows an op by: its signature's id (a file has room for fewer than 2^24), which
// recording in this process it belongs to, since ids start anew with each, and whether it is timed.
constexpr uint32_t kIdBits = 24, kTurns = 1 << 7, kIsTimed = 1u << 31;
std::atomic<uint32_t> turn{0};

uint32_t id_of(uint32_t op) { return op & ((1u << kIdBits) - 1); }
bool is_of_this_turn(uint32_t op) { return (op >> kIdBits) % kTurns == turn.load() % kTurns; }

uint32_t op_in_flight() {
  const ThreadState* state = existing_thread_state();
  if (state && state->copies_samples) return DTYPECHECK_GPU_OWN;
  const Frame* frame = state ? state->op_in_flight() : nullptr;
  const uint32_t id = frame && tracer.on.load(std::memory_order_relaxed) ? frame->signature->id : 0;
  return id | turn.load(std::memory_order_relaxed) % kTurns << kIdBits |
         (is_in_timeline() ? kIsTimed : 0);
}

// Names live as long as their module, and a module that is unloaded may leave its addresses to
// another: the text is hashed, at each record. It may have 1,000 characters: eight at a time.
uint64_t hash_of(const char* name) {
  uint64_t word = 0, hash = std::strlen(name);
  for (size_t left = hash; left > 0;) {
    const size_t more = std::min(left, sizeof word);
    word = 0;
    std::memcpy(&word, name, more);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
    name += more;
    left -= more;
  }
  return hash;
}

uint64_t key_of(const DtypecheckGpuWork& work) {
  const uint64_t name = work.name ? hash_of(work.name) : 0;
  return mix(mix(id_of(work.op), work.kind << 8 | work.device), name) | 1;
}

uint32_t name_of(const DtypecheckGpuWork& work) {
  return work.name ? tracer.file.intern(work.name, std::strlen(work.name)) : 0;
}

trace::GpuWorkRecord* record_of(const DtypecheckGpuWork& work) {
  const uint64_t key = key_of(work);
  if (trace::GpuWorkRecord* known = works.find(key)) return known;
  if (!works.has_room()) return nullptr;
  auto* record = tracer.file.reserve<trace::GpuWorkRecord>(trace::RecordKind::kGpuWork);
  if (!record) return nullptr;
  record->signature = id_of(work.op);
  record->name = name_of(work);
  record->kind = uint8_t(work.kind);
  record->device = uint8_t(work.device);
  trace::TraceFile::commit(record->header);
  works.insert(key, record);
  return record;
}

// Its name is in the file already: record_of() came first.
void write_time(const DtypecheckGpuWork& work) {
  const uint32_t name = name_of(work);
  auto* record = tracer.file.reserve<trace::GpuTimeRecord>(trace::RecordKind::kGpuTime);
  if (!record) return;
  record->signature = id_of(work.op);
  record->name = name;
  record->kind = uint8_t(work.kind);
  record->device = uint8_t(work.device);
  record->stream = work.stream;
  record->begin_unix_ns = work.begin_unix_ns;
  record->time_ns = work.time_ns;
  trace::TraceFile::commit(record->header);
}

// Ours is the one thread that writes it; readers of the file may look on.
void add(uint64_t& counter, uint64_t more) {
  __atomic_store_n(&counter, counter + more, __ATOMIC_RELAXED);
}

// From one thread at a time.
void record_work(const DtypecheckGpuWork* work) {
  if (work->op != 0 && !is_of_this_turn(work->op)) {
    of_turns_before.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  trace::GpuWorkRecord* record = record_of(*work);
  if (!record) {
    without_room.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  add(record->count, 1);
  add(record->time_ns, work->time_ns);
  if (work->bytes) add(record->bytes, work->bytes);
  if (work->op & kIsTimed) write_time(*work);
}

void complain(const char* line) {
  if (may_complain.load()) write_fact(FactKey::kGpu, line);
}

const DtypecheckGpuHost host = {DTYPECHECK_GPU_ABI, op_in_flight, record_work, complain};

void start(const char* library_path) {
  void* library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return write_fact(FactKey::kGpu, std::string("not recorded: ") + dlerror());
  const auto entry = reinterpret_cast<DtypecheckGpuEntry>(dlsym(library, DTYPECHECK_GPU_ENTRY));
  const DtypecheckGpu* found = entry ? entry() : nullptr;
  if (!found || found->abi != DTYPECHECK_GPU_ABI)
    return write_fact(FactKey::kGpu,
                      "not recorded: " + std::string(library_path) + " is of another version");
  recorder = found;
  if (!is_away.load() && found->start(&host) == 0) gpu = found;
}

void write_count(FactKey key, uint64_t count) {
  if (count) write_fact(key, std::to_string(count));
}

void end_gap() {
  if (!is_away.exchange(false)) return;
  const uint32_t now = tracer.current_step();
  gaps() += (gaps().empty() ? "" : ", ") + std::to_string(away_since);
  if (now != away_since) gaps() += "-" + std::to_string(now);
}

// Ours is the one callback that LibTorch has for this thread.
bool is_observed_by_others() {
  const auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
  return callbacks.has_value() && callbacks->callbacks_.size() > 1;
}

}  // namespace

bool gpu_is_looked_at() {
  static const bool is = std::getenv("DTYPECHECK_GPU") != nullptr;
  return is;
}

OwnGpuWork::OwnGpuWork() : state_(existing_thread_state()) {
  if (state_) state_->copies_samples = true;
}
OwnGpuWork::~OwnGpuWork() {
  if (state_) state_->copies_samples = false;
}

void saw_gpu() {
  if (tried.load(std::memory_order_relaxed) || tried.exchange(true)) return;
  const char* path = std::getenv("DTYPECHECK_GPU");
  if (path && *path) return start(path);
  if (path)
    write_fact(FactKey::kGpu, "not recorded: this dtypecheck was built without CUPTI's headers");
}

void finish_gpu_work() {
  const DtypecheckGpu* found = recorder.load();
  if (!found || (!gpu.load() && !is_away.load() && gaps().empty())) return;
  DtypecheckGpuLosses losses;
  found->flush(&losses);
  end_gap();
  write_fact(FactKey::kGpu, gaps().empty()
                                ? "recorded"
                                : "recorded but for steps " + gaps() +
                                      ", when another observer was there, which may need CUPTI "
                                      "for itself");
  write_count(FactKey::kGpuDropped, losses.dropped + without_room.load());
  write_count(FactKey::kGpuUnknown, losses.unknown);
  write_count(FactKey::kGpuLate, losses.late + of_turns_before.load());
}

// Whether there is a GPU may turn out later.
void leave_gpu_to_others() {
  if (const DtypecheckGpu* found = gpu.exchange(nullptr)) found->stop();
  if (is_away.exchange(true)) return;
  away_since = tracer.current_step();
  next_try = away_since;
  tries = 0;
}

// Where another tool keeps CUPTI, it is asked for less and less often.
void return_to_gpu() {
  if (!is_away.load(std::memory_order_relaxed)) return;
  const uint32_t step = tracer.current_step();
  if (step < next_try || is_observed_by_others()) return;
  next_try = step + (1u << std::min(tries++, 10u));
  const DtypecheckGpu* found = recorder.load();
  may_complain = false;
  const bool started = !found || found->start(&host) == 0;
  may_complain = true;
  if (!started) return;
  end_gap();
  gpu = found;
}

void begin_gpu_turn() {
  turn.fetch_add(1);
  works.clear();
  gaps().clear();
}

void forget_gpu_work() {
  if (const DtypecheckGpu* found = recorder.exchange(nullptr)) found->forget();
  gpu = nullptr;
  is_away = false;
  works.clear();
  tried = false;
}

}  // namespace dtypecheck::tracer
