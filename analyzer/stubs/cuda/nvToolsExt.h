#pragma once
#include <dtypecheck_cuda.h>

#include <nvtx3/nvToolsExt.h>
