// Convolutions as products of matrices: of the weights, and of the patches of the image that they
// are multiplied with, a column for each place. The patches are never written out: what a tile asks
// for is gathered from the image as it is packed.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/conv2d/conv2d.h"
#include "kernels/matmul/blocks.h"

namespace dtypecheck::kernels {

// In conv2d.cpp's table.
void conv2d_in_blocks(const Conv2d&, const Tile&);
void conv2d_backward_in_blocks(const Conv2dBackward&, const Tile&);

namespace {

int64_t size_of(Dtype dtype) { return dtype == Dtype::kFloat ? 4 : 2; }

// What a kernel does along one axis: of place i and the kernel's number u, the image's number is
// (i * step + start + u * apart) / divisor, where that divides and is within.
struct Axis {
  int64_t size;    // of the image
  int64_t places;  // of the result
  int64_t kernel;
  int64_t step, start, apart, divisor;

  int64_t at(int64_t place, int64_t u) const {
    const int64_t sum = place * step + start + u * apart;
    if (divisor == 1) return sum >= 0 && sum < size ? sum : -1;  // division is slow
    return sum >= 0 && sum % divisor == 0 && sum / divisor < size ? sum / divisor : -1;
  }
  bool moves_by_one() const { return step == 1 && divisor == 1; }
  // The results from the image.
  static Axis forward(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation) {
    return {in, out, kernel, stride, -padding, dilation, 1};
  }
  // The image's gradient from that of the results.
  static Axis backward(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                       int64_t dilation) {
    return {out, in, kernel, 1, padding, -dilation, stride};
  }
  static Axis plain(int64_t size) { return {size, size, 1, 1, 0, 1, 1}; }
};

// The order of the numbers of a patch.
enum class Order { kChannelFirst /* channel, u, v */, kChannelLast /* u, v, channel */ };

struct Number {
  int64_t channel, u, v;
};

struct PatchShape {
  Order order;
  int64_t channels, height, width;

  int64_t size() const { return channels * height * width; }
  Number at(int64_t k) const {
    const int64_t uv = height * width;
    if (order == Order::kChannelFirst) return {k / uv, k % uv / width, k % width};
    return {k % channels, k / channels / width, k / channels % width};
  }
  void go_on(Number& n) const {  // to k + 1
    if (order == Order::kChannelLast && ++n.channel < channels) return;
    if (order == Order::kChannelLast) n.channel = 0;
    if (++n.v < width) return;
    n.v = 0;
    if (++n.u < height) return;
    n.u = 0;
    ++n.channel;
  }
};

// A few numbers; a call of memcpy costs more than they do.
template <class Bits>
inline void copy_few(const Bits* from, int64_t count, Bits* to) {
  constexpr int64_t kStep = 16 / sizeof(Bits);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) std::memcpy(to + i, from + i, 16);
  if (i < count && count >= kStep)
    return void(std::memcpy(to + count - kStep, from + count - kStep, 16));
  for (; i < count; ++i) to[i] = from[i];
}

// Patches of images: numbers of patch k at place p. Places go through samples, rows and columns.
class Patches {
 public:
  Patches(const Images& images, int64_t channels, Axis rows, Axis columns, Order order)
      : images_(images),
        channels_(channels),
        rows_(rows),
        columns_(columns),
        shape_{order, channels, rows.kernel, columns.kernel} {}

  // Channels of a group.
  Patches of_group(int64_t group) const {
    Patches part = *this;
    part.images_.numbers = from(images_.numbers, group * channels_ * images_.strides.channel);
    return part;
  }

  // outer_stride is of places.
  View gather(int64_t place, int64_t places, int64_t k, int64_t numbers, float* room) const {
    if (is_plain() && place / sample_places() == (place + places - 1) / sample_places())
      return {from(images_.numbers, place / sample_places() * images_.strides.sample +
                                        place % sample_places() * images_.strides.column +
                                        k * images_.strides.channel),
              images_.strides.column, images_.strides.channel};
    const Input gathered{room, images_.numbers.dtype};
    const bool by_channel = shape_.order == Order::kChannelLast && images_.strides.channel == 1;
    if (size_of(images_.numbers.dtype) == 4) {
      gather_as<uint32_t>(place, places, k, numbers, by_channel, room);
    } else {
      gather_as<uint16_t>(place, places, k, numbers, by_channel, room);
    }
    if (by_channel) return {gathered, numbers, 1};
    return {gathered, 1, places};
  }

