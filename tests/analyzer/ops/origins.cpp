// What a Float mask widened is refused: the promotion is the cause, and an error for that. One whose result nobody refuses is a warning.
#include <torch/torch.h>

void refused_later() {
  torch::Tensor x = torch::ones({4, 4}, torch::kBFloat16);
  torch::Tensor mask = torch::zeros({4, 4});
  torch::Tensor scores = torch::matmul(x, x) + mask;
  // EXPECT error: aten::add promotes self from BFloat16 to Float [silent-promotion]
  torch::matmul(scores.softmax(-1), x);
  // EXPECT error: BFloat16 other meets a Float input [mixed-operands]
}

void taken() {
  torch::Tensor x = torch::ones({4, 4}, torch::kBFloat16);
  torch::Tensor mask = torch::zeros({4, 4});
  torch::Tensor scores = torch::matmul(x, x) + mask;
  // EXPECT warning: aten::add promotes self from BFloat16 to Float [silent-promotion]
  torch::matmul(scores.softmax(-1), scores);
}

void of_another_tensor() {
  torch::Tensor x = torch::ones({4, 4}, torch::kBFloat16);
  torch::Tensor mask = torch::zeros({4, 4});
  torch::Tensor scores = torch::matmul(x, x) + mask;
  // EXPECT warning: aten::add promotes self from BFloat16 to Float [silent-promotion]
  torch::Tensor other = torch::ones({4, 4});
  torch::matmul(other, x);
  // EXPECT error: BFloat16 other meets a Float input [mixed-operands]
}

// torch::tensor() of whole numbers is Long, whatever holds them; of others Float.
void of_numbers(std::vector<int> whole, std::vector<float> real) {
  torch::nn::Linear layer(3, 3);
  layer->forward(torch::tensor({1, 2, 3}));
  // EXPECT error: Long input meets a Float weight [refused-dtype]
  layer->forward(torch::tensor(whole));
  // EXPECT error: Long input meets a Float weight [refused-dtype]
  layer->forward(torch::tensor({1.0, 2.0, 3.0}));
  layer->forward(torch::tensor(real));
  layer->forward(torch::tensor({1, 2, 3}, torch::kFloat));
}

void of_classes(torch::Tensor given) {
  torch::nn::functional::one_hot(torch::zeros({3}), 4);
  // EXPECT error: tensor is Float, and aten::one_hot needs Long [refused-dtype]
  torch::nn::functional::one_hot(torch::zeros({3}, torch::kLong), 4);
  torch::nn::functional::one_hot(given, 4);
}
