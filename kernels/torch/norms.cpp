// norms.cpp: layer, group and RMS norm. What users call checks, and gives the numbers as the
// kernels want them, by LibTorch's own ops; what has gradients is one operator, native_norm, and
// its backward.
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <limits>

#include "kernels/group_norm/group_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/torch/checks.h"

namespace dtypecheck::operators {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Layer and RMS norm: of the rows of a matrix. Group norm: of each sample's groups of channels.
enum NormKind : int64_t { kLayer, kGroup, kRms };

// As it is read: channels last where a group norm's input is that.
at::Tensor laid_out(const at::Tensor& x, int64_t kind) {
  return x.contiguous(kind == kGroup ? x.suggest_memory_format() : at::MemoryFormat::Contiguous);
}

// y; the mean and 1 / deviation of each row or group, of which RMS norm has no mean.
Three room_forward(const at::Tensor& x, int64_t kind, int64_t groups, bool in_double) {
  const auto options = x.options().dtype(in_double ? at::kDouble : at::kFloat);
  const c10::SymInt count = kind == kGroup ? x.sym_size(0) * groups : x.sym_size(0);
  const c10::SymInt means = kind == kRms ? c10::SymInt(0) : count;
  return {at::empty_like(x), at::empty_symint({means}, options),
          at::empty_symint({count}, options)};
}

// dx, and dweight and dbias; those that are not wanted have no numbers.
Three room_backward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    bool of_weights) {
  const auto like = [&](const at::Tensor& t) {
    return of_weights && t.defined() ? at::empty_like(t, at::MemoryFormat::Contiguous)
                                     : at::empty_symint({c10::SymInt(0)}, x.options());
  };
  return {at::empty_like(x), like(weight), like(bias)};
}

// ---- in Double: the formulas of kernels/layer_norm/layer_norm.h

struct DoubleNorm {
  DoubleNorm(const at::Tensor& given, const at::Tensor& given_weight, const at::Tensor& given_bias,
             int64_t kind, int64_t groups)
      : x(wide(given).reshape({kind == kGroup ? given.size(0) * groups : given.size(0), -1})) {
    const auto channels = [&](const at::Tensor& t) {  // as something that x's sizes take
      if (kind != kGroup || !t.defined()) return wide(t);
      std::vector<int64_t> sizes(static_cast<size_t>(given.dim()), 1);
      sizes[1] = given.size(1);
      return wide(t).view(sizes);
    };
    weight = channels(given_weight);
    bias = channels(given_bias);
  }
  at::Tensor scaled(const at::Tensor& z) const { return weight.defined() ? z * weight : z; }
  at::Tensor moved(const at::Tensor& y) const { return bias.defined() ? y + bias : y; }
  at::Tensor x, weight, bias;  // x: rows
};

Three forward_in_double(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        int64_t kind, int64_t groups, double eps, bool silu) {
  const DoubleNorm n(x, weight, bias, kind, groups);
  const at::Tensor mean = kind == kRms ? at::empty({0}, n.x.options()) : n.x.mean(1);
  const at::Tensor off = kind == kRms ? n.x : n.x - mean.unsqueeze(1);
  const at::Tensor rstd = (off * off).mean(1).add(eps).rsqrt();
  const at::Tensor y = n.moved(n.scaled((off * rstd.unsqueeze(1)).view(x.sizes())));
  const at::Tensor result = (silu ? at::silu(y) : y).to(x.scalar_type());
  return {result.contiguous(x.suggest_memory_format()), mean, rstd};
}

