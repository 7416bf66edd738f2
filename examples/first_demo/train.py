"""Trains the last layer of a small inpainting denoiser; the layers before it are frozen, in bfloat16 to save memory.

The mask comes from an image and is Float. `--cast-mask` casts it where it is made, which is the cure.
"""

import sys

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = nn.Sequential(nn.Linear(9, 32), nn.SiLU(), nn.Linear(32, 32)).to(torch.bfloat16)
        self.frozen.requires_grad_(False)
        self.last = nn.Linear(32, 4)

    def forward(self, latents, mask, masked_latents):
        x = torch.cat([latents, mask, masked_latents], dim=-1)
        return self.last(self.frozen(x).float())


def main():
    torch.manual_seed(0)
    denoiser = Denoiser()
    optimizer = torch.optim.AdamW(denoiser.last.parameters(), lr=1e-3)
    for step in range(3):
        latents = torch.randn(2, 16, 4, dtype=torch.bfloat16)
        mask = (torch.rand(2, 16, 1) > 0.5).float()
        if "--cast-mask" in sys.argv:
            mask = mask.to(latents.dtype)
        noise = torch.randn(2, 16, 4)
        loss = nn.functional.mse_loss(denoiser(latents, mask, latents * (1 - mask)), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step + 1}/3  loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
