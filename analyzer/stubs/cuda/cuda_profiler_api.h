#pragma once
#include <dtypecheck_cuda.h>

cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
