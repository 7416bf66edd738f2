/* devices.c: which GPU is pretended, how many, and what it says of itself. */
#define _GNU_SOURCE
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/pretended/pretended.h"

static const struct device kDevices[] = {
#define DEVICE(...) {__VA_ARGS__},
#include "tracer/pretended/devices.inc"
#undef DEVICE
};
static const size_t kDeviceCount = sizeof kDevices / sizeof *kDevices;

const struct device* device(void) {
  const char* key = getenv("DTYPECHECK_PRETENDED_GPU");
  for (size_t i = 0; key && i < kDeviceCount; ++i)
    if (strcmp(kDevices[i].key, key) == 0) return &kDevices[i];
  for (size_t i = 0; i < kDeviceCount; ++i)
    if (strcmp(kDevices[i].key, "a100") == 0) return &kDevices[i];
  return kDevices;
}

size_t device_bytes(void) {
  const char* bytes = getenv("DTYPECHECK_PRETENDED_BYTES");
  if (bytes && *bytes) return strtoull(bytes, NULL, 10);
  return (size_t)(device()->memory_gb * 1024 * 1024) << 10;
}

/* As the driver counts what CUDA_VISIBLE_DEVICES leaves: up to the first that is not there. */
static int visible(int there) {
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return there;
  int count = 0;
  while (*list && count < there) {
    char* end;
    const long index = strtol(list, &end, 10);
    const int is_uuid = end == list && strncmp(list, "GPU-", 4) == 0;
    if (!is_uuid && (end == list || index < 0 || index >= there)) break;
    ++count;
    list = strchr(list, ',');
    if (!list) break;
    ++list;
  }
  return count;
}

int device_count(void) {
  const char* count = getenv("DTYPECHECK_PRETENDED_GPUS");
  return visible(count && *count ? atoi(count) : 1);
}

/* A library's major version stands in its soname: libcudart.so.11.0, .12, .13. */
struct soname {
  const char* name;
  int major;
};
static int note_major(struct dl_phdr_info* info, size_t size UNUSED, void* wanted) {
  struct soname* soname = wanted;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  const char* version = strstr(name, ".so.");
  if (strncmp(name, soname->name, strlen(soname->name)) == 0 && version)
    soname->major = atoi(version + 4);
  return 0;
}
static int major_of(const char* name, atomic_int* known, int otherwise) {
  struct soname soname = {name, atomic_load(known)};
  if (soname.major) return soname.major;
  dl_iterate_phdr(note_major, &soname);
  if (soname.major) atomic_store(known, soname.major);
  return soname.major ? soname.major : otherwise;
}
int major(void) {
  static atomic_int known;
  return major_of("libcudart", &known, 13);
}
int cudnn_major(void) {
  static atomic_int known;
  return major_of("libcudnn", &known, 9);
}

static int version_of_major(void) { return major() == 11 ? 11080 : major() == 12 ? 12080 : 13020; }
EXPORT int cudaDriverGetVersion(int* version) { return *version = version_of_major(), OK; }
EXPORT int cudaRuntimeGetVersion(int* version) { return *version = version_of_major(), OK; }
EXPORT int cuDriverGetVersion(int* version) { return *version = version_of_major(), OK; }

/* Where struct cudaDeviceProp has what is filled in: CUDA 11.8, 12 and 13. Up to texturePitch all
 * are alike but for clockRate, which 13 has not; 12 put the identity of a MIG device before. */
enum field {
  kMultiprocessors,
  kCanMapHostMemory,
  kConcurrentKernels,
  kPciBus,
  kAsyncEngines,
  kUnifiedAddressing,
  kMemoryBusWidth,
  kL2Bytes,
  kThreadsPerMultiprocessor,
  kStreamPriorities,
  kGlobalL1,
  kLocalL1,
  kSharedPerMultiprocessor,
  kRegistersPerMultiprocessor,
  kManagedMemory,
  kCooperativeLaunch,
  kSharedPerBlockOptin,
  kBlocksPerMultiprocessor,
  kFields,
};
static const uint16_t kOffsets[2][kFields] = {
    {388, 400, 576, 584, 600, 604, 612, 616, 624, 628, 632, 636, 640, 648, 652, 688, 696, 712},
    {384, 392, 560, 568, 584, 588, 592, 596, 604, 608, 612, 616, 624, 632, 636, 668, 672, 688},
};
enum { kSize11 = 728, kSize12 = 1032, kSize13 = 1008 };

