# The region ends before the head: it goes on to the head's line, and what is computed in 16 bits stays so.
# EXPECT-CURE         out = head(hidden)
# EXPECT-NOT .to(
import torch
import torch.nn as nn

body, head = nn.Linear(8, 16), nn.Linear(16, 4)
optimizer = torch.optim.AdamW([*body.parameters(), *head.parameters()])
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = body(torch.randn(4, 8))
    out = head(hidden)
    nn.functional.mse_loss(out, torch.randn(4, 4)).backward()
    optimizer.step()
    optimizer.zero_grad()
