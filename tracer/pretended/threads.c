/* threads.c: CPython before 3.14 ends a thread that wants its lock while the interpreter goes away
 * by pthread_exit(), which unwinds the stack. LibTorch's autograd thread for a GPU has frames that
 * may not be unwound, and aborts; a program on the CPU has no such thread. It waits here instead
 * until the process ends, as it does in CPython 3.14. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#include "tracer/pretended/pretended.h"

static int python_goes_away(void) {
  static const char* const kNames[] = {"Py_IsFinalizing", "_Py_IsFinalizing"};
  for (int i = 0; i < 2; ++i) {
    int (*ask)(void) = NULL;
    *(void**)&ask = dlsym(RTLD_DEFAULT, kNames[i]);
    if (ask) return ask();
  }
  return 0;
}

EXPORT __attribute__((noreturn)) void pthread_exit(void* result) {
  while (python_goes_away()) pause();
  __attribute__((noreturn)) void (*real)(void*) = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, "pthread_exit");
  real(result);
}
