"""Steps optimizers in the ways that trainers do; test_phases.py knows the lines."""

import functools
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.a = nn.Linear(4, 4, dtype=dtype)
        self.b = nn.Linear(4, 1, dtype=dtype)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))  # <- forward


class Closure:
    """As Lightning's: called by the optimizer, it does the whole step but the optimizer's own part."""

    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def training_step(self):
        with torch.no_grad():
            noise = torch.randn(2, 4)  # <- closure noise
        return (self.net(noise) - 1).square().mean()  # <- closure loss

    def __call__(self):
        loss = self.training_step()
        self.optimizer.zero_grad()
        loss.backward()
        return loss


def clipped():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(net(torch.ones(2, 4)).sum()).backward()  # <- scaled loss
        scaler.unscale_(optimizer)  # <- unscaled
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- clipped
        scaler.step(optimizer)
        scaler.update()  # <- scale updated


def wrap_closure(closure):
    return closure()


class OldOptimizer(torch.optim.Optimizer):
    """Works on .data with gradients on, as many did before torch.no_grad."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for p in group["params"]:
                scaled = p.grad.data * 0.1  # <- old arithmetic
                p.data.sub_(scaled)
        return loss


def closures():
    for make in [lambda p: torch.optim.AdamW(p, lr=0.1), OldOptimizer,
                 lambda p: torch.optim.LBFGS(p, max_iter=2)]:
        net = Net()
        optimizer = make(net.parameters())
        for _ in range(3):
            closure = functools.partial(wrap_closure, Closure(net, optimizer))
            optimizer.step(closure)  # <- step of closure


# OneTrainer binds such a function to the optimizer that it patches.
def step_parameter(self, p, group):
    with torch.no_grad():
        update = p.grad.float() * 0.1  # <- own arithmetic
        wide = p.float()
        wide.sub_(update)
        p.copy_(wide)  # <- own copy


def fused(one_at_a_time):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.step_parameter = step_parameter.__get__(optimizer, torch.optim.SGD)

    def hook(p):
        one_at_a_time(optimizer, p)
        p.grad = None

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(hook)
    for _ in range(3):
        for _ in range(2):  # accumulation would be lost in such a hook: two passes are two steps
            net(torch.ones(2, 4)).sum().backward()


def step_by_method(optimizer, p):
    optimizer.step_parameter(p, optimizer.param_groups[0])


def step_in_place(_, p):
    with torch.no_grad():
        p.sub_(p.grad, alpha=0.1)  # <- hook writes


def each_its_own():
    net = Net()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

    def hook(p):
        optimizers[p].step()  # <- hook steps
        optimizers[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(hook)
    for _ in range(3):
        net(torch.ones(2, 4)).sum().backward()


def accumulated_by_two():
    net = Net()
    first = torch.optim.SGD(net.a.parameters(), lr=0.1)
    second = torch.optim.SGD(net.b.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(2):
            net(torch.ones(2, 4)).sum().backward()
        first.step()  # <- first of two
        second.step()  # <- second of two
        first.zero_grad()
        second.zero_grad()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2  # <- own forward

    @staticmethod
    def backward(ctx, grad):
        return grad.mul(2)  # <- own backward


class Doubling(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return Doubled.apply(self.lin(x))  # <- apply


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        y.backward(grad)
        return None, x.grad


def own_functions():
    net = nn.Sequential(Doubling())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(torch.ones(2, 4, requires_grad=True)).sum().backward()
        y = Checkpoint.apply(lambda x: x.exp(), torch.ones(2, requires_grad=True))  # <- recomputed
        y.sum().backward()
        optimizer.step()


def added_up():
    """Views are no ops that are recorded: of their nodes nobody knows where the forward was."""
    weight = torch.ones(8, requires_grad=True)
    for _ in range(3):
        ((weight[:6] * 2).sum() + (weight[2:] * 3).sum()).backward()  # <- added up


if __name__ == "__main__":
    torch.manual_seed(0)
    {"closures": closures, "method": lambda: fused(step_by_method),
     "hook": lambda: fused(step_in_place), "each": each_its_own, "two": accumulated_by_two,
     "own": own_functions, "clipped": clipped, "added": added_up}[sys.argv[1]]()
