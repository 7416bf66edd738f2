#pragma once
#include <dtypecheck_cuda.h>

