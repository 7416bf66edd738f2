// cupti_recorder.cpp: stage 3. What the GPU did, told by CUPTI, and which op launched it. The one
// file that knows CUPTI; one binary serves CUDA 11.8 to 13, since the records that it reads have
// only ever grown at their end (the assertions below hold the header to that).
//
// The cheap way to an op: a callback at each launch, in the launching thread, notes the driver's
// correlation id with the op that is in flight there; the record of the kernel brings the same id
// later. Pushing an id around each op instead would cost every op, and buffers of their own.
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>

#include "tracer/gpu/gpu.h"

namespace {

// clang-format off
#define SAME_PLACE(older, newer, field) \
  static_assert(offsetof(older, field) == offsetof(newer, field), "older CUPTIs have " #field " elsewhere")
#define SAME_WORK(older, newer)                                                           \
  SAME_PLACE(older, newer, kind); SAME_PLACE(older, newer, start); SAME_PLACE(older, newer, end); \
  SAME_PLACE(older, newer, deviceId); SAME_PLACE(older, newer, correlationId);            \
  SAME_PLACE(older, newer, streamId);                                                     \
  SAME_PLACE(older, newer, graphNodeId)
// clang-format on
using Kernel = CUpti_ActivityKernel9;  // of CUDA 12; 11.8 has the eighth
using Copy = CUpti_ActivityMemcpy5;
using Fill = CUpti_ActivityMemset4;
SAME_WORK(CUpti_ActivityKernel8, Kernel);
SAME_PLACE(CUpti_ActivityKernel8, Kernel, name);
SAME_WORK(CUpti_ActivityKernel10, Kernel);
SAME_PLACE(CUpti_ActivityKernel10, Kernel, name);
SAME_WORK(CUpti_ActivityMemcpy6, Copy);
SAME_PLACE(CUpti_ActivityMemcpy6, Copy, bytes);

constexpr size_t kBufferBytes = 1 << 20;
constexpr int kMostBuffers = 64;           // that CUPTI has at a time
constexpr uint32_t kFlushPeriodMs = 1000;  // what a kill loses at most
// What cuptiGetVersion() says: 17 is CUDA 11.8's, and since 13 it is the number of the toolkit.
constexpr uint32_t kOldestVersion = 17, kFirstUnknownVersion = 140000;

// The one that LibTorch calls; a second one would break the first.
struct Cupti {
  decltype(&cuptiGetVersion) get_version;
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiGetResultString) result_string;
  // Missing in older ones.
  decltype(&cuptiActivityFlushPeriod) flush_period;
  decltype(&cuptiGetGraphNodeId) graph_node_id;
  decltype(&cuptiGetTimestamp) timestamp;
};
Cupti cupti;

const DtypecheckGpuHost* host = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;
std::atomic<bool> recording{false};
std::atomic<int> buffers_out{0};
std::atomic<uint64_t> dropped{0}, unknown{0}, late{0};
uint64_t unix_ns_of_zero = 0;  // to be added to a record's times; may wrap around
std::atomic_flag reading = ATOMIC_FLAG_INIT;

// From a number of the driver's to the op that was in flight. A slot is taken over by a later
// number: records come within a second, and that is fewer launches than there are slots.
class OpsByNumber {
 public:
  void set(uint64_t number, uint32_t op) {
    slots_[number % kSlots].store(number << 32 | op, std::memory_order_relaxed);
  }
  // False when it was never set, or taken over.
  bool find(uint64_t number, uint32_t* op) const {
    const uint64_t slot = slots_[number % kSlots].load(std::memory_order_relaxed);
    *op = uint32_t(slot);
    return slot != 0 && slot >> 32 == uint32_t(number);
  }

 private:
  static constexpr uint64_t kSlots = 1 << 18;
  std::atomic<uint64_t> slots_[kSlots];
};
OpsByNumber launches;     // by correlation id
OpsByNumber graph_nodes;  // by the node's id: a graph's kernels belong to the op of its capture

void CUPTIAPI on_buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = nullptr;
  *size = *most_records = 0;
  if (buffers_out.fetch_add(1) >= kMostBuffers) {
    buffers_out.fetch_sub(1);
    return;
  }
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(ACTIVITY_RECORD_ALIGNMENT, kBufferBytes));
  if (*buffer)
    *size = kBufferBytes;
  else
    buffers_out.fetch_sub(1);
}

