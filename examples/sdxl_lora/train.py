#!/usr/bin/env python3
"""Trains an SDXL LoRA, or the whole UNet, on a folder of captioned images.

    python train.py --model MODEL --data IMAGES --output_dir OUT --mixed_precision bf16

MODEL is a diffusers folder (or a hub name), IMAGES holds pictures and a metadata.jsonl with a line
{"file_name": "a.png", "text": "a photo of …"} for each.

Who is kept in which dtype, and why:

    VAE                   float32     its activations leave float16's range
    trained weights       float32     a step is far smaller than half the spacing of 16-bit weights; so are AdamW's state
                                      and eps (1e-8 is 0 in float16)
    frozen weights        --mixed_precision's dtype; the UNet's may be chosen with --unet_dtype
    trained models        compute in --mixed_precision's dtype, under autocast
    noise, noisy latents, time and size ids, pooled text, loss    float32; what enters the UNet is cast once, at the border
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from diffusers import AutoencoderKL, DDPMScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
from diffusers.training_utils import cast_training_params
from peft import LoraConfig
from peft.utils import get_peft_model_state_dict
from PIL import Image, ImageOps
from torch.utils.data import DataLoader, Dataset
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
MIXED_PRECISION = {"no": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
UNET_LORA_LAYERS = ["to_q", "to_k", "to_v", "to_out.0"]
TEXT_LORA_LAYERS = ["q_proj", "k_proj", "v_proj", "out_proj"]


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--model", required=True, help="diffusers folder or hub name of an SDXL model")
    add("--data", required=True, type=Path, help="folder with images and metadata.jsonl")
    add("--output_dir", required=True, type=Path)
    add("--mixed_precision", choices=MIXED_PRECISION,
        help="default: what accelerate is configured for, else no")
    add("--unet_dtype", choices=DTYPES,
        help="dtype that the frozen UNet is kept in (default: --mixed_precision's)")
    add("--train_text_encoder", action="store_true", help="train both text encoders too")
    add("--full_finetune", action="store_true", help="train all weights instead of a LoRA")
    add("--rank", type=int, default=4, help="of the LoRA (default: %(default)s)")
    add("--resolution", type=int, default=1024, help="pixels a side (default: %(default)s)")
    add("--batch_size", type=int, default=1)
    add("--gradient_accumulation_steps", type=int, default=1)
    add("--gradient_checkpointing", action="store_true", help="less memory for more time")
    add("--max_train_steps", type=int, default=500)
    add("--learning_rate", type=float, default=1e-4)
    add("--max_grad_norm", type=float, default=1.0)
    add("--seed", type=int)
    args = parser.parse_args()
    if args.full_finetune and args.unet_dtype not in (None, "float32"):
        parser.error("--unet_dtype is for a frozen UNet; the weights that --full_finetune trains stay float32")
    if args.resolution % 8:
        parser.error(f"--resolution {args.resolution}: the VAE needs a multiple of 8")
    return args


# ---- data


class CaptionedImages(Dataset):
    """Square crops in -1…1, with the six numbers that SDXL is told about each: original size, crop corner, target size."""

    def __init__(self, folder: Path, resolution: int, tokenizers: list[CLIPTokenizer]):
        self.folder, self.resolution, self.tokenizers = folder, resolution, tokenizers
        lines = (folder / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
        self.rows = [json.loads(line) for line in lines if line.strip()]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row, side = self.rows[index], self.resolution
        image = ImageOps.exif_transpose(Image.open(self.folder / row["file_name"])).convert("RGB")
        width, height = image.size
        scale = side / min(width, height)
        image = image.resize((max(side, round(width * scale)), max(side, round(height * scale))),
                             Image.LANCZOS)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        image = image.crop((left, top, left + side, top + side))
        item = {
            "pixels": torch.from_numpy(np.array(image, dtype=np.float32)).permute(2, 0,
                                                                                  1) / 127.5 - 1,
            # float32 (or an integer) all the way: bfloat16 would make 1365 pixels 1368
            "time_ids": torch.tensor([height, width, top, left, side, side], dtype=torch.float32),
        }
        for i, tokenizer in enumerate(self.tokenizers):
            text = tokenizer(row["text"], padding="max_length", truncation=True,
                             return_tensors="pt")
            item[f"token_ids_{i}"] = text.input_ids[0]
        return item


# ---- models


def make_accelerator(args: argparse.Namespace) -> Accelerator:
    accelerator = Accelerator(
        mixed_precision=args.mixed_precision,
        gradient_accumulation_steps=args.gradient_accumulation_steps
    )
    if accelerator.mixed_precision == "fp16" and accelerator.device.type == "cpu":
        # accelerate takes fp16 on a CPU without a word and then neither opens autocast nor scales
        # the loss. Both work
        # there, so give it what it would have made on a GPU; they have to be in place before
        # prepare().
        accelerator.print("fp16 on the CPU: right, but much slower than bf16", file=sys.stderr)
        accelerator.native_amp = True
        accelerator.scaler = torch.amp.GradScaler("cpu")
    return accelerator


def load_models(args: argparse.Namespace, frozen_dtype: torch.dtype):
    unet_dtype = DTYPES[args.unet_dtype] if args.unet_dtype else frozen_dtype
    unet_dtype = torch.float32 if args.full_finetune else unet_dtype
    text_dtype = torch.float32 if args.full_finetune and args.train_text_encoder else frozen_dtype
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet",
                                                torch_dtype=unet_dtype)
    vae = AutoencoderKL.from_pretrained(args.model, subfolder="vae", torch_dtype=torch.float32)
    text_encoders = [
        CLIPTextModel.from_pretrained(args.model, subfolder="text_encoder", dtype=text_dtype),
        CLIPTextModelWithProjection.from_pretrained(args.model, subfolder="text_encoder_2",
                                                    dtype=text_dtype),
    ]
    for model in (unet, vae, *text_encoders):
        model.requires_grad_(False)
        model.eval()
    return unet, vae, text_encoders


def make_trainable(args: argparse.Namespace, unet, text_encoders) -> list[torch.nn.Module]:
    """Adds LoRA layers, or opens all weights, in float32; returns the models that are trained."""
    layers = {unet: UNET_LORA_LAYERS}
    if args.train_text_encoder:
        layers |= {encoder: TEXT_LORA_LAYERS for encoder in text_encoders}
    for model, names in layers.items():
        if args.full_finetune:
            model.requires_grad_(True)
        else:
            model.add_adapter(LoraConfig(r=args.rank, lora_alpha=args.rank, target_modules=names))
        if args.gradient_checkpointing:
            model.enable_gradient_checkpointing() if model is unet else model.gradient_checkpointing_enable()
        model.train()
    cast_training_params(list(layers), dtype=torch.float32)
    return list(layers)


# ---- one step


def encode_images(vae: AutoencoderKL, pixels: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        latents = vae.encode(pixels.to(vae.dtype)).latent_dist.sample()
    return latents * vae.config.scaling_factor


def encode_text(text_encoders, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token states of both encoders side by side, and the second one's pooled text; in float32."""
    states = []
    for i, encoder in enumerate(text_encoders):
        output = encoder(batch[f"token_ids_{i}"], output_hidden_states=True)
        states.append(output.hidden_states[-2].float())
    return torch.cat(states, dim=-1), output.text_embeds.float()


