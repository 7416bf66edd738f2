/* gpu.h: what stage 2 and stage 3 (CUPTI, loaded when the program uses a GPU) know of each other.
 * Plain C: stage 3 is one library for all LibTorches. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DTYPECHECK_GPU_ABI 3

/* What op_in_flight() gives of the tracer's own copies, which are not recorded. */
#define DTYPECHECK_GPU_OWN UINT32_MAX

enum DtypecheckGpuKind {
  DTYPECHECK_GPU_KERNEL = 1,
  DTYPECHECK_GPU_COPY = 2,
  DTYPECHECK_GPU_FILL = 3,
};

/* One piece of work that the GPU has finished. */
typedef struct DtypecheckGpuWork {
  uint32_t kind;    /* DtypecheckGpuKind */
  uint32_t op;      /* what op_in_flight() gave when it was launched; 0: it was not known */
  uint32_t device;  /* as CUDA counts them */
  const char* name; /* of a kernel, mangled; null for the others. Lives as long as its module */
  uint32_t stream;  /* as CUDA counts them */
  uint64_t begin_unix_ns;
  uint64_t time_ns;
  uint64_t bytes; /* that were copied or filled; 0 of a kernel */
} DtypecheckGpuWork;

/* What could not be recorded; all count from the start. */
typedef struct DtypecheckGpuLosses {
  uint64_t dropped; /* records that CUPTI found no buffer for */
  uint64_t unknown; /* records of a kind or size that is not known here */
  uint64_t late;    /* records whose launch was forgotten before they came */
} DtypecheckGpuLosses;

/* Given to stage 3; lives as long as the process. */
typedef struct DtypecheckGpuHost {
  uint32_t abi;
  /* Of the calling thread; 0 outside of ops. Hot: once a launch. */
  uint32_t (*op_in_flight)(void);
  /* From a thread of CUPTI's, or one that flushes; never from two at a time. */
  void (*record)(const DtypecheckGpuWork* work);
  /* One line that says what is not recorded, and why. */
  void (*complain)(const char* line);
} DtypecheckGpuHost;

/* 0 when work on the GPU is recorded from here on; else it was told why not. The program has
 * initialised CUDA itself: nothing here does, since a child forked after cuInit() has no CUDA. */
typedef int (*DtypecheckGpuStart)(const DtypecheckGpuHost* host);
/* Waits for records that are complete; those of work in progress stay for the next time. */
typedef void (*DtypecheckGpuFlush)(DtypecheckGpuLosses* losses);
/* Gives CUPTI to another tool, until the next start: there is one subscriber, and its callbacks
 * are global. */
typedef void (*DtypecheckGpuStop)(void);
/* In a forked child, where CUDA is gone. */
typedef void (*DtypecheckGpuForget)(void);

typedef struct DtypecheckGpu {
  uint32_t abi;
  DtypecheckGpuStart start;
  DtypecheckGpuFlush flush;
  DtypecheckGpuStop stop;
  DtypecheckGpuForget forget;
} DtypecheckGpu;

/* Stage 3's one symbol. */
typedef const DtypecheckGpu* (*DtypecheckGpuEntry)(void);
#define DTYPECHECK_GPU_ENTRY "dtypecheck_gpu_entry"

#ifdef __cplusplus
}
#endif
