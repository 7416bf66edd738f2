#pragma once
#include <dtypecheck_torch.h>
#include <dtypecheck_cuda.h>