 private:
  struct Place {
    int64_t sample, row, column;
  };
  int64_t sample_places() const { return rows_.places * columns_.places; }
  Place place_at(int64_t p) const {
    return {p / sample_places(), p % sample_places() / columns_.places, p % columns_.places};
  }
  // A patch is a number of each channel, and places follow each other in memory as they do here.
  bool is_plain() const {
    const auto plain = [](const Axis& a) {
      return a.kernel == 1 && a.moves_by_one() && a.start == 0 && a.places == a.size;
    };
    return plain(rows_) && plain(columns_) &&
           images_.strides.row == columns_.size * images_.strides.column;
  }

  template <class Bits>
  void gather_as(int64_t place, int64_t places, int64_t k, int64_t numbers, bool by_channel,
                 float* room) const {
    Bits* to = reinterpret_cast<Bits*>(room);
    if (by_channel) {
      for (int64_t p = place; p < place + places; ++p, to += numbers)
        gather_place(place_at(p), k, numbers, to);
    } else {
      const Place first = place_at(place);
      Number n = shape_.at(k);
      for (; numbers > 0; --numbers, to += places, shape_.go_on(n))
        gather_number(n, first, places, to);
    }
  }

  // Numbers k, k + 1, … at one place: runs of channels.
  template <class Bits>
  void gather_place(const Place& p, int64_t k, int64_t numbers, Bits* to) const {
    const Bits* const image = static_cast<const Bits*>(images_.numbers.data);
    for (const int64_t end = k + numbers; k < end;) {
      const Number n = shape_.at(k);
      const int64_t run = std::min(channels_ - n.channel, end - k);
      const int64_t row = rows_.at(p.row, n.u), column = columns_.at(p.column, n.v);
      if (row < 0 || column < 0) {
        std::fill_n(to, run, Bits{0});
      } else {
        std::memcpy(to, image + offset(p.sample, row, column) + n.channel,
                    static_cast<size_t>(run) * sizeof(Bits));
      }
      k += run;
      to += run;
    }
  }

  // One number at places p, p + 1, …: runs of columns.
  template <class Bits>
  void gather_number(const Number& n, Place at, int64_t places, Bits* to) const {
    const Bits* const image =
        static_cast<const Bits*>(images_.numbers.data) + n.channel * images_.strides.channel;
    for (int64_t left = places; left > 0;) {
      const int64_t run = std::min(columns_.places - at.column, left);
      const int64_t row = rows_.at(at.row, n.u);
      if (row < 0) {
        std::fill_n(to, run, Bits{0});
      } else {
        gather_row(image + offset(at.sample, row, 0), at.column, n.v, run, to);
      }
      to += run;
      left -= run;
      at.column = 0;
      if (++at.row == rows_.places) at.row = 0, ++at.sample;
    }
  }

  template <class Bits>
  void gather_row(const Bits* row, int64_t column, int64_t v, int64_t run, Bits* to) const {
    if (images_.strides.column == 1 && columns_.moves_by_one()) {
      const int64_t first = column + columns_.start + v * columns_.apart;
      const int64_t before = std::clamp<int64_t>(-first, 0, run);
      const int64_t inside = std::clamp<int64_t>(columns_.size - first, before, run) - before;
      std::fill_n(to, before, Bits{0});
      copy_few(row + first + before, inside, to + before);
      std::fill_n(to + before + inside, run - before - inside, Bits{0});
      return;
    }
    for (int64_t i = 0; i < run; ++i) {
      const int64_t from_column = columns_.at(column + i, v);
      to[i] = from_column < 0 ? Bits{0} : row[from_column * images_.strides.column];
    }
  }

  int64_t offset(int64_t sample, int64_t row, int64_t column) const {
    const Strides& s = images_.strides;
    return sample * s.sample + row * s.row + column * s.column;
  }

  Images images_;
  int64_t channels_;  // of a patch
  Axis rows_, columns_;
  PatchShape shape_;
};

// Patches as a factor whose outer dimension is the places, from `first` on, or the numbers of a
// patch.
class PlacesByNumbers : public Factor {
 public:
  PlacesByNumbers(const Patches& patches, int64_t first) : patches_(patches), first_(first) {}
  View view(int64_t outer, int64_t outer_count, int64_t inner, int64_t inner_count,
            float* room) const override {
    return patches_.gather(first_ + outer, outer_count, inner, inner_count, room);
  }

