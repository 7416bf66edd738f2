// A constructor that casts is walked through with what it is given: the dtype that a struct holds from its initializer, or since an assignment. One
// that is not known leaves the module unknown.
#include <torch/torch.h>

struct Config {
  int width = 4;
  torch::Dtype dtype = torch::kBFloat16;
};

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(const Config& config) : fc(torch::nn::Linear(config.width, config.width)) { register_module("fc", fc); }
  torch::Tensor forward(torch::Tensor x) {
    return fc->forward(x);
    // EXPECT error: Float input meets a BFloat16 weight [mixed-operands]
  }
  torch::nn::Linear fc;
};
TORCH_MODULE(Block);

// Blocks that are cast and put into a list, a head that is cast in its place.
struct NetImpl : torch::nn::Module {
  explicit NetImpl(const Config& config) : config(config), blocks(torch::nn::ModuleList()) {
    for (int i = 0; i < 2; ++i) {
      auto block = Block(config);
      block->to(config.dtype);
      blocks->push_back(block);
    }
    register_module("blocks", blocks);
    head = register_module("head", torch::nn::Linear(4, 4));
    head->to(config.dtype);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = blocks[0]->as<BlockImpl>()->forward(x);
    return head->forward(x.to(torch::kDouble));
    // EXPECT error: Double input meets a BFloat16 weight [mixed-operands]
  }
  Config config;
  torch::nn::ModuleList blocks;
  torch::nn::Linear head = nullptr;
};
TORCH_MODULE(Net);

void initialized() {
  Config config = Config();
  config.width = 8;
  auto net = Net(config);
  net->forward(torch::ones({4, 4}));
}

struct HeadImpl : torch::nn::Module {
  HeadImpl(const Config& config, bool lower) : config(config), fc(register_module("fc", torch::nn::Linear(4, 4))) {
    if (lower) fc->to(config.dtype);
  }
  explicit HeadImpl(const Config& config) : config(config), fc(register_module("fc", torch::nn::Linear(4, 4))) {
    fc->to(this->config.dtype);
  }
  torch::Tensor forward(torch::Tensor x) {
    return fc->forward(x);
    // EXPECT error: Float input meets a Half weight [mixed-operands]
  }
  Config config;
  torch::nn::Linear fc;
};
TORCH_MODULE(Head);

void assigned() {
  Config config;
  config.dtype = torch::kHalf;
  Head head(config);
  head->forward(torch::ones({4, 4}));
}

// Near misses: the same class with what fits, or with what is not known.
torch::Dtype read_dtype();
void fits() {
  Config config;
  config.dtype = torch::kHalf;
  Head(config)->forward(torch::ones({4, 4}, torch::kHalf));
  Config single;
  single.dtype = torch::kFloat;
  Head in_float(single);
  in_float->forward(torch::ones({4, 4}));
}
void unknown(const Config& given, bool lower) {
  Head head(given);
  head->forward(torch::ones({4, 4}));
  Config config;
  config.dtype = read_dtype();
  Head other(config);
  other->forward(torch::ones({4, 4}));
  Head maybe(Config(), lower);
  maybe->forward(torch::ones({4, 4}));
}

// A list that only one way fills has no say on the other; one of two dtypes is not known.
struct MixedImpl : torch::nn::Module {
  MixedImpl() {
    auto first = torch::nn::Linear(4, 4);
    first->to(torch::kHalf);
    layers->push_back(first);
    layers->push_back(torch::nn::Linear(4, 4));
  }
  torch::Tensor forward(torch::Tensor x) { return layers[1]->as<torch::nn::LinearImpl>()->forward(x); }
  torch::nn::ModuleList layers;
};
void of_both() {
  MixedImpl net;
  net.forward(torch::ones({4, 4}));
}

// What is left out is not there: only the other way is gone.
struct EmbedImpl : torch::nn::Module {
  EmbedImpl() { this->to(torch::kHalf); }
  torch::Tensor forward(torch::Tensor ids, c10::optional<torch::Tensor> given = {}) {
    if (!given.has_value()) given = table->forward(ids);
    return head->forward(given.value().to(torch::kFloat));
    // EXPECT error: Float input meets a Half weight [mixed-operands]
  }
  torch::Tensor either(torch::Tensor ids, c10::optional<torch::Tensor> given) {
    if (!given.has_value()) given = table->forward(ids).to(torch::kFloat);
    return head->forward(given.value());
  }
  torch::nn::Embedding table = register_module("table", torch::nn::Embedding(4, 4));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(4, 4));
};
void left_out(c10::optional<torch::Tensor> given) {
  EmbedImpl net;
  net.forward(torch::zeros({4}, torch::kLong));
  net.either(torch::zeros({4}, torch::kLong), given);
}

// A function that makes and returns a module gives back what its constructor registered.
struct LowRankImpl : torch::nn::Module {
  LowRankImpl() { a = register_parameter("a", torch::zeros({4, 4}, torch::kDouble)); }
  torch::Tensor forward(torch::Tensor x) {
    return x.matmul(a);
    // EXPECT error: Double other meets a Float input [mixed-operands]
  }
  torch::Tensor a;
};
TORCH_MODULE(LowRank);
LowRank make(bool is_in_float) {
  auto made = LowRank();
  if (is_in_float) return made;
  return made;
}
LowRank make_one() { return LowRank(); }
void returned() {
  LowRank one = make_one();
  one->forward(torch::ones({4, 4}));
  LowRank other = make(true);
  other->forward(torch::ones({4, 4}, torch::kHalf));
}
