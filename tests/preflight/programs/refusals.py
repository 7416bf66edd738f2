"""Calls that CUDA's host code refuses for their dtypes, each on a CUDA device: prints "name: error: first line of its message",
or "name: accepted". refusals.txt beside it has what LibTorch says."""
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
HALF, BF16, DOUBLE = torch.half, torch.bfloat16, torch.double


def ones(*sizes, dtype=torch.float):
    return torch.ones(*sizes, device="cuda", dtype=dtype)


def index(*sizes):
    return torch.zeros(*sizes, device="cuda", dtype=torch.long)


def autocast_bce():
    with torch.autocast("cuda", dtype=HALF):
        F.binary_cross_entropy(ones(4), ones(4))


def fused_adamw():
    parameter = torch.nn.Parameter(ones(4))
    parameter.grad = ones(4)
    optimizer = torch.optim.AdamW([parameter], fused=True)
    optimizer.state[parameter] = {"step": ones(()), "exp_avg": ones(4, dtype=HALF), "exp_avg_sq": ones(4, dtype=HALF)}
    optimizer.step()


def unscaled():
    scaler = torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()
    layer = torch.nn.Linear(4, 4).cuda().half()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1)
    scaler.scale(layer(ones(2, 4, dtype=HALF)).sum()).backward()
    scaler.unscale_(optimizer)


