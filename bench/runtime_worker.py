"""One training with diffusers, as its scripts do it: the peer of sdxl-train in runtime.py, which
starts it.

Images and captions are encoded once, and their models dropped, as the scripts' --cache_latents
does; a step is noise, UNet, loss, backward, clipping, AdamW. Prints "step N/M  loss X" after each.
"""

import argparse
import contextlib
import json
import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from diffusers.training_utils import cast_training_params
from peft import LoraConfig
from PIL import Image
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

LORA_LAYERS = ["to_q", "to_k", "to_v", "to_out.0"]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("lora", "full"))
    parser.add_argument("--policy", choices=("fp32", "bf16", "bf16-mixed"), required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--resolution", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--gradient-checkpointing", action="store_true")
    return parser.parse_args()


def read_image(path: Path, side: int) -> torch.Tensor:
    image = Image.open(path).convert("RGB")
    scale = side / min(image.size)
    image = image.resize((max(side, round(image.width * scale)),
                          max(side, round(image.height * scale))), Image.BILINEAR)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    pixels = np.array(image.crop((left, top, left + side, top + side)), dtype=np.float32)
    return torch.from_numpy(pixels).permute(2, 0, 1).unsqueeze(0) / 127.5 - 1


@torch.no_grad()
def encode(args: argparse.Namespace, text_dtype: torch.dtype,
           vae_dtype: torch.dtype) -> list[dict[str, torch.Tensor]]:
    vae = AutoencoderKL.from_pretrained(args.model, subfolder="vae",
                                        torch_dtype=vae_dtype).to(args.device)
    encoders = [
        kind.from_pretrained(args.model, subfolder=name, dtype=text_dtype).to(args.device)
        for kind, name in ((CLIPTextModel, "text_encoder"),
                           (CLIPTextModelWithProjection, "text_encoder_2"))
    ]
    tokenizers = [CLIPTokenizer.from_pretrained(args.model, subfolder=name)
                  for name in ("tokenizer", "tokenizer_2")]
    samples = []
    for line in (args.images / "metadata.jsonl").read_text().splitlines():
        row, side = json.loads(line), args.resolution
        pixels = read_image(args.images / row["file_name"], side).to(args.device, vae_dtype)
        outputs = []
        for tokenizer, encoder in zip(tokenizers, encoders):
            ids = tokenizer(row["text"], padding="max_length", truncation=True,
                            return_tensors="pt").input_ids
            outputs.append(encoder(ids.to(args.device), output_hidden_states=True))
        samples.append({
            "latents": vae.encode(pixels).latent_dist.sample().float() * vae.config.scaling_factor,
            "text": torch.cat([output.hidden_states[-2] for output in outputs], dim=-1),
            "pooled": outputs[1].text_embeds,
            "time_ids": torch.tensor([[side, side, 0, 0, side, side]], dtype=torch.float32,
                                     device=args.device),
        })
    return samples


class Masters:
    """Float copies that the optimizer steps where the weights are BFloat16; else the weights
    themselves.
    """

    def __init__(self, weights: list[torch.nn.Parameter]):
        self.weights = weights
        self.parameters = [w if w.dtype == torch.float32 else w.detach().float() for w in weights]

    def take_gradients(self) -> None:
        for weight, parameter in zip(self.weights, self.parameters):
            if parameter is not weight:
                parameter.grad, weight.grad = weight.grad.float(), None

    @torch.no_grad()
    def give_back(self) -> None:
        for weight, parameter in zip(self.weights, self.parameters):
            if parameter is not weight:
                weight.copy_(parameter)


def make_unet(args: argparse.Namespace) -> UNet2DConditionModel:
    """Frozen weights in 16 bits but under fp32; trained ones in Float but under bf16."""
    is_float = args.policy == "fp32" or (args.kind == "full" and args.policy == "bf16-mixed")
    dtype = torch.float32 if is_float else torch.bfloat16
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet",
                                                torch_dtype=dtype).to(args.device)
    unet.requires_grad_(args.kind == "full")
    if args.kind == "lora":
        unet.add_adapter(LoraConfig(r=args.rank, lora_alpha=args.rank, target_modules=LORA_LAYERS))
        if args.policy == "bf16-mixed":
            cast_training_params([unet], dtype=torch.float32)
    if args.gradient_checkpointing:
        unet.enable_gradient_checkpointing()
    return unet.train()


def main() -> None:
    args = parse_args()
    torch.manual_seed(0)
    low = torch.float32 if args.policy == "fp32" else torch.bfloat16
    samples = encode(args, text_dtype=low, vae_dtype=low if args.policy == "bf16"
                     else torch.float32)
    unet = make_unet(args)
    schedule = DDPMScheduler.from_pretrained(args.model, subfolder="scheduler")
    masters = Masters([p for p in unet.parameters() if p.requires_grad])
    optimizer = torch.optim.AdamW(masters.parameters, lr=1e-4)
    is_mixed = args.policy == "bf16-mixed"
    autocast = torch.autocast(args.device, torch.bfloat16) if is_mixed else contextlib.nullcontext()
    for step in range(1, args.steps + 1):
        x = samples[step % len(samples)]
        noise = torch.randn_like(x["latents"])
        timesteps = torch.randint(0, schedule.config.num_train_timesteps, (1,), device=args.device)
        noisy = schedule.add_noise(x["latents"], noise, timesteps).to(low)
        added = {"text_embeds": x["pooled"], "time_ids": x["time_ids"]}
        with autocast:
            prediction = unet(noisy, timesteps, x["text"], added_cond_kwargs=added,
                              return_dict=False)[0]
        loss = F.mse_loss(prediction.float(), noise)
        loss.backward()
        masters.take_gradients()
        torch.nn.utils.clip_grad_norm_(masters.parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        masters.give_back()
        print(f"step {step}/{args.steps}  loss {loss.item():.6g}", flush=True)


if __name__ == "__main__":
    main()
