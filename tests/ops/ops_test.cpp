// What the table says of an op: its own line, that of the op it does in place or over lists, that
// of the op it is a second name of, and its families.
#include "ops/ops.h"

#include <catch2/catch.hpp>

using namespace dtypecheck;
using namespace dtypecheck::ops;

namespace {

bool is(std::string_view op, Fact fact) { return (facts_of(op) & fact) != 0; }

}  // namespace

TEST_CASE("an op's line speaks for its other forms") {
  CHECK(is("aten::transpose", kView));
  CHECK(is("aten::transpose_", kView));
  CHECK(is("transpose", kView));
  CHECK(is("aten::_foreach_copy_", kOverwrites));
  CHECK(is("aten::_foreach_zero_", kFactory));
  CHECK(is("aten::_foreach_addcdiv_", kSteps));
  CHECK_FALSE(is("aten::_foreach_addcdiv", kSteps));
  CHECK_FALSE(is("aten::addcdiv", kSteps));
  CHECK(is("aten::addmm", kAddsProduct));
  CHECK_FALSE(is("aten::addmm_", kAddsProduct));
  CHECK_FALSE(is("aten::__and__", kSteps));
}

TEST_CASE("nothing is known of what is not LibTorch's") {
  CHECK(facts_of("torchvision::nms") == 0);
  CHECK(facts_of("mine::transpose") == 0);
  CHECK(facts_of("python::Linear.forward") == 0);
  CHECK(facts_of("aten::gelu") == 0);
  CHECK(facts_of("aten::normal") == kStatistics);  // not normal_, which has a line of its own
  CHECK(facts_of("") == 0);
  CHECK(facts_of("_") == 0);
}

TEST_CASE("an alias is what it calls") {
  CHECK(without_alias("aten::multiply_") == "aten::mul_");
  CHECK(without_alias("concatenate") == "cat");
  CHECK(without_alias("aten::mul") == "aten::mul");
  CHECK(without_alias("mine::multiply") == "mine::multiply");
  CHECK(is("aten::multiply_", kScales));
  CHECK(is("aten::movedim", kView));
  CHECK(is("aten::moveaxis", kView));
  CHECK(interest_in("aten::multiply") == Interest::kNever);
}

TEST_CASE("backward ops are known by their names") {
  CHECK(is("aten::mse_loss_backward", kBackward));
  CHECK(is("aten::_log_softmax_backward_data", kBackward));
}

TEST_CASE("what the tracer leaves out") {
  CHECK(interest_in("aten::add") == Interest::kAlways);
  CHECK(interest_in("aten::_to_copy") == Interest::kAlways);
  CHECK(interest_in("aten::native_layer_norm") == Interest::kAlways);
  CHECK(interest_in("aten::to") == Interest::kNever);
  CHECK(interest_in("aten::layer_norm") == Interest::kNever);
  CHECK(interest_in("aten::swapaxes") == Interest::kNever);
  CHECK(interest_in("aten::item") == Interest::kNever);
  CHECK(interest_in("aten::copy_") == Interest::kTopLevel);
  CHECK(interest_in("aten::empty_like") == Interest::kTopLevel);
  CHECK(interest_in("aten::contiguous") == Interest::kTopLevel);
  CHECK(interest_in("aten::view") == Interest::kNever);
  CHECK(interest_in("aten::view", "dtype") == Interest::kTopLevel);
  CHECK(interest_in("aten::set_", "source_Tensor") == Interest::kNever);
  CHECK(interest_in("aten::set_", "source_Storage_storage_offset") == Interest::kLoading);
  CHECK(interest_in("mine::add") == Interest::kAlways);
  CHECK(interest_in("profiler::_record_function_enter") == Interest::kNever);
}
