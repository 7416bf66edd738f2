"""The op families of the table: one function each, called with a pair of dtypes.

`a` is the dtype of the activation, `b` that of what it meets. Tensors come from a Maker, which makes the same values in float64
for the reference and keeps the leaves, whose gradients are compared. What a family returns is compared too: results, and tensors
that it wrote. A family ends in "backward" where gradients run.
"""

import threading

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import grad, jvp, vmap
from torch.utils.checkpoint import checkpoint

ops = torch.ops.aten
DOUBLE = torch.float64


class Maker:
    def __init__(self, reference):
        self.reference, self.leaves = reference, []

    def real(self, dtype):
        return DOUBLE if self.reference else dtype

    def tensor(self, dtype, *shape, low=-1.0, high=1.0):
        return (torch.rand(shape, dtype=DOUBLE) * (high - low) + low).to(dtype).to(self.real(dtype))

    def leaf(self, dtype, *shape, **limits):
        made = self.tensor(dtype, *shape, **limits).requires_grad_()
        self.leaves.append((made, dtype))
        return made

    def classes(self, dtype, count):
        """0, 1, …: in Long, as they should be, for the reference."""
        return torch.arange(count).to(torch.int64 if self.reference else dtype)

    def module(self, build, dtype):
        torch.manual_seed(3)
        made = build().to(dtype).to(self.real(dtype))
        self.leaves += [(p, dtype) for p in made.parameters()]
        return made

    def zeros(self, dtype, *shape):
        return torch.zeros(shape, dtype=self.real(dtype))


FAMILIES = {}


def family(name):
    def keep(function):
        assert name not in FAMILIES, name
        FAMILIES[name] = function
        return function
    return keep


def simple(name, function):
    FAMILIES[name] = function


def index(*values):
    return torch.tensor(values)


def mask(*values):
    return torch.tensor(values, dtype=torch.bool)


# ---- products

simple("linear, backward", lambda m, a, b: F.linear(m.leaf(a, 3, 4), m.leaf(b, 5, 4), m.leaf(b, 5)))
simple("linear without bias, backward", lambda m, a, b: F.linear(m.leaf(a, 3, 4), m.leaf(b, 5, 4)))
simple("linear, only the bias differs, backward", lambda m, a, b: F.linear(m.leaf(a, 3, 4), m.leaf(a, 5, 4), m.leaf(b, 5)))
simple("linear of 3 dimensions, backward", lambda m, a, b: F.linear(m.leaf(a, 2, 3, 4), m.leaf(b, 5, 4), m.leaf(b, 5)))
simple("matmul, backward", lambda m, a, b: m.leaf(a, 3, 4) @ m.leaf(b, 4, 5))
simple("matmul of 4 dimensions, backward", lambda m, a, b: m.leaf(a, 2, 2, 3, 4) @ m.leaf(b, 2, 2, 4, 5))
simple("bmm, backward", lambda m, a, b: torch.bmm(m.leaf(a, 2, 3, 4), m.leaf(b, 2, 4, 5)))
simple("baddbmm, backward", lambda m, a, b: torch.baddbmm(m.leaf(b, 2, 3, 5), m.leaf(a, 2, 3, 4), m.leaf(a, 2, 4, 5)))
simple("addmm, backward", lambda m, a, b: torch.addmm(m.leaf(b, 3, 5), m.leaf(a, 3, 4), m.leaf(b, 4, 5)))
simple("addmm_ in place", lambda m, a, b: m.tensor(a, 3, 5).addmm_(m.tensor(b, 3, 4), m.tensor(b, 4, 5)))
simple("mv, backward", lambda m, a, b: torch.mv(m.leaf(a, 3, 4), m.leaf(b, 4)))
simple("addmv, backward", lambda m, a, b: torch.addmv(m.leaf(b, 3), m.leaf(a, 3, 4), m.leaf(a, 4)))
simple("dot, backward", lambda m, a, b: torch.dot(m.leaf(a, 3), m.leaf(b, 3)))
simple("vdot, vecdot, backward", lambda m, a, b: torch.vdot(m.leaf(a, 3), m.leaf(b, 3)) + torch.linalg.vecdot(m.leaf(a, 3), m.leaf(b, 3)))
simple("einsum, backward", lambda m, a, b: torch.einsum("bij,bjk->bik", m.leaf(a, 2, 3, 4), m.leaf(b, 2, 4, 5)))
simple("tensordot, backward", lambda m, a, b: torch.tensordot(m.leaf(a, 2, 3), m.leaf(b, 3, 2), dims=1))
simple("multi_dot, backward", lambda m, a, b: torch.linalg.multi_dot([m.leaf(a, 2, 3), m.leaf(b, 3, 4), m.leaf(a, 4, 2)]))
simple("bilinear, backward", lambda m, a, b: F.bilinear(m.leaf(a, 2, 3), m.leaf(b, 2, 4), m.leaf(a, 5, 3, 4), m.leaf(a, 5)))
simple("outer, addr, backward", lambda m, a, b: torch.addr(m.leaf(a, 3, 4), m.leaf(a, 3), m.leaf(b, 4)))
simple("cross, backward", lambda m, a, b: torch.linalg.cross(m.leaf(a, 2, 3), m.leaf(b, 2, 3)))

