// install_paths.h: where the parts of dtypecheck lie, in a build folder and in an install alike:
// beside this executable.
//
//
// clang-format off
//   bin/dtypecheck
//   lib/libdtypecheck_preload.so       stage 1
//   lib/libdtypecheck_replace.so       for cure
//   lib/libdtypecheck_gpu_recorder.so  stage 3, for the kernels of a GPU
//   libexec/dtypecheck/hooks.txt       stage 2 libraries that were built ahead, one a line:
//                                      "<libtorch version> <abi 0|1> <file>"
//   libexec/dtypecheck/pretended/      the GPU that is none, for preflight
//   lib/libdtypecheck_kernels.so       what the operators compute with, where it was built
//   lib/libdtypecheck_kernels_cuda.so  and what they compute with on a GPU
//   libexec/dtypecheck/operators.txt   those operators' libraries, as hooks.txt
//   share/dtypecheck/src/              their sources and stage 2's; a build takes the source tree's
// clang-format on
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dtypecheck {

std::string own_executable();

// The folder of the sources that this was built of; it may be gone by now.
std::string source_tree();

// Stage 1. Throws InputError when it is not there.
std::string preload_library();
// Stage 3, which knows CUPTI. Empty where none was built: it needs CUPTI's headers.
std::string gpu_library();
// The libraries of the pretended GPU, under the names that programs open. The same.
std::string pretended_folder();
// What shows a program other texts of its sources (cures/replace/replace.c). The same.
std::string replace_library();
// The path to preload it by: LD_PRELOAD is split at spaces and colons, with no way to escape them,
// so such a path is taken by a link without, in `link_folder`. Throws InputError where that has
// one.
std::string preloadable(const std::string& library, const std::string& link_folder);

struct PrebuiltHook {
  std::string libtorch_version;
  int cxx11_abi = 1;
  std::string path;
};
std::vector<PrebuiltHook> prebuilt_hooks();
std::vector<PrebuiltHook> prebuilt_operators();

// What brings the parser of C++ that `lint` runs, where it is not there: a wheel of its own for the
// one that pip installed, Clang and another build for others.
std::string analyzer_cure();

// The Python program that measures contracts: rules/contracts/probe/measure.py. Throws InputError
// when it is not there.
std::string probe_script();

// What is compiled for one LibTorch: the root of the sources, and the files relative to it.
struct HookSources {
  std::string root;
  std::vector<std::string> files;
  std::string name = "the tracer";
  std::string library = {};  // that it is linked to, and finds again by its path; empty: none
  bool needs_cxx20 = false;  // whichever LibTorch it is for
};
// Stage 2: the files of tracer/hook/sources.txt. Nothing when they are not installed.
std::optional<HookSources> hook_sources();
// The operators of LibTorch. Nothing when they or the kernels are not installed.
std::optional<HookSources> operators_sources();
// What they compute with on a GPU, which nvcc compiles; the same.
std::optional<HookSources> cuda_kernels_sources();
// That library, where it was built ahead; empty where not.
std::string cuda_kernels_library();

}  // namespace dtypecheck
