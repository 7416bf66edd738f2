/* launches.c: the kernels that a program registers, by name, and their launches. None of them runs.
 */
#define _GNU_SOURCE
#include "tracer/pretended/launches.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/pretended/pretended.h"

struct image;

/* From what a launch names, a function of the host or a handle, to the kernel's name: some ten
 * thousand, which torch registers when it is loaded. Open addressing, at most half full. */
struct kernel {
  const void* function;
  const char* name;
  const struct image* image; /* that it was compiled into, of a kernel of a library's */
};
static struct kernel* kernels;
static size_t kernel_count, kernel_room;
static pthread_mutex_t kernels_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct kernel* slot_of(const void* function) {
  size_t at = ((uintptr_t)function * 0x9E3779B97F4A7C15u >> 20) & (kernel_room - 1);
  while (kernels[at].function && kernels[at].function != function)
    at = (at + 1) & (kernel_room - 1);
  return &kernels[at];
}

static int make_room(void) {
  if (2 * kernel_count < kernel_room) return 1;
  struct kernel* old = kernels;
  const size_t old_room = kernel_room, room = old_room ? 2 * old_room : 1 << 14;
  struct kernel* made = calloc(room, sizeof *made);
  if (!made) return 0;
  kernels = made;
  kernel_room = room;
  for (size_t i = 0; i < old_room; ++i)
    if (old[i].function) *slot_of(old[i].function) = old[i];
  free(old);
  return 1;
}

static void name_kernel(const void* function, const char* name, const struct image* image) {
  if (!function || !name) return;
  pthread_mutex_lock(&kernels_mutex);
  if (make_room()) {
    struct kernel* slot = slot_of(function); /* another module may have lain at that address */
    if (!slot->function) ++kernel_count;
    *slot = (struct kernel){function, name, image};
  }
  pthread_mutex_unlock(&kernels_mutex);
}

static struct kernel kernel_of(const void* function) {
  struct kernel kernel = {0};
  pthread_mutex_lock(&kernels_mutex);
  if (kernel_room) kernel = *slot_of(function);
  pthread_mutex_unlock(&kernels_mutex);
  return kernel;
}

/* "" of one that was registered elsewhere, by a runtime of its own. */
static const char* name_of(const void* function) {
  const char* name = kernel_of(function).name;
  return name ? name : "";
}

/* What nvcc puts around the code for several architectures, as its fatbinary.h and the files
 * themselves have it. Each piece of code has a head of its own. */
struct image {
  uint32_t magic, version;
  const char* codes;
};
struct codes {
  uint32_t magic;
  uint16_t version, head_bytes;
  uint64_t bytes; /* behind the head */
};
struct code {
  uint16_t kind, version;
  uint32_t head_bytes;
  uint64_t bytes; /* behind the head */
  uint32_t compressed_bytes, options;
  uint16_t minor, major;
  uint32_t sm;
};

/* Of what there is for the kernel the newest that the device runs. A device that is older than all
 * of it would run none, and is pretended to run the oldest: CUB looks for no older. */
int code_of(const void* function, int sm) {
  const uint32_t kImage = 0x466243b1, kCodes = 0xba55ed50;
  const struct image* image = kernel_of(function).image;
  if (!image || image->magic != kImage || !image->codes) return sm;
  struct codes all;
  memcpy(&all, image->codes, sizeof all);
  if (all.magic != kCodes) return sm;
  int newest = 0, oldest = 0;
  struct code code;
  for (uint64_t at = 0; at + sizeof code <= all.bytes; at += code.head_bytes + code.bytes) {
    memcpy(&code, image->codes + all.head_bytes + at, sizeof code);
    if (code.head_bytes < sizeof code) break;
    if ((int)code.sm <= sm && (int)code.sm > newest) newest = (int)code.sm;
    if (oldest == 0 || (int)code.sm < oldest) oldest = (int)code.sm;
  }
  return newest ? newest : oldest ? oldest : sm;
}

/* One that is found in a module by its name has a handle. */
static int find_kernel(void** found, const char* name) {
  *found = handle();
  char* copy = name ? strdup(name) : NULL;
  if (copy) name_kernel(*found, copy, NULL);
  return OK;
}

/* What nvcc puts around a file of kernels: the handle that it is given back is the image. */
EXPORT void** __cudaRegisterFatBinary(void* image) { return image; }
EXPORT void __cudaRegisterFunction(void** binary, const void* function,
                                   char* device_function UNUSED, const char* name) {
  name_kernel(function, name, (const struct image*)binary);
}
EXPORT int __cudaGetKernel(const void** kernel, const void* function) {
  return *kernel = function, OK;
}
EXPORT int cudaLibraryGetKernel(void** kernel, void* library UNUSED, const char* name) {
  return find_kernel(kernel, name);
}
EXPORT int cuModuleGetFunction(void** function, void* module UNUSED, const char* name) {
  return find_kernel(function, name);
}
EXPORT int cuLibraryGetKernel(void** kernel, void* library UNUSED, const char* name) {
  return find_kernel(kernel, name);
}
EXPORT int cuKernelGetFunction(void** function, void* kernel) { return *function = kernel, OK; }

