/* nvml.c: as much of NVIDIA's management library as LibTorch and its Python ask for: how many GPUs
 * there are, without initialising CUDA, and what they are doing, which is nothing. A library of its
 * own, since it is opened by its own name, libnvidia-ml.so.1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tracer/pretended/pretended.h"

enum { kNotSupported = 3, kNotFound = 6 };

/* The other library is loaded before. */
#define OF_RUNTIME(type, name) ((type)dlsym(RTLD_DEFAULT, name))

static int count_of_runtime(void) {
  int count = 0;
  int (*get)(int*) = OF_RUNTIME(int (*)(int*), "cuDeviceGetCount");
  return get && get(&count) == OK ? count : 0;
}
static int attribute(int which) {
  int value = 0;
  int (*get)(int*, int, int) = OF_RUNTIME(int (*)(int*, int, int), "cuDeviceGetAttribute");
  if (get) get(&value, which, 0);
  return value;
}

EXPORT int nvmlInit(void) { return OK; }
EXPORT int nvmlInit_v2(void) { return OK; }
EXPORT int nvmlInitWithFlags(unsigned flags UNUSED) { return OK; }
EXPORT int nvmlShutdown(void) { return OK; }
EXPORT const char* nvmlErrorString(int error) { return error ? "Not Supported" : "Success"; }
EXPORT int nvmlDeviceGetCount(unsigned* count) { return *count = (unsigned)count_of_runtime(), OK; }
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) { return nvmlDeviceGetCount(count); }
EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return snprintf(text, size, "580.0"), OK;
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  int (*get)(int*) = OF_RUNTIME(int (*)(int*), "cuDriverGetVersion");
  return *version = 0, get ? get(version) : OK;
}
EXPORT int nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device_handle) {
  if ((int)index >= count_of_runtime()) return kNotFound;
  return *device_handle = (void*)(uintptr_t)(index + 1), OK;
}
EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void** device_handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, device_handle);
}
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus UNUSED, void** device_handle) {
  return *device_handle = (void*)1, OK;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid UNUSED, void** device_handle) {
  return *device_handle = (void*)1, OK;
}
EXPORT int nvmlDeviceGetIndex(void* which, unsigned* index) {
  return *index = (unsigned)(uintptr_t)which - 1, OK;
}
EXPORT int nvmlDeviceGetName(void* which UNUSED, char* text, unsigned size) {
  int (*get)(char*, int, int) = OF_RUNTIME(int (*)(char*, int, int), "cuDeviceGetName");
  return get ? get(text, (int)size, 0) : kNotSupported;
}
EXPORT int nvmlDeviceGetUUID(void* which, char* text, unsigned size) {
  return snprintf(text, size, "GPU-pretended-%d", (int)(uintptr_t)which - 1), OK;
}
EXPORT int nvmlDeviceGetCudaComputeCapability(void* which UNUSED, int* major_of, int* minor_of) {
  *major_of = attribute(75);
  return *minor_of = attribute(76), OK;
}
struct memory {
  unsigned long long total, left, used;
};
EXPORT int nvmlDeviceGetMemoryInfo(void* which UNUSED, struct memory* memory) {
  int (*get)(size_t*, size_t*) = OF_RUNTIME(int (*)(size_t*, size_t*), "cudaMemGetInfo");
  size_t left = 0, total = 0;
  if (get) get(&left, &total);
  return *memory = (struct memory){total, left, total - left}, OK;
}
EXPORT int nvmlDeviceGetUtilizationRates(void* which UNUSED, unsigned* gpu_and_memory) {
  return gpu_and_memory[0] = gpu_and_memory[1] = 0, OK;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses(void* which UNUSED, unsigned* count) {
  return *count = 0, OK;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* which UNUSED, unsigned* count) {
  return *count = 0, OK;
}
EXPORT int nvmlDeviceGetTemperature(void* which UNUSED, int sensor UNUSED, unsigned* degrees) {
  return *degrees = 30, OK;
}
EXPORT int nvmlDeviceGetPowerUsage(void* which UNUSED, unsigned* milliwatts) {
  return *milliwatts = 0, OK;
}
EXPORT int nvmlDeviceGetClockInfo(void* which UNUSED, int clock UNUSED, unsigned* mhz) {
  return *mhz = 1410, OK;
}
EXPORT int nvmlDeviceGetMigMode(void* which UNUSED, unsigned* now UNUSED, unsigned* next UNUSED) {
  return kNotSupported;
}
EXPORT int nvmlDeviceGetNumaNodeId(void* which UNUSED, unsigned* node UNUSED) {
  return kNotSupported;
}
/* One GPU is joined to no other. */
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void) { return kNotSupported; }
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void) { return kNotSupported; }
EXPORT int nvmlDeviceGetGpuFabricInfoV(void) { return kNotSupported; }
