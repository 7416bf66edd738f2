// The pretended CUPTI's records are laid out as NVIDIA's header says. There is nothing to run.
#include <cupti.h>

#include <cstddef>

#include "tracer/pretended/cupti_records.h"

// clang-format off
#define SAME_PLACE(ours, field, theirs, their_field) \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field), #theirs " has " #their_field " elsewhere")
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs " is of another size")
#define SAME_NUMBER(ours, theirs) static_assert(int(ours) == int(theirs), #theirs " is another number")
// clang-format on

SAME_SIZE(kernel_record, CUpti_ActivityKernel10);
SAME_PLACE(kernel_record, start, CUpti_ActivityKernel10, start);
SAME_PLACE(kernel_record, end, CUpti_ActivityKernel10, end);
SAME_PLACE(kernel_record, completed, CUpti_ActivityKernel10, completed);
SAME_PLACE(kernel_record, device, CUpti_ActivityKernel10, deviceId);
SAME_PLACE(kernel_record, context, CUpti_ActivityKernel10, contextId);
SAME_PLACE(kernel_record, stream, CUpti_ActivityKernel10, streamId);
SAME_PLACE(kernel_record, grid, CUpti_ActivityKernel10, gridX);
SAME_PLACE(kernel_record, block, CUpti_ActivityKernel10, blockX);
SAME_PLACE(kernel_record, correlation, CUpti_ActivityKernel10, correlationId);
SAME_PLACE(kernel_record, name, CUpti_ActivityKernel10, name);
SAME_PLACE(kernel_record, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME_PLACE(kernel_record, graph, CUpti_ActivityKernel10, graphId);

SAME_SIZE(memory_record, CUpti_ActivityMemcpy6);
SAME_PLACE(memory_record, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME_PLACE(memory_record, bytes, CUpti_ActivityMemcpy6, bytes);
SAME_PLACE(memory_record, start, CUpti_ActivityMemcpy6, start);
SAME_PLACE(memory_record, device, CUpti_ActivityMemcpy6, deviceId);
SAME_PLACE(memory_record, stream, CUpti_ActivityMemcpy6, streamId);
SAME_PLACE(memory_record, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME_PLACE(memory_record, graph_node, CUpti_ActivityMemcpy6, graphNodeId);
SAME_PLACE(memory_record, graph, CUpti_ActivityMemcpy6, graphId);
SAME_PLACE(memory_record, bytes, CUpti_ActivityMemset4, bytes);
SAME_PLACE(memory_record, start, CUpti_ActivityMemset4, start);
SAME_PLACE(memory_record, device, CUpti_ActivityMemset4, deviceId);
SAME_PLACE(memory_record, stream, CUpti_ActivityMemset4, streamId);
SAME_PLACE(memory_record, correlation, CUpti_ActivityMemset4, correlationId);
SAME_PLACE(memory_record, graph_node, CUpti_ActivityMemset4, graphNodeId);

SAME_SIZE(call_record, CUpti_ActivityAPI);
SAME_PLACE(call_record, call, CUpti_ActivityAPI, cbid);
SAME_PLACE(call_record, correlation, CUpti_ActivityAPI, correlationId);
SAME_SIZE(correlation_record, CUpti_ActivityExternalCorrelation);
SAME_PLACE(correlation_record, external, CUpti_ActivityExternalCorrelation, externalId);
SAME_PLACE(correlation_record, correlation, CUpti_ActivityExternalCorrelation, correlationId);

SAME_SIZE(call_data, CUpti_CallbackData);
SAME_PLACE(call_data, function, CUpti_CallbackData, functionName);
SAME_PLACE(call_data, symbol, CUpti_CallbackData, symbolName);
SAME_PLACE(call_data, correlation, CUpti_CallbackData, correlationId);
SAME_SIZE(graph_data, CUpti_GraphData);
SAME_PLACE(graph_data, node, CUpti_GraphData, node);
SAME_PLACE(graph_data, original_node, CUpti_GraphData, originalNode);
SAME_SIZE(resource_data, CUpti_ResourceData);
SAME_PLACE(resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);

SAME_NUMBER(ACTIVITY_COPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_NUMBER(ACTIVITY_FILL, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_NUMBER(ACTIVITY_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME_NUMBER(ACTIVITY_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME_NUMBER(ACTIVITY_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_NUMBER(ACTIVITY_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);

SAME_NUMBER(DRIVER_CALLS, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_NUMBER(RUNTIME_CALLS, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_NUMBER(RESOURCES, CUPTI_CB_DOMAIN_RESOURCE);
SAME_NUMBER(NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME_NUMBER(NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);

constexpr int kNumbers[] = {
#define CALL(call, domain, number, name) number,
    PRETENDED_CALLS(CALL)
#undef CALL
};
#define SAME_CALL(ours, theirs) SAME_NUMBER(kNumbers[CALL_##ours], CUPTI_##theirs)
SAME_CALL(LAUNCH, RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
SAME_CALL(LAUNCH_COOPERATIVE, RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000);
SAME_CALL(LAUNCH_EX, RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060);
SAME_CALL(LAUNCH_13, RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000);
SAME_CALL(GRAPH_LAUNCH, RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
SAME_CALL(COPY_NOW, RUNTIME_TRACE_CBID_cudaMemcpy_v3020);
SAME_CALL(COPY_ASYNC, RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
SAME_CALL(FILL_NOW, RUNTIME_TRACE_CBID_cudaMemset_v3020);
SAME_CALL(FILL_ASYNC, RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
SAME_CALL(DRIVER_LAUNCH, DRIVER_TRACE_CBID_cuLaunchKernel);
SAME_CALL(DRIVER_LAUNCH_COOPERATIVE, DRIVER_TRACE_CBID_cuLaunchCooperativeKernel);
SAME_CALL(DRIVER_LAUNCH_EX, DRIVER_TRACE_CBID_cuLaunchKernelEx);
