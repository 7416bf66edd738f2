/* cupti_records.h: CUPTI's records and what its callbacks are given, as far as they are filled in.
 * They are those of CUDA 13; older ones are the same up to their end. Held to NVIDIA's header by
 * tests/pretended/records_test.cpp. */
#pragma once

#include <stdint.h>

enum pretended_activity {
  ACTIVITY_COPY = 1,
  ACTIVITY_FILL = 2,
  ACTIVITY_DRIVER = 4,
  ACTIVITY_RUNTIME = 5,
  ACTIVITY_KERNEL = 10, /* "concurrent" */
  ACTIVITY_CORRELATION = 39,
  ACTIVITIES = 64,
};

/* The calls that are reported, by CUPTI's domain, its number and their name. */
#define PRETENDED_CALLS(CALL)                                                     \
  CALL(LAUNCH, RUNTIME_CALLS, 211, "cudaLaunchKernel")                            \
  CALL(LAUNCH_COOPERATIVE, RUNTIME_CALLS, 269, "cudaLaunchCooperativeKernel")     \
  CALL(LAUNCH_EX, RUNTIME_CALLS, 430, "cudaLaunchKernelExC")                      \
  CALL(LAUNCH_13, RUNTIME_CALLS, 505, "cudaLaunchKernel")                         \
  CALL(GRAPH_LAUNCH, RUNTIME_CALLS, 311, "cudaGraphLaunch")                       \
  CALL(COPY_NOW, RUNTIME_CALLS, 31, "cudaMemcpy")                                 \
  CALL(COPY_ASYNC, RUNTIME_CALLS, 41, "cudaMemcpyAsync")                          \
  CALL(FILL_NOW, RUNTIME_CALLS, 49, "cudaMemset")                                 \
  CALL(FILL_ASYNC, RUNTIME_CALLS, 51, "cudaMemsetAsync")                          \
  CALL(DRIVER_LAUNCH, DRIVER_CALLS, 307, "cuLaunchKernel")                        \
  CALL(DRIVER_LAUNCH_COOPERATIVE, DRIVER_CALLS, 477, "cuLaunchCooperativeKernel") \
  CALL(DRIVER_LAUNCH_EX, DRIVER_CALLS, 652, "cuLaunchKernelEx")

enum pretended_domain { DRIVER_CALLS = 1, RUNTIME_CALLS = 2, RESOURCES = 3, DOMAINS = 4 };
enum pretended_call {
#define CALL(call, ...) CALL_##call,
  PRETENDED_CALLS(CALL)
#undef CALL
};
enum pretended_resource { NODE_CREATED = 13, NODE_CLONED = 20 };

struct kernel_record {
  uint32_t kind, sizes[3];
  uint64_t start, end, completed;
  uint32_t device, context, stream, grid[3], block[3], memory[4], correlation;
  int64_t grid_id;
  const char* name;
  uint64_t reserved[4], graph_node;
  uint32_t shared, graph;
  uint64_t later[7];
};

/* Of a copy and of a fill, which has its value where a copy has its kinds. */
struct memory_record {
  uint32_t kind;
  uint8_t copy_kind, from_kind, to_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, other_correlation, padding;
  uint64_t reserved, graph_node;
  uint32_t graph, later[5];
};

struct call_record {
  uint32_t kind, call;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};

struct correlation_record {
  uint32_t kind, external_kind;
  uint64_t external;
  uint32_t correlation, padding;
};

/* CUpti_CallbackData, CUpti_GraphData and CUpti_ResourceData. */
struct call_data {
  int site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* kept;
  uint32_t correlation;
};
struct graph_data {
  void *graph, *original_graph, *node, *original_node;
  int node_type;
  void *dependency, *executable;
};
struct resource_data {
  void *context, *stream, *descriptor;
};
