// products.cpp: linear, matmul and conv2d. What users call checks, and makes of its arguments, by
// LibTorch's own ops, matrices or a batch of images; what has gradients is native_matmul and
// native_conv2d.
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <array>

#include "kernels/matmul/matmul.h"
#include "kernels/torch/checks.h"

namespace dtypecheck::operators {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalDtype = Optional<at::ScalarType>;

kernels::Compute how(bool as_bfloat16) {
  return as_bfloat16 ? kernels::Compute::kBFloat16 : kernels::Compute::kFloat;
}

// A sum over all dimensions but `kept`, in Float or wider, rounded once.
at::Tensor bias_gradient(const at::Tensor& dy, int64_t kept, at::ScalarType dtype) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < dy.dim(); ++i)
    if (i != kept) others.push_back(i);
  const auto in = dy.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return dy.sum(others, false, in).to(dtype);
}

// ---- by LibTorch's own ops: convolutions, and on a GPU products. In the dtype of all operands, or
// in BFloat16 where `compute` asks for it; else in Float, as a factor that is rounded to 16 bits
// loses digits. On a CPU a convolution in Half takes 500 times as long as one in Float.

at::ScalarType computed_in(std::initializer_list<at::Tensor> operands, at::ScalarType result,
                           bool as_bfloat16) {
  if (any_double(operands) || result == at::kDouble) return at::kDouble;
  if (as_bfloat16) return at::kBFloat16;
  const bool is_one = std::all_of(operands.begin(), operands.end(), [&](const at::Tensor& t) {
    return !t.defined() || t.scalar_type() == result;
  });
  const bool is_slow = result == at::kHalf && operands.begin()->is_cpu();
  return is_one && !is_slow ? result : at::kFloat;
}

// ---- matmul: a matrix, or a batch of them, by as many

kernels::Matrix matrix_of(const at::Tensor& t) {
  const bool is_batch = t.dim() == 3;
  return {input(t), t.stride(-2), t.stride(-1), is_batch ? t.stride(0) : 0};
}

at::Tensor room_for_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype) {
  const auto options = a.options().dtype(dtype);
  return a.dim() == 3 ? at::empty_symint({a.sym_size(0), a.sym_size(1), b.sym_size(2)}, options)
                      : at::empty_symint({a.sym_size(0), b.sym_size(1)}, options);
}

at::Tensor native_matmul_cpu(const at::Tensor& a, const at::Tensor& b, const OptionalTensor& bias,
                             at::ScalarType dtype, bool as_bfloat16) {
  const at::Tensor added = bias ? bias->contiguous() : at::Tensor();
  if (any_double({a, b, added}) || dtype == at::kDouble) {
    const at::Tensor y = at::matmul(wide(a), wide(b));
    return (added.defined() ? y + wide(added) : y).to(dtype).contiguous();
  }
  const at::Tensor y = room_for_product(a, b, dtype);
  kernels::matmul({.batch = a.dim() == 3 ? a.size(0) : 1,
                   .rows = a.size(-2),
                   .cols = b.size(-1),
                   .inner = a.size(-1),
                   .a = matrix_of(a),
                   .b = matrix_of(b),
                   .bias = input(added),
                   .y = output(y),
                   .compute = how(as_bfloat16)});
  return y;
}

at::Tensor native_matmul_cuda(const at::Tensor& a, const at::Tensor& b, const OptionalTensor& bias,
                              at::ScalarType dtype, bool as_bfloat16) {
  const at::Tensor added = or_undefined(bias);
  const at::ScalarType in = computed_in({a, b, added}, dtype, as_bfloat16);
  const at::Tensor left = a.to(in), right = b.to(in);
  if (added.defined() && a.dim() == 2)
    return at::addmm(added.to(in), left, right).to(dtype).contiguous();
  const at::Tensor y = at::matmul(left, right);
  return (added.defined() ? y + added.to(in) : y).to(dtype).contiguous();
}

