#include "runtime/recompute.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace dtypecheck::runtime {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct HeldBlock : torch::CustomClassHolder {
  explicit HeldBlock(Recomputable held) : block(std::move(held)) {}
  Recomputable block;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(AutogradContext* kept, const c10::intrusive_ptr<HeldBlock>& held,
                            const at::Tensor& x, const at::Tensor& context, const at::Tensor&) {
    kept->save_for_backward({x, context});
    kept->saved_data["x"] = x.requires_grad();
    kept->saved_data["context"] = context.requires_grad();
    kept->saved_data["block"] = at::IValue::make_capsule(held);
    return held->block(x, context);
  }

  // The block once more, in a graph of its own; its weights get their gradients there.
  static variable_list backward(AutogradContext* kept, variable_list gradient) {
    const auto held =
        c10::static_intrusive_pointer_cast<HeldBlock>(kept->saved_data["block"].toCapsule());
    const variable_list saved = kept->get_saved_variables();
    const at::AutoGradMode with_gradients(true);
    const at::Tensor x = saved[0].detach().requires_grad_(kept->saved_data["x"].toBool());
    const at::Tensor context =
        saved[1].detach().requires_grad_(kept->saved_data["context"].toBool());
    const at::Tensor y = held->block(x, context);
    if (y.requires_grad()) torch::autograd::backward({y}, {gradient[0]});  // else all is frozen
    return {at::Tensor(), x.grad(), context.grad(), at::Tensor()};
  }
};

}  // namespace

at::Tensor recomputed(const Recomputable& block, const at::Tensor& x, const at::Tensor& context) {
  if (!at::GradMode::is_enabled()) return block(x, context);
  // Where neither asks for a gradient, this does, for the sake of the weights within.
  const at::Tensor asks = at::zeros({0}, x.options().dtype(at::kFloat)).requires_grad_();
  return Recompute::apply(c10::make_intrusive<HeldBlock>(block), x, context, asks);
}

}  // namespace dtypecheck::runtime
