/* static_runtime.c: a library that was linked with a CUDA runtime of its own inside
 * (libcudart_static) calls the driver by tables that only the driver has. It is refused, and told
 * by name: what its kernels would do is not known. LibTorch's own libraries do not ask for such
 * tables. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tracer/pretended/pretended.h"

EXPORT int cuGetExportTable(const void** table, const void* which UNUSED) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  Dl_info caller;
  if (!atomic_flag_test_and_set(&said))
    fprintf(stderr,
            "dtypecheck: %s contains a CUDA runtime of its own, which preflight cannot replace; "
            "its calls fail\n",
            dladdr(__builtin_return_address(0), &caller) ? caller.dli_fname : "a library");
  return *table = NULL, NOT_SUPPORTED;
}
