// The gradients that a function with a backward of its own is given, and what it saved.
#include <torch/extension.h>

void run(const float* grad, const float* x);

struct Scale : torch::autograd::Function<Scale> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, at::Tensor x) {
    ctx->save_for_backward({x});
    return x * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    TORCH_CHECK(saved[0].scalar_type() == at::kFloat);
    run(grads[0].data_ptr<float>(), saved[0].data_ptr<float>());
    // EXPECT note: grads[0] is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
    return {grads[0] * 2};
  }
};

at::Tensor scale(at::Tensor x) { return Scale::apply(x); }
