#pragma once
#include <thrust/pair.h>
