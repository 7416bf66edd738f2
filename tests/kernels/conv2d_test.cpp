// Convolutions: the reference beside the formula written otherwise, and each variant beside it.
#include "kernels/conv2d/conv2d.h"

#include <array>

#include "kernels/threads.h"
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

struct ConvCase {
  ConvCase(const ConvShape& s, Dtype of_x, Dtype of_weight, Layout layout)
      : shape(s),
        layout(layout),
        x(of_x, s.samples * s.in_channels * s.in_height * s.in_width),
        dx(x),
        weight(of_weight,
               s.out_channels * (s.in_channels / s.groups) * s.kernel_height * s.kernel_width),
        dweight(weight),
        bias(of_weight, s.out_channels),
        dbias(bias),
        y(of_x, s.samples * s.out_channels * s.out_height() * s.out_width(), NAN),
        dy(y) {
    x.fill_normal(0.2f, 1, 1);
    weight.fill_normal(0, 1, 2);
    bias.fill_normal(0, 1, 3);
    dy.fill_normal(0.1f, 1, 4);
  }
  Strides strides(int64_t channels, int64_t height, int64_t width) const {
    return layout == Layout::kChannelsLast ? channels_last(channels, height, width)
                                           : channels_first(channels, height, width);
  }
  Strides of_x() const { return strides(shape.in_channels, shape.in_height, shape.in_width); }
  Strides of_y() const {
    return strides(shape.out_channels, shape.out_height(), shape.out_width());
  }
  Strides of_weight() const {
    return strides(shape.in_channels / shape.groups, shape.kernel_height, shape.kernel_width);
  }
  Conv2d forward() {
    return {shape,        {x.input(), of_x()}, {weight.input(), of_weight()},
            bias.input(), y.output(),          layout,
            compute};
  }
  Conv2dBackward backward() {
    return {shape,
            {dy.input(), of_y()},
            {x.input(), of_x()},
            {weight.input(), of_weight()},
            dx.output(),
            layout,
            dweight.output(),
            layout,
            dbias.output(),
            compute};
  }

  ConvShape shape;
  Layout layout;
  Compute compute = Compute::kFloat;
  Numbers x, dx, weight, dweight, bias, dbias, y, dy;
};

// Of numbers of about 1: so many are added up.
static double tolerance(const ConvCase& c, int64_t products) {
  const double each = matmul_tolerance(products) + (c.compute == Compute::kBFloat16 ? 0x1p-8 : 0);
  return each * (4 + 2 * static_cast<double>(products));
}

static void check_variants(const ConvCase& given) {
  const ConvShape& s = given.shape;
  INFO(s.samples << " x " << s.in_channels << " x " << s.in_height << " x " << s.in_width << " to "
                 << s.out_channels << ", kernel " << s.kernel_height << " x " << s.kernel_width
                 << ", stride " << s.stride_height << " " << s.stride_width << ", padding "
                 << s.padding_height << " " << s.padding_width << ", groups " << s.groups
                 << (given.layout == Layout::kChannelsLast ? ", channels last" : ""));
  ConvCase expected = given;
  conv2d_ref(expected.forward());
  conv2d_backward_ref(expected.backward());
  const int64_t kernel = s.kernel_height * s.kernel_width;
  ConvCase start = given;
  with_each_variant<Conv2d>(conv2d_variants(), start.forward(), [&](auto variant) {
    ConvCase found = given;
    variant(found.forward());
    check_near(found.y, doubles(expected.y), tolerance(given, kernel * s.in_channels / s.groups));
  });
  with_each_variant<Conv2dBackward>(
      conv2d_backward_variants(), start.backward(), [&](auto variant) {
        ConvCase found = given;
        variant(found.backward());
        const int64_t places = s.samples * s.out_height() * s.out_width();
        check_near(found.dx, doubles(expected.dx),
                   tolerance(given, kernel * s.out_channels / s.groups));
        check_near(found.dweight, doubles(expected.dweight), tolerance(given, places));
        check_near(found.dbias, doubles(expected.dbias), tolerance(given, places));
      });
}

