// What a field holds is known where each write to it is: in constructors, initializers and setters.
#include <torch/extension.h>

void run(const float* x);
void run_half(const at::Half* x);

class Layer {
 public:
  explicit Layer(at::Tensor w, at::Tensor b, at::Tensor c, at::Tensor m)
      : weight_(w.to(at::kFloat)), half_(w.to(at::kHalf)), checked_(c) {
    TORCH_CHECK(b.scalar_type() == at::kFloat);
    bias_ = b;
    TORCH_CHECK(c.scalar_type() == at::kFloat);
    mixed_ = m.to(at::kFloat);
    given_ = m;
    handed_ = m.to(at::kFloat);
    change(handed_);
    looked_ = m;
    if (m.scalar_type() != c.scalar_type()) throw 1;
    either_ = m.to(at::kFloat);
  }
  void set(at::Tensor m) { mixed_ = m; }
  void set_either() { either_ = at::zeros({1}, at::kHalf); }
  void forward() {
    run(weight_.data_ptr<float>());
    run(bias_.data_ptr<float>());
    run(checked_.data_ptr<float>());
    run_half(half_.data_ptr<at::Half>());
  }
  void forward_half() {
    run(half_.data_ptr<float>());
    // EXPECT error: half_ is Half here and is read as float [unchecked-data-ptr]
  }
  void forward_mixed() {
    run(mixed_.data_ptr<float>());
    // EXPECT note: mixed_ is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  }
  void forward_handed() {
    run(handed_.data_ptr<float>());
    // EXPECT note: handed_ is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  }
  void forward_either() {
    run(either_.data_ptr<float>());
    // EXPECT note: either_ is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  }

 private:
  void change(at::Tensor& x) { x = x.to(at::kHalf); }
  at::Tensor weight_, half_, checked_, bias_, mixed_, given_, handed_, looked_, either_;
};

// Another tensor on one way: the variable is no longer what the field holds.
class Cache {
 public:
  Cache() : kept_(at::zeros({1}, at::kHalf)) {}
  void read_one_of_two(at::Tensor x, bool other) {
    at::Tensor y = kept_;
    if (other) y = x;
    run(y.data_ptr<float>());
    // EXPECT note: y is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  }

 private:
  at::Tensor kept_;
};

// A method whose body is elsewhere may write it.
class Elsewhere {
 public:
  Elsewhere() : kept_(at::zeros({1}, at::kHalf)) {}
  void set();
  void read_elsewhere() {
    run(kept_.data_ptr<float>());
    // EXPECT note: kept_ is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  }

 private:
  at::Tensor kept_;
};

// A later round of the loop writes what the first one does not.
class Rounds {
 public:
  void fill(at::Tensor x) {
    at::Tensor next = at::zeros({1}, at::kHalf);
    for (int i = 0; i < 2; ++i) {
      kept_ = next;
      next = x;
    }
  }
  void read_rounds() {
    run(kept_.data_ptr<float>());
    // EXPECT note: kept_ is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  }

 private:
  at::Tensor kept_;
};

// A struct that one function fills and another reads.
struct Params {
  at::Tensor weight;
  at::Tensor bias;
};
Params fill(at::Tensor w) {
  Params params;
  params.weight = w.to(at::kHalf);
  params.bias = w;
  return params;
}
void apply(const Params& params) {
  run(params.weight.data_ptr<float>());
  // EXPECT error: params.weight is Half here and is read as float [unchecked-data-ptr]
}
void apply_bias(const Params& params) {
  run(params.bias.data_ptr<float>());
  // EXPECT note: params.bias is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}
struct Listed {
  at::Tensor weight;
  at::Tensor bias;
};
Listed list(at::Tensor w) { return {w.to(at::kFloat), w}; }
void apply_listed(const Listed& listed) { run(listed.weight.data_ptr<float>()); }
