// A mix is found behind whatever passes a dtype on, and none where an op answers in a dtype of its
// own: what the table of ops and the contracts know is known of source as well.
#include <torch/extension.h>

at::Tensor behind_views(at::Tensor x) {
  at::Tensor half = x.to(at::kHalf);
  at::Tensor wide = at::ones({4, 4});
  at::Tensor moved = at::matmul(half.movedim(0, 1), wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor first = at::matmul(half.chunk(2, 1)[0], wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  auto parts = half.split(2);
  at::Tensor named = at::matmul(parts[1], wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor written = at::matmul(half.mul_(wide), wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor selected = at::matmul(half.index_select(0, x.argmax(0)), wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor softened = at::matmul(half.softmax(0), wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  return moved + first + named + written + selected + softened;
}

// The same ops on tensors of one dtype.
at::Tensor alike(at::Tensor x) {
  at::Tensor half = x.to(at::kHalf);
  at::Tensor low = x.to(at::kHalf).movedim(0, 1).chunk(2, 1)[0];
  auto parts = half.split(2);
  parts[1] = at::ones({4, 4});
  return at::matmul(half, low) + at::matmul(parts[1], at::ones({4, 4})).to(at::kHalf);
}

// Comparisons answer in Bool, indices in Long, sums of either in Long: no mix with them is one of
// floating dtypes.
at::Tensor own_dtypes(at::Tensor x) {
  at::Tensor half = x.to(at::kHalf);
  at::Tensor wide = at::ones({4, 4});
  at::Tensor same = half == half.t();
  at::Tensor last = half.argmax(1);
  at::Tensor places = half.nonzero();
  at::Tensor count = (half > 0).sum();
  at::Tensor reduced = half.mean() + same.sum() + last + places;
  at::Tensor accumulated = half.sum({0}, false, at::kFloat);
  return wide * same + wide.mul(last) + wide * count + accumulated + reduced.to(at::kFloat);
}

// max(dim) gives back values in the dtype of the tensor and indices in Long.
at::Tensor of_several(at::Tensor x) {
  at::Tensor half = x.to(at::kHalf);
  at::Tensor wide = at::ones({4, 4});
  auto [values, indices] = half.max(1);
  at::Tensor refused = at::matmul(values, wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor fits = wide * indices;
  return refused + fits + wide * std::get<1>(half.max(1));
}

// A product of tensors is no dereference: it has the promoted dtype, not that of its first factor.
at::Tensor product(at::Tensor x) {
  at::Tensor wide = at::ones({4, 4});
  at::Tensor widened = x.to(at::kHalf) * wide;
  // EXPECT warning: aten::mul promotes self from Half to Float [silent-promotion]
  return at::matmul(widened, wide);
}

// What a function gives on several ways, and a choice, where it has one dtype on all of them.
at::Tensor padded(at::Tensor x, int pad) {
  if (pad > 0) return at::constant_pad_nd(x, {pad, pad}, 0);
  return x;
}
at::Tensor widened(at::Tensor x, bool wide) {
  if (wide) return x.to(at::kFloat);
  return x;
}
std::tuple<at::Tensor, at::Tensor> halves(at::Tensor x, int at) {
  if (at == 0) return {x, x.relu()};
  return {x.slice(0, 0, at), x.slice(0, at).relu()};
}
at::Tensor several_ways(at::Tensor x, bool wide) {
  at::Tensor half = x.to(at::kHalf), full = at::ones({4, 4});
  at::Tensor a = at::matmul(padded(half, 2), full);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  auto [first, second] = halves(half, 2);
  at::Tensor b = at::matmul(second, full);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor c = at::matmul(wide ? half.relu() : half.exp(), full);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor d = at::matmul(widened(half, wide), full);  // Float on one way
  return a + b + c + d + at::matmul(wide ? half.relu() : full, full) + first;
}

// A tuple that is assigned has each of its results, through an optional, too.
void assigned_tuples(bool has_past) {
  torch::Tensor x = torch::ones({4, 4});
  std::tuple<torch::Tensor, torch::Tensor> best;
  best = x.max(0);
  x.gather(1, std::get<1>(best).unsqueeze(0));
  x.gather(1, std::get<0>(best).unsqueeze(0));
  // EXPECT error: index is Float, and aten::gather needs Long [refused-dtype]
  c10::optional<std::tuple<torch::Tensor, torch::Tensor>> past;
  if (has_past) past = std::make_tuple(x.to(torch::kHalf), x.to(torch::kLong));
  if (past.has_value()) {
    x.gather(1, std::get<1>(past.value()));
    torch::mm(std::get<0>(past.value()), x);
    // EXPECT error: Float mat2 meets a Half self [mixed-operands]
  }
}

// Signs that few programs write.
void signs(torch::Tensor index) {
  torch::Tensor x = torch::ones({4, 4});
  x.gather(1, torch::arange(4) % 3);
  x.gather(1, (x % 3).unsqueeze(0));
  // EXPECT error: index is Float, and aten::gather needs Long [refused-dtype]
  torch::Tensor flags = x > 0;
  flags &= x < 1;
  x.masked_fill_(flags | (x < 2), 0);
}