 private:
  Patches patches_;
  int64_t first_;
};
class NumbersByPlaces : public Factor {
 public:
  explicit NumbersByPlaces(const Patches& patches) : patches_(patches) {}
  View view(int64_t outer, int64_t outer_count, int64_t inner, int64_t inner_count,
            float* room) const override {
    const View v = patches_.gather(inner, inner_count, outer, outer_count, room);
    return {v.numbers, v.inner_stride, v.outer_stride};
  }

 private:
  Patches patches_;
};

// The weights of one group in the order of patches, rows of the output's channels or, for the
// gradient of the image, of the input's. Those that do not lie so are gathered as they are packed.
class Weights : public Factor {
 public:
  Weights(const ConvShape& s, const Images& weight, Order order, bool of_inputs, int64_t group)
      : shape_{order, 0, s.kernel_height, s.kernel_width}, strides_(weight.strides) {
    const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
    rows_ = of_inputs ? in : out;
    shape_.channels = of_inputs ? out : in;
    numbers_ = from(weight.numbers, group * out * strides_.sample);
    if (of_inputs) std::swap(strides_.sample, strides_.channel);
  }
  int64_t rows() const { return rows_; }
  int64_t patch() const { return shape_.size(); }

  View view(int64_t outer, int64_t outer_count, int64_t inner, int64_t inner_count,
            float* room) const override {
    const Input first = from(numbers_, outer * strides_.sample);
    if (lies_so()) return {from(first, inner), strides_.sample, 1};
    if (size_of(first.dtype) == 4) {
      gather<uint32_t>(first, outer_count, inner, inner_count, room);
    } else {
      gather<uint16_t>(first, outer_count, inner, inner_count, room);
    }
    return {{room, first.dtype}, 1, outer_count};
  }

 private:
  bool lies_so() const {
    const auto& [order, channels, height, width] = shape_;
    const Strides wanted = order == Order::kChannelFirst ? channels_first(channels, height, width)
                                                         : channels_last(channels, height, width);
    return (channels == 1 || strides_.channel == wanted.channel) &&
           (height == 1 || strides_.row == wanted.row) &&
           (width == 1 || strides_.column == wanted.column);
  }

  template <class Bits>
  void gather(Input first, int64_t rows, int64_t k, int64_t numbers, float* room) const {
    const Bits* const weights = static_cast<const Bits*>(first.data);
    Bits* to = reinterpret_cast<Bits*>(room);
    constexpr int64_t kAhead = 8, kLine = 64 / sizeof(Bits);
    const bool by_channel = shape_.order == Order::kChannelLast;
    Number n = shape_.at(k);
    for (; numbers > 0; --numbers, to += rows, shape_.go_on(n)) {
      const Bits* const channel = weights + n.channel * strides_.channel;
      const int64_t place = n.u * strides_.row + n.v * strides_.column;
      // The next channels' are a page or more away, where nothing fetches them by itself.
      const int64_t line = by_channel ? place : (n.u * shape_.width + n.v) * kLine;
      __builtin_prefetch(channel + kAhead * strides_.channel + line);
      for (int64_t r = 0; r < rows; ++r) to[r] = channel[place + r * strides_.sample];
    }
  }