/* For the tests: the next kernel whose name has this in it does not end well, which later calls
 * tell; and what a kernel takes, which is nothing else. */
static const char* failing;
static int failing_with;
static atomic_int failed;
EXPORT void dtypecheck_pretended_fail(const char* in_name, int error) {
  failing = strdup(in_name);
  failing_with = error;
}
int late_error(void) {
  const int error = atomic_load(&failed);
  return error ? set_error(error) : OK;
}
static int ends_badly(const struct work* work) {
  if (!failing || work->kind != ACTIVITY_KERNEL || !strstr(work->name, failing)) return 0;
  atomic_store(&failed, failing_with);
  return 1;
}

int put_work(enum pretended_call call, const struct work* work, void* stream) {
  if (late_error()) return late_error();
  struct stream* into = stream_of(stream);
  const uint32_t correlation = begin_call(call, work->name);
  if (!capture_work(into, work) && !ends_badly(work)) note_work(work, into, correlation, 0);
  end_call(call, correlation, OK);
  return OK;
}
int put_copy(enum pretended_call call, uint64_t bytes, int copy_kind, void* stream) {
  const struct work work = {ACTIVITY_COPY, "", bytes, copy_kind};
  return put_work(call, &work, stream);
}
int put_fill(enum pretended_call call, uint64_t bytes, void* stream) {
  const struct work work = {ACTIVITY_FILL, "", bytes, 0};
  return put_work(call, &work, stream);
}

static int launch(enum pretended_call call, const void* function, void* stream) {
  const struct work work = {ACTIVITY_KERNEL, name_of(function), 0, 0};
  return put_work(call, &work, stream);
}

struct dim3 {
  unsigned x, y, z;
};
/* cudaLaunchConfig_t and CUlaunchConfig, up to their streams, which are at the same place. */
struct launch_config {
  unsigned grid[3], block[3];
  size_t shared;
  void* stream;
};

EXPORT int cudaLaunchKernel(const void* function, struct dim3 grid UNUSED, struct dim3 block UNUSED,
                            void** arguments UNUSED, size_t shared UNUSED, void* stream) {
  return launch(CALL_LAUNCH, function, stream);
}
EXPORT int __cudaLaunchKernel(const void* kernel, struct dim3 grid UNUSED, struct dim3 block UNUSED,
                              void** arguments UNUSED, size_t shared UNUSED, void* stream) {
  return launch(CALL_LAUNCH_13, kernel, stream);
}
EXPORT int cudaLaunchCooperativeKernel(const void* function, struct dim3 grid UNUSED,
                                       struct dim3 block UNUSED, void** arguments UNUSED,
                                       size_t shared UNUSED, void* stream) {
  return launch(CALL_LAUNCH_COOPERATIVE, function, stream);
}
EXPORT int cudaLaunchKernelExC(const struct launch_config* config, const void* function) {
  return launch(CALL_LAUNCH_EX, function, config->stream);
}
EXPORT int cuLaunchKernel(const void* function, unsigned x UNUSED, unsigned y UNUSED,
                          unsigned z UNUSED, unsigned i UNUSED, unsigned j UNUSED,
                          unsigned k UNUSED, unsigned shared UNUSED, void* stream) {
  return launch(CALL_DRIVER_LAUNCH, function, stream);
}
EXPORT int cuLaunchCooperativeKernel(const void* function, unsigned x UNUSED, unsigned y UNUSED,
                                     unsigned z UNUSED, unsigned i UNUSED, unsigned j UNUSED,
                                     unsigned k UNUSED, unsigned shared UNUSED, void* stream) {
  return launch(CALL_DRIVER_LAUNCH_COOPERATIVE, function, stream);
}
EXPORT int cuLaunchKernelEx(const struct launch_config* config, const void* function) {
  return launch(CALL_DRIVER_LAUNCH_EX, function, config->stream);
}

/* `kernel<<<…>>>(…)`: what stands between the brackets waits for the kernel's own function. */
enum { kMostConfigurations = 16 };
static __thread struct launch_config configurations[kMostConfigurations];
static __thread unsigned configuration_count;
EXPORT unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                            void* stream) {
  configurations[configuration_count++ % kMostConfigurations] =
      (struct launch_config){{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream};
  return OK;
}
EXPORT int __cudaPopCallConfiguration(unsigned* grid, unsigned* block, size_t* shared,
                                      void** stream) {
  static const struct launch_config kNone = {{1, 1, 1}, {1, 1, 1}, 0, NULL};
  const struct launch_config* last =
      configuration_count ? &configurations[--configuration_count % kMostConfigurations] : &kNone;
  memcpy(grid, last->grid, sizeof last->grid);
  memcpy(block, last->block, sizeof last->block);
  *shared = last->shared;
  *stream = last->stream;
  return OK;
}