at::Tensor native_matmul_meta(const at::Tensor& a, const at::Tensor& b, const OptionalTensor&,
                              at::ScalarType dtype, bool) {
  return room_for_product(a, b, dtype);
}

auto native_matmul() {
  static const auto run = find_op<decltype(native_matmul_cpu)>("dtypecheck::native_matmul");
  return run;
}

struct MatmulFunction : torch::autograd::Function<MatmulFunction> {
  static at::Tensor forward(AutogradContext* kept, const at::Tensor& a, const at::Tensor& b,
                            const OptionalTensor& bias, at::ScalarType dtype, bool as_bfloat16) {
    // Of a factor whose other is not trained, nothing is kept.
    kept->save_for_backward(
        {b.requires_grad() ? a : at::Tensor(), a.requires_grad() ? b : at::Tensor()});
    kept->saved_data["of"] = static_cast<int64_t>(a.requires_grad() | b.requires_grad() << 1 |
                                                  (bias && bias->requires_grad()) << 2);
    kept->saved_data["a"] = static_cast<int64_t>(a.scalar_type());
    kept->saved_data["b"] = static_cast<int64_t>(b.scalar_type());
    kept->saved_data["bias"] = static_cast<int64_t>(bias ? bias->scalar_type() : dtype);
    kept->saved_data["as_bfloat16"] = as_bfloat16;
    kept->saved_data["by_columns"] = b.sym_stride(-2) < b.sym_stride(-1);
    const at::AutoDispatchBelowADInplaceOrView below;
    return native_matmul().call(a, b, bias, dtype, as_bfloat16);
  }
  // a^T dy, which lies as the factor does: a weight's gradient that lies otherwise would be copied.
  static at::Tensor like_factor(bool by_columns, const at::Tensor& a, const at::Tensor& dy,
                                at::ScalarType dtype, bool as_bfloat16) {
    if (!by_columns) return native_matmul().call(a.transpose(-2, -1), dy, {}, dtype, as_bfloat16);
    return native_matmul().call(dy.transpose(-2, -1), a, {}, dtype, as_bfloat16).transpose(-2, -1);
  }
  static variable_list backward(AutogradContext* kept, variable_list gradients) {
    const variable_list s = kept->get_saved_variables();
    const at::Tensor &dy = gradients[0], &a = s[0], &b = s[1];
    const int64_t of = kept->saved_data["of"].toInt();
    const bool as_bfloat16 = kept->saved_data["as_bfloat16"].toBool();
    const auto dtype_of = [&](const char* name) {
      return static_cast<at::ScalarType>(kept->saved_data[name].toInt());
    };
    at::Tensor da, db, dbias;
    if (of & 1) da = native_matmul().call(dy, b.transpose(-2, -1), {}, dtype_of("a"), as_bfloat16);
    if (of & 2)
      db = like_factor(kept->saved_data["by_columns"].toBool(), a, dy, dtype_of("b"), as_bfloat16);
    if (of & 4) dbias = bias_gradient(dy, dy.dim() - 1, dtype_of("bias"));
    return {da, db, dbias, at::Tensor(), at::Tensor()};
  }
};

at::Tensor native_matmul_autograd(const at::Tensor& a, const at::Tensor& b,
                                  const OptionalTensor& bias, at::ScalarType dtype,
                                  bool as_bfloat16) {
  return MatmulFunction::apply(a, b, bias, dtype, as_bfloat16);
}

// ---- conv2d

c10::SymInt out_size(const c10::SymInt& in, const c10::SymInt& kernel, int64_t stride,
                     int64_t padding, int64_t dilation) {
  return (in + c10::SymInt(2 * padding) - c10::SymInt(dilation) * (kernel - 1) - 1) /
             c10::SymInt(stride) +
         1;
}