CASES = {
    "linear f32, f16 weight": lambda: F.linear(ones(2, 8), ones(4, 8, dtype=HALF), ones(4, dtype=HALF)),
    "linear f32, bf16 weight, no bias": lambda: F.linear(ones(2, 8), ones(4, 8, dtype=BF16)),
    "matmul f16, f32": lambda: ones(2, 8, dtype=HALF) @ ones(8, 4),
    "matmul int64": lambda: index(2, 2) @ index(2, 2),
    "bmm f32, bf16": lambda: torch.bmm(ones(2, 3, 4), ones(2, 4, 3, dtype=BF16)),
    "baddbmm f32, f16": lambda: torch.baddbmm(ones(2, 3, 3), ones(2, 3, 4, dtype=HALF), ones(2, 4, 3, dtype=HALF)),
    "addmv f32, f16": lambda: torch.addmv(ones(3), ones(3, 4, dtype=HALF), ones(4, dtype=HALF)),
    "dot f32, f16": lambda: torch.dot(ones(4), ones(4, dtype=HALF)),
    "conv1d f32, f16 weight": lambda: F.conv1d(ones(1, 3, 8), ones(4, 3, 3, dtype=HALF)),
    "conv2d f32, f16 weight": lambda: F.conv2d(ones(1, 3, 8, 8), ones(4, 3, 3, 3, dtype=HALF)),
    "conv2d f16, f32 bias": lambda: F.conv2d(ones(1, 3, 8, 8, dtype=HALF), ones(4, 3, 3, 3, dtype=HALF), ones(4)),
    "conv_transpose2d bf16, f32 weight": lambda: F.conv_transpose2d(ones(1, 3, 8, 8, dtype=BF16), ones(3, 4, 3, 3)),
    "layer_norm f16, f32 weight": lambda: F.layer_norm(ones(2, 8, dtype=HALF), (8,), ones(8), ones(8)),
    "layer_norm f32, f16 weight": lambda: F.layer_norm(ones(2, 8), (8,), ones(8, dtype=HALF), ones(8, dtype=HALF)),
    "group_norm f16, f32 weight": lambda: F.group_norm(ones(2, 8, 4, dtype=HALF), 2, ones(8), ones(8)),
    "group_norm f32, f16 weight": lambda: F.group_norm(ones(2, 8, 4), 2, ones(8, dtype=HALF), ones(8, dtype=HALF)),
    "batch_norm f32, f16 weight": lambda: F.batch_norm(ones(4, 3, 5), ones(3), ones(3), ones(3, dtype=HALF),
                                                       ones(3, dtype=HALF), True),
    "attention f16 query, f32 key": lambda: F.scaled_dot_product_attention(ones(1, 2, 16, 8, dtype=HALF), ones(1, 2, 16, 8),
                                                                           ones(1, 2, 16, 8)),
    "attention f16, f32 mask": lambda: F.scaled_dot_product_attention(*[ones(1, 2, 16, 8, dtype=HALF)] * 3,
                                                                      attn_mask=ones(16, 16)),
    "index_put f32, f16": lambda: torch.index_put(ones(4, 4), (index(2),), ones(2, 4, dtype=HALF)),
    "index_add f32, f16": lambda: ones(4, 4).index_add(0, index(2), ones(2, 4, dtype=HALF)),
    "index_copy f32, f16": lambda: ones(4, 4).index_copy(0, index(2), ones(2, 4, dtype=HALF)),
    "index_reduce f32, f16": lambda: ones(4, 4).index_reduce(0, index(2), ones(2, 4, dtype=HALF), "mean"),
    "scatter f32, f16": lambda: ones(4).scatter(0, index(2), ones(2, dtype=HALF)),
    "scatter_add f32, f16": lambda: ones(4).scatter_add(0, index(2), ones(2, dtype=HALF)),
    "masked_scatter f32, f16": lambda: ones(4).masked_scatter(ones(4, dtype=torch.bool), ones(4, dtype=HALF)),
    "put_ f32, f16": lambda: ones(4).put_(index(2), ones(2, dtype=HALF)),
    "take float index": lambda: ones(4).take(ones(2)),
    "gather float index": lambda: ones(4).gather(0, ones(2)),
    "lerp f32, f16 end": lambda: torch.lerp(ones(4), ones(4, dtype=HALF), 0.5),
    "add_ int64, f32": lambda: index(4).add_(ones(4)),
    "and f32": lambda: ones(4) & ones(4),
    "embedding float index": lambda: F.embedding(ones(2), ones(4, 4)),
    "embedding_bag f32, f16 weights": lambda: F.embedding_bag(index(2, 3), ones(4, 4), per_sample_weights=ones(
        2, 3, dtype=HALF), mode="sum"),
    "cross_entropy float labels": lambda: F.cross_entropy(ones(2, 4), ones(2)),
    "cross_entropy int32 labels": lambda: F.cross_entropy(ones(2, 4), index(2).int()),
    "nll_loss float labels": lambda: F.nll_loss(ones(2, 4), ones(2)),
    "bce f16, f32 target": lambda: F.binary_cross_entropy(ones(4, dtype=HALF), ones(4)),
    "bce under autocast": autocast_bce,
    "ctc_loss f16": lambda: F.ctc_loss(ones(5, 2, 4, dtype=HALF), torch.ones(2, 3, device="cuda", dtype=torch.long),
                                       torch.full((2,), 5), torch.full((2,), 3)),
    "prelu f32, f16": lambda: F.prelu(ones(2, 4), ones(4, dtype=HALF)),
    "grid_sample f16, f32": lambda: F.grid_sample(ones(1, 3, 4, 4, dtype=HALF), ones(1, 2, 2, 2)),
    "cdist f16": lambda: torch.cdist(ones(3, 4, dtype=HALF), ones(3, 4, dtype=HALF)),
    "pdist f16": lambda: F.pdist(ones(3, 4, dtype=HALF)),
    "histc f16": lambda: torch.histc(ones(8, dtype=HALF)),
    "fft f16 of 6": lambda: torch.fft.fft(ones(6, dtype=HALF)),
    "inv f16": lambda: torch.linalg.inv(torch.eye(3, device="cuda", dtype=HALF)),
    "svd f16": lambda: torch.linalg.svd(ones(3, 3, dtype=HALF)),
    "cholesky bf16": lambda: torch.linalg.cholesky(ones(3, 3, dtype=BF16)),
    "solve f32, f64": lambda: torch.linalg.solve(ones(3, 3), ones(3, 3, dtype=DOUBLE)),
    "quantile f16": lambda: torch.quantile(ones(8, dtype=HALF), 0.5),
    "mean int64": lambda: index(8).mean(),
    "std int64": lambda: index(8).std(),
    "multinomial int64": lambda: torch.multinomial(index(4), 1),
    "mm into f16": lambda: torch.mm(ones(2, 3), ones(3, 2), out=ones(2, 2, dtype=HALF)),
    "complex f32, f16": lambda: torch.complex(ones(2), ones(2, dtype=HALF)),
    "heaviside f32, f16": lambda: torch.heaviside(ones(2), ones(2, dtype=HALF)),
    "isclose f32, f16": lambda: torch.isclose(ones(2), ones(2, dtype=HALF)),
    "_int_mm f32": lambda: torch._int_mm(index(32, 32).to(torch.int8), ones(32, 32)),
    "fp8 linear": lambda: F.linear(ones(16, 16), ones(16, 16).to(torch.float8_e4m3fn)),
    "fp8 add": lambda: ones(16).to(torch.float8_e4m3fn) + ones(16).to(torch.float8_e4m3fn),
    "fused AdamW, f16 state": fused_adamw,
    "unscale f16 gradients": unscaled,
    "found_inf f16": lambda: torch._amp_foreach_non_finite_check_and_unscale_([ones(4)], ones(1, dtype=HALF), ones(1)),
    "gradient f16 for f32": lambda: setattr(torch.nn.Parameter(ones(4)), "grad", ones(4, dtype=HALF)),
    "max_pool3d int8": lambda: F.max_pool3d(ones(1, 1, 4, 4, 4, dtype=torch.int8), 2),
    "linear f16": lambda: F.linear(ones(2, 8, dtype=HALF), ones(4, 8, dtype=HALF)),
    "cat f32, f16": lambda: torch.cat([ones(2), ones(2, dtype=HALF)]),
    "layer_norm bf16": lambda: F.layer_norm(ones(2, 8, dtype=BF16), (8,), ones(8, dtype=BF16)),
}

for name, call in CASES.items():
    try:
        call()
        print(f"{name}: accepted")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
