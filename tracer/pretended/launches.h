/* launches.h: what is put into streams, and who hears of it: a graph that is captured there, or
 * CUPTI's user. */
#pragma once

#include <stdint.h>

#include "tracer/pretended/cupti_records.h"

struct stream {
  int device;
  uint32_t id;           /* as CUPTI counts them */
  struct graph* capture; /* that is captured here, or null */
  unsigned long long capture_id;
};
/* Null, and what is no stream of ours, is the default one of the current device. */
struct stream* stream_of(void* handle);

struct work {
  enum pretended_activity kind; /* a kernel, a copy, a fill */
  const char* name;             /* of a kernel, never null; lives as long as its module */
  uint64_t bytes;
  int copy_kind; /* cudaMemcpyKind */
};

/* The architecture, 80 of 8.0, that the kernel's code is for which a device runs. */
int code_of(const void* function, int sm);

/* The error that a kernel ended in, which each later call tells; OK. */
int late_error(void);

/* Does the work, or captures it. */
int put_work(enum pretended_call call, const struct work* work, void* stream);
int put_copy(enum pretended_call call, uint64_t bytes, int copy_kind, void* stream);
int put_fill(enum pretended_call call, uint64_t bytes, void* stream);

/* graphs.c: true where it became a node. */
int capture_work(struct stream* stream, const struct work* work);

/* cupti.c: around each call; gives its correlation id. */
uint32_t begin_call(enum pretended_call call, const char* kernel);
void end_call(enum pretended_call call, uint32_t correlation, int result);
/* What was done, of a graph with its node. */
void note_work(const struct work* work, const struct stream* stream, uint32_t correlation,
               uint64_t node);
void note_node(enum pretended_resource what, uint64_t node, uint64_t original);