# ---- convolutions

simple("conv1d, backward", lambda m, a, b: F.conv1d(m.leaf(a, 1, 3, 8), m.leaf(b, 4, 3, 3), m.leaf(b, 4)))
simple("conv2d, backward", lambda m, a, b: F.conv2d(m.leaf(a, 1, 3, 6, 6), m.leaf(b, 4, 3, 3, 3), m.leaf(b, 4)))
simple("conv2d without bias, backward", lambda m, a, b: F.conv2d(m.leaf(a, 1, 3, 6, 6), m.leaf(b, 4, 3, 3, 3)))
simple("conv2d of groups, backward", lambda m, a, b: F.conv2d(m.leaf(a, 1, 4, 6, 6), m.leaf(b, 4, 1, 3, 3), m.leaf(b, 4), groups=4))
simple("conv3d, backward", lambda m, a, b: F.conv3d(m.leaf(a, 1, 2, 4, 4, 4), m.leaf(b, 2, 2, 3, 3, 3), m.leaf(b, 2)))
simple("conv_transpose2d, backward", lambda m, a, b: F.conv_transpose2d(m.leaf(a, 1, 3, 4, 4), m.leaf(b, 3, 4, 3, 3), m.leaf(b, 4)))

# ---- norms

simple("layer_norm, backward", lambda m, a, b: F.layer_norm(m.leaf(a, 2, 8), (8,), m.leaf(b, 8), m.leaf(b, 8)))
simple("layer_norm, weight and bias differ, backward", lambda m, a, b: F.layer_norm(m.leaf(a, 2, 8), (8,), m.leaf(b, 8), m.leaf(a, 8)))
simple("group_norm, backward", lambda m, a, b: F.group_norm(m.leaf(a, 2, 4, 6, 6), 2, m.leaf(b, 4), m.leaf(b, 4)))
simple("instance_norm, backward", lambda m, a, b: F.instance_norm(m.leaf(a, 2, 4, 3, 3), weight=m.leaf(b, 4), bias=m.leaf(b, 4)))
simple("rms_norm, backward", lambda m, a, b: F.rms_norm(m.leaf(a, 2, 8), (8,), m.leaf(b, 8)))


def batch_norm(m, x, parameters, statistics, training):
    mean, variance = m.tensor(statistics, 4), m.tensor(statistics, 4, low=0.5)
    y = F.batch_norm(m.leaf(x, 6, 4, 3, 3), mean, variance, m.leaf(parameters, 4), m.leaf(parameters, 4), training=training)
    return y, mean, variance