// Work of a graph has the launch of the whole graph as its correlation id, and a node of its own.
template <typename Record>
uint32_t op_of(const Record& record) {
  uint32_t op = 0;
  if (record.graphNodeId && graph_nodes.find(record.graphNodeId, &op)) return op;
  if (!launches.find(record.correlationId, &op)) late.fetch_add(1, std::memory_order_relaxed);
  return op;
}

template <typename Record>
DtypecheckGpuWork work_of(const Record& record, DtypecheckGpuKind kind) {
  DtypecheckGpuWork work = {};
  work.kind = kind;
  work.op = op_of(record);
  work.device = record.deviceId;
  work.stream = record.streamId;
  work.begin_unix_ns = record.start + unix_ns_of_zero;
  work.time_ns = record.end > record.start ? record.end - record.start : 0;
  return work;
}

void record_activity(const CUpti_Activity& activity) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const Kernel&>(activity);
      DtypecheckGpuWork work = work_of(kernel, DTYPECHECK_GPU_KERNEL);
      work.name = kernel.name;
      return host->record(&work);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const Copy&>(activity);
      DtypecheckGpuWork work = work_of(copy, DTYPECHECK_GPU_COPY);
      if (work.op == DTYPECHECK_GPU_OWN) return;
      work.bytes = copy.bytes;
      return host->record(&work);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const Fill&>(activity);
      DtypecheckGpuWork work = work_of(fill, DTYPECHECK_GPU_FILL);
      work.bytes = fill.bytes;
      return host->record(&work);
    }
    default:
      unknown.fetch_add(1, std::memory_order_relaxed);
  }
}

// CUPTI may call from its own thread while another one flushes: one at a time reads.
void CUPTIAPI on_buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                                  size_t valid_bytes) {
  if (!buffer) return;
  while (reading.test_and_set(std::memory_order_acquire)) {
  }
  CUpti_Activity* activity = nullptr;
  CUptiResult got;
  while ((got = cupti.next_record(buffer, valid_bytes, &activity)) == CUPTI_SUCCESS)
    record_activity(*activity);
  // Anything but the end: a record that this CUPTI itself cannot read; the rest of the buffer is
  // lost.
  if (got != CUPTI_ERROR_MAX_LIMIT_REACHED) unknown.fetch_add(1, std::memory_order_relaxed);
  reading.clear(std::memory_order_release);
  size_t lost = 0;
  if (cupti.dropped_records(context, stream, &lost) == CUPTI_SUCCESS)
    dropped.fetch_add(lost, std::memory_order_relaxed);
  std::free(buffer);
  int out = buffers_out.load();
  while (out > 0 && !buffers_out.compare_exchange_weak(out, out - 1)) {  // stop() forgets them
  }
}

// Hot: in the thread that launches, before the launch.
void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (!recording.load(std::memory_order_relaxed)) return;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    if (!cupti.graph_node_id) return;
    const auto* resource = static_cast<const CUpti_ResourceData*>(data);
    const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
    uint64_t node = 0, original = 0;
    uint32_t op = 0;
    if (cupti.graph_node_id(graph->node, &node) != CUPTI_SUCCESS) return;
    if (id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
      graph_nodes.set(node, host->op_in_flight());
    else if (cupti.graph_node_id(graph->originalNode, &original) == CUPTI_SUCCESS &&
             graph_nodes.find(original, &op))
      graph_nodes.set(node, op);
    return;
  }
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER)
    launches.set(call->correlationId, host->op_in_flight());
}

constexpr CUpti_CallbackId kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000,
};
constexpr CUpti_CallbackId kDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2,  // the tracer's own copies
};
constexpr CUpti_CallbackId kGraphCalls[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                            CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

// What stands in front of all libraries is what LibTorch calls. Python loads LibTorch with names of
// its own, so that CUPTI is found by those that CUDA 11.8, 12 and 13 give it.
bool find_loaded_cupti(void** library) {
  *library = RTLD_DEFAULT;
  if (dlsym(RTLD_DEFAULT, "cuptiSubscribe")) return true;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"})
    if ((*library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY))) return true;
  return false;
}

// CUPTI asks the driver for tables of functions; where it gets none, the one of CUDA 13.2 asks anew
// without end, and the process dies of its stack. So it does without a driver, and with a stand-in
// that has no tables, unless that brings a CUPTI of its own.
bool has_driver_for_cupti() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  return driver && (dlsym(driver, "cuGetExportTable") || dlsym(driver, "cuptiSubscribe"));
}

