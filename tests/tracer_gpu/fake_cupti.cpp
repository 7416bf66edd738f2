// See fake_cupti.h. It is loaded under the soname of the real one, and defines what torch imports
// of it, so that it can stand in front of the real one in a program with torch as well.
#include "fake_cupti.h"

#include <cupti.h>
#include <time.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using Kernel = CUpti_ActivityKernel10;
using Copy = CUpti_ActivityMemcpy6;

struct Fake {
  std::mutex mutex;
  std::map<std::string, int> calls, results;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::set<std::pair<int, uint32_t>> enabled_calls;
  std::set<int> enabled_kinds;
  uint8_t* buffer = nullptr;
  size_t size = 0, used = 0, read = 0;
  size_t dropped = 0;
  uint32_t correlation = 0;
  uint32_t version = CUPTI_API_VERSION;
  uint64_t reading_ns = 0;  // spent in the recorder's own reading of buffers
};
Fake& fake = *new Fake;

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

CUptiResult called(const char* function) {
  ++fake.calls[function];
  return static_cast<CUptiResult>(fake.results[function]);
}

void give_back_buffer() {
  if (!fake.buffer) return;
  uint8_t* buffer = std::exchange(fake.buffer, nullptr);
  fake.read = 0;
  const uint64_t begin = now_ns();
  fake.complete(nullptr, 0, buffer, fake.size, std::exchange(fake.used, 0));
  fake.reading_ns += now_ns() - begin;
}

template <typename Record>
void add(const Record& record) {
  if (!fake.enabled_kinds.count(record.kind) && record.kind != CUPTI_ACTIVITY_KIND_NAME) return;
  if (fake.buffer && fake.used + sizeof record > fake.size) give_back_buffer();
  if (!fake.buffer) {
    size_t most = 0;
    fake.request(&fake.buffer, &fake.size, &most);
    fake.used = 0;
  }
  if (!fake.buffer) {
    ++fake.dropped;
    return;
  }
  std::memcpy(fake.buffer + fake.used, &record, sizeof record);
  fake.used += sizeof record;
}

void tell(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (fake.callback && fake.enabled_calls.count({domain, id}))
    fake.callback(fake.user, domain, id, data);
}

uint32_t begin_call(CUpti_CallbackId id) {
  CUpti_CallbackData data = {};
  data.correlationId = ++fake.correlation;
  data.callbackSite = CUPTI_API_ENTER;
  tell(CUPTI_CB_DOMAIN_RUNTIME_API, id, &data);
  data.callbackSite = CUPTI_API_EXIT;
  tell(CUPTI_CB_DOMAIN_RUNTIME_API, id, &data);
  return data.correlationId;
}

void add_kernel(uint32_t correlation, uint64_t node, const char* name, uint64_t time_ns) {
  Kernel kernel = {};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 1000;
  kernel.end = 1000 + time_ns;
  kernel.correlationId = correlation;
  kernel.graphNodeId = node;
  kernel.streamId = 7;
  kernel.name = name;
  add(kernel);
}

// A node is its own number here.
CUgraphNode node_of(uint64_t number) { return reinterpret_cast<CUgraphNode>(number); }

void tell_node(CUpti_CallbackId id, uint64_t node, uint64_t original) {
  CUpti_GraphData graph = {};
  graph.node = node_of(node);
  graph.originalNode = node_of(original);
  CUpti_ResourceData resource = {};
  resource.resourceDescriptor = &graph;
  tell(CUPTI_CB_DOMAIN_RESOURCE, id, &resource);
}

}  // namespace

extern "C" {

void fake_cupti_fail(const char* function, int result) { fake.results[function] = result; }
void fake_cupti_reset() {
  fake.results.clear();
  fake.calls.clear();
  fake.version = CUPTI_API_VERSION;
}
int fake_cupti_calls(const char* function) { return fake.calls[function]; }
int fake_cupti_buffers() { return fake.buffer ? 1 : 0; }

void fake_launch(const char* kernel, uint64_t time_ns) {
  add_kernel(begin_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000), 0, kernel, time_ns);
}
void fake_copy(uint64_t bytes, uint64_t time_ns) {
  Copy copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.start = 5;
  copy.end = 5 + time_ns;
  copy.bytes = bytes;
  copy.correlationId = begin_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
  add(copy);
}
void fake_stray(const char* kernel) { add_kernel(0x7ffffff0, 0, kernel, 1); }
void fake_unknown() {
  Kernel record = {};
  record.kind = CUPTI_ACTIVITY_KIND_NAME;
  add(record);
}
void fake_launches(const char* const* kernels, uint32_t count, uint64_t launches) {
  for (uint64_t i = 0; i < launches; ++i) fake_launch(kernels[i % count], 1000);
}
uint64_t fake_reading_ns() { return fake.reading_ns; }
void fake_cupti_version(uint32_t version) { fake.version = version; }
void fake_drop(uint64_t count) { fake.dropped += count; }
void fake_capture(uint64_t node) { tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, 0); }
void fake_instantiate(uint64_t node, uint64_t copy) {
  tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, copy, node);
}
void fake_graph_launch(uint64_t copy, const char* kernel, uint64_t time_ns) {
  add_kernel(begin_call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000), copy, kernel, time_ns);
}

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = fake.version;
  return called("cuptiGetVersion");
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_FAKE";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* user) {
  if (const CUptiResult result = called("cuptiSubscribe")) return result;
  if (fake.callback) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake.callback = callback;
  fake.user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&fake);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  fake.callback = nullptr;
  fake.enabled_calls.clear();
  return called("cuptiUnsubscribe");
}
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (enable) fake.enabled_calls.insert({domain, id});
  return called("cuptiEnableCallback");
}
CUptiResult cuptiEnableDomain(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  return called("cuptiEnableDomain");
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (const CUptiResult result = called("cuptiActivityEnable")) return result;
  fake.enabled_kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  fake.enabled_kinds.erase(kind);
  return called("cuptiActivityDisable");
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (const CUptiResult result = called("cuptiActivityRegisterCallbacks")) return result;
  fake.request = request;
  fake.complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (fake.results["cuptiActivityGetNextRecord"]) return called("cuptiActivityGetNextRecord");
  if (fake.read >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + fake.read);
  fake.read += (*record)->kind == CUPTI_ACTIVITY_KIND_MEMCPY ? sizeof(Copy) : sizeof(Kernel);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
  *count = std::exchange(fake.dropped, 0);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  give_back_buffer();
  return called("cuptiActivityFlushAll");
}
CUptiResult cuptiActivityFlushPeriod(uint32_t) { return called("cuptiActivityFlushPeriod"); }
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  *id = reinterpret_cast<uint64_t>(node);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* now) {
  *now = 500;
  return CUPTI_SUCCESS;
}

// What torch imports beside these.
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId, uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t*) {
  return called("cuptiActivityPopExternalCorrelationId");
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t) {
  return called("cuptiActivityPushExternalCorrelationId");
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char** name) {  // since 2.15
  *name = "";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiFinalize() { return called("cuptiFinalize"); }
}