at::Tensor room_for_images(const at::Tensor& x, const at::Tensor& weight, at::IntArrayRef stride,
                           at::IntArrayRef padding, at::IntArrayRef dilation) {
  const std::array<c10::SymInt, 4> sizes = {
      x.sym_size(0), weight.sym_size(0),
      out_size(x.sym_size(2), weight.sym_size(2), stride[0], padding[0], dilation[0]),
      out_size(x.sym_size(3), weight.sym_size(3), stride[1], padding[1], dilation[1])};
  return at::empty_symint(sizes, x.options(), x.suggest_memory_format());
}

at::Tensor native_conv2d(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias,
                         at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                         int64_t groups, bool as_bfloat16) {
  const at::Tensor added = or_undefined(bias);
  const at::ScalarType in = computed_in({x, weight, added}, x.scalar_type(), as_bfloat16);
  return at::convolution(x.to(in), weight.to(in),
                         added.defined() ? OptionalTensor(added.to(in)) : OptionalTensor(), stride,
                         padding, dilation, false, {0, 0}, groups)
      .to(x.scalar_type())
      .contiguous(x.suggest_memory_format());
}

at::Tensor native_conv2d_meta(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor&,
                              at::IntArrayRef stride, at::IntArrayRef padding,
                              at::IntArrayRef dilation, int64_t, bool) {
  return room_for_images(x, weight, stride, padding, dilation);
}

// As x and weight lie; those that are not wanted have no numbers.
Three room_for_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                         at::ScalarType bias, const std::array<bool, 3>& of) {
  const auto like = [&](const at::Tensor& t, bool is_wanted) {
    return is_wanted ? at::empty_symint(t.sym_sizes(), t.options(), t.suggest_memory_format())
                     : at::empty_symint({c10::SymInt(0)}, t.options());
  };
  const c10::SymInt channels = of[2] ? dy.sym_size(1) : c10::SymInt(0);
  return {like(x, of[0]), like(weight, of[1]),
          at::empty_symint({channels}, dy.options().dtype(bias))};
}

Three native_conv2d_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                             at::ScalarType bias, at::IntArrayRef stride, at::IntArrayRef padding,
                             at::IntArrayRef dilation, int64_t groups, bool as_bfloat16,
                             std::array<bool, 3> of) {
  const Three made = room_for_gradients(dy, x, weight, bias, of);
  const auto& [dx, dweight, dbias] = made;
  const at::ScalarType in = computed_in({dy, x, weight}, x.scalar_type(), as_bfloat16);
  const auto found =
      at::convolution_backward(dy.to(in), x.to(in), weight.to(in), c10::nullopt, stride, padding,
                               dilation, false, {0, 0}, groups, {of[0], of[1], false});
  if (of[0]) dx.copy_(std::get<0>(found));
  if (of[1]) dweight.copy_(std::get<1>(found));
  if (of[2]) dbias.copy_(bias_gradient(dy, 1, bias));
  return made;
}

Three native_conv2d_backward_meta(const at::Tensor& dy, const at::Tensor& x,
                                  const at::Tensor& weight, at::ScalarType bias, at::IntArrayRef,
                                  at::IntArrayRef, at::IntArrayRef, int64_t, bool,
                                  std::array<bool, 3> of) {
  return room_for_gradients(dy, x, weight, bias, of);
}

