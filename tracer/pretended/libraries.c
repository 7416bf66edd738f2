/* libraries.c: cuBLAS, cuDNN, cuFFT, cuSOLVER, cuSPARSE and NVRTC, of whose functions only those
 * that hand something out are written here. They accept every dtype: a refusal that comes from
 * inside of them is not known. */
#include <stdlib.h>
#include <string.h>

#include "tracer/pretended/pretended.h"

/* A descriptor, a handle or a plan, in the function's first argument. */
#define GIVES_HANDLE(name) \
  EXPORT int name(void** made) { return *made = handle(), OK; }

GIVES_HANDLE(cublasCreate_v2)
EXPORT int cublasGetMathMode(void* with UNUSED, int* mode) { return *mode = 0, OK; }
EXPORT int cublasGetPointerMode_v2(void* with UNUSED, int* mode) { return *mode = 0, OK; }
EXPORT int cublasGetVersion_v2(void* with UNUSED, int* version) {
  return *version = major() * 10000, OK;
}
EXPORT size_t cublasLtGetVersion(void) { return (size_t)major() * 10000; }
EXPORT const char* cublasGetStatusString(int status UNUSED) { return "CUBLAS_STATUS_SUCCESS"; }
GIVES_HANDLE(cublasLtCreate)
GIVES_HANDLE(cublasLtMatmulDescCreate)
GIVES_HANDLE(cublasLtMatmulPreferenceCreate)
GIVES_HANDLE(cublasLtMatrixLayoutCreate)
/* One algorithm, which needs no workspace: a struct of 64 bytes of algorithm, workspace, state,
 * waves and 16 bytes to come. */
EXPORT int cublasLtMatmulAlgoGetHeuristic(void* with UNUSED, void* what UNUSED, void* a UNUSED,
                                          void* b UNUSED, void* c UNUSED, void* d UNUSED,
                                          void* preference UNUSED, int most, void* results,
                                          int* found) {
  enum { kResultBytes = 96 };
  memset(results, 0, (size_t)most * kResultBytes);
  return *found = most > 0, OK;
}

/* LibTorch refuses one that is older than what it was built for. */
EXPORT size_t cudnnGetVersion(void) { return cudnn_major() == 8 ? 8907 : 92600; }
EXPORT size_t cudnnGetCudartVersion(void) {
  return major() == 11 ? 11080 : major() == 12 ? 12080 : 13020;
}
EXPORT const char* cudnnGetErrorString(int status UNUSED) { return "CUDNN_STATUS_SUCCESS"; }
EXPORT int cudnnGetProperty(int which, int* value) {
  const int version = (int)cudnnGetVersion();
  const int scale = cudnn_major() == 8 ? 1000 : 10000;
  return *value = which == 0 ? version / scale : which == 1 ? version % scale / 100 : 0, OK;
}
GIVES_HANDLE(cudnnCreate)
GIVES_HANDLE(cudnnCreateActivationDescriptor)
GIVES_HANDLE(cudnnCreateCTCLossDescriptor)
GIVES_HANDLE(cudnnCreateConvolutionDescriptor)
GIVES_HANDLE(cudnnCreateDropoutDescriptor)
GIVES_HANDLE(cudnnCreatePoolingDescriptor)
GIVES_HANDLE(cudnnCreateRNNDataDescriptor)
GIVES_HANDLE(cudnnCreateSpatialTransformerDescriptor)

/* cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t are alike: algorithm, status, time, memory,
 * determinism, math type, three to come. Algorithm 1 exists in each direction. LibTorch checks that
 * the math is FMA (3) for Float where cudnn.allow_tf32 is off. */
struct algorithm {
  int algorithm, status;
  float time;
  size_t memory;
  int deterministic, math, reserved[3];
};
static int one_algorithm(int* found, struct algorithm* results) {
  *results = (struct algorithm){.algorithm = 1, .deterministic = 1, .math = 3};
  return *found = 1, OK;
}
#define GETS_ALGORITHM(name)                                                                \
  EXPORT int name(void* with UNUSED, void* a UNUSED, void* b UNUSED, void* c UNUSED,        \
                  void* d UNUSED, int most UNUSED, int* found, struct algorithm* results) { \
    return one_algorithm(found, results);                                                   \
  }
