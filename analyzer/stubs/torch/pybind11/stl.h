#pragma once
#include <dtypecheck_pybind.h>