struct Conv2dFunction : torch::autograd::Function<Conv2dFunction> {
  static variable_list differentiable(AutogradContext* kept, const at::Tensor& dy);
  static at::Tensor forward(AutogradContext* kept, const at::Tensor& x, const at::Tensor& weight,
                            const OptionalTensor& bias, at::IntArrayRef stride,
                            at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups,
                            bool as_bfloat16) {
    static const auto run = find_op<decltype(native_conv2d)>("dtypecheck::native_conv2d");
    kept->save_for_backward({x, weight});
    kept->saved_data["stride"] = stride.vec();
    kept->saved_data["padding"] = padding.vec();
    kept->saved_data["dilation"] = dilation.vec();
    kept->saved_data["groups"] = groups;
    kept->saved_data["as_bfloat16"] = as_bfloat16;
    kept->saved_data["of"] = static_cast<int64_t>(x.requires_grad() | weight.requires_grad() << 1 |
                                                  (bias && bias->requires_grad()) << 2);
    kept->saved_data["bias"] = static_cast<int64_t>(bias ? bias->scalar_type() : x.scalar_type());
    const at::AutoDispatchBelowADInplaceOrView below;
    return run.call(x, weight, bias, stride, padding, dilation, groups, as_bfloat16);
  }
  static variable_list backward(AutogradContext* kept, variable_list gradients) {
    static const auto run =
        find_op<decltype(native_conv2d_backward)>("dtypecheck::native_conv2d_backward");
    const variable_list s = kept->get_saved_variables();
    const int64_t of = kept->saved_data["of"].toInt();
    if (c10::GradMode::is_enabled()) return differentiable(kept, gradients[0]);
    const auto [dx, dweight, dbias] = run.call(
        gradients[0], s[0], s[1], static_cast<at::ScalarType>(kept->saved_data["bias"].toInt()),
        kept->saved_data["stride"].toIntVector(), kept->saved_data["padding"].toIntVector(),
        kept->saved_data["dilation"].toIntVector(), kept->saved_data["groups"].toInt(),
        kept->saved_data["as_bfloat16"].toBool(), {(of & 1) != 0, (of & 2) != 0, (of & 4) != 0});
    const at::Tensor none;
    return {of & 1 ? dx : none,
            of & 2 ? dweight : none,
            of & 4 ? dbias : none,
            none,
            none,
            none,
            none,
            none};
  }
};

// Second derivatives are wanted: by LibTorch, in Double.
variable_list Conv2dFunction::differentiable(AutogradContext* kept, const at::Tensor& dy) {
  const variable_list s = kept->get_saved_variables();
  const at::Tensor &x = s[0], &weight = s[1];
  const int64_t of = kept->saved_data["of"].toInt();
  const auto [dx, dweight, unused] = at::convolution_backward(
      wide(dy), wide(x), wide(weight), c10::nullopt, kept->saved_data["stride"].toIntVector(),
      kept->saved_data["padding"].toIntVector(), kept->saved_data["dilation"].toIntVector(), false,
      {0, 0}, kept->saved_data["groups"].toInt(), {(of & 1) != 0, (of & 2) != 0, false});
  const at::Tensor none;
  const auto bias = static_cast<at::ScalarType>(kept->saved_data["bias"].toInt());
  return {of & 1 ? dx.to(x.scalar_type()) : none,
          of & 2 ? dweight.to(weight.scalar_type()) : none,
          of & 4 ? bias_gradient(dy, 1, bias) : none,
          none,
          none,
          none,
          none,
          none};
}

at::Tensor native_conv2d_autograd(const at::Tensor& x, const at::Tensor& weight,
                                  const OptionalTensor& bias, at::IntArrayRef stride,
                                  at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups,
                                  bool as_bfloat16) {
  return Conv2dFunction::apply(x, weight, bias, stride, padding, dilation, groups, as_bfloat16);
}

// ---- what users call

bool is_bfloat16(const OptionalDtype& compute) { return compute && *compute == at::kBFloat16; }

at::Tensor linear_op(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias,
                     OptionalDtype compute) {
  const char* const op = "linear";
  check_operands(op, {{"input", x}, {"weight", weight}, {"bias", or_undefined(bias)}},
                 OnGpu::kLibTorch);
  check_compute(op, compute);
  TORCH_CHECK(weight.dim() == 2, op, ": Expected weight to be a matrix, but got size ",
              weight.sym_sizes());
  TORCH_CHECK(x.dim() >= 1 && x.sym_size(-1) == weight.sym_size(1), op,
              ": Expected input to end in the weight's ", weight.sym_size(1),
              " columns, but got input of size ", x.sym_sizes());
  TORCH_CHECK(!bias || (bias->dim() == 1 && bias->sym_size(0) == weight.sym_size(0)), op,
              ": Expected bias to be of size [", weight.sym_size(0), "], but got size ",
              bias->sym_sizes());
  const c10::SymIntArrayRef before = x.sym_sizes().slice(0, static_cast<size_t>(x.dim() - 1));
  c10::SymInt rows = 1;
  for (const c10::SymInt& size : before) rows = rows * size;
  const at::Tensor y = native_matmul().call(x.reshape_symint({rows, x.sym_size(-1)}), weight.t(),
                                            bias, x.scalar_type(), is_bfloat16(compute));
  std::vector<c10::SymInt> sizes = before.vec();
  sizes.push_back(weight.sym_size(0));
  return y.view_symint(sizes);
}

