// conv2d.h: a convolution of images, with weights of another dtype or the same:
//   y[n][o][h][w] = bias[o] + sum over i, u, v of
//       x[n][i][h * stride - padding + u * dilation][the same of w and v] * weight[o][i][u][v]
// where x is 0 outside the image, and i runs over the channels of o's group. Backward gives the
// derivatives of sum(dy y) by x, weight and bias. Each tensor has any of the three dtypes and, but
// for y, dx and dweight, any strides. Sums, threads and `compute` are as matmul.h says.
#pragma once

#include <span>

#include "kernels/matmul/matmul.h"

namespace dtypecheck::kernels {

struct ConvShape {
  int64_t samples = 0, groups = 1;
  int64_t in_channels = 0, in_height = 0, in_width = 0;
  int64_t out_channels = 0, kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t padding_height = 0, padding_width = 0;
  int64_t dilation_height = 1, dilation_width = 1;
  int64_t out_height() const {
    return (in_height + 2 * padding_height - dilation_height * (kernel_height - 1) - 1) /
               stride_height +
           1;
  }
  int64_t out_width() const {
    return (in_width + 2 * padding_width - dilation_width * (kernel_width - 1) - 1) / stride_width +
           1;
  }
};

// Numbers with four strides, counted in numbers: of the sample (of a weight: the output channel),
// the channel, the row and the column.
struct Strides {
  int64_t sample = 0, channel = 0, row = 0, column = 1;
};
inline Strides channels_first(int64_t channels, int64_t height, int64_t width) {
  return {channels * height * width, height * width, width, 1};
}
inline Strides channels_last(int64_t channels, int64_t height, int64_t width) {
  return {channels * height * width, 1, width * channels, channels};
}
struct Images {
  Input numbers;
  Strides strides;
};

struct Conv2d {
  ConvShape shape;
  Images x;       // samples x in_channels x height x width
  Images weight;  // out_channels x in_channels / groups x u x v
  Input bias;     // out_channels; null: 0
  Output y;       // contiguous in y_layout
  Layout y_layout = Layout::kChannelsFirst;
  Compute compute = Compute::kFloat;
};

struct Conv2dBackward {
  ConvShape shape;
  Images dy, x, weight;
  Output dx;  // each of these three null: not wanted; contiguous, dx in dx_layout
  Layout dx_layout = Layout::kChannelsFirst;
  Output dweight;
  Layout dweight_layout = Layout::kChannelsFirst;  // kChannelsLast: out x u x v x in
  Output dbias;
  Compute compute = Compute::kFloat;
};

void conv2d(const Conv2d& arguments);  // both throw InputError for arguments not as above
void conv2d_backward(const Conv2dBackward& arguments);
std::span<const Variant<Conv2d>> conv2d_variants();
std::span<const Variant<Conv2dBackward>> conv2d_backward_variants();

void conv2d_ref(const Conv2d& arguments);
void conv2d_backward_ref(const Conv2dBackward& arguments);

}  // namespace dtypecheck::kernels
