/* libraries.c: cuBLAS, cuDNN, cuFFT, cuSOLVER, cuSPARSE and NVRTC, of whose functions only those
 * that hand something out are written here. They accept every dtype: a refusal that comes from
 * inside of them is not known. */
#include <stdlib.h>
#include <string.h>

#include "pretended/pretended.h"

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

EXPORT size_t cudnnGetVersion(void) { return major() == 11 ? 8700 : 92600; }
EXPORT size_t cudnnGetCudartVersion(void) {
  return major() == 11 ? 11080 : major() == 12 ? 12080 : 13020;
}
EXPORT const char* cudnnGetErrorString(int status UNUSED) { return "CUDNN_STATUS_SUCCESS"; }
EXPORT int cudnnGetProperty(int which, int* value) {
  const int version = (int)cudnnGetVersion();
  const int scale = major() == 11 ? 1000 : 10000;
  return *value = which == 0 ? version / scale : which == 1 ? version % scale / 100 : 0, OK;
}
GIVES_HANDLE(cudnnCreate)
GIVES_HANDLE(cudnnCreateActivationDescriptor)
GIVES_HANDLE(cudnnCreateCTCLossDescriptor)
GIVES_HANDLE(cudnnCreateConvolutionDescriptor)
GIVES_HANDLE(cudnnCreateDropoutDescriptor)
GIVES_HANDLE(cudnnCreateFilterDescriptor)
GIVES_HANDLE(cudnnCreatePoolingDescriptor)
GIVES_HANDLE(cudnnCreateRNNDataDescriptor)
GIVES_HANDLE(cudnnCreateSpatialTransformerDescriptor)

/* cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t are alike: algorithm, status, time, memory,
 * determinism, math type, three to come. Algorithm 1 exists in each direction. */
