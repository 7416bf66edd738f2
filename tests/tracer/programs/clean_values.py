"""Nothing to find with value checks: an attention mask of -inf, a GradScaler whose first scale overflows."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    layer = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.float16):
            out = layer(torch.randn(2, 4))
        mask = torch.triu(torch.full((4, 4), float("-inf")), diagonal=1)
        attention = (out.float().mT @ out.float() + mask).softmax(-1)
        scaler.scale(attention.sum() + out.float().square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
