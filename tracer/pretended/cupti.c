/* cupti.c: the profiling interface, told of what was put into streams: callbacks at launches, and
 * records in buffers that its user gives. It serves stage 3 of the tracer and LibTorch's own
 * profiler. Work takes no time: its records begin and end when it was launched. Kernels of NVIDIA's
 * libraries are not launched at all, so there are no records of them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracer/pretended/launches.h"
#include "tracer/pretended/pretended.h"

enum { kNoMoreRecords = 12, kMultipleSubscribers = 39, kMostIds = 1024 };
enum { kExternalKinds = 8, kMostExternal = 64 };

typedef void (*callback_function)(void* user, int domain, uint32_t id, const void* data);
typedef void (*request_function)(uint8_t** buffer, size_t* bytes, size_t* most_records);
typedef void (*complete_function)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                                  size_t valid);

static const struct {
  enum pretended_domain domain;
  uint32_t id;
  const char* name;
} kCalls[] = {
#define CALL(call, ...) {__VA_ARGS__},
    PRETENDED_CALLS(CALL)
#undef CALL
};

static callback_function _Atomic callback;
static void* user;
static atomic_uchar is_called[DOMAINS][kMostIds], is_recorded[ACTIVITIES];
static uint64_t (*clock_of_user)(void);
static atomic_uint last_correlation;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the buffer */
static request_function request;
static complete_function complete;
static uint8_t* buffer;
static size_t buffer_bytes, used, dropped;
static _Atomic uint64_t period_ns, given_back_ns;

static __thread uint64_t external[kExternalKinds][kMostExternal];
static __thread unsigned external_count[kExternalKinds];

static _Atomic uint64_t work_ns; /* of each piece of work */
EXPORT void dtypecheck_pretended_work_takes(uint64_t ns) { work_ns = ns; }

