"""Uses LibTorch in every way that an observer could disturb; prints "part digest" for each, of all bits that came out.

Ends with status 3, an unraisable warning on stderr and a traceback, which are to be the same with and without tracing.
"""

import collections
import hashlib
import os
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import gloo

PARTS = {}


def part(function):
    PARTS[function.__name__] = function
    return function


def digest(value, into):
    if isinstance(value, torch.Tensor):
        into.update(f"{value.dtype} {tuple(value.shape)} {value.requires_grad}".encode())
        into.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, dict):
        digest(sorted(value.items()), into)
    elif isinstance(value, (list, tuple)):
        into.update(f"{type(value).__name__} {len(value)}".encode())
        for element in value:
            digest(element, into)
    else:
        into.update(repr(value).encode())


def small_model():
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 2))


def trained(autocast=False, optimizer=torch.optim.AdamW):
    model = small_model()
    steps = optimizer(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=autocast, init_scale=8.0)
    losses = []
    for _ in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = model(torch.randn(3, 4)).float().square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(steps)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(steps)
        scaler.update()
        steps.zero_grad()
        losses.append(loss.detach())
    return losses, model.state_dict()


@part
def training():
    return trained(), trained(optimizer=torch.optim.SGD), trained(optimizer=torch.optim.Adam)


@part
def random_state():
    return torch.get_rng_state(), torch.randn(3)


@part
def autocast():
    return trained(autocast=True)


@part
def checkpointed():
    out = []
    for reentrant in (True, False):
        model, x = small_model(), torch.randn(3, 4, requires_grad=True)
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()
        out.append([x.grad, *(p.grad for p in model.parameters())])
    return out


@part
def functorch():
    from torch.func import functional_call, grad, jacrev, vmap
    model, x = nn.Linear(4, 1), torch.randn(5, 4)
    weights = {k: v.detach() for k, v in model.named_parameters()}

    def loss(w, row):
        return functional_call(model, w, (row,)).square().sum()

    return vmap(grad(loss), in_dims=(None, 0))(weights, x), jacrev(torch.sin)(x), vmap(lambda a: a.half() @ a.half())(x)


@part
def inference():
    model = small_model().eval()
    with torch.inference_mode():
        y = model(torch.ones(2, 4))
        y.add_(1)
    return y.is_inference(), y.clone()


@part
def sparse():
    a = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    coo, csr = a.to_sparse(), a.to_sparse_csr()
    return (coo @ a), (csr @ a), coo.coalesce().values(), (coo + coo).to_dense(), csr.crow_indices()


@part
def nested():
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    strided = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    linear = nn.Linear(3, 2)
    return linear(jagged).values(), torch.nested.to_padded_tensor(linear(strided), 0.0)


@part
def quantized():
    q = torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.quint8)
    dynamic = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 2)), {nn.Linear}, torch.qint8)
    return q.int_repr(), q.dequantize(), dynamic(torch.ones(1, 4))


@part
def without_data():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode() as mode:
        fake = nn.Linear(4, 2)(mode.from_tensor(torch.ones(3, 4)).half().float())
    meta = nn.Linear(4, 2, device="meta")(torch.ones(3, 4, device="meta"))
    return fake.shape, fake.dtype, type(fake).__name__, meta.shape, meta.device


class Logged(torch.Tensor):
    """A wrapper subclass that logs the ops that reach it."""

    log = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append(str(func))
        unwrapped = [a.inner if isinstance(a, Logged) else a for a in args]
        out = func(*unwrapped, **(kwargs or {}))
        return Logged(out) if isinstance(out, torch.Tensor) else out


@part
def subclass():
    x = Logged(torch.arange(6.0).reshape(2, 3))
    y = (x.t() * 2).relu().sum(0).to(torch.float64)
    return y.inner, Logged.log


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@part
def dispatch_mode():
    with Counting() as mode:
        small_model()(torch.ones(2, 4)).sum().backward()
    return mode.seen


def profiled():
    from torch.profiler import ProfilerActivity, profile
    model = small_model()
    x = torch.ones(2, 4).t().contiguous().view(2, 4)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        model(x.expand(2, 4).reshape(2, 4)).sum().backward()
    return sorted((e.key, e.count, str(e.input_shapes)) for e in profiler.key_averages(group_by_input_shape=True))


@part
def profiler():
    """Views are ops too for a profiler that comes while the tracer hides them; and again after it left."""
    first, second = profiled(), profiled()
    names = collections.Counter()
    with torch.autograd.profiler.profile() as old:
        torch.ones(2, 3).t().unsqueeze(0).add(1)
    names.update(e.name for e in old.function_events)
    assert any("aten::t" == key for key, *_ in first), first
    return first, second, sorted(names.items())


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


@part
def autograd_function():
    x = torch.randn(4, requires_grad=True)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    return g, gg


@part
def hooks():
    model, seen = small_model(), []
    model[0].register_forward_hook(lambda module, args, out: seen.append(out.detach().clone()))
    model[0].weight.register_hook(lambda grad: grad * 2)
    model(torch.ones(2, 4)).sum().backward()
    return seen, model[0].weight.grad


@part
def errors():
    out = []
    for broken in (lambda: nn.Linear(4, 2).half()(torch.ones(1, 4)), lambda: torch.ones(2) @ torch.ones(3),
                   lambda: torch.ones(2).index_put_((torch.tensor([0]),), torch.ones(1).half())):
        try:
            broken()
        except (RuntimeError, NotImplementedError) as error:
            out.append(f"{type(error).__name__}: {error}")
    assert len(out) == 3, out
    return out


@part
def distributed():
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    model = nn.parallel.DistributedDataParallel(small_model())
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()
    total = torch.ones(3)
    dist.all_reduce(total)
    gloo.leave()
    return [p.grad for p in model.parameters()], total


@part
def exported():
    program = torch.export.export(nn.Sequential(nn.Linear(4, 2), nn.ReLU()), (torch.ones(2, 4),))
    return [str(node.target) for node in program.graph.nodes], program.module()(torch.ones(2, 4))


@part
def compiled():
    out = []
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        model, x = nn.Sequential(nn.Linear(4, 4), nn.GELU()), torch.ones(2, 4, requires_grad=True)
        y = torch.compile(model, backend=backend)(x)
        y.sum().backward()
        out.append((y.detach(), x.grad, [p.grad for p in model.parameters()]))
    return out


def main():
    torch.set_num_threads(1)
    for name in sys.argv[1:] or PARTS:
        torch.manual_seed(0)
        hash_of_all = hashlib.sha256()
        result = PARTS[name]()
        digest(result, hash_of_all)
        print(name, hash_of_all.hexdigest()[:16])
        if "VERBOSE" in os.environ:
            print(result)
    warnings.warn("a warning", UserWarning)
    sys.stderr.write("a line of its own\n")
    sys.exit(3)


if __name__ == "__main__":
    main()
