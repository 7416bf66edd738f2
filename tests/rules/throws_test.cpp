// What LibTorch says when it refuses, by what the words are about. The texts are LibTorch's own.
#include "rules/engine/throws.h"

#include <catch2/catch.hpp>

using namespace dtypecheck;
using namespace dtypecheck::rules;

TEST_CASE("texts about dtypes") {
  for (const char* text : {
           "mat1 and mat2 must have the same dtype, but got Half and Float",
           "expected scalar type Float but found Half",
           "expected m1 and m2 to have the same dtype, but got: float != c10::Half",
           "Input type (float) and bias type (struct c10::Half) should be the same",
           "Input type (CPUBFloat16Type) and weight type (torch.FloatTensor) should be the same or "
           "input "
           "should be a MKLDNN tensor and weight is a dense tensor",
           "mixed dtype (CPU): expect parameter to have scalar type of Float",
           "Index put requires the source and destination dtypes match, got Float for the "
           "destination and "
           "Half for the source.",
           "Tensors of the same index must be on the same device and the same dtype except `step` "
           "tensors "
           "that can be CPU and float32/64 notwithstanding",
           "Float did not match Half",
           "!needs_dynamic_casting<func_t>::check(iter) INTERNAL ASSERT FAILED at \"Loops.h\":348",
       }) {
    CAPTURE(text);
    CHECK(throw_reason(text, "c10::Error") == ThrowReason::kDtypes);
  }
}

TEST_CASE("texts about anything else") {
  for (const char* text : {
           "mat1 and mat2 shapes cannot be multiplied (2x320 and 640x1280)",
           "Expected all tensors to be on the same device, but found at least two devices, cpu and "
           "cuda:0!",
           "CUDA out of memory. Tried to allocate 2.00 GiB",
           "index 77 is out of bounds for dimension 0 with size 77",
           "The size of tensor a (4) must match the size of tensor b (5) at non-singleton "
           "dimension 1",
           "Could not run 'aten::cudnn_convolution' with arguments from the 'CPU' backend. CUDA, "
           "HIP",
           "Given groups=1, weight of size [320, 4, 3, 3], expected input[1, 9, 64, 64] to have 4 "
           "channels, "
           "but got 9 channels instead",
           "r.cuMemMap_ INTERNAL ASSERT FAILED at \"driver_api.cpp\":20. Can't find cuMemMap: "
           "/opt/dtypecheck/libcuda.so.1: undefined symbol: cuMemMap",
       }) {
    CAPTURE(text);
    CHECK(throw_reason(text, "c10::Error") == ThrowReason::kOther);
  }
  CHECK(throw_reason("expected dtype", "python_error") == ThrowReason::kOther);
}

TEST_CASE("texts that leave it to the operands") {
  CHECK(throw_reason("no file /opt/dtypecheck/x", "c10::Error") == ThrowReason::kUnknown);
  CHECK(throw_reason("could not create a primitive", "dnnl::error") == ThrowReason::kUnknown);
  CHECK(throw_reason("", "") == ThrowReason::kUnknown);
}

TEST_CASE("a dtype in any of its spellings") {
  for (const char* text :
       {"found Half", "!= c10::Half", "struct c10::Half", "torch.cuda.HalfTensor", "torch.float16",
        "FP16 gradients", "CPUHalfType", "(Half)"}) {
    CAPTURE(text);
    CHECK(names_dtype(text, Dtype::kHalf));
    CHECK_FALSE(names_dtype(text, Dtype::kFloat));
  }
  CHECK(names_dtype("but got: float != c10::BFloat16", Dtype::kFloat));
  CHECK_FALSE(names_dtype("BFloat16", Dtype::kFloat));
  CHECK_FALSE(names_dtype("Halfway", Dtype::kHalf));
  CHECK_FALSE(names_dtype("", Dtype::kHalf));
}

TEST_CASE("missing kernels") {
  const auto norm = missing_kernel("\"LayerNormKernelImpl\" not implemented for 'Half'");
  REQUIRE(norm);
  CHECK(norm->dtype == Dtype::kHalf);
  CHECK(norm->kernel == "LayerNormKernelImpl");
  const auto amp = missing_kernel(
      "\"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'");
  REQUIRE(amp);
  CHECK(amp->dtype == Dtype::kBFloat16);
  CHECK(missing_kernel("Unsupported dtype Half"));
  CHECK(missing_kernel("MKL FFT doesn't support tensors of type: Half"));
  CHECK(missing_kernel("linalg.inv: Low precision dtypes not supported. Got Half"));
  const auto integer = missing_kernel("\"softmax_lastdim_kernel_impl\" not implemented for 'Long'");
  REQUIRE(integer);
  CHECK(integer->dtype == Dtype::kLong);
  CHECK_FALSE(missing_kernel("\"x\" not implemented for '"));
}

TEST_CASE("dtypes stand in a message in many spellings") {
  using D = Dtype;
  CHECK(named_dtypes("expected Half but found float") == std::vector{D::kHalf, D::kFloat});
  CHECK(named_dtypes("Input type (long int) and bias type (float)") ==
        std::vector{D::kLong, D::kFloat});
  CHECK(named_dtypes("got unsigned char, then signed char") == std::vector{D::kByte, D::kChar});
  CHECK(named_dtypes("CPUFloatType, torch.cuda.HalfTensor, c10::BFloat16, FP16") ==
        std::vector{D::kFloat, D::kHalf, D::kBFloat16});
  CHECK(named_dtypes("Float8_e4m3fn beside torch.float8_e5m2") ==
        std::vector{D::kFloat8_e4m3fn, D::kFloat8_e5m2});
  CHECK(named_dtypes("floating tensors as long-lived ints").size() == 1);  // "long"
  CHECK(named_dtypes("Input type (c10::complex<float>) and bias type (float)") ==
        std::vector{D::kComplexFloat, D::kFloat});
  CHECK(named_dtypes("").empty());
}

TEST_CASE("integers that were wanted") {
  const auto target = wanted_integer("expected scalar type Long but found Float");
  REQUIRE(target);
  CHECK(target->found == Dtype::kFloat);
  const auto index = wanted_integer(
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
      "Int; "
      "but got torch.HalfTensor instead (while checking arguments for embedding)");
  REQUIRE(index);
  CHECK(index->found == Dtype::kHalf);
  CHECK_FALSE(wanted_integer("expected scalar type Float but found Half"));
}

TEST_CASE("what a recurrent layer says of its input and weight") {
  const auto mix = input_and_weight(
      "RNN input dtype (torch.float32) does not match weight dtype (torch.float16). Convert input: "
      "input.to(torch.float16), or convert model: model.to(torch.float32)");
  REQUIRE(mix);
  CHECK(mix->input == Dtype::kFloat);
  CHECK(mix->weight == Dtype::kHalf);
  CHECK_FALSE(
      input_and_weight("RNN input dtype (torch.float32) does not match weight dtype (torch."));
  CHECK_FALSE(input_and_weight("expected scalar type Float but found Half"));
}

TEST_CASE("a message is one before and after torch gives it to Python") {
  CHECK(as_raised("Input type (CPUBFloat16Type) and weight type (torch.FloatTensor) differ") ==
        "Input type (CPUBFloat16Type) and weight type (CPUFloatType) differ");
  CHECK(as_raised("torch.cuda.HalfTensor, torch.sparse.LongTensor") ==
        "CUDAHalfType, SparseCPULongType");
  CHECK(as_raised("torch.float16 is of a torch.Tensor") == "torch.float16 is of a torch.Tensor");
  CHECK(as_raised("torch.") == "torch.");
}
