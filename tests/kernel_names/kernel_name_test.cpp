#include "rules/kernel_names/kernel_name.h"

#include <catch2/catch.hpp>
#include <string>

#include "core/dtype_set.h"
#include "platform/error.h"

namespace dtypecheck::gpu {
namespace {

std::string words_of(const char* name) {
  const std::optional<KernelArithmetic> arithmetic = read_kernel_name(name);
  return arithmetic ? in_words(*arithmetic) : "unknown";
}

struct Case {
  const char* name;
  const char* words;
};

// clang-format off
const Case kCases[] = {
    // cuBLAS: the second pair is what is multiplied, and what is summed up in.
    {"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
     "Half x Half + Float, Half to Half, tensor cores"},
    {"sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel",
     "Half x Half + Half, Half to Half, tensor cores"},
    {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel",
     "TF32 x TF32 + Float, Float to Float, tensor cores"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
     "Float x Float + Float, Float to Float, no tensor cores"},
    {"sm89_xmma_gemm_e4m3e5m2bf16_e4m3e5m2f32_f32_tn_n_tilesize128x128x64_stage4_warpsize2x2x1_tensor16x8x32_kernel",
     "Float8_e4m3fn x Float8_e4m3fn + Float, Float8_e4m3fn to BFloat16, tensor cores"},
    {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "Half x Half + Float, Half to Half, tensor cores"},
    {"ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_nn", "BFloat16 x BFloat16 + Float, BFloat16 to BFloat16, tensor cores"},
    {"ampere_s16816gemm_fp16_128x64_ldg8_stages_64x3_nt", "Half x Half + Float, Half to Float, tensor cores"},
    {"ampere_h16816gemm_128x128_ldg8_stages_32x5_nn", "Half x Half + Half, Half to Half, tensor cores"},
    {"volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_nn", "Half x Half + Float, Half to Half, tensor cores"},
    {"ampere_sgemm_128x64_nn", "Float x Float + Float, Float to Float, no tensor cores"},
    {"ampere_fp16_sgemm_fp16_64x64_sliced1x2_nn", "Float x Float + Float, Half to Half, no tensor cores"},
    {"ampere_dgemm_64x64_nn", "Double x Double + Double, Double to Double, no tensor cores"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4::Params)",
     "TF32 x TF32 + Float, Float to Float, tensor cores"},
    {"_ZN7cutlass7Kernel2I64cutlass_80_tensorop_f16_s16816gemm_relu_f16_64x64_64x5_nn_align8EEvNT_6ParamsE",
     "Half x Half + Float, Half to Half, tensor cores"},
    {"cutlass_80_tensorop_s16816bf16gemm_128x128_32x4_nn_align8", "BFloat16 x BFloat16 + Float, Float to Float, tensor cores"},
    {"cutlass_80_simt_sgemm_128x128_8x4_nn_align1", "Float x Float + Float, Float to Float, no tensor cores"},
    {"cutlass3x_sm100_tensorop_h128x256x16gemm_f16_f16_f16_f16_f16_128x256x64_0_tnn_align8_2sm_bias_f16_relu",
     "Half x Half + Half, Half to Half, tensor cores"},
    {"cutlass3x_sm100_bstensorop_s128x128x32gemm_block_scaled_ue8m0xe4m3_ue8m0xe4m3_f32_bf16_bf16_128x128x128_0_nnn_align16_q_1sm_bias_bf16_gelu",
     "Float8_e4m3fn x Float8_e4m3fn + Float, Float8_e4m3fn to BFloat16, tensor cores"},
    {"nvjet_hsh_128x64_64x7_1x2_h_bz_TNN", "Half x Half + Float, Half to Half, tensor cores"},
    {"nvjet_tst_192x192_64x3_2x1_v_bz_coopB_TNN", "BFloat16 x BFloat16 + Float, BFloat16 to BFloat16, tensor cores"},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __half, __half, __half, float, false, true, true, false, 7, false, cublasGemvParamsEx<int> >(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void gemmSN_TN_kernel_half<256, 8, 2, 4, 8, cublasGemvTensorStridedBatched<__half const> >(x)",
     "? x ? + ?, Half to Half, no tensor cores"},
    // cuDNN.
    {"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
     "Half x Half + Float, Half to Half, tensor cores"},
    {"sm80_xmma_fprop_implicit_gemm_f16f16_f32f32_f32_nhwckrsc_nhwc_tilesize64x32x8_stage3_warpsize1x4x1_g1_ffma_simple_t1r1s1_execute_kernel__5x_cudnn",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"cutlass_tensorop_h16816fprop_optimized_256x64_32x4_nhwc_align8", "Half x Half + Half, Half to Half, tensor cores"},
    {"void implicit_convolve_sgemm<__half, __half, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int, __half const*)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    // LibTorch's own.
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float, false>(int, float, c10::Half const*)",
     "Float x Float + Float, Half to ?, no tensor cores"},
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, false>(x)",
     "BFloat16 x BFloat16 + Float, BFloat16 to BFloat16, tensor cores"},
    {"void (anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, 9, false, false>(c10::Half*, c10::Half const*)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 3ul> >(int, x)",
     "? x ? + ?, Half to Half, no tensor cores"},
    {"fmha_cutlassF_f32_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",  // parts of TF32: all of Float
     "Float x Float + Float, Float to Float, tensor cores unknown"},
    {"fmha_cutlassB_f16_notaligned_64x64_k64_sm75(x)", "Half x Half + Float, Half to Half, tensor cores"},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm50(x)", "Half x Half + Float, Half to Half, no tensor cores"},
    {"void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<32, 128, cutlass::half_t, x> >(x)",
     "Half x Half + Float, Half to Half, tensor cores"},
    {"_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiEEE_4SM904GMMA31MMA_64x128x32_F32E4M3E4M3_SS_TNILNSQ_7ScaleIn",
     "Float8_e4m3fn x Float8_e4m3fn + Float, Float8_e4m3fn to ?, tensor cores"},
    {"void cutlass::Kernel2<at::cuda::detail::enable_2x_kernel_for_sm89<cutlass::gemm::kernel::DefaultGemmWithVisitor<cutlass::float_e4m3_t, "
     "cutlass::layout::RowMajor, (cutlass::ComplexTransform)0, 16, cutlass::float_e5m2_t, cutlass::layout::ColumnMajor, "
     "(cutlass::ComplexTransform)0, 16, cutlass::bfloat16_t, cutlass::layout::RowMajor, 8, float, float, cutlass::arch::OpClassTensorOp, x",
     "Float8_e4m3fn x Float8_e4m3fn + Float, Float8_e4m3fn to BFloat16, tensor cores"},
    {"void at::native::batch_norm_backward_reduce_kernel<c10::Half, c10::Half, float, int>(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, c10::Half, c10::Half, float, int>(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::batch_norm_transform_input_kernel<c10::BFloat16, c10::BFloat16, float, true, int>(x)",
     "Float x Float + Float, BFloat16 to BFloat16, no tensor cores"},
    {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::Half, float, 32u, 16u, 128u, false>(x)",
     "Float x Float + Float, Half to ?, no tensor cores"},
    {"void at::native::(anonymous namespace)::cunn_SpatialSoftMaxForward<c10::Half, float, c10::Half, int, x>(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, at::native::func_wrapper_t<c10::Half, "
     "at::native::sum_functor<c10::Half, float, c10::Half>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::Half, 4, 4> >(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, at::native::MeanOps<c10::Half, float, float, c10::Half>, unsigned int, c10::Half, 4, 4> >(x)",
     "Float x Float + Float, Half to ?, no tensor cores"},
    {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::Half, at::native::NanSumOps<float, c10::Half>, unsigned int, c10::Half, 4, 4> >(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::tensor_kernel_scan_outer_dim<c10::Half, unsigned int, std::plus<c10::Half> >(x)",
     "Half x Half + Half, Half to Half, no tensor cores"},
    {"void at_cuda_detail::cub::detail::scan::DeviceScanKernel<at_cuda_detail::cub::detail::scan::policy_hub<c10::Half, c10::Half, c10::Half, "
     "unsigned int, std::plus<c10::Half> >::Policy1000, c10::Half const*, x>(x)",
     "Half x Half + Half, Half to Half, no tensor cores"},
    {"void at::native::(anonymous namespace)::conv_depthwise3d_cuda_kernel<c10::Half, float, -1, -1, -1>(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::(anonymous namespace)::avg_pool3d_cuda_update_output<1, c10::Half, float>(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    {"void at::native::(anonymous namespace)::kernel::lstm_cell_forward<c10::Half, float, int, 1>(x)",
     "Float x Float + Float, Half to Half, no tensor cores"},
    // Near misses: what is multiplied along the way or indexed is no sum, and an index is no accumulator.
    {"void at::native::tensor_kernel_scan_innermost_dim<c10::Half, std::multiplies<c10::Half> >(x)", "unknown"},
    {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::Half, at::native::MaxOps<c10::Half>, unsigned int, c10::Half, 4, 4> >(x)", "unknown"},
    {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_1d<c10::Half, unsigned char>(x)", "unknown"},
    {"void at::native::(anonymous namespace)::grid_sampler_2d_kernel<c10::Half, int>(x)", "unknown"},
    // Near misses: no dtype is in them, or not where the family has it.
    {"triton_poi_fused_add_mul_0", "unknown"},
    {"sm80_xmma_gemm_kernel", "unknown"},
    {"nvjet_xyz_128x64_64x7", "unknown"},
    {"ncclDevKernel_AllReduce_Sum_f16_RING_LL", "unknown"},
    {"my_sm80_xmma_gemm_f16f16_f16f32_f32_tn_", "unknown"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688>(x)", "unknown"},
    {"_Z", "unknown"},
    {"", "unknown"},
};
// clang-format on

TEST_CASE("the name of a kernel says its arithmetic") {
  for (const Case& one : kCases) {
    INFO(one.name);
    CHECK(words_of(one.name) == one.words);
  }
}

TEST_CASE("a name is shown as a person reads it") {
  CHECK(shown_kernel_name("ampere_sgemm_128x64_nn") == "ampere_sgemm_128x64_nn");
  CHECK(shown_kernel_name("_Z12scale_kernelIN3c104HalfEEvPT_i") ==
        "scale_kernel<c10::Half>(c10::Half*, int)");
  CHECK(shown_kernel_name("void (anonymous namespace)::softmax_warp_forward<c10::Half>(x)") ==
        "softmax_warp_forward<c10::Half>(x)");
  CHECK(shown_kernel_name("fmha_cutlassF_f32_aligned_64x64_rf_sm80(Kernel<float>::Params)") ==
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80");
  CHECK(shown_kernel_name("k<" + std::string(2000, 'x') + ">").size() < 110);
  CHECK(shown_kernel_name("_Z") == "_Z");
  CHECK(shown_kernel_name("") == "");
  CHECK(shown_kernel_name(std::string(1 << 20, 'x')).size() < 1 << 17);
}

TEST_CASE("a name longer than any kernel's is not looked at") {
  const std::string name = "ampere_sgemm_" + std::string(1 << 20, 'x');
  CHECK(!read_kernel_name(name));
}

void refused(const char* grammar, const char* message) {
  INFO(grammar);
  CHECK_THROWS_WITH(KernelNames(grammar, "names.txt"), message);
}

TEST_CASE("a grammar that cannot be right is refused with its line") {
  refused("type Hlaf | f16\n", "names.txt:1: 'Hlaf' is no dtype of LibTorch, nor TF32");
  refused("type Half | f16\ntype Float | f16\n", "names.txt:2: 'f16' is listed twice");
  refused("form a\n  name x{sum-letter}\n  from me\n",
          "names.txt:2: nothing above says what {sum-letter} may be");
  refused("form a\n  name x\n", "names.txt:1: has no field 'from'");
  refused("form a\n  name x(\n  from me\n", "names.txt:2: no regular expression: missing ): x(");
  refused("form a\n  name x\n  colour red\n  from me\n",
          "names.txt:3: unknown key 'colour', expected one of name, in, out, math, sum, "
          "tensor-core, cuda-core, product, from");
  refused("shape a\n",
          "names.txt:1: unknown key 'shape', expected one of type, letter, code, form");
}

}  // namespace
}  // namespace dtypecheck::gpu
