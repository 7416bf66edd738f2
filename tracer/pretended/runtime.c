/* runtime.c: errors, events, what kernels say of themselves, and the driver's face. All work is
 * done at once, since none is done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "tracer/pretended/launches.h"
#include "tracer/pretended/pretended.h"

void* handle(void) {
  static _Atomic uintptr_t last = 0x1000;
  return (void*)(atomic_fetch_add(&last, 16) + 16);
}

static __thread int last_error;
int set_error(int error) { return last_error = error; }
EXPORT int cudaPeekAtLastError(void) { return last_error; }
EXPORT int cudaGetLastError(void) {
  const int error = last_error;
  return last_error = OK, error;
}

struct error_text {
  int error;
  const char *name, *text;
};
static const struct error_text kErrors[] = {
    {OK, "cudaSuccess", "no error"},
    {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {NO_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found"},
    {ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {ASSERTED, "cudaErrorAssert", "device-side assert triggered"},
    {NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
};
static const struct error_text* text_of(int error) {
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i)
    if (kErrors[i].error == error) return &kErrors[i];
  return &kErrors[1];
}
EXPORT const char* cudaGetErrorString(int error) { return text_of(error)->text; }
EXPORT const char* cudaGetErrorName(int error) { return text_of(error)->name; }
EXPORT int cuGetErrorString(int error, const char** text) {
  return *text = text_of(error)->text, OK;
}
EXPORT int cuGetErrorName(int error, const char** name) { return *name = text_of(error)->name, OK; }

EXPORT int cudaEventCreate(void** event) { return *event = handle(), OK; }
EXPORT int cudaEventCreateWithFlags(void** event) { return *event = handle(), OK; }
EXPORT int cudaEventQuery(void) { return late_error(); }
EXPORT int cudaEventSynchronize(void) { return late_error(); }
EXPORT int cudaStreamQuery(void) { return late_error(); }
EXPORT int cudaStreamSynchronize(void) { return late_error(); }
EXPORT int cudaDeviceSynchronize(void) { return late_error(); }
EXPORT int cudaEventElapsedTime(float* ms) { return *ms = 1, OK; }
EXPORT int cudaEventElapsedTime_v2(float* ms) { return *ms = 1, OK; }
EXPORT int cudaStreamAddCallback(void* stream, void (*call)(void*, int, void*), void* data) {
  return call(stream, OK, data), OK;
}
EXPORT int cudaLaunchHostFunc(void* stream UNUSED, void (*call)(void*), void* data) {
  return call(data), OK;
}

/* struct cudaFuncAttributes: of sizes only what a launch is planned with. */
EXPORT int cudaFuncGetAttributes(void* into, const void* kernel) {
  memset(into, 0, major() >= 12 ? 144 : 56);
  const int threads_registers[2] = {1024, 32};
  const int code = code_of(kernel, device()->sm);
  const int versions[2] = {code, code};
  const int dynamic_shared = 48 << 10;
  memcpy((char*)into + 24, threads_registers, sizeof threads_registers);
  memcpy((char*)into + 32, versions, sizeof versions);
  memcpy((char*)into + 44, &dynamic_shared, sizeof dynamic_shared);
  return OK;
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks) { return *blocks = 2, OK; }
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks) {
  return *blocks = 2, OK;
}
static char symbols[1 << 16]; /* every variable of a device's */
EXPORT int cudaGetSymbolAddress(void** address) { return *address = symbols, OK; }
EXPORT int cudaLibraryLoadData(void** library) { return *library = handle(), OK; }
EXPORT int cudaLibraryLoadFromFile(void** library) { return *library = handle(), OK; }
EXPORT int cudaLibraryGetGlobal(void** address, size_t* bytes) {
  *address = symbols;
  if (bytes) *bytes = sizeof symbols;
  return OK;
}

/* Memory of another process cannot be reached: said, and not pretended. */
EXPORT int cudaIpcGetMemHandle(void) { return set_error(NOT_SUPPORTED); }
EXPORT int cudaIpcOpenMemHandle(void) { return set_error(NOT_SUPPORTED); }
EXPORT int cudaIpcGetEventHandle(void) { return set_error(NOT_SUPPORTED); }
EXPORT int cudaIpcOpenEventHandle(void) { return set_error(NOT_SUPPORTED); }

/* The driver's functions as the runtime hands them out: those of this library, and a success for
 * what it has not. */
static int succeed(void) { return OK; }
EXPORT int cudaGetDriverEntryPoint(const char* name, void** function,
                                   unsigned long long flags UNUSED, int* found) {
  static void* self;
  if (!self) {
    Dl_info here;
    if (dladdr((void*)succeed, &here)) self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  *function = self ? dlsym(self, name) : NULL;
  if (!*function) *function = (void*)succeed;
  if (found) *found = 0;
  return OK;
}
EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                            unsigned version UNUSED, unsigned long long flags,
                                            int* found) {
  return cudaGetDriverEntryPoint(name, function, flags, found);
}
EXPORT int cuGetProcAddress(const char* name, void** function) {
  return cudaGetDriverEntryPoint(name, function, 0, NULL);
}
EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version UNUSED,
                               unsigned long long flags, int* found) {
  return cudaGetDriverEntryPoint(name, function, flags, found);
}

/* The driver's own face: Triton, NVRTC's users. */
static char context;
EXPORT int cuCtxGetCurrent(void** current) { return *current = &context, OK; }
EXPORT int cuCtxGetDevice(int* which) { return *which = current_device(), OK; }
EXPORT int cuDevicePrimaryCtxRetain(void** made) { return *made = &context, OK; }
EXPORT int cuDevicePrimaryCtxGetState(int which UNUSED, unsigned* flags, int* active) {
  *flags = 0;
  return *active = 1, OK;
}
EXPORT int cuModuleLoadData(void** module) { return *module = handle(), OK; }
EXPORT int cuModuleLoadDataEx(void** module) { return *module = handle(), OK; }
EXPORT int cuModuleLoad(void** module) { return *module = handle(), OK; }
EXPORT int cuLinkCreate_v2(unsigned count UNUSED, void* options UNUSED, void* values UNUSED,
                           void** state) {
  return *state = handle(), OK;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks) { return *blocks = 2, OK; }
EXPORT int cuOccupancyMaxActiveClusters(int* clusters) { return *clusters = 2, OK; }
/* enum CUfunction_attribute: a kernel of Triton's spills nothing here. */
EXPORT int cuFuncGetAttribute(int* value, int attribute) {
  return *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0, OK; /* threads, registers */
}
EXPORT int cuCtxGetLimit(size_t* value) { return *value = 1 << 20, OK; }
EXPORT int cuPointerGetAttribute(uint64_t* value, int attribute, const void* address) {
  enum { kMemoryType = 2, kDevicePointer = 3, kDeviceOrdinal = 9 };
  int on = 0;
  const int is_on_device = on_device(address, &on);
  if (attribute == kDevicePointer) return *value = (uint64_t)address, OK;
  const int small = attribute == kMemoryType      ? (is_on_device ? 2 : 1)
                    : attribute == kDeviceOrdinal ? on
                                                  : 0;
  return memcpy(value, &small, sizeof small), is_on_device ? OK : INVALID_VALUE;
}
