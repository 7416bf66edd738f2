// set_data() gives a tensor another dtype; of a parameter it is that of its layer, of each parameter the module's.
#include <torch/torch.h>

void a_tensor() {
  auto weight = torch::ones({4, 4});
  weight.set_data(weight.to(torch::kDouble));
  torch::mm(torch::ones({4, 4}), weight);
  // EXPECT error: Double mat2 meets a Float self [mixed-operands]
  weight.set_data(weight.to(torch::kFloat));
  torch::mm(torch::ones({4, 4}), weight);
}

void a_weight() {
  torch::nn::Linear fc(4, 4);
  fc->weight.set_data(fc->weight.to(torch::kHalf));
  fc(torch::ones({2, 4}));
  // EXPECT error: Float input meets a Half weight [mixed-operands]
  fc->weight.set_data(torch::ones({4, 4}));
  fc(torch::ones({2, 4}));
}

void each_parameter() {
  torch::nn::Sequential net(torch::nn::Linear(4, 4));
  for (auto& parameter : net->parameters()) parameter.set_data(parameter.to(torch::kHalf));
  net->forward(torch::ones({2, 4}));
  // EXPECT error: Float input meets a Half weight [mixed-operands]
  for (auto& pair : net->named_parameters()) pair.value().set_data(pair.value().to(torch::kFloat));
  net->forward(torch::ones({2, 4}));
}

void some_parameters(bool is_wanted) {
  torch::nn::Linear fc(4, 4);
  for (auto& parameter : fc->parameters()) {
    if (parameter.dim() > 1 || is_wanted) parameter.set_data(parameter.to(torch::kHalf));
  }
  fc(torch::ones({2, 4}));
}

void of_its_own_dtype() {
  torch::nn::Linear fc(4, 4);
  for (auto& parameter : fc->parameters()) parameter.set_data(parameter * 0.5);
  fc(torch::ones({2, 4}));
}