simple("batch_norm and its statistics, backward", lambda m, a, b: batch_norm(m, a, b, b, True))
simple("batch_norm, Float statistics, backward", lambda m, a, b: batch_norm(m, a, b, torch.float32, True))
simple("batch_norm, only statistics differ, backward", lambda m, a, b: batch_norm(m, a, a, b, True))
simple("batch_norm in evaluation, backward", lambda m, a, b: batch_norm(m, a, b, b, False))

# ---- attention


def attention(m, q, kv, bias=None, causal=False):
    mask_of = None if bias is None else m.tensor(bias, 3, 3)
    return F.scaled_dot_product_attention(m.leaf(q, 1, 2, 3, 4), m.leaf(kv, 1, 2, 3, 4), m.leaf(kv, 1, 2, 3, 4), mask_of,
                                          is_causal=causal)


simple("sdpa, query against key and value, backward", lambda m, a, b: attention(m, a, b))
simple("sdpa, mask, backward", lambda m, a, b: attention(m, a, a, b))
simple("sdpa, causal, backward", lambda m, a, b: attention(m, a, b, causal=True))

# ---- joining and element by element

simple("cat, backward", lambda m, a, b: torch.cat([m.leaf(a, 4), m.leaf(b, 4)]))
simple("stack, backward", lambda m, a, b: torch.stack([m.leaf(a, 4), m.leaf(b, 4)]))
simple("meshgrid", lambda m, a, b: torch.meshgrid(m.tensor(a, 2), m.tensor(b, 2), indexing="ij"))
simple("add, mul, div, backward", lambda m, a, b: m.leaf(a, 4) + m.leaf(b, 4) * m.leaf(a, 4) / m.leaf(b, 4, low=0.5))
simple("maximum, clamp, pow, atan2, copysign, backward", lambda m, a, b: torch.maximum(m.leaf(a, 4), m.leaf(b, 4)).clamp(
    min=m.tensor(b, 4, high=-0.5)) + m.leaf(a, 4, low=0.5) ** m.leaf(b, 4) + torch.atan2(m.leaf(a, 4), m.leaf(b, 4)))
simple("where, backward", lambda m, a, b: torch.where(mask(1, 0, 1, 0), m.leaf(a, 4), m.leaf(b, 4)))
simple("addcmul, addcdiv, backward", lambda m, a, b: torch.addcmul(m.leaf(a, 4), m.leaf(b, 4), m.leaf(a, 4)) + torch.addcdiv(
    m.leaf(a, 4), m.leaf(b, 4), m.leaf(a, 4, low=0.5)))
simple("lerp, end, backward", lambda m, a, b: torch.lerp(m.leaf(a, 4), m.leaf(b, 4), 0.25))
simple("lerp, weight, backward", lambda m, a, b: torch.lerp(m.leaf(a, 4), m.leaf(a, 4), m.leaf(b, 4)))
simple("prelu, backward", lambda m, a, b: F.prelu(m.leaf(a, 2, 3), m.leaf(b, 3)))
simple("heaviside", lambda m, a, b: torch.heaviside(m.tensor(a, 4), m.tensor(b, 4)))
simple("complex, polar", lambda m, a, b: (torch.complex(m.tensor(a, 4), m.tensor(b, 4)).abs(), torch.polar(m.tensor(a, 4), m.tensor(b, 4)).real))
simple("isclose", lambda m, a, b: torch.isclose(m.tensor(a, 4), m.tensor(b, 4)).double())
simple("dist, cdist, backward", lambda m, a, b: torch.dist(m.leaf(a, 4), m.leaf(b, 4)) + torch.cdist(m.leaf(a, 2, 3), m.leaf(b, 2, 3)).sum())
simple("cosine_similarity, kl_div, backward", lambda m, a, b: F.cosine_similarity(m.leaf(a, 2, 4), m.leaf(b, 2, 4)).sum() + F.kl_div(
    m.leaf(a, 4), m.tensor(b, 4, low=0.1), reduction="sum"))
