#pragma once
#include <dtypecheck_torch.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
