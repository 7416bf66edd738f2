#include "tracer/hook/gpu_work.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "platform/hash.h"
#include "tracer/gpu/gpu.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck {
namespace tracer {
namespace {

std::atomic<bool> tried{false};
std::atomic<const DtypecheckGpu*> gpu{nullptr};
std::atomic<uint64_t> without_room{0};
KeyedTable<trace::GpuWorkRecord*, 1 << 15> works;

uint32_t op_in_flight() {
  const ThreadState* state = existing_thread_state();
  const Frame* frame = state ? state->op_in_flight() : nullptr;
  return frame ? frame->signature->id : 0;
}

// Names live as long as their module, and a module that is unloaded may leave its addresses to
// another: the text is hashed.
uint64_t key_of(const DtypecheckGpuWork& work) {
  const uint64_t name = work.name ? fnv1a(work.name) : 0;
  return mix(mix(work.op, work.kind << 8 | work.device), name) | 1;
}

trace::GpuWorkRecord* record_of(const DtypecheckGpuWork& work) {
  const uint64_t key = key_of(work);
  if (trace::GpuWorkRecord* known = works.find(key)) return known;
  if (!works.has_room()) return nullptr;
  auto* record = tracer.file.reserve<trace::GpuWorkRecord>(trace::Kind::kGpuWork);
  if (!record) return nullptr;
  record->signature = work.op;
  record->name = work.name ? tracer.file.intern(work.name, std::strlen(work.name)) : 0;
  record->kind = uint8_t(work.kind);
  record->device = uint8_t(work.device);
  trace::TraceFile::commit(record->header);
  works.insert(key, record);
  return record;
}

// From one thread at a time; readers of the file may look on.
void take(const DtypecheckGpuWork* work) {
  trace::GpuWorkRecord* record = record_of(*work);
  if (!record) {
    without_room.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  __atomic_fetch_add(&record->count, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&record->time_ns, work->time_ns, __ATOMIC_RELAXED);
  __atomic_fetch_add(&record->bytes, work->bytes, __ATOMIC_RELAXED);
}

void complain(const char* line) { write_fact("gpu", line); }

void start(const char* library_path) {
  static const DtypecheckGpuHost host = {DTYPECHECK_GPU_ABI, op_in_flight, take, complain};
  void* library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return write_fact("gpu", std::string("not recorded: ") + dlerror());
  const auto entry = reinterpret_cast<DtypecheckGpuEntry>(dlsym(library, DTYPECHECK_GPU_ENTRY));
  const DtypecheckGpu* found = entry ? entry() : nullptr;
  if (!found || found->abi != DTYPECHECK_GPU_ABI)
    return write_fact("gpu",
                      "not recorded: " + std::string(library_path) + " is of another version");
  if (found->start(&host) == 0) gpu = found;
}

void write_count(const char* key, uint64_t count) {
  if (count) write_fact(key, std::to_string(count));
}

}  // namespace

void saw_gpu() {
  if (tried.load(std::memory_order_relaxed) || tried.exchange(true)) return;
  const char* path = std::getenv("DTYPECHECK_GPU");
  if (path && *path) start(path);
}

void finish_gpu_work() {
  const DtypecheckGpu* found = gpu.load();
  if (!found) return;
  DtypecheckGpuLosses losses;
  found->flush(&losses);
  write_fact("gpu", "recorded");
  write_count("gpu.dropped", losses.dropped + without_room.load());
  write_count("gpu.unknown", losses.unknown);
  write_count("gpu.late", losses.late);
}

void leave_gpu_to_others() {
  tried = true;
  const DtypecheckGpu* found = gpu.exchange(nullptr);
  if (!found) return;
  found->stop();
  write_fact("gpu", "recorded until step " + std::to_string(tracer.current_step()) +
                        ", when another observer began, which may need CUPTI for itself");
}

void forget_gpu_work() {
  if (const DtypecheckGpu* found = gpu.exchange(nullptr)) found->forget();
  works.clear();
  tried = false;
}

}  // namespace tracer
}  // namespace dtypecheck