GETS_ALGORITHM(cudnnGetConvolutionForwardAlgorithm_v7)
GETS_ALGORITHM(cudnnGetConvolutionBackwardDataAlgorithm_v7)
GETS_ALGORITHM(cudnnGetConvolutionBackwardFilterAlgorithm_v7)
#define FINDS_ALGORITHM(name)                                                                      \
  EXPORT int name(void* with UNUSED, void* a UNUSED, void* x UNUSED, void* b UNUSED,               \
                  void* y UNUSED, void* c UNUSED, void* d UNUSED, void* z UNUSED, int most UNUSED, \
                  int* found, struct algorithm* results) {                                         \
    return one_algorithm(found, results);                                                          \
  }
FINDS_ALGORITHM(cudnnFindConvolutionForwardAlgorithmEx)
FINDS_ALGORITHM(cudnnFindConvolutionBackwardDataAlgorithmEx)
FINDS_ALGORITHM(cudnnFindConvolutionBackwardFilterAlgorithmEx)

/* Sizes of room to work in: none is needed. */
#define NO_ROOM_6(name)                                                              \
  EXPORT int name(void* with UNUSED, void* a UNUSED, void* b UNUSED, void* c UNUSED, \
                  void* d UNUSED, int algorithm UNUSED, size_t* bytes) {             \
    return *bytes = 0, OK;                                                           \
  }
NO_ROOM_6(cudnnGetConvolutionForwardWorkspaceSize)
NO_ROOM_6(cudnnGetConvolutionBackwardDataWorkspaceSize)
NO_ROOM_6(cudnnGetConvolutionBackwardFilterWorkspaceSize)
EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    void* with UNUSED, int mode UNUSED, int ops UNUSED, void* x UNUSED, void* z UNUSED,
    void* y UNUSED, void* scale UNUSED, void* activation UNUSED, size_t* bytes) {
  return *bytes = 0, OK;
}
EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    void* with UNUSED, int mode UNUSED, int ops UNUSED, void* x UNUSED, void* y UNUSED,
    void* dy UNUSED, void* dz UNUSED, void* dx UNUSED, void* scale UNUSED, void* activation UNUSED,
    size_t* bytes) {
  return *bytes = 0, OK;
}
EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void* with UNUSED, int mode UNUSED,
                                                                int ops UNUSED,
                                                                void* activation UNUSED,
                                                                void* x UNUSED, size_t* bytes) {
  return *bytes = 0, OK;
}
EXPORT int cudnnDropoutGetStatesSize(void* with UNUSED, size_t* bytes) { return *bytes = 1024, OK; }

EXPORT int cufftCreate(int* plan) {
  static int last;
  return *plan = __sync_add_and_fetch(&last, 1), OK;
}
EXPORT int cufftXtMakePlanMany(int plan UNUSED, int rank UNUSED, void* n UNUSED, void* i UNUSED,
                               long long a UNUSED, long long b UNUSED, int in UNUSED,
                               void* o UNUSED, long long c UNUSED, long long d UNUSED,
                               int out UNUSED, long long batch UNUSED, size_t* bytes) {
  if (bytes) *bytes = 0;
  return OK;
}
GIVES_HANDLE(cusolverDnCreate)
GIVES_HANDLE(cusolverDnCreateParams)
GIVES_HANDLE(cusolverDnCreateSyevjInfo)
GIVES_HANDLE(cusolverDnCreateGesvdjInfo)
GIVES_HANDLE(cusparseCreate)

GIVES_HANDLE(nvrtcCreateProgram)
EXPORT int nvrtcVersion(int* major_of, int* minor_of) {
  *major_of = major();
  return *minor_of = major() == 13 ? 2 : 8, OK;
}
EXPORT int nvrtcGetPTXSize(void* program UNUSED, size_t* bytes) { return *bytes = 16, OK; }
EXPORT int nvrtcGetCUBINSize(void* program UNUSED, size_t* bytes) { return *bytes = 16, OK; }
EXPORT int nvrtcGetProgramLogSize(void* program UNUSED, size_t* bytes) { return *bytes = 1, OK; }
EXPORT int nvrtcGetLoweredName(void* program UNUSED, const char* name UNUSED,
                               const char** lowered) {
  return *lowered = "pretended", OK;
}
EXPORT const char* nvrtcGetErrorString(int error UNUSED) { return "NVRTC_SUCCESS"; }
