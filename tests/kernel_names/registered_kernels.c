/* Preloaded: writes the name of each kernel that a program registers with the CUDA runtime. */
#include <stdio.h>
#include <stdlib.h>

void __cudaRegisterFunction(void** binary, const void* function, char* device_function,
                            const char* name) {
  static FILE* file;
  (void)binary, (void)function, (void)device_function;
  const char* path = getenv("REGISTERED_KERNELS");
  if (!file && path) file = fopen(path, "w");
  if (file) fprintf(file, "%s\n", name);
}
