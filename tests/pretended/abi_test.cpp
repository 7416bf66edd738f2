// What the pretended CUDA 13 fills in is where NVIDIA's header has it, and nothing behind it.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

extern "C" void** __cudaRegisterFatBinary(void* image);
extern "C" void __cudaRegisterFunction(void** binary, const void* function, char* device_function,
                                       const char* name);

namespace {

// A struct with room behind it, which nobody may write into.
template <typename Struct>
struct Guarded {
  Struct value;
  unsigned char behind[256];
  Guarded() { std::memset(static_cast<void*>(this), 0xA5, sizeof *this); }
  bool is_whole() const {
    return std::all_of(std::begin(behind), std::end(behind), [](int byte) { return byte == 0xA5; });
  }
};

TEST_CASE("properties of a device") {
  Guarded<cudaDeviceProp> guarded;
  REQUIRE(cudaGetDeviceProperties(&guarded.value, 0) == cudaSuccess);
  CHECK(guarded.is_whole());
  const cudaDeviceProp& a100 = guarded.value;
  CHECK(std::string(a100.name).find("A100") != std::string::npos);
  CHECK((a100.major == 8 && a100.minor == 0 && a100.multiProcessorCount == 108));
  CHECK(a100.totalGlobalMem > (size_t{30} << 30));
  CHECK((a100.sharedMemPerBlock == 48 << 10 && a100.sharedMemPerBlockOptin == 163 << 10));
  CHECK(a100.sharedMemPerMultiprocessor == 164 << 10);
  CHECK((a100.regsPerBlock == 65536 && a100.regsPerMultiprocessor == 65536));
  CHECK((a100.warpSize == 32 && a100.maxThreadsPerBlock == 1024));
  CHECK((a100.maxThreadsDim[0] == 1024 && a100.maxThreadsDim[2] == 64));
  CHECK((a100.maxGridSize[0] == INT32_MAX && a100.maxGridSize[2] == 65535));
  CHECK((a100.maxThreadsPerMultiProcessor == 2048 && a100.maxBlocksPerMultiProcessor == 32));
  CHECK((a100.memoryBusWidth == 5120 && a100.l2CacheSize == 40 << 20));
  CHECK((a100.asyncEngineCount == 3 && a100.pciBusID == 1));
  CHECK(a100.totalConstMem == 64 << 10);
  for (const int yes : {a100.canMapHostMemory, a100.concurrentKernels, a100.unifiedAddressing,
                        a100.streamPrioritiesSupported, a100.globalL1CacheSupported,
                        a100.localL1CacheSupported, a100.managedMemory, a100.cooperativeLaunch})
    CHECK(yes == 1);
  for (const int no : {a100.integrated, a100.isMultiGpuBoard, a100.pageableMemoryAccess})
    CHECK(no == 0);
}

TEST_CASE("attributes of a kernel") {
  Guarded<cudaFuncAttributes> guarded;
  REQUIRE(cudaFuncGetAttributes(&guarded.value, nullptr) == cudaSuccess);
  CHECK(guarded.is_whole());
  CHECK((guarded.value.maxThreadsPerBlock == 1024 && guarded.value.numRegs == 32));
  CHECK((guarded.value.ptxVersion == 80 && guarded.value.binaryVersion == 80));
  CHECK(guarded.value.maxDynamicSharedSizeBytes == 48 << 10);
}

// A file of kernels as nvcc leaves it: heads of 64 bytes, and no code behind them.
struct Kernels {
  struct Code {
    uint16_t kind = 2, version = 0x101;
    uint32_t head_bytes = 64;
    uint64_t bytes = 0;
    uint32_t compressed_bytes = 0, options = 0;
    uint16_t minor = 1, major = 8;
    uint32_t sm = 0, rest[8] = {};
  };
  struct {
    uint32_t magic = 0xba55ed50;
    uint16_t version = 1, head_bytes = 16;
    uint64_t bytes = 3 * sizeof(Code);
    Code codes[3];
  } file;
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* file = nullptr;
    void* name = nullptr;
  } image;

  Kernels(uint32_t first, uint32_t second, uint32_t third) {
    file.codes[0].sm = first, file.codes[1].sm = second, file.codes[2].sm = third;
    image.file = &file;
  }
  int version_of(const void* kernel) {
    __cudaRegisterFunction(__cudaRegisterFatBinary(&image), kernel, nullptr, "kernel");
    cudaFuncAttributes attributes;
    REQUIRE(cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess);
    return attributes.ptxVersion;
  }
};

TEST_CASE("the code that a device runs") {
  static const char kernels[3] = {};
  CHECK(Kernels(75, 90, 70).version_of(&kernels[0]) == 75);
  CHECK(Kernels(120, 80, 100).version_of(&kernels[1]) == 80);
  CHECK(Kernels(120, 90, 100).version_of(&kernels[2]) == 90);  // it has none of its own
}

TEST_CASE("attributes of an address") {
  Guarded<cudaPointerAttributes> guarded;
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 64) == cudaSuccess);
  REQUIRE(cudaPointerGetAttributes(&guarded.value, memory) == cudaSuccess);
  CHECK(guarded.is_whole());
  CHECK((guarded.value.type == cudaMemoryTypeDevice && guarded.value.device == 0));
  CHECK((guarded.value.devicePointer == memory && guarded.value.hostPointer == nullptr));
  cudaFree(memory);
  int local = 0;
  REQUIRE(cudaPointerGetAttributes(&guarded.value, &local) == cudaSuccess);
  CHECK(guarded.value.type == cudaMemoryTypeUnregistered);
  CHECK(guarded.value.hostPointer == &local);
}

}  // namespace
