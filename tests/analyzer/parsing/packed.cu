// Pairs and fours of packed numbers, which are made of vectors of floats and of their raw bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <torch/extension.h>

__global__ void pack(const float* x, float* out) {
  __nv_fp8x4_e4m3 four(make_float4(x[0], x[1], x[2], x[3]));
  __nv_fp8x2_e5m2 two(make_float2(x[4], x[5]));
  __half2 halves = __half2_raw{0x3c00, 0x3c00};
  halves = __half2(halves.y, halves.x);
  const __nv_bfloat162 brains(__float2bfloat16(x[6]), __float2bfloat16(x[7]));
  const float4 wide = static_cast<float4>(four);
  out[0] = wide.x + static_cast<float2>(two).y + __half22float2(halves).x + __bfloat162float(brains.x);
}

float on_the_host(float x) { return rsqrtf(x); }

void run(at::Tensor x, at::Tensor out) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && out.scalar_type() == at::kFloat);
  pack<<<1, 1>>>(x.data_ptr<float>(), out.data_ptr<float>());
}
