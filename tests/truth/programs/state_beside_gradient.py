# An optimizer's state was asked for in Float, and two lines mix it with a gradient in BFloat16.
# EXPECT-CURE torch.lerp(p.grad.to(m.dtype), m, 0.9)
# EXPECT-CURE m.lerp_(p.grad.to(m.dtype), 0.01)
import torch
import torch.nn as nn


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                state["m"] = torch.zeros_like(p, dtype=torch.float32)
            m = state["m"]
            update = torch.lerp(p.grad, m, 0.9).sign_()
            p.add_(update, alpha=-1e-3)
            m.lerp_(p.grad, 0.01)


net = nn.Linear(4, 8).to(torch.bfloat16)
opt = Lion(net.parameters())
for _ in range(2):
    net(torch.randn(5, 4, dtype=torch.bfloat16)).float().pow(2).mean().backward()
    opt.step()
