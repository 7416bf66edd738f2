# The line of the backward reads g twice, and dies before the second: g is made in the right dtype.
# EXPECT-CURE g.to(
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        # in more digits
        g = g.to(torch.float64)
        return g @ w.T, x.T @ g


w = torch.randn(4, 4, requires_grad=True)
Scale.apply(torch.randn(2, 4, requires_grad=True), w).sum().backward()
