#include "explain/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dtypecheck::explain {

namespace {

// A kernel of the CPU by its name's beginning, lower case. Versions: measured on 1.13.1, 2.6
// and 2.11, the rest from the release in which the kernel was merged.
struct CpuKernel {
  std::string_view name;
  std::string_view op;
  std::string_view half_since;  // empty: still missing in 2.11
};

constexpr CpuKernel kCpuKernels[] = {
    {"addmm_impl_cpu_", "linear, mm, addmm", "2.2"},
    {"bmm", "bmm", "2.2"},
    {"baddbmm", "baddbmm", "2.2"},
    {"addmv_impl_cpu", "mv, addmv", "2.2"},
    {"dot", "dot", "2.2"},
    {"gemm", "matmul", "2.2"},
    {"slow_conv", "conv2d, conv_transpose", "2.2"},
    {"compute_columns3d", "conv3d", "2.2"},
    {"thnn_conv", "conv2d", "2.2"},
    {"layernormkernelimpl", "layer_norm", "2.1"},
    {"layernormbackwardkernelimpl", "layer_norm's backward", "2.1"},
    {"groupnormkernelimpl", "group_norm", "2.2"},
    {"batch_norm", "batch_norm, instance_norm", "2.2"},
    {"softmax", "softmax", "2.2"},
    {"log_softmax", "log_softmax", "2.2"},
    {"vec_softmax", "softmax", "2.2"},
    {"vec_log_softmax", "log_softmax", "2.2"},
    {"gelukernelimpl", "gelu", "2.2"},
    {"gelubackwardkernelimpl", "gelu's backward", "2.2"},
    {"clamp", "clamp, relu", "2.2"},
    {"nll_loss_out_frame", "nll_loss, cross_entropy", "2.2"},
    {"binary_cross_entropy", "binary_cross_entropy", "2.2"},
    {"compute_indices_weights", "interpolate", "2.2"},
    {"upsample_nearest2d_channels_last", "interpolate", "2.2"},
    {"grid_sampler", "grid_sample", "2.2"},
    {"reflection_pad", "reflection padding", "2.2"},
    {"lerp_kernel", "lerp", "2.2"},
    {"bernoulli_scalar_cpu_", "dropout", "2.2"},
    {"rsqrt_cpu", "rsqrt", "2.2"},
    {"cdist", "cdist", ""},
    {"ctc_loss_cpu", "ctc_loss", ""},
    {"linalg_svd_cpu", "svd", ""},
    {"linalg_eigh_cpu", "eigh", ""},
    {"cholesky_cpu", "cholesky", ""},
    {"cholesky_solve_cpu", "cholesky_solve", ""},
    {"triangular_solve_cpu", "solve_triangular", ""},
    {"geqrf_cpu", "qr", ""},
    {"orgqr_cpu", "qr", ""},
    {"lu_cpu", "lu, det, solve", ""},
    {"compute_index_ranges_weights", "antialiased interpolate", ""},
    {"histogramdd", "histogram", ""},
    {"multi_margin_loss_cpu_kernel", "multi_margin_loss", ""},
    {"avg_pool3d_out_frame", "avg_pool3d", ""},
};

bool says_cuda(std::string_view kernel) {
  for (std::string_view part : {"cuda", "cusolver", "magma", "cudnn", "gpu"}) {
    if (kernel.find(part) != std::string_view::npos) return true;
  }
  // Upsampling kernels end so on CUDA; the CPU's are named otherwise.
  return kernel.starts_with("upsample_") && kernel.find("_out_frame") != std::string_view::npos;
}

bool says_cpu(std::string_view kernel) {
  return kernel.find("_cpu") != std::string_view::npos ||
         kernel.find("_vml") != std::string_view::npos;
}

// Kernels of torchvision, detectron2, mmcv and their like: an extension that was not compiled for
// the dtype.
bool is_of_extension(std::string_view kernel) {
  for (std::string_view name : {"roialign",
                                "roi_align",
                                "roipool",
                                "roi_pool",
                                "ps_roi",
                                "nms_kernel",
                                "ms_deform",
                                "msda",
                                "deformable",
                                "deform_",
                                "dcn",
                                "modulated",
                                "correlation",
                                "upfirdn2d",
                                "bias_act",
                                "three_nn",
                                "three_interpolate",
                                "ball_query",
                                "furthest",
                                "group_points",
                                "gather_points",
                                "knn",
                                "chamfer",
                                "voxel",
                                "grid_encode",
                                "sh_encode",
                                "rasterize",
                                "carafe",
                                "quant"}) {
    if (kernel.starts_with(name)) return true;
  }
  return false;
}

const CpuKernel* find_cpu_kernel(std::string_view kernel) {
  const auto* const found =
      std::find_if(std::begin(kCpuKernels), std::end(kCpuKernels),
                   [&](const CpuKernel& row) { return kernel.starts_with(row.name); });
  return found == std::end(kCpuKernels) ? nullptr : found;
}

std::string half_on_cpu(const CpuKernel& kernel) {
  if (kernel.half_since.empty()) return "still missing on the CPU in 2.11";
  return fmt::format("on the CPU since about {}", kernel.half_since);
}

}  // namespace

KernelVerdict judge_kernel(std::string_view kernel, std::string_view dtype) {
  KernelVerdict verdict;
  verdict.op = kernel;
  if (is_of_extension(kernel)) {
    verdict.category = Category::kExtension;
    verdict.weight = 4;
    return verdict;
  }
  if (dtype == "torch.halftensor") {  // the CPU's tensor type; the GPU's is torch.cuda.HalfTensor
    verdict.category = Category::kCpuHalf;
    verdict.weight = 4;
    return verdict;
  }
  if (says_cuda(kernel)) {
    if (kernel.starts_with("upsample_") && dtype == "bfloat16")
      verdict.version = "BFloat16 on CUDA since 2.1";
    verdict.weight = 4;
    return verdict;
  }
  const CpuKernel* row = find_cpu_kernel(kernel);
  if (row) verdict.op = fmt::format("{} ({})", row->op, kernel);
  const bool is_low = dtype == "half" || dtype == "bfloat16";
  if (dtype == "half" && (row || says_cpu(kernel))) {
    verdict.category = Category::kCpuHalf;
    verdict.weight = 4;
    if (row) verdict.version = half_on_cpu(*row);
  } else if (is_low && says_cpu(kernel)) {
    verdict.category = Category::kCpuHalf;
  }
  return verdict;
}

}  // namespace dtypecheck::explain
