/* memory.c: device memory is address space without pages, counted by device. What is small is
 * copied, so that values which were computed on the host (tracer/pretend) travel; what is big stays
 * untouched on both sides. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/pretended/launches.h"
#include "tracer/pretended/pretended.h"

enum { kSmallBytes = 1 << 20, kPageBytes = 4096, kMostDevices = 64 };

static _Atomic int64_t reserved[kMostDevices], peaks[kMostDevices];

void count_reserved(int on, int64_t bytes) {
  if (on < 0 || on >= kMostDevices) return;
  const int64_t now = atomic_fetch_add(&reserved[on], bytes) + bytes;
  int64_t peak = atomic_load(&peaks[on]);
  while (now > peak && !atomic_compare_exchange_weak(&peaks[on], &peak, now)) {
  }
}

int reserve(int on, size_t bytes) {
  if (on < 0 || on >= kMostDevices) return INVALID_DEVICE;
  if ((size_t)atomic_load(&reserved[on]) + bytes > device_bytes()) return NO_MEMORY;
  count_reserved(on, (int64_t)bytes);
  return OK;
}

/* Of this process, of the device that had the most. */
EXPORT int64_t dtypecheck_pretended_peak_bytes(void) {
  int64_t most = 0;
  for (int i = 0; i < kMostDevices; ++i)
    if (atomic_load(&peaks[i]) > most) most = atomic_load(&peaks[i]);
  return most;
}

struct block {
  char* begin;
  size_t bytes; /* of address space */
  size_t counted;
  int on;
};
static struct block* blocks; /* sorted by begin */
static size_t block_count, block_room;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The first block that begins behind the address. */
static size_t block_after(const void* address) {
  size_t low = 0, high = block_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (blocks[middle].begin <= (const char*)address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int add_block(struct block block) {
  pthread_mutex_lock(&mutex);
  if (block_count == block_room) {
    const size_t room = block_room ? block_room * 2 : 256;
    struct block* more = realloc(blocks, room * sizeof *blocks);
    if (!more) return pthread_mutex_unlock(&mutex), NO_MEMORY;
    blocks = more;
    block_room = room;
  }
  const size_t at = block_after(block.begin);
  memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof *blocks);
  blocks[at] = block;
  ++block_count;
  pthread_mutex_unlock(&mutex);
  return OK;
}

static struct block take_block(const void* begin) {
  struct block block = {0};
  pthread_mutex_lock(&mutex);
  const size_t at = block_after(begin);
  if (at > 0 && blocks[at - 1].begin == (const char*)begin) {
    block = blocks[at - 1];
    memmove(blocks + at - 1, blocks + at, (block_count - at) * sizeof *blocks);
    --block_count;
  }
  pthread_mutex_unlock(&mutex);
  return block;
}

int on_device(const void* address, int* on) {
  pthread_mutex_lock(&mutex);
  const size_t at = block_after(address);
  const int is_in = at > 0 && (const char*)address < blocks[at - 1].begin + blocks[at - 1].bytes;
  if (is_in && on) *on = blocks[at - 1].on;
  pthread_mutex_unlock(&mutex);
  return is_in;
}

static void* address_space(size_t bytes) {
  void* begin =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return begin == MAP_FAILED ? NULL : begin;
}

static size_t whole_pages(size_t bytes) {
  return (bytes + kPageBytes - 1) & ~(size_t)(kPageBytes - 1);
}

EXPORT int cudaMalloc(void** result, size_t bytes) {
  *result = NULL;
  if (bytes == 0) return OK;
  const struct block block = {NULL, whole_pages(bytes), whole_pages(bytes), current_device()};
  if (reserve(block.on, block.counted) != OK) return set_error(NO_MEMORY);
  struct block made = block;
  made.begin = address_space(block.bytes);
  if (!made.begin || add_block(made) != OK) {
    count_reserved(block.on, -(int64_t)block.counted);
    if (made.begin) munmap(made.begin, made.bytes);
    return set_error(NO_MEMORY);
  }
  *result = made.begin;
  return OK;
}
EXPORT int cudaMallocAsync(void** result, size_t bytes) { return cudaMalloc(result, bytes); }
EXPORT int cudaMallocFromPoolAsync(void** result, size_t bytes) {
  return cudaMalloc(result, bytes);
}
EXPORT int cudaMallocManaged(void** result, size_t bytes) { return cudaMalloc(result, bytes); }

EXPORT int cudaFree(void* begin) {
  const struct block block = begin ? take_block(begin) : (struct block){0};
  if (!block.begin) return OK;
  count_reserved(block.on, -(int64_t)block.counted);
  munmap(block.begin, block.bytes);
  return OK;
}
EXPORT int cudaFreeAsync(void* begin) { return cudaFree(begin); }

EXPORT int cudaMemGetInfo(size_t* left, size_t* total) {
  *total = device_bytes();
  const int64_t used = atomic_load(&reserved[current_device() % kMostDevices]);
  *left = used < (int64_t)*total ? *total - (size_t)used : 0;
  return OK;
}

/* Pinned memory is the host's own. */
EXPORT int cudaHostAlloc(void** result, size_t bytes) {
  *result = NULL;
  return posix_memalign(result, kPageBytes, bytes ? bytes : 1) ? set_error(NO_MEMORY) : OK;
}
EXPORT int cudaMallocHost(void** result, size_t bytes) { return cudaHostAlloc(result, bytes); }
EXPORT int cudaFreeHost(void* begin) { return free(begin), OK; }
EXPORT int cudaHostGetDevicePointer(void** result, void* host) { return *result = host, OK; }

static int copy(void* to, const void* from, size_t bytes) {
  if (bytes <= kSmallBytes && to && from) memmove(to, from, bytes);
  return OK;
}

/* A number that an op's own code reads back says how much of its operands is left, as the unique
 * entries of a sparse tensor, or where something is, beside what it is. No kernel wrote it, so it
 * is the most that it can be, which the tracer knows; 0: what lies there is known, and is read. Of
 * this thread; gives what it was. */
static __thread int64_t count;
EXPORT int64_t dtypecheck_pretended_count(int64_t most) {
  const int64_t before = count;
  return count = most, before;
}
static void copy_or_count(void* to, const void* from, size_t bytes) {
  const int64_t numbers[2] = {count, count};
  const int is_number =
      bytes == sizeof(int32_t) || bytes == sizeof *numbers || bytes == sizeof numbers;
  if (count > 0 && is_number && to && on_device(from, NULL) && !on_device(to, NULL))
    memcpy(to, numbers, bytes);
  else
    copy(to, from, bytes);
}
EXPORT int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  copy_or_count(to, from, bytes);
  return put_copy(CALL_COPY_NOW, bytes, kind, NULL);
}
EXPORT int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  copy_or_count(to, from, bytes);
  return put_copy(CALL_COPY_ASYNC, bytes, kind, stream);
}
EXPORT int cudaMemcpyPeer(void* to, int on UNUSED, const void* from, int at UNUSED, size_t bytes) {
  return copy(to, from, bytes);
}
EXPORT int cudaMemcpyPeerAsync(void* to, int on UNUSED, const void* from, int at UNUSED,
                               size_t bytes) {
  return copy(to, from, bytes);
}
/* CUDA_MEMCPY2D, between the host and a device. */
struct copy_of_rows {
  size_t from_x, from_y;
  unsigned from_kind;
  const char* from_host;
  const char* from_device;
  void* from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  unsigned to_kind;
  char* to_host;
  char* to_device;
  void* to_array;
  size_t to_pitch;
  size_t row_bytes, rows;
};
EXPORT int cuMemcpy2DAsync_v2(const struct copy_of_rows* copies, void* stream UNUSED) {
  enum { kHost = 1, kDevice = 2 };
  const char* from = copies->from_kind == kHost ? copies->from_host : copies->from_device;
  char* to = copies->to_kind == kHost ? copies->to_host : copies->to_device;
  if (!from || !to || copies->from_kind > kDevice || copies->to_kind > kDevice)
    return INVALID_VALUE;
  for (size_t row = 0; row < copies->rows; ++row)
    copy(to + row * copies->to_pitch, from + row * copies->from_pitch, copies->row_bytes);
  return OK;
}
EXPORT int cuMemHostAlloc(void** result, size_t bytes) { return cudaHostAlloc(result, bytes); }
static void fill(void* to, int value, size_t bytes) {
  if (bytes <= kSmallBytes && to) memset(to, value, bytes);
}
EXPORT int cudaMemset(void* to, int value, size_t bytes) {
  fill(to, value, bytes);
  return put_fill(CALL_FILL_NOW, bytes, NULL);
}
EXPORT int cudaMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  fill(to, value, bytes);
  return put_fill(CALL_FILL_ASYNC, bytes, stream);
}

