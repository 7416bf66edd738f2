"""What the programs of faults do, done right: in fp16, in bf16, or with Float masters of BFloat16 weights."""
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.groups = nn.Embedding(1000, 64), nn.LayerNorm(64), nn.GroupNorm(2, 8)
        self.convolution, self.attention = nn.Conv1d(8, 8, 3, padding=1), nn.MultiheadAttention(64, 4, batch_first=True)
        self.head = nn.Linear(64, 8)

    def forward(self, tokens, mask):
        x = self.norm(self.embedding(tokens))
        x = x + self.groups(self.convolution(x))
        x = x + self.attention(x, x, x, attn_mask=mask.to(x.dtype), need_weights=False)[0]
        query = x.view(4, 8, 4, 16).transpose(1, 2)
        x = x + F.scaled_dot_product_attention(query, query, query, attn_mask=mask.to(query.dtype)).transpose(1, 2).flatten(2)
        return self.head(x).flatten(0, 1)


def train(kind):
    torch.backends.cudnn.allow_tf32 = kind != "masters"
    model = Block().cuda()
    low = torch.float16 if kind == "fp16" else torch.bfloat16
    masters = list(model.parameters())
    if kind == "masters":
        model.to(low)
        masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.AdamW(masters)
    scaler = torch.amp.GradScaler("cuda", enabled=kind == "fp16")
    average = [p.detach().clone().float() for p in masters]
    tokens, mask = torch.arange(32, device="cuda").view(4, 8), torch.zeros(8, 8, device="cuda")
    for _ in range(3):
        with torch.autocast("cuda", dtype=low, enabled=kind in ("fp16", "bf16")):
            out = model(tokens, mask)
            probability = out.float().softmax(-1)
            loss = F.cross_entropy(out.float(), tokens.flatten() % 8) + F.binary_cross_entropy_with_logits(out, torch.zeros_like(out))
        scaler.scale(loss + probability.square().mean()).backward()
        if kind == "masters":
            for master, p in zip(masters, model.parameters()):
                master.grad, p.grad = p.grad.float(), None
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(masters, 1.0)
        assert torch.isfinite(norm)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        with torch.no_grad():
            for kept, master in zip(average, masters):
                kept.lerp_(master, 0.001)
            if kind == "masters":
                for master, p in zip(masters, model.parameters()):
                    p.copy_(master)


train(sys.argv[1])