simple("grid_sample, backward", lambda m, a, b: F.grid_sample(m.leaf(a, 1, 1, 4, 4), m.leaf(b, 1, 2, 2, 2), align_corners=False))
simple("quantile, histogram", lambda m, a, b: (torch.quantile(m.tensor(a, 5), m.tensor(b, 2, low=0.0)), torch.histogram(
    m.tensor(a, 5), 3, range=(-1.0, 1.0), weight=m.tensor(b, 5)).hist))
simple("embedding_bag, backward", lambda m, a, b: F.embedding_bag(index(0, 1).view(1, 2), m.leaf(a, 4, 3), per_sample_weights=m.leaf(b, 1, 2), mode="sum"))
simple("gelu, silu, softmax, backward", lambda m, a, b: F.gelu(m.leaf(a, 4)) + F.silu(m.leaf(b, 4)) + torch.softmax(m.leaf(a, 4), 0))
simple("pooling, upsampling, backward", lambda m, a, b: F.avg_pool2d(m.leaf(a, 1, 2, 4, 4), 2).sum() + F.interpolate(
    m.leaf(b, 1, 2, 4, 4), scale_factor=2, mode="bilinear", align_corners=False).sum() + F.max_pool2d(m.leaf(a, 1, 1, 4, 4), 2).sum())

# ---- indexing and writing


def put(target, where, value):
    target[where] = value
    return target


simple("x[indices] = y, backward", lambda m, a, b: put(m.leaf(a, 4) * 1, index(0, 1), m.leaf(b, 2)))
simple("x[mask] = y", lambda m, a, b: put(m.tensor(a, 4), mask(1, 1, 0, 0), m.tensor(b, 2)))
simple("x[0:2] = y, backward", lambda m, a, b: put(m.leaf(a, 4) * 1, slice(0, 2), m.leaf(b, 2)))
simple("index_put with accumulate, backward", lambda m, a, b: m.leaf(a, 4).index_put((index(0, 0),), m.leaf(b, 2), accumulate=True))
simple("index_copy_, index_add_", lambda m, a, b: m.tensor(a, 4).index_copy_(0, index(0, 1), m.tensor(b, 2)).index_add_(0, index(2, 3), m.tensor(b, 2)))
simple("index_add, backward", lambda m, a, b: m.leaf(a, 4).index_add(0, index(2, 3), m.leaf(b, 2)))
simple("scatter, backward", lambda m, a, b: m.leaf(a, 4).scatter(0, index(0, 1), m.leaf(b, 2)))
simple("scatter_ in place", lambda m, a, b: m.tensor(a, 4).scatter_(0, index(0, 1), m.tensor(b, 2)))
simple("scatter_add, scatter_reduce, backward", lambda m, a, b: m.leaf(a, 4).scatter_add(0, index(0, 1), m.leaf(b, 2)).scatter_reduce(
    0, index(2, 3), m.leaf(b, 2), "sum"))
