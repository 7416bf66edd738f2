#pragma once
#include <dtypecheck_cuda.h>

typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef enum { ncclSuccess, ncclInternalError } ncclResult_t;
typedef enum {
  ncclInt8,
  ncclChar = 0,
  ncclUint8,
  ncclInt32,
  ncclInt64,
  ncclFloat16,
  ncclHalf = ncclFloat16,
  ncclFloat32,
  ncclFloat = ncclFloat32,
  ncclFloat64,
  ncclDouble = ncclFloat64,
  ncclBfloat16
} ncclDataType_t;
typedef enum { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg } ncclRedOp_t;
#define NCCL_MAJOR 2
#define NCCL_MINOR 20
#define NCCL_PATCH 0
template <typename... Arguments>
ncclResult_t ncclAllReduce(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclAllGather(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclReduceScatter(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclBroadcast(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclSend(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclRecv(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclGroupStart(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclGroupEnd(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclCommInitRank(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclCommDestroy(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclGetUniqueId(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclMemAlloc(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclMemFree(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclCommCount(Arguments&&... arguments);
template <typename... Arguments>
ncclResult_t ncclCommUserRank(Arguments&&... arguments);
const char* ncclGetErrorString(ncclResult_t result);
