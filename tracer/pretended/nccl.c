/* nccl.c: collectives that answer as if all ranks had what this one has. Nothing is sent; each rank
 * has its own pretended GPU, and rendezvous goes by LibTorch's own store. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/pretended/pretended.h"

enum { kSmallBytes = 1 << 20 };

struct communicator {
  int ranks, rank;
};
static int make(struct communicator** into, int ranks, int rank) {
  struct communicator* made = malloc(sizeof *made);
  if (!made) return 2; /* ncclSystemError */
  *made = (struct communicator){ranks, rank};
  return *into = made, OK;
}

struct unique_id {
  char text[128];
};
EXPORT int ncclGetVersion(int* version) { return *version = 23007, OK; }
EXPORT int ncclGetUniqueId(struct unique_id* id) { return memset(id, 1, sizeof *id), OK; }
EXPORT int ncclCommInitRank(struct communicator** made, int ranks, struct unique_id id UNUSED,
                            int rank) {
  return make(made, ranks, rank);
}
EXPORT int ncclCommInitRankConfig(struct communicator** made, int ranks, struct unique_id id UNUSED,
                                  int rank, void* config UNUSED) {
  return make(made, ranks, rank);
}
EXPORT int ncclCommInitRankScalable(struct communicator** made, int ranks, int rank, int ids UNUSED,
                                    struct unique_id* id UNUSED, void* config UNUSED) {
  return make(made, ranks, rank);
}
EXPORT int ncclCommInitAll(struct communicator** made, int count, const int* devices UNUSED) {
  int error = OK;
  for (int i = 0; i < count && !error; ++i) error = make(&made[i], count, i);
  return error;
}
/* Who has no colour (-1) is in no part. How many ranks share a colour is not known here; LibTorch
 * gives that in no argument, so the part is as large as the whole. */
EXPORT int ncclCommSplit(struct communicator* whole, int colour, int key UNUSED,
                         struct communicator** part, void* config UNUSED) {
  if (colour < 0) return *part = NULL, OK;
  return make(part, whole->ranks, whole->rank);
}
EXPORT int ncclCommDestroy(struct communicator* with) { return free(with), OK; }
EXPORT int ncclCommAbort(struct communicator* with) { return free(with), OK; }
EXPORT int ncclCommCount(const struct communicator* with, int* count) {
  return *count = with->ranks, OK;
}
EXPORT int ncclCommUserRank(const struct communicator* with, int* rank) {
  return *rank = with->rank, OK;
}
EXPORT int ncclCommCuDevice(const struct communicator* with UNUSED, int* which) {
  return *which = current_device(), OK;
}
EXPORT int ncclCommGetAsyncError(void* with UNUSED, int* error) { return *error = OK, OK; }
EXPORT int ncclCommRegister(void* with UNUSED, void* begin UNUSED, size_t bytes UNUSED,
                            void** registered) {
  return *registered = handle(), OK;
}
EXPORT int ncclRedOpCreatePreMulSum(int* op) { return *op = 5, OK; }
EXPORT int ncclMemAlloc(void** result, size_t bytes) {
  int cudaMalloc(void**, size_t);
  return cudaMalloc(result, bytes);
}
EXPORT int ncclMemFree(void* begin) {
  int cudaFree(void*);
  return cudaFree(begin);
}
EXPORT const char* ncclGetErrorString(int error) { return error ? "system error" : "no error"; }
EXPORT const char* ncclGetLastError(void* with UNUSED) { return ""; }

/* ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two of
 * eight bits. */
static size_t bytes_of(int type) {
  static const unsigned char kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < (int)sizeof kBytes ? kBytes[type] : 4;
}
static int hand_on(const void* from, void* to, size_t count, int type) {
  const size_t bytes = count * bytes_of(type);
  if (from && to && from != to && bytes <= kSmallBytes) memmove(to, from, bytes);
  return OK;
}
EXPORT int ncclAllReduce(const void* from, void* to, size_t count, int type) {
  return hand_on(from, to, count, type);
}
EXPORT int ncclReduce(const void* from, void* to, size_t count, int type) {
  return hand_on(from, to, count, type);
}

/* LibTorch gathers tensors that lie apart by a group of broadcasts, one from each rank. What
 * another rank sends in such a group is what this one sends. */
struct broadcast {
  const void* from;
  void* to;
  size_t count;
  int type, is_own;
};
enum { kMostBroadcasts = 1024 };
static __thread struct broadcast* group;
static __thread int group_size, group_depth;

EXPORT int ncclGroupStart(void) {
  ++group_depth;
  return OK;
}
EXPORT int ncclGroupEnd(void) {
  if (group_depth > 0) --group_depth;
  if (group_depth > 0) return OK;
  for (int i = 0; i < group_size; ++i)
    for (int own = 0; own < group_size && !group[i].is_own; ++own)
      if (group[own].is_own && group[own].count == group[i].count &&
          group[own].type == group[i].type)
        hand_on(group[own].from, group[i].to, group[i].count, group[i].type);
  group_size = 0;
  return OK;
}
EXPORT int ncclBroadcast(const void* from, void* to, size_t count, int type, int root,
                         const struct communicator* with) {
  hand_on(from, to, count, type);
  if (!group) group = calloc(kMostBroadcasts, sizeof *group);
  if (group && group_depth > 0 && group_size < kMostBroadcasts)
    group[group_size++] = (struct broadcast){from, to, count, type, root == with->rank};
  return OK;
}
EXPORT int ncclReduceScatter(const void* from, void* to, size_t count, int type) {
  return hand_on(from, to, count, type);
}
EXPORT int ncclAllGather(const void* from, void* to, size_t count, int type,
                         const struct communicator* with) {
  const size_t bytes = count * bytes_of(type);
  for (int i = 0; i < with->ranks; ++i) hand_on(from, (char*)to + (size_t)i * bytes, count, type);
  return OK;
}
EXPORT int ncclAlltoAll(const void* from, void* to, size_t count, int type,
                        const struct communicator* with) {
  return hand_on(from, to, count * (size_t)with->ranks, type);
}

/* Send and receive come in pairs of one group: what was sent last is what comes. */
static const void* sent;
static size_t sent_count;
EXPORT int ncclSend(const void* from, size_t count) {
  sent = from;
  sent_count = count;
  return OK;
}
EXPORT int ncclRecv(void* to, size_t count, int type) {
  return sent && sent_count == count ? hand_on(sent, to, count, type) : OK;
}
