// clang 19 includes this header of CUDA 12; CUDA 13 has it no more.
#pragma once