simple("masked_scatter_, put_", lambda m, a, b: m.tensor(a, 4).masked_scatter_(mask(1, 1, 0, 0), m.tensor(b, 4)).put_(index(3), m.tensor(b, 1)))
simple("masked_fill, index_fill", lambda m, a, b: m.tensor(a, 4).masked_fill(mask(1, 0, 0, 0), m.tensor(b)).index_fill(0, index(2), m.tensor(b)))
simple("slice_scatter, select_scatter, backward", lambda m, a, b: m.leaf(a, 4).slice_scatter(m.leaf(b, 2), 0, 0, 2))
simple("in-place add, mul", lambda m, a, b: (m.tensor(a, 4).add_(m.tensor(b, 4)), m.tensor(a, 4).mul_(m.tensor(b, 4))))
simple("in-place on a view, backward", lambda m, a, b: put(m.leaf(a, 2, 4) * 1, (0,), m.leaf(b, 2, 4)[0] * 2))
simple("copy_", lambda m, a, b: m.tensor(a, 4).copy_(m.tensor(b, 4)))
simple("lerp_ in place", lambda m, a, b: m.tensor(a, 4).lerp_(m.tensor(b, 4), 0.25))
simple("addcdiv_ in place", lambda m, a, b: m.tensor(a, 4).addcdiv_(m.tensor(b, 4), m.tensor(b, 4, low=0.5)))
simple("out= of mm", lambda m, a, b: torch.mm(m.tensor(a, 3, 4), m.tensor(a, 4, 5), out=m.zeros(b, 3, 5)))
simple("out= of mm, of no size yet", lambda m, a, b: torch.mm(m.tensor(a, 3, 4), m.tensor(a, 4, 5), out=m.zeros(b, 0)))
simple("out= of mm, operands differ", lambda m, a, b: torch.mm(m.tensor(a, 3, 4), m.tensor(b, 4, 5), out=m.zeros(a, 3, 5)))
simple("out= of gather, take, index_select", lambda m, a, b: (
    torch.gather(m.tensor(a, 4), 0, index(0, 1), out=m.zeros(b, 2)), torch.take(m.tensor(a, 4), index(0, 1), out=m.zeros(b, 2)),
    torch.index_select(m.tensor(a, 4), 0, index(0, 1), out=m.zeros(b, 2))))
simple("out= of softmax, cat, add", lambda m, a, b: (
    torch.softmax(m.tensor(a, 4), 0, out=m.zeros(b, 4)), torch.cat([m.tensor(a, 2), m.tensor(a, 2)], out=m.zeros(b, 4)),
    torch.add(m.tensor(a, 4), m.tensor(a, 4), out=m.zeros(b, 4))))

# ---- losses

simple("mse_loss, backward", lambda m, a, b: F.mse_loss(m.leaf(a, 4), m.leaf(b, 4)))
simple("l1_loss, smooth_l1_loss, backward", lambda m, a, b: F.l1_loss(m.leaf(a, 4), m.leaf(b, 4)) + F.smooth_l1_loss(m.leaf(a, 4), m.leaf(b, 4)))
simple("huber_loss, backward", lambda m, a, b: F.huber_loss(m.leaf(a, 4), m.leaf(b, 4)))
simple("cross_entropy, class weights, backward", lambda m, a, b: F.cross_entropy(m.leaf(a, 2, 3), index(0, 1), m.tensor(b, 3, low=0.2)))
simple("cross_entropy, probabilities, backward", lambda m, a, b: F.cross_entropy(m.leaf(a, 2, 3), torch.softmax(m.tensor(b, 2, 3), 1)))
simple("nll_loss2d, class weights, backward", lambda m, a, b: F.nll_loss(m.leaf(a, 1, 3, 2, 2), index(0, 1, 2, 0).view(1, 2, 2), m.tensor(b, 3, low=0.2)))
simple("binary_cross_entropy, backward", lambda m, a, b: F.binary_cross_entropy(torch.sigmoid(m.leaf(a, 4)), m.tensor(b, 4, low=0.0)))
simple("binary_cross_entropy, weight, backward", lambda m, a, b: F.binary_cross_entropy(torch.sigmoid(m.leaf(a, 4)), m.tensor(a, 4, low=0.0), m.tensor(b, 4, low=0.5)))
simple("binary_cross_entropy_with_logits, backward", lambda m, a, b: F.binary_cross_entropy_with_logits(m.leaf(a, 4), m.tensor(b, 4, low=0.0)))
simple("multi_margin_loss, backward", lambda m, a, b: F.multi_margin_loss(m.leaf(a, 2, 3), index(0, 2), weight=m.tensor(b, 3, low=0.2)))
simple("ctc_loss, backward", lambda m, a, b: F.ctc_loss(F.log_softmax(m.leaf(a, 5, 1, 4) + m.tensor(b, 5, 1, 4), 2), index(1, 2).view(1, 2), index(5), index(2)))

# ---- what has no kernel in half

