// The role of an argument, and what else its name says.
#include "ops/arguments.h"

#include <catch2/catch.hpp>

using namespace dtypecheck;
using namespace dtypecheck::ops;

TEST_CASE("an element of a list is called after its list") {
  CHECK(list_name("tensors[12]") == "tensors");
  for (const char* name : {"self", "", "odd[3", "[", "]"}) CHECK(list_name(name) == name);
}

TEST_CASE("the role of an argument") {
  CHECK(role_of_argument("weight") == Role::kWeight);
  CHECK(role_of_argument("w_ih") == Role::kWeight);
  CHECK(role_of_argument("gamma") == Role::kWeight);
  CHECK(role_of_argument("qkv_weight") == Role::kWeight);
  CHECK(role_of_argument("b_hh") == Role::kBias);
  CHECK(role_of_argument("running_mean") == Role::kState);
  CHECK(role_of_argument("exp_avg_sqs[3]") == Role::kState);
  CHECK(role_of_argument("state_steps[0]") == Role::kState);
  CHECK(role_of_argument("self") == Role::kInput);
}

// The softmax's backward reads `output`, the attention's `out`; the loss sums `total_weight`.
TEST_CASE("near misses") {
  CHECK(role_of_argument("out") == Role::kInput);
  CHECK(role_of_argument("output") == Role::kInput);
  CHECK(role_of_argument("out_proj") == Role::kInput);
  CHECK(role_of_argument("total_weight") == Role::kInput);
  CHECK(role_of_argument("batch1") == Role::kInput);
  CHECK(role_of_argument("rng_state") == Role::kInput);
  CHECK(role_of_argument("") == Role::kInput);
}

TEST_CASE("addmm's self is its bias") {
  CHECK(shown_argument("aten::addmm", "self") == "bias");
  CHECK(schema_argument("aten::addmm", "bias") == "self");
  CHECK(shown_argument("aten::addmm", "mat1") == "mat1");
  CHECK(shown_argument("aten::addmm_", "self") == "self");
  CHECK(shown_argument("aten::add", "self") == "self");
  CHECK(schema_argument("aten::native_layer_norm", "bias") == "bias");
}

TEST_CASE("sides of a product and of a division") {
  CHECK(is_right_factor("aten::mm", "mat2"));
  CHECK(is_right_factor("aten::matmul", "other"));
  CHECK_FALSE(is_right_factor("aten::mul", "other"));
  CHECK(is_divisor("aten::div", "other"));
  CHECK(is_divisor("aten::_foreach_addcdiv_", "tensor2[4]"));
  CHECK(is_divisor("aten::reciprocal_", "self"));
  CHECK_FALSE(is_divisor("aten::div", "self"));
}

TEST_CASE("what is no side of a mismatch, and what may be classes") {
  for (const char* name : {"index", "indices[1]", "ind", "offsets", "batch_sizes"})
    CHECK(argument_facts(name) == kIndex);
  for (const char* name : {"mask", "mask_check", "condition"})
    CHECK(argument_facts(name) == kCondition);
  for (const char* name : {"target", "targets", "target_lengths", "labels"})
    CHECK(argument_facts(name) == kLabels);
  for (const char* name : {"self", "attn_mask", "col_offsets", "is_target", "label"})
    CHECK((argument_facts(name) & (kIndex | kCondition | kLabels)) == 0);
}
