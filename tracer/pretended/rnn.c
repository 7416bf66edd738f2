/* rnn.c: cuDNN's recurrent networks. Their weights lie in one buffer, and LibTorch asks where:
 * layer by layer, first all its matrices and then all its biases. Up to LibTorch 2.1 it asks in the
 * words of cuDNN 7, of the same buffer. */
#include <stdlib.h>
#include <string.h>

#include "tracer/pretended/pretended.h"

EXPORT int cudnnGetRNNTempSpaceSizes(void* with UNUSED, void* rnn UNUSED, int mode UNUSED,
                                     void* x UNUSED, size_t* work, size_t* kept) {
  if (work) *work = 0;
  if (kept) *kept = 0;
  return OK;
}

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
/* A filter's layout stands where a tensor has strides. */
EXPORT int cudnnCreateFilterDescriptor(struct tensor** made) {
  return cudnnCreateTensorDescriptor(made);
}
EXPORT int cudnnDestroyFilterDescriptor(struct tensor* filter) { return free(filter), OK; }
EXPORT int cudnnSetFilterNdDescriptor(struct tensor* filter, int type, int layout UNUSED,
                                      int dimensions, const int* sizes) {
  return cudnnSetTensorNdDescriptor(filter, type, dimensions, sizes, sizes);
}
EXPORT int cudnnGetFilterNdDescriptor(const struct tensor* filter, int room, int* type, int* layout,
                                      int* dimensions, int* sizes) {
  int strides[8];
  *layout = 0;
  return cudnnGetTensorNdDescriptor(filter, room < 8 ? room : 8, type, dimensions, sizes, strides);
}
static int gates_of(int cell) {
  static const int kGates[] = {1, 1, 4, 3};
  return cell >= 0 && cell < 4 ? kGates[cell] : 1;
}
/* cell: ReLU, tanh, LSTM, GRU; bias: none, of the input, both, of what returns. */
EXPORT int cudnnSetRNNDescriptor_v8(struct rnn* rnn, int algorithm UNUSED, int cell, int bias,
                                    int direction, int input UNUSED, int type, int precision UNUSED,
                                    int math UNUSED, int inputs, int hidden, int projected,
                                    int layers) {
  *rnn = (struct rnn){gates_of(cell), direction ? 2 : 1, inputs, hidden, projected,
                      layers,         bias != 0,         type};
  return OK;
}
static size_t width_of(int type) {
  enum { kFloat = 0, kDouble = 1 };
  return type == kDouble ? 8 : type == kFloat ? 4 : 2;
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
  *bytes = width_of(rnn->type) * elements_before(rnn, rnn->layers * rnn->directions);
  return OK;
}
/* One matrix or bias in the buffer. What there is none of begins nowhere. */
struct part {
  char* begin;
  int rows, columns;
};
static struct part matrix_of(const struct rnn* rnn, size_t width, int layer, char* buffer,
                             int which) {
  const size_t gates = (size_t)rnn->gates, hidden = (size_t)rnn->hidden;
  const size_t inputs = inputs_of(rnn, layer), projected = (size_t)rnn->projected;
  const size_t number = (size_t)which, input_part = gates * hidden * inputs;
  char* begin = buffer + width * elements_before(rnn, layer);
  if (number < gates)
    return (struct part){begin + width * number * hidden * inputs, rnn->hidden, (int)inputs};
  if (number < 2 * gates)
    return (struct part){begin + width * (input_part + (number - gates) * hidden * projected),
                         rnn->hidden, rnn->projected};
  const size_t biases = rnn->has_bias ? 2 * gates * hidden : 0;
  char* at = begin + width * (input_part + gates * hidden * projected + biases);
  return (struct part){rnn->projected != rnn->hidden ? at : NULL, rnn->projected, rnn->hidden};
}
static struct part bias_of(const struct rnn* rnn, size_t width, int layer, char* buffer,
                           int which) {
  const size_t gates = (size_t)rnn->gates, hidden = (size_t)rnn->hidden, number = (size_t)which;
  const size_t matrices = gates * hidden * (inputs_of(rnn, layer) + (size_t)rnn->projected);
  const int is_there = rnn->has_bias && number < 2 * gates;
  char* begin = buffer + width * (elements_before(rnn, layer) + matrices + number * hidden);
  return (struct part){is_there ? begin : NULL, rnn->hidden, 1};
}
static void describe(struct tensor* tensor, const struct part* part) {
  *tensor = (struct tensor){
      0, 3, {1, part->rows, part->columns}, {part->rows * part->columns, part->columns, 1}};
}
/* What is not asked for is null. */
EXPORT int cudnnGetRNNWeightParams(void* with UNUSED, const struct rnn* rnn, int layer,
                                   size_t bytes UNUSED, char* buffer, int which,
                                   struct tensor* matrix, char** matrix_begin, struct tensor* bias,
                                   char** bias_begin) {
  const struct part weights = matrix_of(rnn, width_of(rnn->type), layer, buffer, which);
  const struct part biases = bias_of(rnn, width_of(rnn->type), layer, buffer, which);
  if (matrix_begin) *matrix_begin = weights.begin;
  if (bias_begin) *bias_begin = biases.begin;
  if (matrix) describe(matrix, &weights);
  if (bias) describe(bias, &biases);
  return OK;
}