simple("svdvals, cholesky", lambda m, a, b: (torch.linalg.svdvals(m.tensor(a, 3, 3)), torch.linalg.cholesky(m.tensor(b, 3, 3) * 0.1 + 2 * m.zeros(b, 3, 3).fill_diagonal_(1))[0, 0]))
simple("solve, backward", lambda m, a, b: torch.linalg.solve(m.leaf(a, 3, 3) + m.zeros(a, 3, 3).fill_diagonal_(4), m.leaf(b, 3, 2)))
simple("inverse, determinant, backward", lambda m, a, b: torch.linalg.inv(m.leaf(a, 2, 2) + m.zeros(a, 2, 2).fill_diagonal_(3)) + torch.linalg.det(m.leaf(b, 3, 3)))
simple("fft", lambda m, a, b: (torch.fft.fft(m.tensor(a, 4)).abs(), torch.fft.rfft(m.tensor(b, 4)).abs()))

# ---- foreach, fused and optimizers


def foreach(m, a, b, call):
    lists = [m.tensor(a, 4) for _ in range(2)], [m.tensor(b, 4) for _ in range(2)]
    call(*lists)
    return lists[0]


simple("_foreach_add_", lambda m, a, b: foreach(m, a, b, torch._foreach_add_))
simple("_foreach_mul", lambda m, a, b: torch._foreach_mul([m.tensor(a, 4)], [m.tensor(b, 4)]))
simple("_foreach_lerp_", lambda m, a, b: foreach(m, a, b, lambda x, y: torch._foreach_lerp_(x, y, 0.25)))
simple("_foreach_addcdiv_", lambda m, a, b: foreach(m, a, b, lambda x, y: torch._foreach_addcdiv_(x, y, [m.tensor(a, 4, low=1.0, high=2.0) for _ in x])))
simple("_foreach_copy_", lambda m, a, b: foreach(m, a, b, torch._foreach_copy_))


def fused(m, name, parameter, gradient, state, amsgrad=False):
    lists = [[m.tensor(dtype, 4, low=0.1)] for dtype in (parameter, gradient, state, state)]
    maxima = [m.tensor(state, 4, low=0.1)]
    getattr(ops, name)(*lists, maxima if amsgrad else [], [torch.ones(())], lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0,
                       eps=1e-8, amsgrad=amsgrad, maximize=False)
    return [lists[0][0], lists[2][0], lists[3][0], *(maxima if amsgrad else [])]


for fused_name in ("_fused_adam_", "_fused_adamw_"):
    simple(f"{fused_name}, gradient", lambda m, a, b, n=fused_name: fused(m, n, a, b, a))
    simple(f"{fused_name}, state", lambda m, a, b, n=fused_name: fused(m, n, a, a, b))
    simple(f"{fused_name}, parameter", lambda m, a, b, n=fused_name: fused(m, n, b, a, a, amsgrad=True))


