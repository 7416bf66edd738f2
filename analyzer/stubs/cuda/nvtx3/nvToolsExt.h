#pragma once
#include <dtypecheck_cuda.h>

int nvtxRangePushA(const char* name);
int nvtxRangePush(const char* name);
int nvtxRangePop();
