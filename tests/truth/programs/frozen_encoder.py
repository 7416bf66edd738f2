# The run ended before the prepared model was called: that accelerate opens no autocast is not
# known.
# EXPECT-CURE dtype=torch.bfloat16
# EXPECT-NOT autocast
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator


def main():
    accelerator = Accelerator(mixed_precision="bf16", cpu=True)
    encoder = nn.Sequential(nn.Linear(12, 24), nn.SiLU(), nn.Linear(24, 8))
    encoder.requires_grad_(False)
    encoder.to(accelerator.device, dtype=torch.bfloat16)
    head = nn.Linear(8, 3)
    opt = torch.optim.AdamW(head.parameters(), lr=1e-3)
    head, opt = accelerator.prepare(head, opt)
    for step in range(3):
        images = torch.randn(6, 12)
        labels = torch.randint(0, 3, (6,))
        features = encoder(images)
        logits = head(features)
        loss = F.cross_entropy(logits, labels)
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
    print(loss.item())


if __name__ == "__main__":
    main()
