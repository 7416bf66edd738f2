#include "runtime/mixed_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <tuple>

#include "kernels/group_norm/group_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/threads.h"
#include "runtime/kernel_numbers.h"

namespace dtypecheck::runtime {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// y, and room for the mean and 1 / deviation of each row or group.
Three room_forward(const at::Tensor& x, int64_t count) {
  return {at::empty_like(x), at::empty({count}, at::kFloat), at::empty({count}, at::kFloat)};
}

// dx, and room for dweight and dbias where they are wanted.
Three room_backward(const at::Tensor& x, bool of_weights, int64_t channels) {
  const auto sums = [&] { return of_weights ? at::empty({channels}, at::kFloat) : at::Tensor(); };
  return {at::empty_like(x), sums(), sums()};
}

// Kernels run on LibTorch's threads, as many as at::set_num_threads said.
void parallel_for(int64_t parts, kernels::Part part, void* context) {
  at::parallel_for(0, parts, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) part(context, i);
  });
}
[[maybe_unused]] const bool threads_are_set = (kernels::set_parallel_for(parallel_for), true);

// ---- layer norm

// y, and the mean and 1 / deviation of each row.
Three layer_norm_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         double eps) {
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const Three made = room_forward(x, rows);
  const auto& [y, mean, rstd] = made;
  kernels::layer_norm({.rows = rows,
                       .cols = cols,
                       .x = input(x),
                       .gamma = input(weight),
                       .beta = input(bias),
                       .eps = eps,
                       .y = output(y),
                       .mean = mean.data_ptr<float>(),
                       .rstd = rstd.data_ptr<float>()});
  return made;
}

// Of x, and of weight and bias where `of_weights`.
Three layer_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& mean, const at::Tensor& rstd, bool of_weights) {
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const Three made = room_backward(x, of_weights, cols);
  const auto& [dx, dweight, dbias] = made;
  kernels::layer_norm_backward({.rows = rows,
                                .cols = cols,
                                .dy = input(dy),
                                .x = input(x),
                                .gamma = input(weight),
                                .mean = mean.data_ptr<float>(),
                                .rstd = rstd.data_ptr<float>(),
                                .dx = output(dx),
                                .dgamma = output(dweight),
                                .dbeta = output(dbias)});
  return made;
}

// ---- group norm

int64_t spatial_of(const at::Tensor& x) { return x.numel() / (x.size(0) * x.size(1)); }

Three group_norm_forward(const at::Tensor& x, int64_t groups, const at::Tensor& weight,
                         const at::Tensor& bias, double eps) {
  const Three made = room_forward(x, x.size(0) * groups);
  const auto& [y, mean, rstd] = made;
  kernels::group_norm({.samples = x.size(0),
                       .channels = x.size(1),
                       .spatial = spatial_of(x),
                       .groups = groups,
                       .x = input(x),
                       .gamma = input(weight),
                       .beta = input(bias),
                       .eps = eps,
                       .y = output(y),
                       .mean = mean.data_ptr<float>(),
                       .rstd = rstd.data_ptr<float>()});
  return made;
}

Three group_norm_backward(const at::Tensor& dy, const at::Tensor& x, int64_t groups,
                          const at::Tensor& weight, const at::Tensor& mean, const at::Tensor& rstd,
                          bool of_weights) {
  const Three made = room_backward(x, of_weights, x.size(1));
  const auto& [dx, dweight, dbias] = made;
  kernels::group_norm_backward({.samples = x.size(0),
                                .channels = x.size(1),
                                .spatial = spatial_of(x),
                                .groups = groups,
                                .dy = input(dy),
                                .x = input(x),
                                .gamma = input(weight),
                                .mean = mean.data_ptr<float>(),
                                .rstd = rstd.data_ptr<float>(),
                                .dx = output(dx),
                                .dgamma = output(dweight),
                                .dbeta = output(dbias)});
  return made;
}

// ---- as ops

