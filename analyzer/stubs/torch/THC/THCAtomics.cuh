#pragma once
#include <dtypecheck_torch.h>
#include <ATen/cuda/Atomic.cuh>
