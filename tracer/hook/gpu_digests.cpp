// gpu_digests.cpp: see gpu_digests.h. NVRTC's and the driver's functions are declared as their
// headers have them, which a machine without a CUDA toolkit lacks.
#include "tracer/hook/gpu_digests.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/hook/describe.h"
#include "tracer/hook/digest_kernel.h"
#include "tracer/hook/gpu_samples.h"

namespace dtypecheck::tracer {
namespace {

constexpr int kThreads = 256;  // of a block; the kernel has room for so many
constexpr int64_t kElementsOfBlock = 4096;
constexpr int64_t kMostBlocks = 128;
constexpr int kMostKernelDims = 8;
constexpr int64_t kNumbersOfBlock = 5;

struct KernelArguments {
  const void* data;
  double* out;
  int64_t count;
  int64_t sizes[kMostKernelDims], strides[kMostKernelDims];
  int32_t dims, dtype, places;
};

struct Nvrtc {
  int (*create)(void**, const char* source, const char* name, int, const char* const*,
                const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*size)(void*, size_t*);  // nvrtcGetCUBINSize
  int (*code)(void*, char*);    // nvrtcGetCUBIN
};

struct Launcher {
  int (*attribute)(int*, int, int);  // cuDeviceGetAttribute
  int (*load)(void**, const void*);  // cuModuleLoadData
  int (*function)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);  // cuLaunchKernel
};

struct DigestKernels {
  std::mutex mutex;
  Nvrtc nvrtc{};
  Launcher launcher{};
  bool is_tried = false;
  std::atomic<const char*> why_not{nullptr};
  std::unordered_map<int, void*> of;  // device to CUfunction
};
DigestKernels* digest_kernels = new DigestKernels;

// LibTorch's own stub beside libc10 is linked to the NVRTC that it needs.
void* open_nvrtc() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&c10::GetAllocator), &info) && info.dli_fname) {
    const std::string c10 = info.dli_fname;
    const std::string stub = c10.substr(0, c10.rfind('/') + 1) + "libcaffe2_nvrtc.so";
    if (void* library = dlopen(stub.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"})
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return library;
  return nullptr;
}

const char* find_functions(Nvrtc& nvrtc, Launcher& launcher) {
  void* library = open_nvrtc();
  if (!library) return "no libnvrtc";
  if (!find_function(nvrtc.create, library, "nvrtcCreateProgram") ||
      !find_function(nvrtc.compile, library, "nvrtcCompileProgram") ||
      !find_function(nvrtc.size, library, "nvrtcGetCUBINSize") ||
      !find_function(nvrtc.code, library, "nvrtcGetCUBIN"))
    return "libnvrtc before 11.2";
  void* cuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (!cuda || !find_function(launcher.attribute, cuda, "cuDeviceGetAttribute") ||
      !find_function(launcher.load, cuda, "cuModuleLoadData") ||
      !find_function(launcher.function, cuda, "cuModuleGetFunction") ||
      !find_function(launcher.launch, cuda, "cuLaunchKernel"))
    return "no driver";
  return nullptr;
}

// Machine code for this device; empty where NVRTC refuses.
std::vector<char> compile_for(const Nvrtc& nvrtc, const Launcher& launcher, int device) {
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
  int major = 0, minor = 0;
  if (launcher.attribute(&major, kMajor, device) || launcher.attribute(&minor, kMinor, device))
    return {};
  const std::string architecture =
      "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  const char* options[] = {architecture.c_str(), "--fmad=false"};
  void* program = nullptr;
  size_t size = 0;
  if (nvrtc.create(&program, kDigestKernel, "digest.cu", 0, nullptr, nullptr) ||
      nvrtc.compile(program, 2, options) || nvrtc.size(program, &size))
    return {};
  std::vector<char> code(size);
  if (nvrtc.code(program, code.data())) return {};
  return code;
}

// In the device's context. Null where there is none.
void* kernel_for(int device) {
  const std::lock_guard<std::mutex> lock(digest_kernels->mutex);
  DigestKernels& all = *digest_kernels;
  const auto known = all.of.find(device);
  if (known != all.of.end()) return known->second;
  if (!all.is_tried) {
    all.is_tried = true;
    all.why_not = find_functions(all.nvrtc, all.launcher);
  }
  if (all.why_not) return nullptr;
  void *module = nullptr, *function = nullptr;
  const std::vector<char> code = compile_for(all.nvrtc, all.launcher, device);
  if (code.empty() || all.launcher.load(&module, code.data()) ||
      all.launcher.function(&function, module, "digest"))
    all.why_not = "NVRTC has no code for this GPU";
  all.of[device] = function;
  return function;
}

KernelArguments arguments_of(const c10::TensorImpl* impl, int place_count) {
  KernelArguments arguments{};
  arguments.data = first_byte(impl);
  arguments.count = impl->numel();
  arguments.dtype = dtype_of(impl);
  arguments.places = place_count;
  if (impl->is_contiguous()) return arguments;
  arguments.dims = static_cast<int32_t>(impl->dim());
  for (int dim = 0; dim < arguments.dims; ++dim) {
    arguments.sizes[dim] = impl->sizes()[dim];
    arguments.strides[dim] = impl->strides()[dim];
  }
  return arguments;
}

DigestSums sum_up(const double* of_blocks, int64_t blocks) {
  DigestSums sums;
  for (int64_t block = 0; block < blocks; ++block, of_blocks += kNumbersOfBlock) {
    sums.finite += static_cast<uint64_t>(of_blocks[0]);
    sums.sum += of_blocks[1];
    sums.squares += of_blocks[2];
    sums.zeros += static_cast<uint64_t>(of_blocks[3]);
    sums.largest = std::max(sums.largest, of_blocks[4]);
  }
  return sums;
}

}  // namespace

bool digest_on_gpu(const c10::TensorImpl* impl, int place_count, DigestLook look, bool may_wait) {
  if (digest_kernels->why_not || (!impl->is_contiguous() && impl->dim() > kMostKernelDims))
    return false;
  KernelArguments arguments = arguments_of(impl, place_count);
  const int64_t blocks = std::clamp<int64_t>(
      (arguments.count + kElementsOfBlock - 1) / kElementsOfBlock, 1, kMostBlocks);
  const int device = impl->device().index();
  const auto put = [&](void* stream, char* place) {
    void* kernel = kernel_for(device);
    if (!kernel) return 0;
    arguments.out = reinterpret_cast<double*>(place);
    void* all[] = {&arguments};
    return digest_kernels->launcher.launch(kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1,
                                           1, 0, stream, all, nullptr);
  };
  const auto look_at_place = [blocks, look = std::move(look)](const char* place) {
    if (digest_kernels->why_not) return;
    const auto* numbers = reinterpret_cast<const double*>(place);
    look(sum_up(numbers, blocks), numbers + kNumbersOfBlock * blocks);
  };
  const size_t bytes = static_cast<size_t>(kNumbersOfBlock * blocks + place_count) * sizeof(double);
  return put_sample(device, bytes, "cuLaunchKernel", put, look_at_place, may_wait) &&
         !digest_kernels->why_not;
}

const char* why_no_gpu_digests() { return digest_kernels->why_not; }

}  // namespace dtypecheck::tracer
