# accelerate takes fp16 on a CPU and makes no GradScaler, which the script asks for its scale.
# EXPECT-CURE (accelerator.scaler.get_scale() if accelerator.scaler is not None else 1.0)
import torch
from accelerate import Accelerator


def main():
    accelerator = Accelerator(mixed_precision="fp16", cpu=True)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = accelerator.prepare(model, optimizer)
    for step in range(2):
        loss = model(torch.randn(3, 4)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        print(accelerator.scaler.get_scale())


main()
