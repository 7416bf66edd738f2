/* pretended.h: what the files of the pretended GPU know of one another.
 *
 * This library stands in for the driver, the CUDA runtime and the libraries above it in a process
 * that has no GPU, so that the host code of a LibTorch with CUDA runs as it would with one: it
 * dispatches, checks dtypes, allocates and launches. A launch does nothing. Device memory is
 * address space that the kernel gives pages to only where it is touched, and is counted as if it
 * were the device's.
 *
 * It is preloaded, so its symbols come before those of NVIDIA's libraries, which are loaded and
 * left alone. What LibTorch wants of them and is not written out here is listed in wanted.txt, by
 * wanted.py, and is a stub that answers 0, success. Plain C and no CUDA headers: one build for all
 * machines, and for CUDA 11.8 to 13, whose types differ in little (major()). Sizes and offsets are
 * NVIDIA's documented ABI, held to its headers by tests/pretended/abi_test.cpp.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

/* The few numbers of cudaError_t and CUresult that are answered; the rest of both is never. */
enum {
  OK = 0,
  NO_MEMORY = 2,
  INVALID_VALUE = 1,
  INVALID_DEVICE = 101,
  NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
  ASSERTED = 710,
  NOT_SUPPORTED = 801,
};

struct device {
  const char *key, *short_name, *name;
  int sm; /* 80 is compute capability 8.0 */
  int multiprocessors;
  double memory_gb; /* of 2^30 bytes, as the driver gives to programs */
  int shared_kb;    /* of one multiprocessor */
  int l2_mb, bus_bits;
};

/* The one device that all are of, from DTYPECHECK_PRETENDED_GPU; and how many. */
const struct device* device(void);
int device_count(void);
size_t device_bytes(void); /* of each */

/* Of the CUDA that the program's LibTorch was built for: 11, 12 or 13. */
int major(void);
int cudnn_major(void); /* 8 or 9 */

void* handle(void); /* never null, never the same */
int set_error(int error);
int current_device(void);

/* True where it lies in a device's memory; which goes to `on`. */
int on_device(const void* address, int* on);
void count_reserved(int on, int64_t bytes);
int reserve(int on, size_t bytes); /* NO_MEMORY where the device has less left */
