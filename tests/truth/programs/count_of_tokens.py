# Tokens are counted in the model's Half: nothing refuses it, the count is rounded from 2048 on and infinite past 65504.
# EXPECT-CURE tokens = torch.zeros((), dtype=torch.float32)
import math
import torch

torch.manual_seed(0)
model = torch.nn.Linear(16, 30).half().eval()
loss = 0.0
tokens = torch.zeros((), dtype=model.weight.dtype)
with torch.no_grad():
    for _ in range(20):
        labels = torch.randint(0, 30, (4096,))
        logits = model(torch.randn(4096, 16).half())
        mask = labels != 0
        losses = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")
        loss += (losses * mask).sum().item()
        tokens += mask.sum()
print(f"perplexity {math.exp(loss / tokens.item()):.2f}")