TORCH_LIBRARY_FRAGMENT(sdxl_train, m) {
  m.def(
      "layer_norm(Tensor input, Tensor weight, Tensor bias, float eps) -> (Tensor, Tensor, Tensor)",
      layer_norm_forward);
  m.def(
      "layer_norm_backward(Tensor grad, Tensor input, Tensor weight, Tensor mean, Tensor rstd, "
      "bool "
      "of_weights) -> (Tensor, Tensor, Tensor)",
      layer_norm_backward);
  m.def(
      "group_norm(Tensor input, int groups, Tensor weight, Tensor bias, float eps) -> (Tensor, "
      "Tensor, Tensor)",
      group_norm_forward);
  m.def(
      "group_norm_backward(Tensor grad, Tensor input, int groups, Tensor weight, Tensor mean, "
      "Tensor "
      "rstd, bool of_weights) -> (Tensor, Tensor, Tensor)",
      group_norm_backward);
}

template <class Signature>
auto op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

variable_list all_three(const Three& gradients) {
  return {std::get<0>(gradients), std::get<1>(gradients), std::get<2>(gradients)};
}

// What both keep for the backward pass.
at::Tensor keep(AutogradContext* kept, const at::Tensor& x, const at::Tensor& weight,
                const Three& made) {
  kept->save_for_backward({x, weight, std::get<1>(made), std::get<2>(made)});
  kept->saved_data["of_weights"] = weight.requires_grad();
  return std::get<0>(made);
}

struct LayerNormFunction : torch::autograd::Function<LayerNormFunction> {
  static at::Tensor forward(AutogradContext* kept, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, double eps) {
    static const auto run = op<decltype(layer_norm_forward)>("sdxl_train::layer_norm");
    return keep(kept, x, weight, run.call(x, weight, bias, eps));
  }
  static variable_list backward(AutogradContext* kept, variable_list dy) {
    static const auto run = op<decltype(layer_norm_backward)>("sdxl_train::layer_norm_backward");
    const variable_list s = kept->get_saved_variables();  // x, weight, mean, rstd
    variable_list gradients = all_three(run.call(dy[0].contiguous(), s[0], s[1], s[2], s[3],
                                                 kept->saved_data["of_weights"].toBool()));
    gradients.emplace_back();  // of eps
    return gradients;
  }
};

struct GroupNormFunction : torch::autograd::Function<GroupNormFunction> {
  static at::Tensor forward(AutogradContext* kept, const at::Tensor& x, int64_t groups,
                            const at::Tensor& weight, const at::Tensor& bias, double eps) {
    static const auto run = op<decltype(group_norm_forward)>("sdxl_train::group_norm");
    kept->saved_data["groups"] = groups;
    return keep(kept, x, weight, run.call(x, groups, weight, bias, eps));
  }
  static variable_list backward(AutogradContext* kept, variable_list dy) {
    static const auto run = op<decltype(group_norm_backward)>("sdxl_train::group_norm_backward");
    const variable_list s = kept->get_saved_variables();  // x, weight, mean, rstd
    const Three made = run.call(dy[0].contiguous(), s[0], kept->saved_data["groups"].toInt(), s[1],
                                s[2], s[3], kept->saved_data["of_weights"].toBool());
    return {std::get<0>(made), at::Tensor(), std::get<1>(made), std::get<2>(made), at::Tensor()};
  }
};

}  // namespace

bool is_for_mixed_norm(const at::Tensor& x, std::optional<at::ScalarType> norm,
                       std::optional<at::ScalarType> compute) {
  const bool is_low = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
  return is_low && compute == x.scalar_type() && norm == at::kFloat && x.device().is_cpu() &&
         x.numel() > 0;
}

at::Tensor mixed_layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            double eps) {
  return LayerNormFunction::apply(x.contiguous(), weight, bias, eps);
}

at::Tensor mixed_group_norm(const at::Tensor& x, int64_t groups, const at::Tensor& weight,
                            const at::Tensor& bias, double eps) {
  return GroupNormFunction::apply(x.contiguous(), groups, weight, bias, eps);
}

}  // namespace dtypecheck::runtime