Three backward_in_double(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean,
                         const at::Tensor& rstd, const at::Tensor& weight, const at::Tensor& bias,
                         int64_t kind, int64_t groups, bool silu, bool of_weights) {
  const DoubleNorm n(x, weight, bias, kind, groups);
  const at::Tensor off = kind == kRms ? n.x : n.x - wide(mean).unsqueeze(1);
  const at::Tensor rows_rstd = wide(rstd).unsqueeze(1);
  const at::Tensor z_rows = off * rows_rstd, z = z_rows.view(x.sizes());
  at::Tensor g = wide(dy);
  if (silu) {  // at::silu_backward has no derivative
    const at::Tensor y = n.moved(n.scaled(z)), s = at::sigmoid(y);
    g = g * s * (1 + y * (1 - s));
  }
  const at::Tensor h = n.scaled(g).reshape(n.x.sizes());
  const at::Tensor along = z_rows * (h * z_rows).mean(1, true);
  const at::Tensor dx = rows_rstd * (kind == kRms ? h - along : h - h.mean(1, true) - along);
  std::vector<int64_t> others;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i != 1) others.push_back(i);
  const auto summed = [&](const at::Tensor& t, const at::Tensor& like) {
    if (!of_weights || !like.defined()) return at::empty({0}, x.options());
    return (kind == kGroup ? t.sum(others) : t.sum(0)).to(like.scalar_type());
  };
  return {dx.view(x.sizes()).to(x.scalar_type()).contiguous(x.suggest_memory_format()),
          summed(g * z, weight), summed(g, bias)};
}

// As something that has derivatives.
std::tuple<at::Tensor, at::Tensor> statistics_in_double(const at::Tensor& x, int64_t kind,
                                                        int64_t groups, double eps) {
  const DoubleNorm n(x, {}, {}, kind, groups);
  const at::Tensor mean = n.x.mean(1);
  const at::Tensor off = kind == kRms ? n.x : n.x - mean.unsqueeze(1);
  return {mean, (off * off).mean(1).add(eps).rsqrt()};
}

// ---- by the kernels

float* floats(const at::Tensor& t) { return t.numel() ? t.data_ptr<float>() : nullptr; }
kernels::Output wanted(const at::Tensor& sums) {
  return sums.numel() ? output(sums) : kernels::Output{};
}

template <class Norm>
Norm in_groups(const at::Tensor& x, int64_t groups, bool silu) {
  Norm norm;
  norm.samples = x.size(0);
  norm.channels = x.size(1);
  norm.spatial = x.numel() / (x.size(0) * x.size(1));
  norm.groups = groups;
  norm.layout = layout_of(x);
  norm.silu = silu;
  return norm;
}

template <class Norm>
Norm in_rows(const at::Tensor& x, int64_t kind) {
  Norm norm;
  norm.rows = x.size(0);
  norm.cols = x.size(1);
  norm.has_mean = kind == kLayer;
  return norm;
}

Three native_norm_dense(const at::Tensor& given, const OptionalTensor& maybe_weight,
                        const OptionalTensor& maybe_bias, int64_t kind, int64_t groups, double eps,
                        bool silu) {
  const at::Tensor weight = or_undefined(maybe_weight), bias = or_undefined(maybe_bias);
  const at::Tensor x = laid_out(given, kind);
  if (any_double({x, weight, bias}))
    return forward_in_double(x, weight, bias, kind, groups, eps, silu);
  const at::Tensor gamma = weight.defined() ? weight.contiguous() : weight;
  const at::Tensor beta = bias.defined() ? bias.contiguous() : bias;
  const Three made = room_forward(x, kind, groups, false);
  const auto& [y, mean, rstd] = made;
  if (x.numel() == 0) return made;
  const OnDevice on(x);
  const auto with_tensors = [&](auto norm) {
    norm.x = input(x);
    norm.gamma = input(gamma);
    norm.beta = input(beta);
    norm.eps = eps;
    norm.y = output(y);
    norm.mean = floats(mean);
    norm.rstd = floats(rstd);
    norm.device = on.device();
    return norm;
  };
  if (kind == kGroup) {
    kernels::group_norm(with_tensors(in_groups<kernels::GroupNorm>(x, groups, silu)));
  } else {
    kernels::layer_norm(with_tensors(in_rows<kernels::LayerNorm>(x, kind)));
  }
  return made;
}