static size_t shared_per_multiprocessor(void) { return (size_t)device()->shared_kb << 10; }
/* CUDA keeps one kB of a block's for itself since compute capability 8.0. */
static size_t shared_optin(void) {
  return shared_per_multiprocessor() - (device()->sm >= 80 ? 1024 : 0);
}
static int threads_per_multiprocessor(void) {
  const int sm = device()->sm;
  return sm == 75 ? 1024 : sm == 86 || sm == 89 ? 1536 : 2048;
}
static int blocks_per_multiprocessor(void) {
  const int sm = device()->sm;
  return sm == 75 || sm == 86 ? 16 : sm == 89 ? 24 : 32;
}

static void put_int(void* at, size_t offset, int value) {
  memcpy((char*)at + offset, &value, sizeof value);
}
static void put_size(void* at, size_t offset, size_t value) {
  memcpy((char*)at + offset, &value, sizeof value);
}

static int properties(void* into, int which, size_t size, const uint16_t* offsets) {
  if (which < 0 || which >= device_count()) return set_error(INVALID_DEVICE);
  memset(into, 0, size);
  snprintf(into, 256, "%s", device()->name);
  snprintf((char*)into + 256, 16, "pretended-%d", which); /* its uuid */
  put_size(into, 288, device_bytes());
  put_size(into, 296, 48 << 10); /* shared memory of a block */
  put_int(into, 304, 65536);     /* registers of a block */
  put_int(into, 308, 32);        /* threads of a warp */
  put_size(into, 312, INT32_MAX);
  put_int(into, 320, 1024); /* threads of a block, and in each direction */
  put_int(into, 324, 1024);
  put_int(into, 328, 1024);
  put_int(into, 332, 64);
  put_int(into, 336, INT32_MAX); /* blocks of a grid */
  put_int(into, 340, 65535);
  put_int(into, 344, 65535);
  put_size(into, 352, 64 << 10); /* constant memory */
  put_int(into, 360, device()->sm / 10);
  put_int(into, 364, device()->sm % 10);
  put_size(into, 368, 512); /* alignment of textures */
  put_size(into, 376, 32);
  put_int(into, offsets[kMultiprocessors], device()->multiprocessors);
  put_int(into, offsets[kCanMapHostMemory], 1);
  put_int(into, offsets[kConcurrentKernels], 1);
  put_int(into, offsets[kPciBus], which + 1);
  put_int(into, offsets[kAsyncEngines], 3);
  put_int(into, offsets[kUnifiedAddressing], 1);
  put_int(into, offsets[kMemoryBusWidth], device()->bus_bits);
  put_int(into, offsets[kL2Bytes], device()->l2_mb << 20);
  put_int(into, offsets[kThreadsPerMultiprocessor], threads_per_multiprocessor());
  put_int(into, offsets[kStreamPriorities], 1);
  put_int(into, offsets[kGlobalL1], 1);
  put_int(into, offsets[kLocalL1], 1);
  put_size(into, offsets[kSharedPerMultiprocessor], shared_per_multiprocessor());
  put_int(into, offsets[kRegistersPerMultiprocessor], 65536);
  put_int(into, offsets[kManagedMemory], 1);
  put_int(into, offsets[kCooperativeLaunch], 1);
  put_size(into, offsets[kSharedPerBlockOptin], shared_optin());
  put_int(into, offsets[kBlocksPerMultiprocessor], blocks_per_multiprocessor());
  return OK;
}

EXPORT int cudaGetDeviceProperties(void* into, int which) {
  return major() >= 13 ? properties(into, which, kSize13, kOffsets[1])
                       : properties(into, which, kSize11, kOffsets[0]);
}
/* The name of CUDA 12's, whose struct is longer than that of 11. */
EXPORT int cudaGetDeviceProperties_v2(void* into, int which) {
  return properties(into, which, kSize12, kOffsets[0]);
}

