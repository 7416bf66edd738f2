// Groups of blocks, which Clang's own headers of CUDA leave out.
#include <cooperative_groups.h>
#include <torch/extension.h>

namespace cg = cooperative_groups;

__global__ void share(float* x) {
  cg::cluster_group cluster = cg::this_cluster();
  x[cluster.block_rank()] = static_cast<float>(cluster.num_blocks());
  cluster.sync();
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  x[0] += warp.shfl_up(x[1], cg::this_thread_block().group_dim().x);
}

void run(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  share<<<1, 1>>>(x.data_ptr<float>());
}