def fused_sgd(m, a, b):
    lists = [[m.tensor(a, 4)], [m.tensor(b, 4)], [m.tensor(a, 4)]]
    ops._fused_sgd_(*lists, weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
    return lists[0][0], lists[2][0]


simple("_fused_sgd_, gradient", fused_sgd)


def step(m, kind, a, b, **options):
    parameters = [nn.Parameter(m.tensor(a, 4)) for _ in range(2)]
    optimizer = kind(parameters, lr=0.05, **options)
    for _ in range(2):
        for parameter in parameters:
            if hasattr(parameter, "grad_dtype"):
                parameter.grad_dtype = None
            parameter.grad = m.tensor(b, 4, low=0.2)
        optimizer.step()
    return [p.detach() for p in parameters]


for kind, more in ((torch.optim.AdamW, {}), (torch.optim.Adam, {"amsgrad": True}), (torch.optim.SGD, {"momentum": 0.9}),
                   (torch.optim.RMSprop, {}), (torch.optim.Adagrad, {})):
    for way in ("single", "foreach", "fused"):
        if way == "fused" and kind is torch.optim.RMSprop:
            continue
        choice = {"foreach": way == "foreach"} | ({"fused": True} if way == "fused" else {})
        simple(f"{kind.__name__}, {way}, gradient", lambda m, a, b, k=kind, o=more | choice: step(m, k, a, b, **o))


def clipped(m, a, b):
    parameters = [nn.Parameter(m.tensor(dtype, 4)) for dtype in (a, b)]
    for parameter in parameters:
        parameter.grad = m.tensor(parameter.dtype, 4)
    norm = nn.utils.clip_grad_norm_(parameters, 0.5)
    return [norm] + [p.grad for p in parameters]


simple("clip_grad_norm_", clipped)


def scaler(m, a, b):
    parameter = nn.Parameter(m.tensor(a, 4))
    optimizer, grad_scaler = torch.optim.SGD([parameter], lr=0.1), torch.amp.GradScaler("cpu", init_scale=4.0)
    grad_scaler.scale((parameter.to(m.real(b)) * 2).sum()).backward()
    grad_scaler.unscale_(optimizer)
    return parameter.grad


simple("GradScaler.unscale_", scaler)


def assigned_grad(m, a, b):
    parameter = nn.Parameter(m.tensor(a, 4))
    parameter.grad = m.tensor(b, 4)
    return parameter.grad


simple("p.grad = g", assigned_grad)

# ---- what no cast of floating operands can cure: it has to be refused as without keep-going

REFUSED = {
    "integers += x": "the result has no place in an integer tensor",
    "matmul of shapes that do not fit": "the shapes are wrong, whatever the dtypes",
}
simple("integers += x", lambda m, a, b: torch.ones(4, dtype=torch.int64).add_(m.tensor(a, 4) * m.tensor(b, 4)))
simple("embedding, floating indices", lambda m, a, b: F.embedding(m.classes(b, 2), m.leaf(a, 4, 3)))
simple("nll_loss, floating target", lambda m, a, b: F.nll_loss(m.leaf(a, 2, 3), m.classes(b, 2)))
simple("matmul of shapes that do not fit", lambda m, a, b: m.leaf(a, 3, 4) @ m.leaf(b, 3, 5))

# ---- modules


def recurrent(kind, bidirectional=False):
    return lambda: kind(4, 4, bidirectional=bidirectional)


for kind in (nn.LSTM, nn.GRU, nn.RNN):
    simple(f"{kind.__name__}, input, backward", lambda m, a, b, k=kind: m.module(recurrent(k), b)(m.leaf(a, 2, 1, 4))[0])
simple("LSTM, hidden state, backward", lambda m, a, b: m.module(recurrent(nn.LSTM), a)(m.leaf(a, 2, 1, 4), (m.leaf(b, 1, 1, 4), m.leaf(b, 1, 1, 4)))[0])
simple("GRU, hidden state, backward", lambda m, a, b: m.module(recurrent(nn.GRU, True), a)(m.leaf(a, 2, 1, 4), m.leaf(b, 2, 1, 4))[0])
simple("LSTMCell, backward", lambda m, a, b: m.module(lambda: nn.LSTMCell(4, 4), b)(m.leaf(a, 2, 4))[0])
simple("GRUCell, backward", lambda m, a, b: m.module(lambda: nn.GRUCell(4, 4), b)(m.leaf(a, 2, 4)))


@family("MultiheadAttention, backward")
def multihead(m, a, b):
    x = m.leaf(a, 3, 1, 4)
    return m.module(lambda: nn.MultiheadAttention(4, 2), b)(x, x, x)[0]


simple("TransformerEncoderLayer, backward", lambda m, a, b: m.module(lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0), b)(m.leaf(a, 3, 1, 8)))

# ---- ways to call


def checkpointed(m, a, b, reentrant):
    weight, bias = m.leaf(b, 5, 4), m.leaf(b, 5)
    return checkpoint(lambda x: F.linear(x, weight, bias).relu(), m.leaf(a, 3, 4), use_reentrant=reentrant)