/* enum cudaDeviceAttr, which is the driver's CUdevice_attribute too. */
EXPORT int cudaDeviceGetAttribute(int* value, int attribute, int which) {
  if (which < 0 || which >= device_count()) return set_error(INVALID_DEVICE);
  switch (attribute) {
    case 1: /* threads of a block, in x and y */
    case 2:
    case 3:
      return *value = 1024, OK;
    case 4:
      return *value = 64, OK;
    case 5:
      return *value = INT32_MAX, OK; /* blocks of a grid */
    case 6:
    case 7:
      return *value = 65535, OK;
    case 8:
      return *value = 48 << 10, OK;
    case 9:
      return *value = 64 << 10, OK;
    case 10:
      return *value = 32, OK;
    case 12:
    case 82:
      return *value = 65536, OK; /* registers */
    case 13:
    case 36:
      return *value = 1410000, OK; /* kHz */
    case 14:
      return *value = 512, OK;
    case 16:
      return *value = device()->multiprocessors, OK;
    case 19: /* maps host memory, runs kernels side by side, one address space, priorities, */
    case 31: /* managed memory, cooperative launches, memory pools */
    case 41:
    case 78:
    case 83:
    case 95:
    case 115:
      return *value = 1, OK;
    case 33:
      return *value = which + 1, OK; /* PCI bus */
    case 37:
      return *value = device()->bus_bits, OK;
    case 38:
      return *value = device()->l2_mb << 20, OK;
    case 39:
      return *value = threads_per_multiprocessor(), OK;
    case 40:
      return *value = 3, OK; /* copy engines */
    case 75:
      return *value = device()->sm / 10, OK;
    case 76:
      return *value = device()->sm % 10, OK;
    case 81:
      return *value = (int)shared_per_multiprocessor(), OK;
    case 97:
      return *value = (int)shared_optin(), OK;
    case 106:
      return *value = blocks_per_multiprocessor(), OK;
    case 102:
      return *value = 1, OK; /* virtual memory management */
    case 120:
      return *value = device()->sm >= 90, OK; /* clusters */
    default:
      return *value = 0, OK;
  }
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int which) {
  return cudaDeviceGetAttribute(value, attribute, which);
}

EXPORT int cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count ? OK : set_error(100); /* no device is detected */
}
EXPORT int cuDeviceGetCount(int* count) { return *count = device_count(), OK; }
EXPORT int cuDeviceGet(int* which, int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return INVALID_DEVICE;
  return *which = ordinal, OK;
}
EXPORT int cuDeviceGetName(char* name, int size, int which UNUSED) {
  return snprintf(name, (size_t)size, "%s", device()->name), OK;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int which UNUSED) {
  return *bytes = device_bytes(), OK;
}
EXPORT int cuDeviceGetUuid_v2(char* uuid, int which) {
  return snprintf(uuid, 16, "pretended-%d", which), OK;
}
EXPORT int cudaDeviceGetPCIBusId(char* id, int size, int which) {
  return snprintf(id, (size_t)size, "0000:%02x:00.0", which + 1), OK;
}
EXPORT int cudaDeviceCanAccessPeer(int* can, int from, int to) { return *can = from != to, OK; }
EXPORT int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return OK;
}

static __thread int chosen;
int current_device(void) { return chosen; }
EXPORT int cudaGetDevice(int* which) { return *which = chosen, OK; }
EXPORT int cudaSetDevice(int which) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (which >= device_count() && !atomic_flag_test_and_set(&said))
    fprintf(
        stderr,
        "dtypecheck: the program wants GPU %d, but only %d %s pretended; run it with --gpus %d\n",
        which, device_count(), device_count() == 1 ? "is" : "are", which + 1);
  if (which < 0 || which >= device_count()) return set_error(INVALID_DEVICE);
  return chosen = which, OK;
}

/* For the tracer (tracer/hook/pretended.cpp), which makes "sm_80 (A100)" of them. */
EXPORT const char* dtypecheck_pretended_name(void) { return device()->short_name; }
EXPORT int dtypecheck_pretended_sm(void) { return device()->sm; }
