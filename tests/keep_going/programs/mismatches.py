"""Runs into a mismatch of dtypes in every place where a program may; a line "# <- name" is where its finding has to stand."""

import os
import sys
import threading

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.other = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, text):
        x = self.first(x)  # <- cause
        x = torch.relu(x)
        x = self.second(x)  # <- consequence
        return x.float() + self.other(text).float()  # <- second cause


def training():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(3):
        x = torch.randn(2, 4).half()
        text = torch.randn(2, 4).to(torch.float16)
        loss = net(x, text).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("loss", loss.dtype, bool(loss.isfinite()))


def recomputed():
    layer = nn.Linear(4, 4)

    def block(x):
        return layer(x).tanh()  # <- recomputed

    for reentrant in (False, True):
        for _ in range(2):
            x = torch.randn(2, 4, dtype=torch.float16, requires_grad=True)
            checkpoint(block, x, use_reentrant=reentrant).sum().backward()
            assert x.grad.dtype == torch.float16 and layer.weight.grad.dtype == torch.float32


def selective():
    from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    layer = nn.Linear(4, 4)

    def policy(context, op, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE

    for _ in range(2):
        x = torch.randn(2, 4, dtype=torch.float16, requires_grad=True)
        y = checkpoint(layer, x, use_reentrant=False,  # <- selective
                       context_fn=lambda: create_selective_checkpoint_contexts(policy))
        y.sum().backward()


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.mv(torch.ones(2, 2), torch.ones(2).half())  # <- worker


def workers():
    assert len(list(torch.utils.data.DataLoader(Rows(), num_workers=1))) == 2


def threads():
    x, weight = torch.ones(2, 3).half(), torch.ones(3, 2)

    def run():
        torch.mm(x, weight)  # <- thread

    for _ in range(2):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight):
        context.save_for_backward(x, weight)
        return torch.mm(x, weight)  # <- function forward

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        return torch.mm(gradient, weight.t()), torch.mm(x.t(), gradient)  # <- function backward


def functions():
    x, weight = torch.randn(2, 3, requires_grad=True), torch.randn(3, 2).half().requires_grad_()
    Product.apply(x, weight).sum().backward()


def modes():
    x, weight = torch.ones(2, 3).half(), torch.ones(2, 3)
    with torch.inference_mode():
        F.linear(x, weight)  # <- inference mode
    with torch.no_grad():
        F.conv1d(torch.ones(1, 2, 4), torch.ones(2, 2, 1).half())  # <- no grad
    with torch.autocast("cpu", dtype=torch.bfloat16):
        F.layer_norm(torch.ones(2, 3), (3,), torch.ones(3).half(), torch.ones(3).half())  # <- autocast
    torch.func.vmap(lambda row: row @ weight.t())(torch.ones(5, 2, 3).half())  # <- vmap


def compiled():
    weight = torch.ones(4, 4)
    for backend in ("eager", "aot_eager"):
        torch._dynamo.reset()
        function = torch.compile(lambda x: F.linear(x, weight).relu(), backend=backend)  # <- compiled
        x = torch.ones(2, 4, dtype=torch.float16, requires_grad=True)
        function(x).sum().backward()  # <- compiled backward
        assert x.grad.dtype == torch.float16


def python_side():
    nn.LSTM(4, 4)(torch.randn(2, 1, 4).half())  # <- lstm
    parameter = nn.Parameter(torch.ones(3))
    parameter.grad = torch.ones(3).half()  # <- grad
    if hasattr(parameter, "grad_dtype"):
        parameter.grad_dtype = None
    parameter.grad = torch.ones(3).half()
    torch.optim.AdamW([parameter], foreach=True).step()  # <- foreach
    half = nn.Parameter(torch.ones(3).half())
    scaler, optimizer = torch.amp.GradScaler("cpu", init_scale=4.0), torch.optim.SGD([half], lr=0.1)
    scaler.scale(half.float().sum()).backward()
    scaler.unscale_(optimizer)  # <- scaler
    assert half.grad.dtype == torch.float16 and half.grad[0] == 1
    torch.jit.script(nn.Sequential(nn.LSTM(4, 4)))(torch.randn(2, 1, 4))  # which compiles the source of what we replaced


def custom():
    """An op whose kernel is Python's; what it says of sizes stays what it is."""
    @torch.library.custom_op("of_programs::scale", mutates_args=())
    def scale(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        if x.shape[-1] != weight.shape[0]:
            raise RuntimeError("sizes differ")
        if x.dtype != weight.dtype:
            raise RuntimeError("expected scalar type Float but found Half")
        return x * weight

    x = torch.ones(2, 3)
    assert scale(x, torch.ones(3).half()).dtype == torch.float32  # <- custom
    try:
        scale(x, torch.ones(4).half())
    except RuntimeError as error:
        assert str(error) == "sizes differ", error
    else:
        raise AssertionError("it was let through")


def told_once():
    """Exceptions that are no matter of dtypes, and those that the program expects, stay what they are."""
    for operands in ((torch.ones(2, 3), torch.ones(2, 3).half()), (torch.ones(2, 3).half(), torch.ones(2, 3).half())):
        try:
            torch.mm(*operands)
        except RuntimeError as error:
            assert "shapes cannot be multiplied" in str(error), error
        else:
            raise AssertionError("it was let through")


if __name__ == "__main__":
    print("main", os.getpid())
    for name in sys.argv[1:]:
        globals()[name]()
        print(name, "done", flush=True)