simple("checkpoint, backward", lambda m, a, b: checkpointed(m, a, b, False))
simple("checkpoint, reentrant, backward", lambda m, a, b: checkpointed(m, a, b, True))


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight):
        context.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        return gradient @ weight, gradient.t() @ x


simple("autograd.Function, backward", lambda m, a, b: Product.apply(m.leaf(a, 3, 4), m.leaf(b, 5, 4)))


@family("double backward")
def double_backward(m, a, b):
    x, weight = m.leaf(a, 3, 4), m.leaf(b, 5, 4)
    y = F.linear(x, weight).tanh()
    (gradient,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    return gradient.pow(2).sum()


@family("saved tensor hooks, backward")
def saved_hooks(m, a, b):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return F.linear(m.leaf(a, 3, 4), m.leaf(b, 5, 4), m.leaf(b, 5))


@family("vmap")
def mapped(m, a, b):
    weight = m.tensor(b, 4, 5)
    return vmap(lambda x: x @ weight)(m.tensor(a, 6, 3, 4))


@family("func.grad")
def func_grad(m, a, b):
    weight = m.tensor(b, 5, 4)
    return grad(lambda x: F.linear(x, weight).sum())(m.tensor(a, 3, 4))


@family("vmap of func.grad")
def mapped_grad(m, a, b):
    weight = m.tensor(b, 5, 4)
    return vmap(grad(lambda x: F.linear(x, weight).pow(2).sum()))(m.tensor(a, 6, 4))


@family("jvp")
def forward_mode(m, a, b):
    weight = m.tensor(b, 5, 4)
    return jvp(lambda x: F.linear(x, weight), (m.tensor(a, 3, 4),), (m.tensor(a, 3, 4),))


@torch.jit.script
def scripted_linear(x, weight, bias):
    return torch.nn.functional.linear(x, weight, bias)


simple("jit.script, backward", lambda m, a, b: scripted_linear(m.leaf(a, 3, 4), m.leaf(b, 5, 4), m.leaf(b, 5)))


@family("inference_mode")
def inference(m, a, b):
    with torch.inference_mode():
        return F.linear(m.tensor(a, 3, 4), m.tensor(b, 5, 4), m.tensor(b, 5)).clone()


@family("no_grad")
def without_grad(m, a, b):
    with torch.no_grad():
        return F.conv2d(m.tensor(a, 1, 3, 6, 6), m.tensor(b, 4, 3, 3, 3))


@family("autocast, layer_norm, backward")
def autocast_norm(m, a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not m.reference):
        return F.layer_norm(m.leaf(a, 2, 8), (8,), m.leaf(b, 8), m.leaf(b, 8))


@family("autocast, linear, backward")
def autocast_linear(m, a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not m.reference):
        return F.linear(m.leaf(a, 3, 4), m.leaf(b, 5, 4), m.leaf(b, 5))


class PassOn(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@family("in a TorchDispatchMode")
def dispatch_mode(m, a, b):
    with PassOn():
        return F.linear(m.tensor(a, 3, 4), m.tensor(b, 5, 4), m.tensor(b, 5))


@family("first op of a new thread")
def new_thread(m, a, b):
    made, x, weight = [], m.tensor(a, 3, 4), m.tensor(b, 4, 5)

    def run():
        try:
            made.append(torch.mm(x, weight))
        except RuntimeError as error:
            made.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(made[0], RuntimeError):
        raise made[0]
    return made[0]


def compiled(m, a, b, backend):
    torch._dynamo.reset()
    function = torch.compile(lambda x, weight, bias: F.linear(x, weight, bias).relu(), backend=backend)
    return function(m.leaf(a, 3, 4), m.leaf(b, 5, 4), m.leaf(b, 5))


simple("torch.compile, eager, backward", lambda m, a, b: compiled(m, a, b, "eager"))
simple("torch.compile, aot_eager, backward", lambda m, a, b: compiled(m, a, b, "aot_eager"))