// The dimensions before the last two, of both.
std::vector<c10::SymInt> broadcast_batch(const char* op, const at::Tensor& a, const at::Tensor& b) {
  const int64_t dims = std::max(a.dim(), b.dim()) - 2;
  std::vector<c10::SymInt> sizes;
  for (int64_t i = dims + 2; i > 2; --i) {
    const c10::SymInt of_a = i <= a.dim() ? a.sym_size(-i) : c10::SymInt(1);
    const c10::SymInt of_b = i <= b.dim() ? b.sym_size(-i) : c10::SymInt(1);
    TORCH_CHECK(of_a == of_b || of_a == 1 || of_b == 1, op,
                ": Expected batches that broadcast, but got sizes ", a.sym_sizes(), " and ",
                b.sym_sizes());
    sizes.push_back(of_a == 1 ? of_b : of_a);
  }
  return sizes;
}

at::Tensor matmul_op(const at::Tensor& given, const at::Tensor& other, const OptionalTensor& bias,
                     OptionalDtype compute) {
  const char* const op = "matmul";
  check_operands(op, {{"input", given}, {"other", other}, {"bias", or_undefined(bias)}},
                 OnGpu::kLibTorch);
  check_compute(op, compute);
  TORCH_CHECK(given.dim() >= 1 && other.dim() >= 1, op,
              ": Expected both factors to have at least one dimension, but got ", given.dim(),
              " and ", other.dim());
  const at::Tensor a = given.dim() == 1 ? given.unsqueeze(0) : given;
  const at::Tensor b = other.dim() == 1 ? other.unsqueeze(1) : other;
  TORCH_CHECK(a.sym_size(-1) == b.sym_size(-2), op,
              ": Expected the columns of input to be the rows of other, but got sizes ",
              given.sym_sizes(), " and ", other.sym_sizes());
  const c10::SymInt cols = b.sym_size(-1);
  TORCH_CHECK(!bias || (bias->dim() == 1 && bias->sym_size(0) == cols), op,
              ": Expected bias to be of size [", cols, "], but got size ", bias->sym_sizes());
  const auto product = [&](const at::Tensor& x, const at::Tensor& y) {
    return native_matmul().call(x, y, bias, given.scalar_type(), is_bfloat16(compute));
  };
  at::Tensor y;
  if (b.dim() == 2) {
    std::vector<c10::SymInt> sizes = a.sym_sizes().vec();
    sizes.back() = cols;
    y = product(a.dim() == 2 ? a : a.flatten(0, -2), b).view_symint(sizes);
  } else {
    std::vector<c10::SymInt> sizes = broadcast_batch(op, a, b);
    const auto spread = [&](const at::Tensor& t) {
      std::vector<c10::SymInt> whole = sizes;
      whole.insert(whole.end(), {t.sym_size(-2), t.sym_size(-1)});
      const at::Tensor all = t.expand_symint(whole);
      return all.dim() == 3 ? all : all.flatten(0, -3);
    };
    const at::Tensor products = product(spread(a), spread(b));
    sizes.insert(sizes.end(), {a.sym_size(-2), cols});
    y = products.view_symint(sizes);
  }
  if (given.dim() == 1) y = y.squeeze(-2);
  if (other.dim() == 1) y = y.squeeze(-1);
  return y;
}