/* struct cudaPointerAttributes: type, device, devicePointer, hostPointer; CUDA 13 added room. */
EXPORT int cudaPointerGetAttributes(void* into, const void* address) {
  enum { kUnregistered = 0, kDevice = 2 };
  int on = -2; /* of an address that CUDA knows nothing of */
  const int is_on_device = on_device(address, &on);
  memset(into, 0, major() >= 13 ? 88 : 24);
  const int head[2] = {is_on_device ? kDevice : kUnregistered, on};
  memcpy(into, head, sizeof head);
  memcpy((char*)into + (is_on_device ? 8 : 16), &address, sizeof address);
  return OK;
}

/* Virtual memory management, which the allocator's expandable segments use: address space is
 * reserved first, and memory of the device is counted when it is made. */
struct physical {
  size_t bytes;
  int on;
};
struct location { /* CUmemAllocationProp begins so: type, handle types, where */
  int type, handle_types, location_type, id;
};
EXPORT int cuMemAddressReserve(void** result, size_t bytes) {
  struct block block = {address_space(bytes), bytes, 0, current_device()};
  if (!block.begin || add_block(block) != OK) return NO_MEMORY;
  return *result = block.begin, OK;
}
EXPORT int cuMemAddressFree(void* begin) {
  const struct block block = take_block(begin);
  if (block.begin) munmap(block.begin, block.bytes);
  return OK;
}
EXPORT int cuMemCreate(void** result, size_t bytes, const struct location* where) {
  struct physical* made = malloc(sizeof *made);
  if (!made || reserve(where->id, bytes) != OK) return free(made), NO_MEMORY;
  *made = (struct physical){bytes, where->id};
  return *result = made, OK;
}
EXPORT int cuMemRelease(struct physical* made) {
  if (made) count_reserved(made->on, -(int64_t)made->bytes);
  free(made);
  return OK;
}
EXPORT int cuMemGetAllocationGranularity(size_t* bytes) { return *bytes = 2 << 20, OK; }
EXPORT int cuMemGetInfo_v2(size_t* left, size_t* total) { return cudaMemGetInfo(left, total); }
EXPORT int cuMemAlloc_v2(void** result, size_t bytes) { return cudaMalloc(result, bytes); }
EXPORT int cuMemFree_v2(void* begin) { return cudaFree(begin); }

EXPORT int cudaDeviceGetDefaultMemPool(void** pool) {
  static char only_pool;
  return *pool = &only_pool, OK;
}
EXPORT int cudaMemPoolGetAttribute(void* pool UNUSED, int attribute UNUSED, uint64_t* value) {
  return *value = 0, OK;
}