static const ConvShape kShapes[] = {
    {.samples = 2,
     .in_channels = 3,
     .in_height = 9,
     .in_width = 7,
     .out_channels = 5,
     .kernel_height = 3,
     .kernel_width = 3,
     .padding_height = 1,
     .padding_width = 1},
    {.samples = 1,
     .in_channels = 17,
     .in_height = 6,
     .in_width = 20,
     .out_channels = 34,
     .kernel_height = 1,
     .kernel_width = 1},
    {.samples = 3,
     .in_channels = 4,
     .in_height = 8,
     .in_width = 9,
     .out_channels = 6,
     .kernel_height = 3,
     .kernel_width = 2,
     .stride_height = 2,
     .stride_width = 3,
     .padding_height = 1,
     .padding_width = 0},
    {.samples = 1,
     .groups = 3,
     .in_channels = 6,
     .in_height = 5,
     .in_width = 5,
     .out_channels = 9,
     .kernel_height = 3,
     .kernel_width = 3,
     .padding_height = 2,
     .padding_width = 2,
     .dilation_height = 2,
     .dilation_width = 1},
    {.samples = 2,
     .groups = 8,
     .in_channels = 8,
     .in_height = 4,
     .in_width = 33,
     .out_channels = 8,
     .kernel_height = 3,
     .kernel_width = 3,
     .padding_height = 1,
     .padding_width = 1},
    {.samples = 1, .in_channels = 1, .in_height = 1, .in_width = 1, .out_channels = 1},
    {.samples = 1,
     .in_channels = 2,
     .in_height = 1,
     .in_width = 40,
     .out_channels = 3,
     .kernel_height = 1,
     .kernel_width = 40},  // as wide as the image
    {.samples = 1,
     .in_channels = 3,
     .in_height = 4,
     .in_width = 4,
     .out_channels = 2,
     .kernel_height = 2,
     .kernel_width = 2,
     .stride_height = 4,
     .stride_width = 4,
     .padding_height = 3,
     .padding_width = 3},  // places that see nothing of it
};

TEST_CASE("conv2d: variants give what the reference gives") {
  for (const ConvShape& shape : kShapes)
    for (const Layout layout : {Layout::kChannelsFirst, Layout::kChannelsLast})
      for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
        ConvCase c(shape, Dtype::kHalf, Dtype::kHalf, layout);
        c.compute = compute;
        check_variants(c);
      }
}

TEST_CASE("conv2d: each pair of dtypes; a product in several blocks") {
  for (const Dtype x : kDtypes)
    for (const Dtype weight : kDtypes)
      check_variants(ConvCase(kShapes[0], x, weight, Layout::kChannelsLast));
  ConvShape large = kShapes[0];
  large.in_channels = 100;
  for (const Layout layout : {Layout::kChannelsFirst, Layout::kChannelsLast})
    check_variants(ConvCase(large, Dtype::kBFloat16, Dtype::kBFloat16, layout));
}

// y = sum of x moved by (u, v) and weighted: written image by image, where the reference goes
// through products. Backward by differences of sum(dy y), which is linear in each.
TEST_CASE("conv2d: the reference is the formula, and backward its derivative") {
  for (const ConvShape& s : kShapes) {
    ConvCase c(s, Dtype::kFloat, Dtype::kFloat, Layout::kChannelsFirst);
    conv2d_ref(c.forward());
    conv2d_backward_ref(c.backward());
    const auto loss = [&](const ConvCase& of) {
      ConvCase moved = of;
      conv2d_ref(moved.forward());
      double sum = 0;
      for (int64_t i = 0; i < moved.y.size(); ++i) sum += double{moved.y[i]} * of.dy[i];
      return sum;
    };
    const auto check = [&](Numbers ConvCase::*of, const Numbers& gradient) {
      for (int64_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 7) {
        ConvCase up = c, down = c;
        (up.*of).set(i, (c.*of)[i] + 1);
        (down.*of).set(i, (c.*of)[i] - 1);
        CHECK(gradient[i] == Approx((loss(up) - loss(down)) / 2).margin(1e-3));
      }
    };
    check(&ConvCase::x, c.dx);
    check(&ConvCase::weight, c.dweight);
    check(&ConvCase::bias, c.dbias);
  }
  // 1 2 3 by 10 1, padded by 1: 0+1, 10+2, 20+3, 30+0.
  ConvCase small({.samples = 1,
                  .in_channels = 1,
                  .in_height = 1,
                  .in_width = 3,
                  .out_channels = 1,
                  .kernel_height = 1,
                  .kernel_width = 2,
                  .padding_width = 1},
                 Dtype::kFloat, Dtype::kFloat, Layout::kChannelsFirst);
  const float x[] = {1, 2, 3}, weight[] = {10, 1}, expected[] = {1, 12, 23, 30};
  small.x.fill([&](int64_t i) { return x[i]; });
  small.weight.fill([&](int64_t i) { return weight[i]; });
  small.bias.set(0, 0);
  conv2d(small.forward());
  for (int64_t i = 0; i < 4; ++i) CHECK(small.y[i] == expected[i]);
}

