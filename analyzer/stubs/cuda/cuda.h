#pragma once
#include <dtypecheck_cuda.h>

typedef enum { CUDA_SUCCESS } CUresult;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef unsigned long long CUdeviceptr;
struct CUtensorMap { unsigned long long opaque[16]; };
