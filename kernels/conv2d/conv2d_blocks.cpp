// Convolutions as products of matrices: of the weights, and of the patches of the image that they
// are multiplied with, a column for each place. The patches are never written out: what a tile asks
// for is gathered from the image as it is packed.
#include <algorithm>
#include <cstring>
#include <vector>

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

// Patches of images: numbers of patch k at place p. Places go through samples, rows and columns.
class Patches {
 public:
  Patches(const Images& images, int64_t channels, Axis rows, Axis columns, Order order)
      : images_(images), channels_(channels), rows_(rows), columns_(columns), order_(order) {}

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
    const bool by_channel = order_ == Order::kChannelLast && images_.strides.channel == 1;
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
  struct Number {
    int64_t channel, u, v;
  };
  int64_t sample_places() const { return rows_.places * columns_.places; }
  Place place_at(int64_t p) const {
    return {p / sample_places(), p % sample_places() / columns_.places, p % columns_.places};
  }
  Number number_at(int64_t k) const {
    const int64_t kernel = rows_.kernel * columns_.kernel;
    if (order_ == Order::kChannelFirst)
      return {k / kernel, k % kernel / columns_.kernel, k % columns_.kernel};
    const int64_t uv = k / channels_;
    return {k % channels_, uv / columns_.kernel, uv % columns_.kernel};
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
      for (int64_t i = k; i < k + numbers; ++i, to += places)
        gather_number(number_at(i), place, places, to);
    }
  }

  // Numbers k, k + 1, … at one place: runs of channels.
  template <class Bits>
  void gather_place(const Place& p, int64_t k, int64_t numbers, Bits* to) const {
    const Bits* const image = static_cast<const Bits*>(images_.numbers.data);
    for (const int64_t end = k + numbers; k < end;) {
      const Number n = number_at(k);
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
  void gather_number(const Number& n, int64_t p, int64_t places, Bits* to) const {
    const Bits* const image =
        static_cast<const Bits*>(images_.numbers.data) + n.channel * images_.strides.channel;
    Place at = place_at(p);
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
      if (inside > 0)
        std::memcpy(to + before, row + first + before, static_cast<size_t>(inside) * sizeof(Bits));
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
  Order order_;
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

// Weights in the order of patches: rows of `outer` (the output's channels, or for the gradient of
// the image the input's of one group), `patch` numbers each. They are copied once, if they do not
// lie so: a small part of the work that is done with each.
class Weights {
 public:
  Weights(const ConvShape& s, const Images& weight, Order order, bool of_inputs)
      : in_(s.in_channels / s.groups), out_(s.out_channels / s.groups), of_inputs_(of_inputs) {
    const int64_t uv = s.kernel_height * s.kernel_width;
    rows_ = of_inputs ? in_ : out_;
    patch_ = (of_inputs ? out_ : in_) * uv;
    numbers_ = weight.numbers;
    if (!of_inputs && lies_so(s, weight.strides, order)) return;
    copy_.resize(static_cast<size_t>(s.out_channels * in_ * uv * size_of(weight.numbers.dtype)));
    if (size_of(weight.numbers.dtype) == 4) {
      copy<uint32_t>(s, weight, order);
    } else {
      copy<uint16_t>(s, weight, order);
    }
    numbers_.data = copy_.data();
  }
  MatrixFactor of_group(int64_t group) const {
    return MatrixFactor(from(numbers_, group * rows_ * patch_), patch_, 1);
  }
  int64_t rows() const { return rows_; }
  int64_t patch() const { return patch_; }

 private:
  bool lies_so(const ConvShape& s, const Strides& strides, Order order) const {
    const Strides wanted = order == Order::kChannelFirst
                               ? channels_first(in_, s.kernel_height, s.kernel_width)
                               : channels_last(in_, s.kernel_height, s.kernel_width);
    return strides.sample == wanted.sample && (in_ == 1 || strides.channel == wanted.channel) &&
           (s.kernel_height == 1 || strides.row == wanted.row) &&
           (s.kernel_width == 1 || strides.column == wanted.column);
  }

  template <class Bits>
  void copy(const ConvShape& s, const Images& weight, Order order) {
    Bits* const to = reinterpret_cast<Bits*>(copy_.data());
    const Bits* const from = static_cast<const Bits*>(weight.numbers.data);
    const int64_t uv = s.kernel_height * s.kernel_width, channels = of_inputs_ ? out_ : in_;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      for (int64_t i = 0; i < in_; ++i) {
        const int64_t group = o / out_, row = of_inputs_ ? i : o % out_;
        const int64_t channel = of_inputs_ ? o % out_ : i;
        for (int64_t k = 0; k < uv; ++k) {
          const int64_t number =
              order == Order::kChannelFirst ? channel * uv + k : k * channels + channel;
          to[(group * rows_ + row) * patch_ + number] =
              from[o * weight.strides.sample + i * weight.strides.channel +
                   k / s.kernel_width * weight.strides.row +
                   k % s.kernel_width * weight.strides.column];
        }
      }
    }
  }

  int64_t in_, out_;
  bool of_inputs_;
  int64_t rows_ = 0, patch_ = 0;
  Input numbers_;
  std::vector<char> copy_;
};

Order order_of(const Images& images, int64_t channels) {
  return images.strides.channel == 1 && channels > 1 ? Order::kChannelLast : Order::kChannelFirst;
}

// The products of each group's weights and patches, as images in a layout.
void write_images(const ConvShape& s, const Patches& patches, const Weights& weights, Input bias,
                  Output y, Layout layout, int64_t places, const Tile& tile) {
  const int64_t channels = weights.rows() * s.groups;
  for (int64_t g = 0; g < s.groups; ++g) {
    const MatrixFactor weight = weights.of_group(g);
    const int64_t first = g * weights.rows();
    Product p;
    p.inner = weights.patch();
    p.bias = from(bias, first);
    if (layout == Layout::kChannelsLast) {
      const PlacesByNumbers image(patches.of_group(g), 0);
      p.rows = s.samples * places;
      p.cols = weights.rows();
      p.a = &image;
      p.b = &weight;
      p.y = from(y, first);
      p.y_stride = channels;
      multiply_in_blocks(p, tile);
      continue;
    }
    p.rows = weights.rows();
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
  const Weights weights(s, c.weight, order, /*of_inputs=*/false);
  write_images(s, Patches(c.x, in, axes.rows, axes.columns, order), weights, c.bias, c.y,
               c.y_layout, s.out_height() * s.out_width(), tile);
}

void conv2d_backward_in_blocks(const Conv2dBackward& c, const Tile& tile) {
  const ConvShape& s = c.shape;
  if (c.dx.data && s.samples > 0) {
    const Axes axes(s);
    const int64_t out = s.out_channels / s.groups;
    const Order order = order_of(c.dy, out);
    const Weights weights(s, c.weight, order, /*of_inputs=*/true);
    write_images(s, Patches(c.dy, out, axes.back_rows, axes.back_columns, order), weights, {}, c.dx,
                 c.dx_layout, s.in_height * s.in_width, tile);
  }
  if (c.dweight.data) write_dweight(c, tile);
  if (c.dbias.data) write_dbias(c);
}

}  // namespace dtypecheck::kernels
