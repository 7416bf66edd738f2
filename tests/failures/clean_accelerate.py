# accelerate in BFloat16 with Float weights, accumulation, clipping, a schedule and an average: nothing to find.
# EXIT 0
import copy

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2, cpu=True)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Flatten(), nn.Linear(8 * 36, 5))
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
loader = DataLoader(TensorDataset(torch.randn(8, 3, 6, 6), torch.randint(0, 5, (8,))), batch_size=2)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for images, labels in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(images), labels)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for mean, value in zip(average.parameters(), accelerator.unwrap_model(model).parameters()):
            mean.lerp_(value, 0.01)
model.eval()
with torch.no_grad():
    right = (model(images).argmax(-1) == labels).float().mean()
print(loss.item(), accelerator.gather(right).item())
