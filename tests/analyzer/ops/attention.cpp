// Query, key and value have one dtype; a mask that is added is Float, or of the query's dtype, and one that chooses Bool.
#include <torch/torch.h>

torch::Tensor of_two_dtypes(int n) {
  auto query = torch::randn({1, 2, n, 8});
  auto key = torch::randn({1, 2, n, 8}, torch::kHalf);
  return torch::scaled_dot_product_attention(query, key, key);
  // EXPECT error: Float query meets a Half key [mixed-operands]
}

torch::Tensor of_one_dtype(int n) {
  auto query = torch::randn({1, 2, n, 8}, torch::kHalf);
  auto bias = torch::zeros({n, n});
  auto chosen = torch::ones({n, n}, torch::kBool);
  auto biased = torch::scaled_dot_product_attention(query, query, query, bias);
  return torch::scaled_dot_product_attention(biased, query, query, chosen);
}

torch::Tensor of_a_mask_of_integers(torch::Tensor query, int n) {
  auto mask = torch::ones({n, n}, torch::kLong);
  return torch::scaled_dot_product_attention(query, query, query, mask);
  // EXPECT error: aten::scaled_dot_product_attention does not take a Long attn_mask [refused-dtype]
}

torch::Tensor of_a_mask_of_another_dtype(int n) {
  auto query = torch::randn({1, 2, n, 8});
  return torch::scaled_dot_product_attention(query, query, query, torch::zeros({n, n}, torch::kDouble));
  // EXPECT error: Double attn_mask meets a Float query [mixed-operands]
}

torch::Tensor of_a_mask_beside_what_is_given(torch::Tensor query, int n) {
  return torch::scaled_dot_product_attention(query, query, query, torch::zeros({n, n}, torch::kDouble));
}

void what_it_gives(int n) {
  auto query = torch::randn({1, 2, n, 8}, torch::kHalf);
  torch::matmul(torch::scaled_dot_product_attention(query, query, query), torch::ones({8, 8}));
  // EXPECT error: Float other meets a Half input [mixed-operands]
}