Three native_norm_backward_dense(const at::Tensor& grad, const at::Tensor& given,
                                 const at::Tensor& mean, const at::Tensor& rstd,
                                 const OptionalTensor& maybe_weight,
                                 const OptionalTensor& maybe_bias, int64_t kind, int64_t groups,
                                 bool silu, bool of_weights) {
  const at::Tensor weight = or_undefined(maybe_weight), bias = or_undefined(maybe_bias);
  const at::Tensor x = laid_out(given, kind);
  const at::Tensor dy = grad.contiguous(x.suggest_memory_format());
  if (any_double({x, weight, bias}))
    return backward_in_double(dy, x, mean, rstd, weight, bias, kind, groups, silu, of_weights);
  const at::Tensor gamma = weight.defined() ? weight.contiguous() : weight;
  const at::Tensor beta = bias.defined() ? bias.contiguous() : bias;
  const Three made = room_backward(x, weight, bias, of_weights);
  const auto& [dx, dweight, dbias] = made;
  const OnDevice on(x);
  const auto with_tensors = [&](auto norm) {
    norm.dy = input(dy);
    norm.x = input(x);
    norm.gamma = input(gamma);
    norm.mean = floats(mean);
    norm.rstd = floats(rstd);
    norm.dx = output(dx);
    norm.dgamma = wanted(dweight);
    norm.dbeta = wanted(dbias);
    norm.device = on.device();
    return norm;
  };
  if (x.numel() == 0) {
    dweight.zero_();
    dbias.zero_();
  } else if (kind == kGroup) {
    auto norm = with_tensors(in_groups<kernels::GroupNormBackward>(x, groups, silu));
    norm.beta = input(beta);
    kernels::group_norm_backward(norm);
  } else {
    kernels::layer_norm_backward(with_tensors(in_rows<kernels::LayerNormBackward>(x, kind)));
  }
  return made;
}

Three native_norm_meta(const at::Tensor& x, const OptionalTensor& weight,
                       const OptionalTensor& bias, int64_t kind, int64_t groups, double, bool) {
  const bool in_double = any_double({x, or_undefined(weight), or_undefined(bias)});
  return room_forward(laid_out(x, kind), kind, groups, in_double);
}

Three native_norm_backward_meta(const at::Tensor&, const at::Tensor& x, const at::Tensor&,
                                const at::Tensor&, const OptionalTensor& weight,
                                const OptionalTensor& bias, int64_t kind, int64_t, bool,
                                bool of_weights) {
  return room_backward(laid_out(x, kind), or_undefined(weight), or_undefined(bias), of_weights);
}

// ---- gradients

struct Norm : torch::autograd::Function<Norm> {
  static variable_list forward(AutogradContext* kept, const at::Tensor& x,
                               const OptionalTensor& weight, const OptionalTensor& bias,
                               int64_t kind, int64_t groups, double eps, bool silu) {
    static const auto run = find_op<decltype(native_norm_dense)>("dtypecheck::native_norm");
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [y, mean, rstd] = run.call(x, weight, bias, kind, groups, eps, silu);
    kept->save_for_backward({x, or_undefined(weight), or_undefined(bias), mean, rstd});
    kept->saved_data["kind"] = kind;
    kept->saved_data["groups"] = groups;
    kept->saved_data["silu"] = silu;
    kept->saved_data["eps"] = eps;
    kept->saved_data["of_weights"] =
        (weight && weight->requires_grad()) || (bias && bias->requires_grad());
    kept->mark_non_differentiable({mean, rstd});
    return {y, mean, rstd};
  }
  static variable_list backward(AutogradContext* kept, variable_list gradients) {
    static const auto run =
        find_op<decltype(native_norm_backward_dense)>("dtypecheck::native_norm_backward");
    const variable_list s = kept->get_saved_variables();
    const at::Tensor &x = s[0], &weight = s[1], &bias = s[2];
    const int64_t kind = kept->saved_data["kind"].toInt();
    const int64_t groups = kept->saved_data["groups"].toInt();
    const bool silu = kept->saved_data["silu"].toBool();
    const bool of_weights = kept->saved_data["of_weights"].toBool();
    Three made;
    if (c10::GradMode::is_enabled()) {  // second derivatives are wanted
      const auto [mean, rstd] =
          statistics_in_double(x, kind, groups, kept->saved_data["eps"].toDouble());
      made = backward_in_double(gradients[0], x, mean, rstd, weight, bias, kind, groups, silu,
                                of_weights);
    } else {
      made = run.call(gradients[0], x, s[3], s[4], or_none(weight), or_none(bias), kind, groups,
                      silu, of_weights);
    }
    const auto& [dx, dweight, dbias] = made;
    const at::Tensor none;
    return {dx,
            of_weights && weight.defined() ? dweight : none,
            of_weights && bias.defined() ? dbias : none,
            none,
            none,
            none,
            none};
  }
};