  PatchShape shape_;
  Strides strides_;  // of the row, for the sample's; of the patch's channel, u and v
  int64_t rows_ = 0;
  Input numbers_;
};

Order order_of(const Images& images, int64_t channels) {
  return images.strides.channel == 1 && channels > 1 ? Order::kChannelLast : Order::kChannelFirst;
}

// The products of each group's weights and patches, as images in a layout.
void write_images(const ConvShape& s, const Patches& patches, const Images& weights, Order order,
                  bool of_inputs, Input bias, Output y, Layout layout, int64_t places,
                  const Tile& tile) {
  for (int64_t g = 0; g < s.groups; ++g) {
    const Weights weight(s, weights, order, of_inputs, g);
    const int64_t channels = weight.rows() * s.groups, first = g * weight.rows();
    Product p;
    p.inner = weight.patch();
    p.bias = from(bias, first);
    if (layout == Layout::kChannelsLast) {
      const PlacesByNumbers image(patches.of_group(g), 0);
      p.rows = s.samples * places;
      p.cols = weight.rows();
      p.a = &image;
      p.b = &weight;
      p.y = from(y, first);
      p.y_stride = channels;
      multiply_in_blocks(p, tile);
      continue;
    }
    p.rows = weight.rows();
    p.cols = places;
    p.a = &weight;
    p.bias_of_rows = true;
    p.y_stride = places;
    for (int64_t n = 0; n < s.samples; ++n) {
      const PlacesByNumbers image(patches.of_group(g), n * places);
      p.b = &image;
      p.y = from(y, (n * channels + first) * places);
      multiply_in_blocks(p, tile);
    }
  }
}

struct Axes {
  explicit Axes(const ConvShape& s)
      : rows(Axis::forward(s.in_height, s.out_height(), s.kernel_height, s.stride_height,
                           s.padding_height, s.dilation_height)),
        columns(Axis::forward(s.in_width, s.out_width(), s.kernel_width, s.stride_width,
                              s.padding_width, s.dilation_width)),
        back_rows(Axis::backward(s.in_height, s.out_height(), s.kernel_height, s.stride_height,
                                 s.padding_height, s.dilation_height)),
        back_columns(Axis::backward(s.in_width, s.out_width(), s.kernel_width, s.stride_width,
                                    s.padding_width, s.dilation_width)) {}
  Axis rows, columns, back_rows, back_columns;
};

// dy by patches: numbers of the inner dimension are the places of all samples.
void write_dweight(const Conv2dBackward& c, const Tile& tile) {
  const ConvShape& s = c.shape;
  const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  const int64_t patch = in * s.kernel_height * s.kernel_width;
  const Axes axes(s);
  const Order order =
      c.dweight_layout == Layout::kChannelsLast ? Order::kChannelLast : Order::kChannelFirst;
  const Patches images(c.x, in, axes.rows, axes.columns, order);
  const Patches gradients(c.dy, out, Axis::plain(s.out_height()), Axis::plain(s.out_width()),
                          order_of(c.dy, out));
  for (int64_t g = 0; g < s.groups; ++g) {
    const NumbersByPlaces dy(gradients.of_group(g)), x(images.of_group(g));
    multiply_in_blocks({.rows = out,
                        .cols = patch,
                        .inner = s.samples * s.out_height() * s.out_width(),
                        .a = &dy,
                        .b = &x,
                        .y = from(c.dweight, g * out * patch),
                        .y_stride = patch},
                       tile);
  }
}

// dy by ones.
void write_dbias(const Conv2dBackward& c) {
  const ConvShape& s = c.shape;
  const NumbersByPlaces dy(Patches(c.dy, s.out_channels, Axis::plain(s.out_height()),
                                   Axis::plain(s.out_width()), order_of(c.dy, s.out_channels)));
  const float one = 1;
  const MatrixFactor ones({&one}, 0, 0);
  multiply_in_blocks({.rows = s.out_channels,
                      .cols = 1,
                      .inner = s.samples * s.out_height() * s.out_width(),
                      .a = &dy,
                      .b = &ones,
                      .y = c.dbias,
                      .y_stride = 1},
                     vectors_tile());
}

}  // namespace

void conv2d_in_blocks(const Conv2d& c, const Tile& tile) {
  const ConvShape& s = c.shape;
  const Axes axes(s);
  const int64_t in = s.in_channels / s.groups;
  const Order order = order_of(c.x, in);
  write_images(s, Patches(c.x, in, axes.rows, axes.columns, order), c.weight, order,
               /*of_inputs=*/false, c.bias, c.y, c.y_layout, s.out_height() * s.out_width(), tile);
}

void conv2d_backward_in_blocks(const Conv2dBackward& c, const Tile& tile) {
  const ConvShape& s = c.shape;
  if (c.dx.data && s.samples > 0) {
    const Axes axes(s);
    const int64_t out = s.out_channels / s.groups;
    const Order order = order_of(c.dy, out);
    write_images(s, Patches(c.dy, out, axes.back_rows, axes.back_columns, order), c.weight, order,
                 /*of_inputs=*/true, {}, c.dx, c.dx_layout, s.in_height * s.in_width, tile);
  }
  if (c.dweight.data) write_dweight(c, tile);
  if (c.dbias.data) write_dbias(c);
}

}  // namespace dtypecheck::kernels