static uint64_t now_ns(void) {
  if (clock_of_user) return clock_of_user();
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Its user may call back from there, so no lock is held. */
static void give_back(uint8_t* full, size_t bytes, size_t valid) {
  if (!full) return;
  given_back_ns = now_ns();
  complete(NULL, 0, full, bytes, valid);
}

static void add(enum pretended_activity kind, const void* record, size_t bytes) {
  if (!atomic_load(&is_recorded[kind])) return;
  uint8_t *full = NULL, *spare = NULL;
  size_t full_bytes = 0, valid = 0, spare_bytes = 0, most = 0;
  pthread_mutex_lock(&mutex);
  const int is_due = period_ns && now_ns() - given_back_ns > period_ns;
  if (buffer && (is_due || used + bytes > buffer_bytes)) {
    full = buffer;
    full_bytes = buffer_bytes;
    valid = used;
    buffer = NULL;
  }
  const request_function asks = buffer ? NULL : request;
  if (asks) {
    pthread_mutex_unlock(&mutex);
    asks(&spare, &spare_bytes, &most);
    pthread_mutex_lock(&mutex);
  }
  if (!buffer && spare) {
    buffer = spare;
    buffer_bytes = spare_bytes;
    used = 0;
    spare = NULL;
  }
  if (buffer && used + bytes <= buffer_bytes) {
    memcpy(buffer + used, record, bytes);
    used += bytes;
  } else {
    ++dropped;
  }
  pthread_mutex_unlock(&mutex);
  give_back(full, full_bytes, valid);
  give_back(spare, spare_bytes, 0); /* another thread was faster */
}

static void tell(int domain, uint32_t id, const void* data) {
  const callback_function function = atomic_load(&callback);
  if (function && id < kMostIds && atomic_load(&is_called[domain][id]))
    function(user, domain, id, data);
}
static void tell_call(enum pretended_call call, int site, const char* kernel, uint32_t correlation,
                      int* result) {
  const struct call_data data = {.site = site,
                                 .function = kCalls[call].name,
                                 .symbol = kernel,
                                 .result = result,
                                 .context_id = (uint32_t)current_device() + 1,
                                 .correlation = correlation};
  tell(kCalls[call].domain, kCalls[call].id, &data);
}

uint32_t begin_call(enum pretended_call call, const char* kernel) {
  const uint32_t correlation = atomic_fetch_add(&last_correlation, 1) + 1;
  tell_call(call, 0, kernel, correlation, NULL);
  for (unsigned kind = 0; kind < kExternalKinds; ++kind) {
    const unsigned depth = external_count[kind];
    if (!depth || depth > kMostExternal) continue;
    const struct correlation_record record = {ACTIVITY_CORRELATION, kind, external[kind][depth - 1],
                                              correlation, 0};
    add(ACTIVITY_CORRELATION, &record, sizeof record);
  }
  return correlation;
}

void end_call(enum pretended_call call, uint32_t correlation, int result) {
  const int kind = kCalls[call].domain == DRIVER_CALLS ? ACTIVITY_DRIVER : ACTIVITY_RUNTIME;
  const uint64_t now = now_ns();
  const struct call_record record = {
      (uint32_t)kind,     kCalls[call].id,          now,         now,
      (uint32_t)getpid(), (uint32_t)pthread_self(), correlation, (uint32_t)result,
  };
  add(kind, &record, sizeof record);
  tell_call(call, 1, NULL, correlation, &result);
}

void note_work(const struct work* work, const struct stream* stream, uint32_t correlation,
               uint64_t node) {
  const uint64_t begin = now_ns(), end = begin + work_ns;
  const uint32_t device = (uint32_t)stream->device, context = device + 1;
  if (work->kind == ACTIVITY_KERNEL) {
    const struct kernel_record record = {.kind = work->kind,
                                         .start = begin,
                                         .end = end,
                                         .completed = end,
                                         .device = device,
                                         .context = context,
                                         .stream = stream->id,
                                         .grid = {1, 1, 1},
                                         .block = {1, 1, 1},
                                         .correlation = correlation,
                                         .name = work->name,
                                         .graph_node = node};
    return add(work->kind, &record, sizeof record);
  }
  static const uint8_t kKinds[] = {9, 1, 2, 8}; /* host to host, to device, … by cudaMemcpyKind */
  const unsigned copy_kind = (unsigned)work->copy_kind;
  const struct memory_record record = {
      .kind = work->kind,
      .copy_kind = work->kind == ACTIVITY_COPY && copy_kind < sizeof kKinds ? kKinds[copy_kind] : 0,
      .bytes = work->bytes,
      .start = begin,
      .end = end,
      .device = device,
      .context = context,
      .stream = stream->id,
      .correlation = correlation,
      .graph_node = node};
  add(work->kind, &record, sizeof record);
}

void note_node(enum pretended_resource what, uint64_t node, uint64_t original) {
  const struct graph_data graph = {.node = (void*)(uintptr_t)node,
                                   .original_node = (void*)(uintptr_t)original};
  const struct resource_data resource = {.descriptor = (void*)&graph};
  tell(RESOURCES, what, &resource);
}

EXPORT int cuptiGetVersion(uint32_t* version) {
  return *version = major() == 11 ? 17 : major() == 12 ? 26 : 130202, OK;
}
EXPORT int cuptiGetResultString(int result, const char** text) {
  *text = result == OK                     ? "CUPTI_SUCCESS"
          : result == kMultipleSubscribers ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                           : "CUPTI_ERROR_UNKNOWN";
  return OK;
}
EXPORT int cuptiGetTimestamp(uint64_t* now) { return *now = now_ns(), OK; }
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
  return clock_of_user = clock, OK;
}