at::IntArrayRef check_pair(const char* name, at::IntArrayRef pair, int64_t least) {
  TORCH_CHECK(pair.size() == 2 && pair[0] >= least && pair[1] >= least, "conv2d: Expected ", name,
              " to be two numbers of at least ", least, ", but got ", pair);
  return pair;
}

at::Tensor conv2d_op(const at::Tensor& given, const at::Tensor& weight, const OptionalTensor& bias,
                     at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                     int64_t groups, OptionalDtype compute) {
  static const auto run = find_op<decltype(native_conv2d)>("dtypecheck::native_conv2d");
  const char* const op = "conv2d";
  check_operands(op, {{"input", given}, {"weight", weight}, {"bias", or_undefined(bias)}},
                 OnGpu::kLibTorch);
  check_compute(op, compute);
  TORCH_CHECK(given.dim() == 3 || given.dim() == 4, op,
              ": Expected input to have 3 or 4 dimensions, but got size ", given.sym_sizes());
  TORCH_CHECK(weight.dim() == 4, op, ": Expected weight to have 4 dimensions, but got size ",
              weight.sym_sizes());
  check_pair("stride", stride, 1);
  check_pair("padding", padding, 0);
  check_pair("dilation", dilation, 1);
  const at::Tensor x = given.dim() == 3 ? given.unsqueeze(0) : given;
  TORCH_CHECK(groups > 0 && weight.sym_size(0) % groups == 0 &&
                  x.sym_size(1) == weight.sym_size(1) * groups,
              op, ": Expected input with ", weight.sym_size(1), " channels for each of ", groups,
              " groups that divide the ", weight.sym_size(0),
              " channels of the result, but got input of size ", given.sym_sizes());
  TORCH_CHECK(!bias || (bias->dim() == 1 && bias->sym_size(0) == weight.sym_size(0)), op,
              ": Expected bias to be of size [", weight.sym_size(0), "], but got size ",
              bias->sym_sizes());
  for (int64_t i = 0; i < 2; ++i) {
    const size_t at = static_cast<size_t>(i);
    TORCH_CHECK(x.sym_size(2 + i) + 2 * padding[at] > (weight.sym_size(2 + i) - 1) * dilation[at],
                op, ": Expected a kernel no larger than the padded input, but got weight of size ",
                weight.sym_sizes(), " and input of size ", given.sym_sizes());
  }
  const at::Tensor y =
      run.call(x, weight, bias, stride, padding, dilation, groups, is_bfloat16(compute));
  return given.dim() == 3 ? y.squeeze(0) : y;
}

// ---- autocast: the input in its dtype, as LibTorch's products take it

constexpr auto kOfCpu = c10::DispatchKey::AutocastCPU, kOfCuda = c10::DispatchKey::AutocastCUDA;

template <c10::DispatchKey key>
at::Tensor autocast_input(const at::Tensor& x) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  const at::ScalarType dtype =
      at::autocast::get_autocast_dtype(key == kOfCpu ? at::kCPU : at::kCUDA);
#else
  const at::ScalarType dtype = key == kOfCpu ? at::autocast::get_autocast_cpu_dtype()
                                             : at::autocast::get_autocast_gpu_dtype();
#endif
  const bool is_cast = x.is_floating_point() && x.scalar_type() != at::kDouble;
  return is_cast ? x.to(dtype) : x;
}

template <c10::DispatchKey key, auto op>
struct Autocast;
template <c10::DispatchKey key, typename... Others, at::Tensor (*op)(const at::Tensor&, Others...)>
struct Autocast<key, op> {
  static at::Tensor run(const at::Tensor& x, Others... others) {
    const c10::impl::ExcludeDispatchKeyGuard inside(key);
    return op(autocast_input<key>(x), others...);
  }
};

