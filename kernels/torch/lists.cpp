// lists.cpp: what takes many tensors: the norm of gradients and their unscaling, AdamW.
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "kernels/adamw/adamw.h"
#include "kernels/global_norm/global_norm.h"
#include "kernels/torch/checks.h"

namespace dtypecheck::operators {

namespace {

// ---- global norm, unscale

// In Float where it is anything else that kernels/ take not.
at::Tensor as_kernels_take(const at::Tensor& t) {
  return (t.scalar_type() == at::kDouble ? t.to(at::kFloat) : t).contiguous();
}

at::Tensor norm_of(at::TensorList gradients, double factor, List* unscaled) {
  List kept;
  std::vector<kernels::Gradient> all;
  for (size_t i = 0; i < gradients.size(); ++i) {
    kept.push_back(as_kernels_take(gradients[i]));
    all.push_back({kept.back().numel(), input(kept.back()),
                   unscaled ? (*unscaled)[i].data_ptr<float>() : nullptr});
  }
  const auto where = gradients.empty() ? at::TensorOptions() : gradients[0].options();
  const at::Tensor norm = at::zeros({}, where.dtype(at::kDouble));
  const OnDevice on(norm);
  kernels::global_norm({.gradients = all,
                        .factor = static_cast<float>(factor),
                        .norm = norm.data_ptr<double>(),
                        .device = on.device()});
  return norm;
}

List room_for_unscaled(at::TensorList gradients) {
  List made;
  for (const at::Tensor& g : gradients)
    made.push_back(at::empty_like(g, g.options().dtype(at::kFloat), at::MemoryFormat::Contiguous));
  return made;
}

void check_gradients(const char* op, at::TensorList gradients) {
  if (!gradients.empty()) check_list(op, "gradients", gradients, {"gradients[0]", gradients[0]});
}

at::Tensor global_norm_dense(at::TensorList gradients, double factor) {
  check_gradients("global_norm", gradients);
  return norm_of(gradients, factor, nullptr);
}
at::Tensor global_norm_meta(at::TensorList gradients, double) {
  check_gradients("global_norm", gradients);
  return at::empty({}, gradients[0].options().dtype(at::kDouble));
}
std::tuple<List, at::Tensor> unscale_dense(at::TensorList gradients, double factor) {
  check_gradients("unscale", gradients);
  List unscaled = room_for_unscaled(gradients);
  const at::Tensor norm = norm_of(gradients, factor, &unscaled);
  return {unscaled, norm};
}
std::tuple<List, at::Tensor> unscale_meta(at::TensorList gradients, double) {
  check_gradients("unscale", gradients);
  return {room_for_unscaled(gradients), at::empty({}, gradients[0].options().dtype(at::kDouble))};
}

// ---- AdamW

void check_same_length(const char* name, size_t length, size_t weights) {
  TORCH_CHECK(length == weights, "adamw_: Expected ", name, " to be as many as weights, ", weights,
              ", but got ", length);
}

void check_state(const char* name, at::TensorList list, at::TensorList weights) {
  check_same_length(name, list.size(), weights.size());
  for (size_t i = 0; i < list.size(); ++i) {
    TORCH_CHECK(list[i].scalar_type() == at::kFloat, "adamw_: Expected ", name, "[", i,
                "] to be Float, but got ", list[i].scalar_type());
    TORCH_CHECK(list[i].sizes().equals(weights[i].sizes()) && list[i].is_contiguous(),
                "adamw_: Expected ", name, "[", i, "] to be contiguous and of size ",
                weights[i].sizes(), ", but got size ", list[i].sizes(), " and strides ",
                list[i].strides());
  }
}

void adamw_dense(at::TensorList weights, at::TensorList gradients, at::TensorList means,
                 at::TensorList squares, at::TensorList masters, int64_t step, double rate,
                 double beta1, double beta2, double eps, double decay, double scale,
                 Optional<int64_t> seed) {
  const char* const op = "adamw_";
  if (weights.empty()) return;
  const Named first{"weights[0]", weights[0]};
  check_list(op, "weights", weights, first);
  check_same_length("gradients", gradients.size(), weights.size());
  check_list(op, "gradients", gradients, first);
  check_state("means", means, weights);
  check_state("squares", squares, weights);
  if (!masters.empty()) check_state("masters", masters, weights);
  check_eps(op, eps);
  TORCH_CHECK(step >= 1, op, ": Expected step to be at least 1, but got ", step);
  TORCH_CHECK(0 <= beta1 && beta1 < 1 && 0 <= beta2 && beta2 < 1, op,
              ": Expected beta1 and beta2 to be in [0, 1), but got ", beta1, " and ", beta2);
  const OnDevice on(weights[0]);
  List kept;
  std::vector<kernels::AdamW> steps;
  for (size_t i = 0; i < weights.size(); ++i) {
    const at::Tensor &w = weights[i], &g = gradients[i];
    TORCH_CHECK(w.scalar_type() != at::kDouble && g.scalar_type() != at::kDouble, op,
                ": Expected weights and gradients to be Float, Half or BFloat16, but got ",
                w.scalar_type(), " and ", g.scalar_type(), " at ", i);
    TORCH_CHECK(w.is_contiguous(), op, ": Expected weights[", i,
                "] to be contiguous, but got strides ", w.strides());
    TORCH_CHECK(g.sizes().equals(w.sizes()), op, ": Expected gradients[", i, "] to be of size ",
                w.sizes(), ", but got size ", g.sizes());
    TORCH_CHECK(!seed || (w.scalar_type() == at::kBFloat16 && masters.empty()), op,
                ": Expected BFloat16 weights without masters for stochastic rounding, but got "
                "weights[",
                i, "] of ", w.scalar_type(), " and ", masters.size(), " masters");
    kept.push_back(g.contiguous());
    steps.push_back(
        {.n = w.numel(),
         .weight = output(w),
         .master = masters.empty() ? nullptr : masters[i].data_ptr<float>(),
         .gradient = input(kept.back()),
         .mean = means[i].data_ptr<float>(),
         .square = squares[i].data_ptr<float>(),
         .scale = static_cast<float>(scale),
         .step = step,
         .rate = rate,
         .beta1 = beta1,
         .beta2 = beta2,
         .eps = eps,
         .decay = decay,
         .rounding = seed ? kernels::Rounding::kStochastic : kernels::Rounding::kNearest,
         .seed = seed ? static_cast<uint64_t>(*seed) + i : 0,
         .device = on.device()});
  }
  kernels::adamw(kernels::AdamWList{steps});
}

void adamw_meta(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                int64_t, double, double, double, double, double, double, Optional<int64_t>) {}

TORCH_LIBRARY_FRAGMENT(dtypecheck, m) {
  m.def("global_norm(Tensor[] gradients, float factor=1.0) -> Tensor");
  m.def("unscale(Tensor[] gradients, float factor) -> (Tensor[], Tensor)");
  m.def(
      "adamw_(Tensor(a!)[] weights, Tensor[] gradients, Tensor(b!)[] means, Tensor(c!)[] squares, "
      "Tensor(d!)[] masters, int step, float rate=0.001, float beta1=0.9, float beta2=0.999, float "
      "eps=1e-08, float decay=0.01, float scale=1.0, int? seed=None) -> ()");
}
// So that they see sparse gradients and lists without tensors, too.
TORCH_LIBRARY_IMPL(dtypecheck, CompositeExplicitAutograd, m) {
  m.impl("global_norm", global_norm_dense);
  m.impl("unscale", unscale_dense);
  m.impl("adamw_", adamw_dense);
}
TORCH_LIBRARY_IMPL(dtypecheck, Meta, m) {
  m.impl("global_norm", global_norm_meta);
  m.impl("unscale", unscale_meta);
  m.impl("adamw_", adamw_meta);
}
TORCH_LIBRARY_IMPL(dtypecheck, Autograd, m) {
  for (const char* name : {"global_norm", "unscale", "adamw_"})
    m.impl(name, torch::autograd::autogradNotImplementedFallback());
}

}  // namespace

at::Tensor global_norm(const List& gradients, double factor) {
  static const auto run = find_op<decltype(global_norm_dense)>("dtypecheck::global_norm");
  return run.call(gradients, factor);
}
std::tuple<List, at::Tensor> unscale(const List& gradients, double factor) {
  static const auto run = find_op<decltype(unscale_dense)>("dtypecheck::unscale");
  return run.call(gradients, factor);
}
void adamw_(const List& weights, const List& gradients, const List& means, const List& squares,
            const List& masters, int64_t step, const AdamWOptions& o) {
  static const auto run = find_op<decltype(adamw_dense)>("dtypecheck::adamw_");
  run.call(weights, gradients, means, squares, masters, step, o.rate, o.beta1, o.beta2, o.eps,
           o.decay, o.scale, o.seed);
}

}  // namespace dtypecheck::operators
