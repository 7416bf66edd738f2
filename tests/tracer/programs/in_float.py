"""Two blocks in 16 bits, trained for two steps. The words of the command line: "float32" or "bfloat16", and what is done. STEPS is how many,
and MARK a file that gets a line after each."""

import collections
import dataclasses
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

low = getattr(torch, sys.argv[1])
done = sys.argv[2] if len(sys.argv) > 2 else ""
torch.manual_seed(0)


@dataclasses.dataclass
class Output:
    sample: torch.Tensor
    logits: torch.Tensor


class Gate(nn.Module):
    def __init__(self, is_planted):
        super().__init__()
        self.proj = nn.Linear(16, 32)
        self.is_planted = is_planted

    def forward(self, x):
        value, gate = self.proj(x).chunk(2, -1)
        if self.is_planted and done == "digits":
            value = value + 4000 - 4000  # <- digits
        if self.is_planted and done == "raises":
            raise ValueError("caught")
        if done == "dropout":
            value = F.dropout(value, 0.5) + torch.randn_like(value)
        scale = torch.ones(16, dtype=value.dtype if done == "by_hand" else low).mul_(0.3)  # made, and written
        return value * F.gelu(gate) * scale.to(low if done != "by_hand" else value.dtype)


class Block(nn.Module):
    def __init__(self, is_planted):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.gate = Gate(is_planted)
        self.out = nn.Linear(16, 16)

    def forward(self, x):
        y = self.norm(x)
        try:
            y = checkpoint(self.gate, y, use_reentrant=False) if done == "checkpoint" else self.gate(y)
        except ValueError:
            return x + self.out(y)
        x = x + self.out(y) + x.mean() * x
        if done == "kinds":
            return collections.OrderedDict(both=(x, [x * 2]), output=Output(x, x.float()), none=None, same=x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(i == 1) for i in range(2))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            if done == "by_hand" and i == 1:
                weights = {name: weight.float() for name, weight in block.named_parameters()}
                x = torch.func.functional_call(block, weights, (x.float(),)).to(low)
            elif done == "autocast_by_hand" and i == 1:
                with torch.autocast("cpu", enabled=False):
                    x = block(x.float()).to(torch.bfloat16)
            else:
                x = block(x)
            if done == "kinds":
                out, x = x, x["both"][0]
        if done == "kinds":
            print("kinds", *(str(t.dtype)[6:] for t in (out["both"][0], out["both"][1][0], out["output"].sample,
                                                         out["output"].logits, out["same"])))
        return self.head(x)


net = Net().to(low)
if done == "compiled":
    net.blocks[1].gate.compile()
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
data = torch.randn(8, 16).to(low)
wanted = torch.randn(8, 4)
in_autocast = done.startswith("autocast")
for step in range(int(os.environ.get("STEPS", "2"))):
    with torch.autocast("cpu", torch.bfloat16, enabled=in_autocast):
        predicted = net(data)
    loss = F.mse_loss(predicted.float(), wanted)
    loss.backward()
    print("dtypes", str(predicted.dtype)[6:], str(net.blocks[1].out.weight.grad.dtype)[6:])
    print(f"gradient{step}", repr(sum(p.grad.double().square().sum() for p in net.parameters() if p.grad is not None).item()))
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss{step}", repr(loss.item()))
    if "MARK" in os.environ:
        with open(os.environ["MARK"], "a") as mark:
            print(step, file=mark)
print("drawn", torch.rand(1).item())
