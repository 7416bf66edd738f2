# An adapter is cast to what the quantized weight is stored in, and its fractions are cut off.
# EXPECT-CURE adapter["a"].to(base.device)
# EXPECT-CURE adapter["b"].to(base.device)
import torch

torch.manual_seed(0)
base = torch.randint(0, 255, (8, 8), dtype=torch.uint8)
adapter = {"a": torch.randn(8, 4) * 0.3, "b": torch.randn(4, 8) * 0.3}
a = adapter["a"].to(base.device, base.dtype)
b = adapter["b"].to(base.device, base.dtype)
x = torch.randn(16, 8)
for _ in range(3):
    print((x @ ((base.float() - 127) / 100) + x @ a.float() @ b.float()).mean().item())
