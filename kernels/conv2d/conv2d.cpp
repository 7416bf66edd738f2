#include "kernels/conv2d/conv2d.h"

#include "kernels/matmul/blocks.h"

namespace dtypecheck::kernels {

// In conv2d_blocks.cpp, for each tile.
void conv2d_in_blocks(const Conv2d&, const Tile&);
void conv2d_backward_in_blocks(const Conv2dBackward&, const Tile&);

static void conv2d_bfloat16(const Conv2d& c) { conv2d_in_blocks(c, bfloat16_tile()); }
static void conv2d_vectors(const Conv2d& c) { conv2d_in_blocks(c, vectors_tile()); }
static void conv2d_backward_bfloat16(const Conv2dBackward& c) {
  conv2d_backward_in_blocks(c, bfloat16_tile());
}
static void conv2d_backward_vectors(const Conv2dBackward& c) {
  conv2d_backward_in_blocks(c, vectors_tile());
}

static bool can_bfloat16(const Conv2d& c) {
  return has_bfloat16_vectors() &&
         multiplies_bfloat16(c.compute, c.x.numbers.dtype, c.weight.numbers.dtype);
}
static bool can_backward_bfloat16(const Conv2dBackward& c) {
  return has_bfloat16_vectors() &&
         multiplies_bfloat16(c.compute, c.dy.numbers.dtype, c.weight.numbers.dtype) &&
         multiplies_bfloat16(c.compute, c.dy.numbers.dtype, c.x.numbers.dtype);
}

static constexpr Variant<Conv2d> kVariants[] = {
    {"avx512_bf16", can_bfloat16, conv2d_bfloat16},
    {"vectors", vectors, conv2d_vectors},
    {"ref", always, conv2d_ref},
};
static constexpr Variant<Conv2dBackward> kBackwardVariants[] = {
    {"avx512_bf16", can_backward_bfloat16, conv2d_backward_bfloat16},
    {"vectors", vectors, conv2d_backward_vectors},
    {"ref", always, conv2d_backward_ref},
};

std::span<const Variant<Conv2d>> conv2d_variants() { return kVariants; }
std::span<const Variant<Conv2dBackward>> conv2d_backward_variants() { return kBackwardVariants; }

static void require_shape(const ConvShape& s, const char* name) {
  require(s.samples >= 0, name, "samples of 0 or more");
  require(s.in_channels >= 1 && s.out_channels >= 1 && s.in_height >= 1 && s.in_width >= 1, name,
          "channels, height and width of 1 or more");
  require(s.groups >= 1 && s.in_channels % s.groups == 0 && s.out_channels % s.groups == 0, name,
          "groups that divide in_channels and out_channels");
  require(s.kernel_height >= 1 && s.kernel_width >= 1 && s.stride_height >= 1 &&
              s.stride_width >= 1 && s.dilation_height >= 1 && s.dilation_width >= 1,
          name, "kernel, stride and dilation of 1 or more");
  require(s.padding_height >= 0 && s.padding_width >= 0, name, "padding of 0 or more");
  require(s.in_height + 2 * s.padding_height > s.dilation_height * (s.kernel_height - 1) &&
              s.in_width + 2 * s.padding_width > s.dilation_width * (s.kernel_width - 1),
          name, "a kernel that is no larger than the padded image");
}

void conv2d(const Conv2d& c) {
  const char* const name = "conv2d";
  require_shape(c.shape, name);
  const bool empty = c.shape.samples == 0;
  require_numbers(c.x.numbers, name, "x", empty);
  require_numbers(c.weight.numbers, name, "weight", empty);
  require_numbers(c.bias, name, "bias", /*optional=*/true);
  require_numbers(c.y, name, "y", empty);
  if (!empty) run_first(conv2d_variants(), c);
}

void conv2d_backward(const Conv2dBackward& c) {
  const char* const name = "conv2d_backward";
  require_shape(c.shape, name);
  const bool empty = c.shape.samples == 0;
  require_numbers(c.dy.numbers, name, "dy", empty);
  require_numbers(c.x.numbers, name, "x", empty || !c.dweight.data);
  require_numbers(c.weight.numbers, name, "weight", empty || !c.dx.data);
  require_numbers(c.dx, name, "dx", /*optional=*/true);
  require_numbers(c.dweight, name, "dweight", /*optional=*/true);
  require_numbers(c.dbias, name, "dbias", /*optional=*/true);
  run_first(conv2d_backward_variants(), c);
}

}  // namespace dtypecheck::kernels