Three native_norm_autograd(const at::Tensor& x, const OptionalTensor& weight,
                           const OptionalTensor& bias, int64_t kind, int64_t groups, double eps,
                           bool silu) {
  const variable_list made = Norm::apply(x, weight, bias, kind, groups, eps, silu);
  return {made[0], made[1], made[2]};
}

at::Tensor normalized(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      NormKind kind, int64_t groups, double eps, bool silu) {
  static const auto run = find_op<decltype(native_norm_dense)>("dtypecheck::native_norm");
  return std::get<0>(run.call(x, or_none(weight), or_none(bias), kind, groups, eps, silu));
}

// ---- what users call

void check_ends_in(const char* op, const at::Tensor& x, c10::SymIntArrayRef shape) {
  TORCH_CHECK(!shape.empty(), op,
              ": Expected normalized_shape to have at least one dimension, but got ", shape);
  const size_t dims = static_cast<size_t>(x.dim());
  TORCH_CHECK(dims >= shape.size() && x.sym_sizes().slice(dims - shape.size()) == shape, op,
              ": Expected input to end in normalized_shape ", shape, ", but got input of size ",
              x.sym_sizes());
}

void check_shaped(const char* op, const char* name, const at::Tensor& t,
                  c10::SymIntArrayRef shape) {
  TORCH_CHECK(!t.defined() || t.sym_sizes() == shape, op, ": Expected ", name, " to be of size ",
              shape, ", but got size ", t.sym_sizes());
}

at::Tensor flat(const at::Tensor& t) { return t.defined() ? t.reshape(-1) : t; }

// Of the rows over the last dimensions, which are `shape`.
at::Tensor of_rows(const char* op, const at::Tensor& x, c10::SymIntArrayRef shape,
                   const at::Tensor& weight, const at::Tensor& bias, NormKind kind, double eps) {
  check_operands(op, {{"input", x}, {"weight", weight}, {"bias", bias}});
  check_eps(op, eps);
  check_ends_in(op, x, shape);
  check_shaped(op, "weight", weight, shape);
  check_shaped(op, "bias", bias, shape);
  c10::SymInt cols = 1, rows = 1;
  for (const c10::SymInt& size : shape) cols = cols * size;
  const c10::SymIntArrayRef before =
      x.sym_sizes().slice(0, static_cast<size_t>(x.dim()) - shape.size());
  for (const c10::SymInt& size : before) rows = rows * size;
  TORCH_CHECK(cols > 0, op, ": Expected normalized_shape to hold no 0, but got ", shape);
  const at::Tensor matrix = x.reshape_symint({rows, cols});
  return normalized(matrix, flat(weight), flat(bias), kind, 1, eps, false)
      .view_symint(x.sym_sizes());
}

at::Tensor layer_norm_op(const at::Tensor& x, c10::SymIntArrayRef shape,
                         const OptionalTensor& weight, const OptionalTensor& bias, double eps) {
  return of_rows("layer_norm", x, shape, or_undefined(weight), or_undefined(bias), kLayer, eps);
}

double eps_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return 0x1p-10;
    case at::kBFloat16:
      return 0x1p-7;
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

