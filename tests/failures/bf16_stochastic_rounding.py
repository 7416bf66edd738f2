# A LoRA kept in bfloat16 whose optimizer steps in float32 and rounds stochastically: no step is lost on average.
# EXIT 0
import sys

import torch
from diffusers import UNet2DConditionModel
from peft import LoraConfig
from sdxl_batch import random_batch, random_target


class StochasticAdam(torch.optim.Optimizer):
    """Adam with float32 state; a weight is rounded up or down with the probability of its distance."""

    def __init__(self, params, lr: float, betas=(0.9, 0.999), eps: float = 1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.step_one(p, p.grad.float(), group)

    def step_one(self, p, grad, group):
        state, (beta1, beta2) = self.state[p], group["betas"]
        if not state:
            state |= {"step": 0, "mean": torch.zeros_like(grad), "square": torch.zeros_like(grad)}
        state["step"] += 1
        state["mean"].lerp_(grad, 1 - beta1)
        state["square"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        mean = state["mean"] / (1 - beta1 ** state["step"])
        scale = (state["square"] / (1 - beta2 ** state["step"])).sqrt().add_(group["eps"])
        p.copy_(round_stochastically(p.float() - group["lr"] * mean / scale))


def round_stochastically(value: torch.Tensor) -> torch.Tensor:
    """To bfloat16: a random 16-bit number is added to the bits that are cut off."""
    bits = value.view(torch.int32)
    bits = bits + torch.randint_like(bits, 1 << 16)
    return (bits & -65536).view(torch.float32).to(torch.bfloat16)


torch.manual_seed(0)
unet = UNet2DConditionModel.from_pretrained(sys.argv[1], subfolder="unet", torch_dtype=torch.bfloat16)
unet.requires_grad_(False)
unet.add_adapter(LoraConfig(r=4, lora_alpha=4, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
trainable = [p for p in unet.parameters() if p.requires_grad]
before = [p.detach().clone() for p in trainable]
optimizer = StochasticAdam(trainable, lr=1e-5)
for step in range(2):
    prediction = unet(**random_batch(torch.bfloat16)).sample
    loss = torch.nn.functional.mse_loss(prediction.float(), random_target())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
moved = sum((p != old).sum().item() for p, old in zip(trainable, before))
print(f"{moved} of {sum(p.numel() for p in trainable)} elements moved")
