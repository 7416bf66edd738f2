# 1 - 1e-6 is 1 in BFloat16, so that a certain pair has a logarithm of 0: the loss is to be computed in Float from its first op on.
# EXPECT-CURE torch.sigmoid(logits.to(torch.float32))
import torch

torch.manual_seed(0)
layer = torch.nn.Linear(8, 4)
inputs = torch.randn(32, 8) * 40
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)


def survival(logits):
    probabilities = torch.sigmoid(logits)
    ceiling = probabilities.new_tensor(1.0 - 1e-6)
    return torch.log1p(-torch.minimum(probabilities, ceiling))


for step in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = layer(inputs)
    loss = -survival(logits).float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