at::Tensor rms_norm_op(const at::Tensor& x, c10::SymIntArrayRef shape, const OptionalTensor& weight,
                       Optional<double> eps) {
  const double used = eps ? *eps : eps_of(x.scalar_type());
  return of_rows("rms_norm", x, shape, or_undefined(weight), at::Tensor(), kRms, used);
}

at::Tensor group_norm_op(const at::Tensor& x, int64_t groups, const OptionalTensor& maybe_weight,
                         const OptionalTensor& maybe_bias, double eps, bool silu) {
  const char* const op = "group_norm";
  const at::Tensor weight = or_undefined(maybe_weight), bias = or_undefined(maybe_bias);
  check_operands(op, {{"input", x}, {"weight", weight}, {"bias", bias}});
  check_eps(op, eps);
  TORCH_CHECK(x.dim() >= 2, op, ": Expected input to have at least 2 dimensions, but got ",
              x.dim());
  const c10::SymInt channels = x.sym_size(1);
  TORCH_CHECK(groups > 0 && channels % groups == 0, op,
              ": Expected num_groups to divide the number of channels, but got num_groups ", groups,
              " and input of size ", x.sym_sizes());
  check_shaped(op, "weight", weight, {channels});
  check_shaped(op, "bias", bias, {channels});
  return normalized(x, weight, bias, kGroup, groups, eps, silu);
}

TORCH_LIBRARY_FRAGMENT(dtypecheck, m) {
  m.def(
      "native_norm(Tensor input, Tensor? weight, Tensor? bias, int kind, int groups, float eps, "
      "bool silu) -> (Tensor, Tensor, Tensor)");
  m.def(
      "native_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, "
      "Tensor? bias, int kind, int groups, bool silu, bool of_weights) -> (Tensor, Tensor, "
      "Tensor)");
  m.def(
      "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
      "float eps=1e-05) -> Tensor",
      layer_norm_op);
  m.def(
      "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
      "Tensor",
      rms_norm_op);
  m.def(
      "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
      "eps=1e-05, bool silu=False) -> Tensor",
      group_norm_op);
}
TORCH_LIBRARY_IMPL(dtypecheck, CPU, m) {
  m.impl("native_norm", native_norm_dense);
  m.impl("native_norm_backward", native_norm_backward_dense);
}
TORCH_LIBRARY_IMPL(dtypecheck, CUDA, m) {
  m.impl("native_norm", native_norm_dense);
  m.impl("native_norm_backward", native_norm_backward_dense);
}
TORCH_LIBRARY_IMPL(dtypecheck, Meta, m) {
  m.impl("native_norm", native_norm_meta);
  m.impl("native_norm_backward", native_norm_backward_meta);
}
TORCH_LIBRARY_IMPL(dtypecheck, Autograd, m) {
  m.impl("native_norm", native_norm_autograd);
  m.impl("native_norm_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, at::IntArrayRef shape, const OptionalTensor& weight,
                      const OptionalTensor& bias, double eps) {
  static const auto run = find_op<decltype(layer_norm_op)>("dtypecheck::layer_norm");
  return run.call(x, std::vector<c10::SymInt>(shape.begin(), shape.end()), weight, bias, eps);
}
at::Tensor rms_norm(const at::Tensor& x, at::IntArrayRef shape, const OptionalTensor& weight,
                    Optional<double> eps) {
  static const auto run = find_op<decltype(rms_norm_op)>("dtypecheck::rms_norm");
  return run.call(x, std::vector<c10::SymInt>(shape.begin(), shape.end()), weight, eps);
}
at::Tensor group_norm(const at::Tensor& x, int64_t groups, const OptionalTensor& weight,
                      const OptionalTensor& bias, double eps, bool silu) {
  static const auto run = find_op<decltype(group_norm_op)>("dtypecheck::group_norm");
  return run.call(x, groups, weight, bias, eps, silu);
}

}  // namespace dtypecheck::operators