TORCH_LIBRARY_FRAGMENT(dtypecheck, m) {
  m.def(
      "native_matmul(Tensor a, Tensor b, Tensor? bias, ScalarType dtype, bool as_bfloat16) -> "
      "Tensor");
  m.def(
      "native_conv2d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
      "dilation, int groups, bool as_bfloat16) -> Tensor");
  m.def(
      "native_conv2d_backward(Tensor grad, Tensor input, Tensor weight, ScalarType bias, int[] "
      "stride, int[] padding, int[] dilation, int groups, bool as_bfloat16, bool[3] of) -> "
      "(Tensor, Tensor, Tensor)");
  m.def(
      "linear(Tensor input, Tensor weight, Tensor? bias=None, ScalarType? compute=None) -> Tensor");
  m.def(
      "matmul(Tensor input, Tensor other, Tensor? bias=None, ScalarType? compute=None) -> Tensor");
  m.def(
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
      "int[2] dilation=1, int groups=1, ScalarType? compute=None) -> Tensor");
}
TORCH_LIBRARY_IMPL(dtypecheck, CPU, m) {
  m.impl("native_matmul", native_matmul_cpu);
  m.impl("native_conv2d", native_conv2d);
  m.impl("native_conv2d_backward", native_conv2d_backward);
}
TORCH_LIBRARY_IMPL(dtypecheck, CUDA, m) {
  m.impl("native_matmul", native_matmul_cuda);
  m.impl("native_conv2d", native_conv2d);
  m.impl("native_conv2d_backward", native_conv2d_backward);
}
TORCH_LIBRARY_IMPL(dtypecheck, Meta, m) {
  m.impl("native_matmul", native_matmul_meta);
  m.impl("native_conv2d", native_conv2d_meta);
  m.impl("native_conv2d_backward", native_conv2d_backward_meta);
}
TORCH_LIBRARY_IMPL(dtypecheck, Autograd, m) {
  m.impl("native_matmul", native_matmul_autograd);
  m.impl("native_conv2d", native_conv2d_autograd);
  m.impl("native_conv2d_backward", torch::autograd::autogradNotImplementedFallback());
}
TORCH_LIBRARY_IMPL(dtypecheck, CompositeImplicitAutograd, m) {
  m.impl("linear", linear_op);
  m.impl("matmul", matmul_op);
  m.impl("conv2d", conv2d_op);
}
TORCH_LIBRARY_IMPL(dtypecheck, AutocastCPU, m) {
  m.impl("linear", Autocast<kOfCpu, linear_op>::run);
  m.impl("matmul", Autocast<kOfCpu, matmul_op>::run);
  m.impl("conv2d", Autocast<kOfCpu, conv2d_op>::run);
}
TORCH_LIBRARY_IMPL(dtypecheck, AutocastCUDA, m) {
  m.impl("linear", Autocast<kOfCuda, linear_op>::run);
  m.impl("matmul", Autocast<kOfCuda, matmul_op>::run);
  m.impl("conv2d", Autocast<kOfCuda, conv2d_op>::run);
}

std::vector<int64_t> twice(at::IntArrayRef numbers) {
  return numbers.size() == 1 ? std::vector<int64_t>(2, numbers[0]) : numbers.vec();
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias,
                  OptionalDtype compute) {
  static const auto run = find_op<decltype(linear_op)>("dtypecheck::linear");
  return run.call(x, weight, bias, compute);
}
at::Tensor matmul(const at::Tensor& x, const at::Tensor& other, const OptionalTensor& bias,
                  OptionalDtype compute) {
  static const auto run = find_op<decltype(matmul_op)>("dtypecheck::matmul");
  return run.call(x, other, bias, compute);
}
at::Tensor conv2d(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias,
                  at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                  int64_t groups, OptionalDtype compute) {
  static const auto run = find_op<decltype(conv2d_op)>("dtypecheck::conv2d");
  return run.call(x, weight, bias, twice(stride), twice(padding), twice(dilation), groups, compute);
}

}  // namespace dtypecheck::operators
