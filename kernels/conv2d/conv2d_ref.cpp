#include <vector>

#include "kernels/conv2d/conv2d.h"

namespace dtypecheck::kernels {

// use(n, o, i, u, v, h, w, row, column) for each product: x's row and column are inside the image.
template <class Use>
static void for_each_product(const ConvShape& s, Use use) {
  const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  for (int64_t n = 0; n < s.samples; ++n)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t i = 0; i < in; ++i)
        for (int64_t u = 0; u < s.kernel_height; ++u)
          for (int64_t v = 0; v < s.kernel_width; ++v)
            for (int64_t h = 0; h < s.out_height(); ++h)
              for (int64_t w = 0; w < s.out_width(); ++w) {
                const int64_t row = h * s.stride_height - s.padding_height + u * s.dilation_height;
                const int64_t column = w * s.stride_width - s.padding_width + v * s.dilation_width;
                if (row < 0 || row >= s.in_height || column < 0 || column >= s.in_width) continue;
                use(n, o, o / out * in + i, i, u, v, h, w, row, column);
              }
}

static int64_t at(const Strides& s, int64_t n, int64_t c, int64_t h, int64_t w) {
  return n * s.sample + c * s.channel + h * s.row + w * s.column;
}

static Strides strides(Layout layout, int64_t channels, int64_t height, int64_t width) {
  return layout == Layout::kChannelsFirst ? channels_first(channels, height, width)
                                          : channels_last(channels, height, width);
}

static void store_all(Output to, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i)
    store(to, static_cast<int64_t>(i), static_cast<float>(values[i]));
}

void conv2d_ref(const Conv2d& c) {
  const ConvShape& s = c.shape;
  const int64_t height = s.out_height(), width = s.out_width();
  const Strides of_y = strides(c.y_layout, s.out_channels, height, width);
  std::vector<double> y(static_cast<size_t>(s.samples * s.out_channels * height * width));
  for (int64_t n = 0; n < s.samples; ++n)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t h = 0; h < height; ++h)
        for (int64_t w = 0; w < width; ++w)
          y[static_cast<size_t>(at(of_y, n, o, h, w))] = load_or(c.bias, o, 0);
  for_each_product(s, [&](int64_t n, int64_t o, int64_t channel, int64_t i, int64_t u, int64_t v,
                          int64_t h, int64_t w, int64_t row, int64_t column) {
    y[static_cast<size_t>(at(of_y, n, o, h, w))] +=
        double{load(c.x.numbers, at(c.x.strides, n, channel, row, column))} *
        load(c.weight.numbers, at(c.weight.strides, o, i, u, v));
  });
  store_all(c.y, y);
}

void conv2d_backward_ref(const Conv2dBackward& c) {
  const ConvShape& s = c.shape;
  const int64_t in = s.in_channels / s.groups;
  const Strides of_dx = strides(c.dx_layout, s.in_channels, s.in_height, s.in_width);
  const Strides of_dweight = strides(c.dweight_layout, in, s.kernel_height, s.kernel_width);
  std::vector<double> dx(static_cast<size_t>(s.samples * s.in_channels * s.in_height * s.in_width));
  std::vector<double> dweight(
      static_cast<size_t>(s.out_channels * in * s.kernel_height * s.kernel_width));
  std::vector<double> dbias(static_cast<size_t>(s.out_channels));
  for_each_product(s, [&](int64_t n, int64_t o, int64_t channel, int64_t i, int64_t u, int64_t v,
                          int64_t h, int64_t w, int64_t row, int64_t column) {
    const double dy = load(c.dy.numbers, at(c.dy.strides, n, o, h, w));
    if (c.dx.data)
      dx[static_cast<size_t>(at(of_dx, n, channel, row, column))] +=
          dy * load(c.weight.numbers, at(c.weight.strides, o, i, u, v));
    if (c.dweight.data)
      dweight[static_cast<size_t>(at(of_dweight, o, i, u, v))] +=
          dy * load(c.x.numbers, at(c.x.strides, n, channel, row, column));
  });
  for (int64_t n = 0; n < s.samples; ++n)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t h = 0; h < s.out_height(); ++h)
        for (int64_t w = 0; w < s.out_width(); ++w)
          dbias[static_cast<size_t>(o)] += load(c.dy.numbers, at(c.dy.strides, n, o, h, w));
  if (c.dx.data) store_all(c.dx, dx);
  if (c.dweight.data) store_all(c.dweight, dweight);
  if (c.dbias.data) store_all(c.dbias, dbias);
}

}  // namespace dtypecheck::kernels