bool find_functions(void* library) {
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  find(cupti.flush_period, "cuptiActivityFlushPeriod");
  find(cupti.graph_node_id, "cuptiGetGraphNodeId");
  find(cupti.timestamp, "cuptiGetTimestamp");
  return find(cupti.get_version, "cuptiGetVersion") && find(cupti.subscribe, "cuptiSubscribe") &&
         find(cupti.unsubscribe, "cuptiUnsubscribe") &&
         find(cupti.enable_callback, "cuptiEnableCallback") &&
         find(cupti.enable, "cuptiActivityEnable") && find(cupti.disable, "cuptiActivityDisable") &&
         find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks") &&
         find(cupti.next_record, "cuptiActivityGetNextRecord") &&
         find(cupti.dropped_records, "cuptiActivityGetNumDroppedRecords") &&
         find(cupti.flush_all, "cuptiActivityFlushAll") &&
         find(cupti.result_string, "cuptiGetResultString");
}

int give_up(const char* why) {
  char line[256];
  std::snprintf(line, sizeof line, "%s; ops are recorded without the GPU's kernels", why);
  host->complain(line);
  return 1;
}

int give_up(CUptiResult result) {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return give_up("another tool (a profiler, a debugger) has CUPTI, which serves one at a time");
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
    return give_up("the driver allows profiling to administrators only (ERR_NVGPUCTRPERM)");
  const char* name = nullptr;
  char why[160];
  if (cupti.result_string(result, &name) != CUPTI_SUCCESS || !name) name = "an unknown error";
  std::snprintf(why, sizeof why, "CUPTI says %s (%d)", name, int(result));
  return give_up(why);
}

void step_back() {
  for (const CUpti_ActivityKind kind : kKinds) cupti.disable(kind);
  if (subscriber) cupti.unsubscribe(subscriber);
  subscriber = nullptr;
}

// A call that this CUPTI does not know is one that its CUDA does not have.
void enable_calls() {
  for (const CUpti_CallbackId id : kRuntimeCalls)
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, id);
  for (const CUpti_CallbackId id : kDriverCalls)
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  for (const CUpti_CallbackId id : kGraphCalls)
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
}

// CUPTI's clock is its own; the trace has that of the machine.
void compare_clocks() {
  uint64_t its_own = 0;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (!cupti.timestamp || cupti.timestamp(&its_own) != CUPTI_SUCCESS) return;
  unix_ns_of_zero = uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec) - its_own;
}

bool is_known_version() {
  uint32_t version = 0;
  return cupti.get_version(&version) == CUPTI_SUCCESS && version >= kOldestVersion &&
         version < kFirstUnknownVersion;
}

int start(const DtypecheckGpuHost* given) {
  host = given;
  if (given->abi != DTYPECHECK_GPU_ABI) return 1;
  void* library = nullptr;
  if (!find_loaded_cupti(&library)) return give_up("this program has no CUPTI in it");
  if (!has_driver_for_cupti())
    return give_up("this program has no CUDA driver in it that CUPTI can use");
  if (!find_functions(library) || !is_known_version())
    return give_up("this CUPTI is not one of CUDA 11.8 to 13");
  // Each further call would try to initialise it again, 38 us a time: the first that fails is the
  // last.
  if (const CUptiResult result = cupti.subscribe(&subscriber, on_call, nullptr)) {
    subscriber = nullptr;
    return give_up(result);
  }
  CUptiResult result = cupti.register_callbacks(on_buffer_requested, on_buffer_completed);
  enable_calls();
  for (const CUpti_ActivityKind kind : kKinds)
    if (!result) result = cupti.enable(kind);
  if (result) {
    step_back();
    return give_up(result);
  }
  if (cupti.flush_period) cupti.flush_period(kFlushPeriodMs);
  compare_clocks();
  recording = true;
  return 0;
}

void flush(DtypecheckGpuLosses* losses) {
  if (recording.load()) cupti.flush_all(0);
  // What is out still went to a profiler that took CUPTI unasked: at least a record of each.
  *losses = {dropped.load() + uint64_t(buffers_out.load()), unknown.load(), late.load()};
}

void stop() {
  if (!recording.exchange(false)) return;
  cupti.flush_all(0);
  step_back();
  dropped.fetch_add(uint64_t(buffers_out.exchange(0)));
}

void forget() {
  recording = false;
  subscriber = nullptr;
}

const DtypecheckGpu functions = {DTYPECHECK_GPU_ABI, start, flush, stop, forget};

}  // namespace

extern "C" __attribute__((visibility("default"))) const DtypecheckGpu* dtypecheck_gpu_entry() {
  return &functions;
}