/* The same in cuDNN 7, whose biases are always there. How wide its inputs are is said with each
 * question only. */
EXPORT int cudnnSetRNNDescriptor_v6(void* with UNUSED, struct rnn* rnn, int hidden, int layers,
                                    void* dropout UNUSED, int input UNUSED, int direction, int cell,
                                    int algorithm UNUSED, int precision) {
  *rnn = (struct rnn){gates_of(cell), direction ? 2 : 1, 0, hidden, hidden, layers, 1, precision};
  return OK;
}
EXPORT int cudnnSetRNNProjectionLayers(void* with UNUSED, struct rnn* rnn, int projected,
                                       int output UNUSED) {
  rnn->projected = projected ? projected : rnn->hidden;
  return OK;
}
EXPORT int cudnnGetRNNParamsSize(void* with UNUSED, struct rnn* rnn, const struct tensor* x,
                                 size_t* bytes, int type) {
  rnn->inputs = x->sizes[1];
  *bytes = width_of(type) * elements_before(rnn, rnn->layers * rnn->directions);
  return OK;
}
EXPORT int cudnnGetRNNLinLayerMatrixParams(void* with UNUSED, struct rnn* rnn, int layer,
                                           const struct tensor* x, const struct tensor* weights,
                                           char* buffer, int which, struct tensor* matrix,
                                           char** begin) {
  rnn->inputs = x->sizes[1];
  const struct part part = matrix_of(rnn, width_of(weights->type), layer, buffer, which);
  describe(matrix, &part);
  return *begin = part.begin, OK;
}
EXPORT int cudnnGetRNNLinLayerBiasParams(void* with UNUSED, struct rnn* rnn, int layer,
                                         const struct tensor* x, const struct tensor* weights,
                                         char* buffer, int which, struct tensor* bias,
                                         char** begin) {
  rnn->inputs = x->sizes[1];
  const struct part part = bias_of(rnn, width_of(weights->type), layer, buffer, which);
  describe(bias, &part);
  return *begin = part.begin, OK;
}
static int no_room(size_t* bytes) { return *bytes = 0, OK; }
EXPORT int cudnnGetRNNWorkspaceSize(void* with UNUSED, void* rnn UNUSED, int steps UNUSED,
                                    void* x UNUSED, size_t* bytes) {
  return no_room(bytes);
}
EXPORT int cudnnGetRNNTrainingReserveSize(void* with UNUSED, void* rnn UNUSED, int steps UNUSED,
                                          void* x UNUSED, size_t* bytes) {
  return no_room(bytes);
}
