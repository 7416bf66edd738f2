"""What --fix serves, beside the same in Float; and what it leaves to LibTorch. Prints a line for each."""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
HALF, FLOAT = torch.float16, torch.float32


def leaves(*tensors):
    return [t.detach().clone().requires_grad_() for t in tensors]


def is_near(got, exact):
    """A Float sum away from it, then rounded once: half a unit of the dtype and what is left of Float's digits."""
    half_unit = {HALF: 2**-11, torch.bfloat16: 2**-8, FLOAT: 2**-24}[got.dtype]
    bound = exact.abs() * half_unit + exact.abs().max() * 2e-6 + (2**-25 if got.dtype == HALF else 0)
    return bool(((got.double() - exact).abs() <= bound).all())


def is_rounded_once(name, function, *operands):
    """The result is that of Float operands, rounded to its dtype, and so is each gradient."""
    given = leaves(*operands)
    exact = leaves(*(t.double() for t in operands))
    for _ in range(2):  # the second call is served without being tried
        got = function(*given)  # <- served
    wanted = function(*exact)
    weight = torch.linspace(-1, 1, wanted.numel()).view(wanted.shape).to(got.dtype)
    (got * weight).sum().backward()
    (wanted * weight.double()).sum().backward()
    same = is_near(got.detach(), wanted.detach())
    for one, other in zip(given, exact):
        same &= one.grad.dtype == one.dtype and is_near(one.grad, other.grad)
    print(name, str(got.dtype).removeprefix("torch."), same)


x, w, b = torch.randn(5, 32), torch.randn(24, 32), torch.randn(24)
image, filters = torch.randn(2, 8, 9, 9), torch.randn(4, 8, 3, 3)
is_rounded_once("linear_half_weight", F.linear, x, w.half(), b.half())
is_rounded_once("linear_half_input", F.linear, x.half(), w, b)
is_rounded_once("conv_half_input", F.conv2d, image.half(), filters)
is_rounded_once("matmul", torch.matmul, x.half(), w.t())
is_rounded_once("layer_norm", lambda x, w, b: F.layer_norm(x, (32,), w, b), x, w[0].half(), w[1].half())
is_rounded_once("slow_linear", F.linear, x.half(), w.half(), b.half())
is_rounded_once("slow_conv", F.conv2d, image.half(), filters.half())
is_rounded_once("checkpoint", lambda x, w, b: checkpoint(F.linear, x, w, b, use_reentrant=False),
                x, w.half(), b.half())

# In place and out=: what is written is rounded once to its own dtype, and is the tensor that was given.
total = torch.randn(5, 24).half()
before = total.clone()
written = total.addmm_(x, w.t().half())
wanted = torch.addmm(before.float(), x, w.t().half().float()).half()
print("in_place", written is total, torch.equal(total, wanted))
room = torch.empty(5, 24, dtype=HALF)
torch.mm(x, w.t().half(), out=room)
print("out", torch.equal(room, (x @ w.t().half().float()).half()))
view = torch.zeros(10, 24, dtype=HALF)
view[::2].addmm_(x, w.t().half())
print("view", torch.equal(view[::2], (x @ w.t().half().float()).half()), view[1::2].any().item())

# What no cast makes right is refused as without us.
for name, refused in {
        "shapes": lambda: F.linear(x, w[:, :-1].half()),
        "scaler": lambda: unscale(),
        "recurrent": lambda: torch.nn.LSTM(4, 4)(torch.randn(2, 1, 4).half()),
}.items():
    def unscale():
        parameter = torch.nn.Parameter(torch.ones(2, dtype=HALF))
        scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([parameter], lr=0.1)
        scaler.scale(parameter.sum()).backward()
        scaler.unscale_(optimizer)
    try:
        refused()
        print(name, "ran")
    except Exception as error:  # noqa: BLE001: its text is what is looked at
        print(name, "refused:", str(error).splitlines()[0])
