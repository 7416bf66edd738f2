"""Training steps to be watched: small ones, which are nearly all dispatch, and one with real work
in its ops.

Each function returns a step: a callable that does one whole optimizer step on the CPU and returns
nothing.
"""

import os
import sys
from pathlib import Path
from typing import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import torch.nn.functional as F

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "sdxl_lora"
LORA_LAYERS = ["to_q", "to_k", "to_v", "to_out.0"]

Step = Callable[[], None]


def transformer() -> Step:
    """One encoder layer of width 32 on 2 x 8 tokens: ops so small that only their number counts."""
    model = torch.nn.TransformerEncoderLayer(32, nhead=4, dim_feedforward=64, dropout=0.1,
                                             batch_first=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    tokens = torch.randn(2, 8, 32)

    def step() -> None:
        optimizer.zero_grad()
        model(tokens).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def lora_step(unet, dtype: torch.dtype, pixels: int, text_width: int, pooled_width: int,
              device: str = "cpu", batch: int = 1, backend: str = "", graphed: bool = False,
              foreach: bool | None = None) -> Step:
    """Trains a Float LoRA on a frozen UNet, in 16 bits under autocast, as
    examples/sdxl_lora/train.py does; compiled by a backend of torch.compile, or replayed as a CUDA
    graph of the whole step.
    """
    from diffusers.training_utils import cast_training_params
    from peft import LoraConfig

    unet.requires_grad_(False)
    unet.to(device, dtype)
    unet.add_adapter(LoraConfig(r=4, lora_alpha=4, target_modules=LORA_LAYERS))
    unet.train()
    cast_training_params([unet], dtype=torch.float32)
    parameters = [p for p in unet.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, capturable=graphed, foreach=foreach)
    unet = torch.compile(unet, backend=backend) if backend else unet
    latents = torch.randn(batch, 4, pixels, pixels, device=device)
    text = torch.randn(batch, 77, text_width, device=device)
    condition = {"text_embeds": torch.randn(batch, pooled_width, device=device),
                 "time_ids": torch.tensor([[512.0, 512, 0, 0, 512, 512]] * batch, device=device)}
    timestep = torch.tensor([500], device=device)
    low = torch.bfloat16 if dtype == torch.float32 else dtype
    autocast = torch.autocast(device, low, enabled=dtype != torch.float32)

    def step() -> None:
        noise = torch.randn_like(latents)
        with autocast:
            prediction = unet(latents + noise, timestep, text, added_cond_kwargs=condition,
                              return_dict=False)[0]
        F.mse_loss(prediction.float(), noise).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=not graphed)
        optimizer.step()
        optimizer.zero_grad()

    return captured(step) if graphed else step


def captured(step: Step) -> Step:
    beside = torch.cuda.Stream()
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def tiny_sdxl(dtype: torch.dtype = torch.float32, **where) -> Step:
    """The UNet of the tiny SDXL of the examples, 2 M parameters, 8 x 8 latents: dispatch again, but
    of the real classes.
    """
    sys.path.insert(0, str(EXAMPLE))
    import make_tiny_sdxl

    width = make_tiny_sdxl.TEXT_WIDTH
    return lora_step(make_tiny_sdxl.make_unet(), dtype, pixels=8, text_width=2 * width,
                     pooled_width=width, **where)


def tiny_sdxl_bf16() -> Step:
    """The same in BFloat16 under autocast, which adds its wrappers and casts."""
    return tiny_sdxl(torch.bfloat16)


MID_POOLED_WIDTH = 640


def mid_unet():
    """Half of SDXL's widths and fewer transformer blocks: 330 M parameters."""
    from diffusers import UNet2DConditionModel

    size_id_width = 128
    return UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(160, 320, 640),
        layers_per_block=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        transformer_layers_per_block=(1, 2, 4),
        attention_head_dim=(5, 5, 10),
        use_linear_projection=True,
        cross_attention_dim=1024,
        addition_embed_type="text_time",
        addition_time_embed_dim=size_id_width,
        projection_class_embeddings_input_dim=6 * size_id_width + MID_POOLED_WIDTH,
    )


def mid_sdxl(dtype: torch.dtype = torch.float32) -> Step:
    """The same on 32 x 32 latents."""
    return lora_step(mid_unet(), dtype, pixels=32, text_width=1024, pooled_width=MID_POOLED_WIDTH)


def mid_sdxl_bf16() -> Step:
    return mid_sdxl(torch.bfloat16)


def unet_of_sdxl(device: str, width: int, head: int, text_width: int, time_width: int,
                 pooled_width: int):
    """As deep as the UNet of SDXL base 1.0 is by its published config."""
    from diffusers import UNet2DConditionModel

    with torch.device(device):
        return UNet2DConditionModel(
            sample_size=128,
            block_out_channels=(width, 2 * width, 4 * width),
            layers_per_block=2,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 10),
            attention_head_dim=(width // head, 2 * width // head, 4 * width // head),
            use_linear_projection=True,
            cross_attention_dim=text_width,
            addition_embed_type="text_time",
            addition_time_embed_dim=time_width,
            projection_class_embeddings_input_dim=6 * time_width + pooled_width,
        )


def full_sdxl(dtype: torch.dtype, device: str, batch: int) -> Step:
    """The UNet of SDXL base 1.0, 2.6 G random parameters, for pictures of 512 pixels."""
    unet = unet_of_sdxl(device, width=320, head=64, text_width=2048, time_width=256,
                        pooled_width=1280)
    return lora_step(unet, dtype, pixels=64, text_width=2048, pooled_width=1280, device=device,
                     batch=batch)


def narrow_sdxl_bf16() -> Step:
    """The op calls of the full-size UNet on a tenth of its width and few pixels, its LoRA stepped
    by ops on lists, as on a GPU: for what hangs on the number of calls.
    """
    unet = unet_of_sdxl("cpu", width=32, head=16, text_width=64, time_width=32, pooled_width=64)
    return lora_step(unet, torch.bfloat16, pixels=8, text_width=64, pooled_width=64, foreach=True)


def full_sdxl_launches() -> Step:
    """The same on a GPU that computes nothing, batch 1: what the processor does to launch a step."""
    return full_sdxl(torch.bfloat16, device="cuda", batch=1)


def tiny_sdxl_launches() -> Step:
    return tiny_sdxl(torch.bfloat16, device="cuda")


def tiny_sdxl_compiled_launches() -> Step:
    """By aot_eager: two regions, forward and backward, whose ops LibTorch launches one by one. A GPU
    that computes nothing can compile nothing.
    """
    return tiny_sdxl(torch.bfloat16, device="cuda", backend="aot_eager")


def tiny_sdxl_graphed_launches() -> Step:
    return tiny_sdxl(torch.bfloat16, device="cuda", graphed=True)


WORKLOADS = {
    "transformer": transformer,
    "tiny-sdxl": tiny_sdxl,
    "tiny-sdxl-bf16": tiny_sdxl_bf16,
    "mid-sdxl": mid_sdxl,
    "mid-sdxl-bf16": mid_sdxl_bf16,
    "tiny-sdxl-launches": tiny_sdxl_launches,
    "narrow-sdxl-bf16": narrow_sdxl_bf16,
    "full-sdxl-launches": full_sdxl_launches,
    "tiny-sdxl-compiled-launches": tiny_sdxl_compiled_launches,
    "tiny-sdxl-graphed-launches": tiny_sdxl_graphed_launches,
    "tiny-sdxl-launches-kernels": tiny_sdxl_launches,
    "tiny-sdxl-graphed-launches-kernels": tiny_sdxl_graphed_launches,
}
