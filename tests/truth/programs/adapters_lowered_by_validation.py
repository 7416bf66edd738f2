# A pipeline that is made for a validation lowers the model that it shares with the training, its Float adapters too: the line that
# moves it asks for no dtype.
# EXPECT-CURE pipeline = Pipeline(model).to("cpu")
# EXPECT-NOT with torch.autocast
import torch


class Pipeline:
    def __init__(self, model):
        self.model = model

    def to(self, device=None, dtype=None):
        self.model.to(device=device, dtype=dtype)
        return self


class Adapted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(8, 8).requires_grad_(False).half()
        self.down = torch.nn.Linear(8, 2, bias=False)

    def forward(self, x):
        return self.base(x + self.down(x.to(self.down.weight.dtype)).repeat(1, 4).to(x.dtype))


def validate(model, dtype):
    pipeline = Pipeline(model).to("cpu", dtype=dtype)
    with torch.no_grad():
        pipeline.model(torch.ones(1, 8).half())


torch.manual_seed(0)
model = Adapted()
optimizer = torch.optim.AdamW([model.down.weight], lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
for step in range(6):
    loss = model(torch.randn(4, 8).half()).float().square().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(step, loss.item())
    if step == 2:
        validate(model, torch.float16)
