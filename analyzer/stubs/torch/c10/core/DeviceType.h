#pragma once
#include <dtypecheck_torch.h>