struct algorithm {
  int algorithm, status;
  float time;
  size_t memory;
  int deterministic, math, reserved[3];
};
static int one_algorithm(int* found, struct algorithm* results) {
  *results = (struct algorithm){.algorithm = 1, .deterministic = 1};
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
EXPORT int cudnnGetRNNTempSpaceSizes(void* with UNUSED, void* rnn UNUSED, int mode UNUSED,
                                     void* x UNUSED, size_t* work, size_t* kept) {
  if (work) *work = 0;
  if (kept) *kept = 0;
  return OK;
}

/* A recurrent network's weights lie in one buffer, and LibTorch asks where: layer by layer, first
 * all its matrices and then all its biases. */
struct rnn {
  int gates, directions, inputs, hidden, projected, layers, has_bias, type;
};
struct tensor {
  int type, dimensions, sizes[8], strides[8];
};
EXPORT int cudnnCreateRNNDescriptor(struct rnn** made) {
  *made = calloc(1, sizeof **made);
  return *made ? OK : NO_MEMORY;
}
EXPORT int cudnnDestroyRNNDescriptor(struct rnn* rnn) { return free(rnn), OK; }
EXPORT int cudnnCreateTensorDescriptor(struct tensor** made) {
  *made = calloc(1, sizeof **made);
  return *made ? OK : NO_MEMORY;
}
EXPORT int cudnnDestroyTensorDescriptor(struct tensor* tensor) { return free(tensor), OK; }
EXPORT int cudnnSetTensorNdDescriptor(struct tensor* tensor, int type, int dimensions,
                                      const int* sizes, const int* strides) {
  if (dimensions < 0 || dimensions > 8) return OK;
  tensor->type = type;
  tensor->dimensions = dimensions;
  memcpy(tensor->sizes, sizes, (size_t)dimensions * sizeof *sizes);
  memcpy(tensor->strides, strides, (size_t)dimensions * sizeof *strides);
  return OK;
}
EXPORT int cudnnGetTensorNdDescriptor(const struct tensor* tensor, int room, int* type,
                                      int* dimensions, int* sizes, int* strides) {
  const int shown = tensor->dimensions < room ? tensor->dimensions : room;
  *type = tensor->type;
  *dimensions = tensor->dimensions;
  memcpy(sizes, tensor->sizes, (size_t)shown * sizeof *sizes);
  memcpy(strides, tensor->strides, (size_t)shown * sizeof *strides);
  return OK;
}
/* cell: ReLU, tanh, LSTM, GRU; bias: none, of the input, both, of what returns. */
EXPORT int cudnnSetRNNDescriptor_v8(struct rnn* rnn, int algorithm UNUSED, int cell, int bias,
                                    int direction, int input UNUSED, int type, int precision UNUSED,
                                    int math UNUSED, int inputs, int hidden, int projected,
                                    int layers) {
  static const int kGates[] = {1, 1, 4, 3};
  *rnn = (struct rnn){cell >= 0 && cell < 4 ? kGates[cell] : 1,
                      direction ? 2 : 1,
                      inputs,
                      hidden,
                      projected,
                      layers,
                      bias != 0,
                      type};
  return OK;
}
static size_t width_of(const struct rnn* rnn) {
  enum { kFloat = 0, kDouble = 1 };
  return rnn->type == kDouble ? 8 : rnn->type == kFloat ? 4 : 2;
}
/* Of one direction of one layer: 2 * gates matrices, then as many biases, then a projection. */
static size_t inputs_of(const struct rnn* rnn, int layer) {
  return layer < rnn->directions ? (size_t)rnn->inputs
                                 : (size_t)rnn->projected * (size_t)rnn->directions;
}
static size_t elements_of(const struct rnn* rnn, int layer) {
  const size_t gates = (size_t)rnn->gates, hidden = (size_t)rnn->hidden;
  const size_t projection = rnn->projected != rnn->hidden ? hidden * (size_t)rnn->projected : 0;
  return gates * hidden * (inputs_of(rnn, layer) + (size_t)rnn->projected) +
         (rnn->has_bias ? 2 * gates * hidden : 0) + projection;
}
static size_t elements_before(const struct rnn* rnn, int layer) {
  size_t elements = 0;
  for (int i = 0; i < layer; ++i) elements += elements_of(rnn, i);
  return elements;
}
EXPORT int cudnnGetRNNWeightSpaceSize(void* with UNUSED, const struct rnn* rnn, size_t* bytes) {
  *bytes = width_of(rnn) * elements_before(rnn, rnn->layers * rnn->directions);
  return OK;
}
static void describe(struct tensor* tensor, int rows, int columns) {
  *tensor = (struct tensor){0, 3, {1, rows, columns}, {rows * columns, columns, 1}};
}
/* What is not asked for is null. */
EXPORT int cudnnGetRNNWeightParams(void* with UNUSED, const struct rnn* rnn, int layer,
                                   size_t bytes UNUSED, char* buffer, int which,
                                   struct tensor* matrix, char** matrix_begin, struct tensor* bias,
                                   char** bias_begin) {
  const size_t width = width_of(rnn), gates = (size_t)rnn->gates;
  const size_t hidden = (size_t)rnn->hidden, inputs = inputs_of(rnn, layer);
  const size_t projected = (size_t)rnn->projected, number = (size_t)which;
  const int is_projection = which >= 2 * rnn->gates;
  const int has_projection = rnn->projected != rnn->hidden;
  const size_t input_part = gates * hidden * inputs;
  const size_t matrices = gates * hidden * (inputs + projected);
  const size_t biases = rnn->has_bias ? 2 * gates * hidden : 0;
  const size_t at = is_projection    ? matrices + biases
                    : number < gates ? number * hidden * inputs
                                     : input_part + (number - gates) * hidden * projected;
  char* begin = buffer + width * elements_before(rnn, layer);
  if (matrix_begin) *matrix_begin = is_projection && !has_projection ? NULL : begin + width * at;
  if (bias_begin)
    *bias_begin =
        is_projection || !rnn->has_bias ? NULL : begin + width * (matrices + number * hidden);
  if (matrix && is_projection) describe(matrix, (int)projected, (int)hidden);
  if (matrix && !is_projection)
    describe(matrix, (int)hidden, (int)(number < gates ? inputs : projected));
  if (bias) describe(bias, (int)hidden, 1);
  return OK;
}

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
