// A virtual function is that of the class that the object was made of, where that is one.
#include <torch/torch.h>

struct Model : torch::nn::Module {
  virtual torch::Tensor forward(torch::Tensor x) = 0;
  torch::Tensor run(torch::Tensor x) { return forward(x); }
};

struct Plain : Model {
  torch::nn::Linear fc{4, 4};
  torch::Tensor forward(torch::Tensor x) override {
    return fc(x);
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    // EXPECT error: Float input meets a Half weight [mixed-operands]
    // EXPECT error: Half input meets a Float weight [mixed-operands]
    // EXPECT error: BFloat16 input meets a Float weight [mixed-operands]
  }
};

struct Casting : Model {
  torch::nn::Linear fc{4, 4};
  torch::Tensor forward(torch::Tensor x) override { return fc(x.to(torch::kFloat)); }
};

void behind_a_pointer() {
  std::shared_ptr<Model> model = std::make_shared<Plain>();
  model->forward(torch::ones({2, 4}, torch::kDouble));
}

void of_its_own_function() {
  std::unique_ptr<Model> model(new Plain());
  model->run(torch::ones({2, 4}, torch::kBFloat16));
}

std::shared_ptr<Model> make() { return std::make_shared<Plain>(); }

void of_a_function_that_makes_it() {
  auto model = make();
  model->to(torch::kHalf);
  model->forward(torch::ones({2, 4}));
}

void train(Model& model, torch::Tensor x) { model.forward(x); }

void given_to_a_function() {
  Plain model;
  train(model, torch::ones({2, 4}, torch::kHalf));
}

void of_another_class() {
  std::shared_ptr<Model> model = std::make_shared<Casting>();
  model->forward(torch::ones({2, 4}, torch::kInt));
}

void of_either_class(bool is_plain) {
  std::shared_ptr<Model> model;
  if (is_plain)
    model = std::make_shared<Plain>();
  else
    model = std::make_shared<Casting>();
  model->forward(torch::ones({2, 4}, torch::kInt));
}

void of_a_class_that_is_not_known(std::shared_ptr<Model> model) {
  model->forward(torch::ones({2, 4}, torch::kInt));
}