/* One at a time, as with the real one. */
EXPORT int cuptiSubscribe(void** subscriber, callback_function function, void* with) {
  if (atomic_load(&callback)) return kMultipleSubscribers;
  user = with;
  atomic_store(&callback, function);
  return *subscriber = &user, OK;
}
EXPORT int cuptiUnsubscribe(void) {
  atomic_store(&callback, NULL);
  memset(is_called, 0, sizeof is_called);
  return OK;
}
EXPORT int cuptiEnableCallback(uint32_t enable, void* subscriber UNUSED, unsigned domain,
                               uint32_t id) {
  if (domain >= DOMAINS || id >= kMostIds) return INVALID_VALUE;
  return atomic_store(&is_called[domain][id], enable != 0), OK;
}
EXPORT int cuptiEnableDomain(uint32_t enable, void* subscriber UNUSED, unsigned domain) {
  if (domain >= DOMAINS) return INVALID_VALUE;
  return memset(is_called[domain], enable != 0, sizeof is_called[domain]), OK;
}
/* What is not known here is never recorded. */
static int record(unsigned kind, int is_on) {
  if (kind < ACTIVITIES) atomic_store(&is_recorded[kind], (unsigned char)is_on);
  return OK;
}
EXPORT int cuptiActivityEnable(unsigned kind) { return record(kind, 1); }
EXPORT int cuptiActivityDisable(unsigned kind) { return record(kind, 0); }
EXPORT int cuptiActivityRegisterCallbacks(request_function asks, complete_function gives_back) {
  pthread_mutex_lock(&mutex);
  request = asks;
  complete = gives_back;
  pthread_mutex_unlock(&mutex);
  return OK;
}
EXPORT int cuptiActivityFlushPeriod(uint32_t ms) {
  given_back_ns = now_ns();
  period_ns = (uint64_t)ms * 1000000;
  return OK;
}
EXPORT int cuptiActivityFlushAll(uint32_t flags UNUSED) {
  pthread_mutex_lock(&mutex);
  uint8_t* full = buffer;
  buffer = NULL;
  const size_t bytes = buffer_bytes, valid = used;
  pthread_mutex_unlock(&mutex);
  give_back(full, bytes, valid);
  return OK;
}
static size_t bytes_of(uint32_t kind) {
  switch (kind) {
    case ACTIVITY_KERNEL:
      return sizeof(struct kernel_record);
    case ACTIVITY_COPY:
    case ACTIVITY_FILL:
      return sizeof(struct memory_record);
    case ACTIVITY_DRIVER:
    case ACTIVITY_RUNTIME:
      return sizeof(struct call_record);
    default:
      return sizeof(struct correlation_record);
  }
}
EXPORT int cuptiActivityGetNextRecord(uint8_t* begin, size_t valid, uint8_t** record_at) {
  uint8_t* next = *record_at ? *record_at + bytes_of(*(uint32_t*)*record_at) : begin;
  if (next >= begin + valid) return kNoMoreRecords;
  return *record_at = next, OK;
}
EXPORT int cuptiActivityGetNumDroppedRecords(void* context UNUSED, uint32_t stream UNUSED,
                                             size_t* count) {
  pthread_mutex_lock(&mutex);
  *count = dropped;
  dropped = 0;
  pthread_mutex_unlock(&mutex);
  return OK;
}
EXPORT int cuptiGetGraphNodeId(void* node, uint64_t* id) { return *id = (uintptr_t)node, OK; }

EXPORT int cuptiActivityPushExternalCorrelationId(unsigned kind, uint64_t id) {
  if (kind >= kExternalKinds) return INVALID_VALUE;
  const unsigned depth = external_count[kind]++;
  if (depth < kMostExternal) external[kind][depth] = id;
  return OK;
}
EXPORT int cuptiActivityPopExternalCorrelationId(unsigned kind, uint64_t* id) {
  if (kind >= kExternalKinds || !external_count[kind]) return INVALID_VALUE;
  const unsigned depth = --external_count[kind];
  if (id) *id = depth < kMostExternal ? external[kind][depth] : 0;
  return OK;
}
EXPORT int cuptiGetCallbackName(int domain, uint32_t id, const char** name) {
  *name = "";
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i)
    if ((int)kCalls[i].domain == domain && kCalls[i].id == id) *name = kCalls[i].name;
  return OK;
}
EXPORT int cuptiFinalize(void) {
  memset(is_recorded, 0, sizeof is_recorded);
  return cuptiUnsubscribe();
}
