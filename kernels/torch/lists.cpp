// lists.cpp: what takes many tensors: cat, the norm of gradients and their unscaling, AdamW.
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

#include "kernels/adamw/adamw.h"
#include "kernels/cat/cat.h"
#include "kernels/global_norm/global_norm.h"
#include "kernels/torch/checks.h"

namespace dtypecheck::operators {

namespace {

using torch::autograd::variable_list;

// ---- cat

std::vector<c10::SymInt> size_of_all(at::TensorList tensors, int64_t dim) {
  std::vector<c10::SymInt> sizes = tensors[0].sym_sizes().vec();
  c10::SymInt& whole = sizes[static_cast<size_t>(dim)];
  for (size_t i = 1; i < tensors.size(); ++i) whole = whole + tensors[i].sym_size(dim);
  return sizes;
}

at::Tensor native_cat_meta(at::TensorList tensors, int64_t dim, at::ScalarType dtype) {
  return at::empty_symint(size_of_all(tensors, dim), tensors[0].options().dtype(dtype));
}

at::Tensor native_cat_dense(at::TensorList tensors, int64_t dim, at::ScalarType dtype) {
  const at::Tensor y = native_cat_meta(tensors, dim, dtype);
  if (y.numel() == 0) return y;
  if (dtype == at::kDouble || std::any_of(tensors.begin(), tensors.end(), [](const auto& t) {
        return t.scalar_type() == at::kDouble;
      })) {
    int64_t first = 0;
    for (const at::Tensor& t : tensors) {
      y.narrow(dim, first, t.size(dim)).copy_(t);
      first += t.size(dim);
    }
    return y;
  }
  int64_t rows = 1;
  for (int64_t i = 0; i < dim; ++i) rows *= y.size(i);
  List kept;
  std::vector<kernels::CatPiece> pieces;
  for (const at::Tensor& t : tensors) {
    kept.push_back(t.contiguous());
    const int64_t cols = t.numel() / rows;
    pieces.push_back({input(kept.back()), cols, cols});
  }
  const OnDevice on(y);
  kernels::cat({.rows = rows, .pieces = pieces, .y = output(y), .device = on.device()});
  return y;
}

// Lists are more than torch::autograd::Function takes.
struct CatBackward : torch::autograd::Node {
  variable_list apply(variable_list&& gradients) override {
    variable_list pieces(sizes.size());
    c10::SymInt first = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (gradients[0].defined() && task_should_compute_output(i))
        pieces[i] = gradients[0].slice_symint(dim, first, first + sizes[i]).to(dtypes[i]);
      first = first + sizes[i];
    }
    return pieces;
  }
  std::string name() const override { return "DtypecheckCatBackward"; }
  int64_t dim = 0;
  std::vector<c10::SymInt> sizes;
  std::vector<at::ScalarType> dtypes;
};

// LibTorch counts references to nodes in its own way since 2.13.
auto new_node() {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 13)
  return c10::make_intrusive<CatBackward>();
#else
  return std::shared_ptr<CatBackward>(new CatBackward, torch::autograd::deleteNode);
#endif
}

at::Tensor native_cat_autograd(at::TensorList tensors, int64_t dim, at::ScalarType dtype) {
  static const auto run = find_op<decltype(native_cat_dense)>("dtypecheck::native_cat");
  decltype(new_node()) node;
  const variable_list inputs = tensors.vec();
  if (torch::autograd::compute_requires_grad(inputs)) {
    node = new_node();
    node->dim = dim;
    for (const at::Tensor& t : inputs) {
      node->sizes.push_back(t.sym_size(dim));
      node->dtypes.push_back(t.scalar_type());
    }
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  }
  at::Tensor y;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    y = run.call(tensors, dim, dtype);
  }
  if (node) torch::autograd::set_history(y, node);
  return y;
}

at::Tensor cat_op(at::TensorList tensors, int64_t given_dim, Optional<at::ScalarType> dtype) {
  static const auto run = find_op<decltype(native_cat_dense)>("dtypecheck::native_cat");
  const char* const op = "cat";
  TORCH_CHECK(!tensors.empty(), op, ": Expected a non-empty list of tensors");
  const Named first{"tensors[0]", tensors[0]};
  check_list(op, "tensors", tensors, first);
  TORCH_CHECK(first.tensor.dim() >= 1, op,
              ": Expected tensors with at least one dimension, but got tensors[0] with none");
  const int64_t dim = at::maybe_wrap_dim(given_dim, first.tensor.dim());
  for (size_t i = 1; i < tensors.size(); ++i) {
    bool fits = tensors[i].dim() == first.tensor.dim();
    for (int64_t d = 0; fits && d < tensors[i].dim(); ++d)
      fits = d == dim || tensors[i].sym_size(d) == first.tensor.sym_size(d);
    TORCH_CHECK(fits, op, ": Expected sizes of tensors to match except in dimension ", dim,
                ", but got tensors[", i, "] of size ", tensors[i].sym_sizes(),
                " and tensors[0] of size ", first.tensor.sym_sizes());
  }
  const at::ScalarType asked = dtype ? *dtype : first.tensor.scalar_type();
  TORCH_CHECK(is_floating_dtype(asked), op,
              ": Expected dtype to be Float, Half, BFloat16 or Double, but got ", asked);
  return run.call(tensors, dim, asked);
}

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
  m.def("native_cat(Tensor[] tensors, int dim, ScalarType dtype) -> Tensor");
  m.def("cat(Tensor[] tensors, int dim=0, ScalarType? dtype=None) -> Tensor", cat_op);
  m.def("global_norm(Tensor[] gradients, float factor=1.0) -> Tensor");
  m.def("unscale(Tensor[] gradients, float factor) -> (Tensor[], Tensor)");
  m.def(
      "adamw_(Tensor(a!)[] weights, Tensor[] gradients, Tensor(b!)[] means, Tensor(c!)[] squares, "
      "Tensor(d!)[] masters, int step, float rate=0.001, float beta1=0.9, float beta2=0.999, float "
      "eps=1e-08, float decay=0.01, float scale=1.0, int? seed=None) -> ()");
}
TORCH_LIBRARY_IMPL(dtypecheck, CPU, m) { m.impl("native_cat", native_cat_dense); }
TORCH_LIBRARY_IMPL(dtypecheck, CUDA, m) { m.impl("native_cat", native_cat_dense); }
// So that they see sparse gradients and lists without tensors, too.
TORCH_LIBRARY_IMPL(dtypecheck, CompositeExplicitAutograd, m) {
  m.impl("global_norm", global_norm_dense);
  m.impl("unscale", unscale_dense);
  m.impl("adamw_", adamw_dense);
}
TORCH_LIBRARY_IMPL(dtypecheck, Meta, m) {
  m.impl("native_cat", native_cat_meta);
  m.impl("global_norm", global_norm_meta);
  m.impl("unscale", unscale_meta);
  m.impl("adamw_", adamw_meta);
}
TORCH_LIBRARY_IMPL(dtypecheck, Autograd, m) {
  m.impl("native_cat", native_cat_autograd);
  for (const char* name : {"global_norm", "unscale", "adamw_"})
    m.impl(name, torch::autograd::autogradNotImplementedFallback());
}

}  // namespace

at::Tensor cat(const List& tensors, int64_t dim, Optional<at::ScalarType> dtype) {
  static const auto run = find_op<decltype(cat_op)>("dtypecheck::cat");
  return run.call(tensors, dim, dtype);
}
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