def training_loss(unet, vae, text_encoders, schedule, batch,
                  compute_dtype: torch.dtype) -> torch.Tensor:
    latents = encode_images(vae, batch["pixels"])
    text, pooled_text = encode_text(text_encoders, batch)

    # In 16 bits the first time steps would get no noise at all.
    noise = torch.randn_like(latents)
    steps = schedule.config.num_train_timesteps
    timesteps = torch.randint(0, steps, (latents.shape[0],), device=latents.device)
    noisy_latents = schedule.add_noise(latents, noise, timesteps)
    target = noise
    if schedule.config.prediction_type == "v_prediction":
        target = schedule.get_velocity(latents, noise, timesteps)

    prediction = unet(
        noisy_latents.to(compute_dtype),
        timesteps,
        text.to(compute_dtype),
        # The UNet joins the pooled text to sinusoids that it makes in float32, and casts the two
        # together.
        added_cond_kwargs={"text_embeds": pooled_text, "time_ids": batch["time_ids"]},
        return_dict=False,
    )[0]
    return F.mse_loss(prediction.float(), target.float())


# ---- saving


def require_finite(name: str, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    bad = [key for key, value in state.items() if not torch.isfinite(value).all()]
    if bad:
        sys.exit(f"{name}: {len(bad)} of {len(state)} tensors have NaN or inf, {bad[0]} first; nothing was saved")
    return state


def save(args: argparse.Namespace, accelerator: Accelerator, unet, vae, text_encoders) -> None:
    unet, *text_encoders = (accelerator.unwrap_model(model) for model in (unet, *text_encoders))
    if args.full_finetune:
        for name, model in (("unet", unet), ("text_encoder", text_encoders[0]),
                            ("text_encoder_2", text_encoders[1])):
            require_finite(name, model.state_dict())
        pipeline = StableDiffusionXLPipeline.from_pretrained(
            args.model, unet=unet, vae=vae, text_encoder=text_encoders[0],
            text_encoder_2=text_encoders[1]
        )
        pipeline.save_pretrained(args.output_dir)
        return
    models = {"unet": unet}
    if args.train_text_encoder:
        models |= {"text_encoder": text_encoders[0], "text_encoder_2": text_encoders[1]}
    layers = {}
    for name, model in models.items():
        state = get_peft_model_state_dict(model, save_embedding_layers=False)
        layers[f"{name}_lora_layers"] = require_finite(name, state)
    StableDiffusionXLPipeline.save_lora_weights(args.output_dir, **layers)


# ---- the run


def main() -> None:
    args = parse_args()
    accelerator = make_accelerator(args)
    if args.seed is not None:
        set_seed(args.seed)
    # The one place that decides: what accelerate says, be it from the option or from its own
    # configuration.
    compute_dtype = MIXED_PRECISION[accelerator.mixed_precision]

    unet, vae, text_encoders = load_models(args, frozen_dtype=compute_dtype)
    for model in (unet, vae, *text_encoders):
        model.to(accelerator.device)
    trained = make_trainable(args, unet, text_encoders)
    tokenizers = [CLIPTokenizer.from_pretrained(args.model, subfolder=s)
                  for s in ("tokenizer", "tokenizer_2")]
    schedule = DDPMScheduler.from_pretrained(args.model, subfolder="scheduler")
    data = DataLoader(CaptionedImages(args.data, args.resolution, tokenizers), args.batch_size,
                      shuffle=True)

    parameters = [p for model in trained for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=args.learning_rate)
    optimizer, data, *trained = accelerator.prepare(optimizer, data, *trained)
    unet, text_encoders = trained[0], trained[1:] or text_encoders

    step = 0
    while step < args.max_train_steps:
        for batch in data:
            with accelerator.accumulate(*trained):
                loss = training_loss(unet, vae, text_encoders, schedule, batch, compute_dtype)
                if not math.isfinite(loss.item()):
                    sys.exit(f"step {step + 1}: the loss is {loss.item()}; training stopped, nothing was saved")
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(parameters, args.max_grad_norm)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                step += 1
                accelerator.print(f"step {step}/{args.max_train_steps} loss {loss.item():.9g}",
                                  flush=True)
                if step == args.max_train_steps:
                    break

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        save(args, accelerator, unet, vae, text_encoders)
    accelerator.print(f"saved to {args.output_dir}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