TEST_CASE("conv2d: tensors of one layout with weights and results of the other") {
  const ConvShape& s = kShapes[0];
  ConvCase first(s, Dtype::kHalf, Dtype::kHalf, Layout::kChannelsFirst), last = first;
  last.layout = Layout::kChannelsLast;
  const auto reorder = [](Numbers& to, const Numbers& from, int64_t channels, int64_t places) {
    for (int64_t i = 0; i < from.size(); ++i) {
      const int64_t n = i / (channels * places), c = i / places % channels, p = i % places;
      to.set((n * places + p) * channels + c, from[i]);
    }
  };
  reorder(last.x, first.x, s.in_channels, s.in_height * s.in_width);
  reorder(last.weight, first.weight, s.in_channels, s.kernel_height * s.kernel_width);
  reorder(last.dy, first.dy, s.out_channels, s.out_height() * s.out_width());
  conv2d(first.forward());
  conv2d_backward(first.backward());
  Conv2d forward = last.forward();
  forward.weight = first.forward().weight;
  forward.y_layout = Layout::kChannelsFirst;
  conv2d(forward);
  check_near(last.y, doubles(first.y), 1e-5);
  Conv2dBackward backward = last.backward();
  backward.dy = first.backward().dy;
  backward.dx_layout = backward.dweight_layout = Layout::kChannelsFirst;
  conv2d_backward(backward);
  check_near(last.dx, doubles(first.dx), 1e-5);
  check_near(last.dweight, doubles(first.dweight), 1e-4);
  check_near(last.dbias, doubles(first.dbias), 1e-4);
}

TEST_CASE("conv2d: of no samples the gradients of weights are 0; what is not wanted is not made") {
  ConvShape none = kShapes[0];
  none.samples = 0;
  ConvCase c(none, Dtype::kHalf, Dtype::kHalf, Layout::kChannelsFirst);
  c.dweight.fill([](int64_t) { return 7.f; });
  c.dbias.fill([](int64_t) { return 7.f; });
  conv2d(c.forward());
  conv2d_backward(c.backward());
  for (const float number : {c.dweight[0], c.dweight[44], c.dbias[4]}) CHECK(number == 0);
  ConvCase d(kShapes[0], Dtype::kHalf, Dtype::kHalf, Layout::kChannelsFirst);
  Conv2dBackward nothing = d.backward();
  nothing.dx = nothing.dweight = nothing.dbias = {};
  CHECK_NOTHROW(conv2d_backward(nothing));
}

TEST_CASE("conv2d: the same bits on any threads") {
  ConvShape s = kShapes[0];
  s.in_channels = 90;
  s.out_channels = 70;
  s.in_height = s.in_width = 30;
  ConvCase one(s, Dtype::kHalf, Dtype::kHalf, Layout::kChannelsLast), many = one;
  set_parallel_for(in_order);
  conv2d(one.forward());
  conv2d_backward(one.backward());
  set_parallel_for(nullptr);
  conv2d(many.forward());
  conv2d_backward(many.backward());
  check_same(many.y, one.y);
  check_same(many.dx, one.dx);
  check_same(many.dweight, one.dweight);
  check_same(many.dbias, one.dbias);
}

TEST_CASE("conv2d: arguments it cannot use") {
  using Catch::Matchers::Contains;
  const auto message = [](const std::function<void(Conv2d&)>& spoil) {
    ConvCase c(kShapes[0], Dtype::kHalf, Dtype::kHalf, Layout::kChannelsFirst);
    Conv2d arguments = c.forward();
    spoil(arguments);
    try {
      conv2d(arguments);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(message([](Conv2d&) {}) == "none");
  CHECK_THAT(message([](Conv2d& c) { c.shape.groups = 2; }), Contains("groups that divide"));
  CHECK_THAT(message([](Conv2d& c) { c.shape.kernel_width = 99; }), Contains("no larger than"));
  CHECK_THAT(message([](Conv2d& c) { c.shape.stride_width = 0; }), Contains("stride and dilation"));
  CHECK_THAT(message([](Conv2d& c) { c.shape.padding_width = -1; }), Contains("padding of 0"));
  CHECK_THAT(message([](Conv2d& c) { c.weight.numbers.dtype = Dtype::kInt; }),
             Contains("weight is Int"));
  CHECK_THAT(message([](Conv2d& c) { c.y.data = nullptr; }), Contains("y is null"));
}

}  // namespace dtypecheck::kernels
