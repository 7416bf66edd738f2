#!/usr/bin/env python3
"""SDXL base 1.0 in its full size, without its weights: the published configs, and files with the names and shapes that
diffusers and transformers give to what these configs describe.

    full_size.py OUT           holes: no room on the disk, nothing but zeros
    full_size.py OUT --random  6.5 GiB of random BFloat16 numbers that keep activations near 1
"""

import argparse
import json
import math
import os
import struct
import sys
from pathlib import Path
from typing import BinaryIO, Iterator

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "examples" / "sdxl_lora"))
import make_tiny_sdxl

Shapes = dict[str, tuple[int, ...]]


def text_config(**sizes) -> CLIPTextConfig:
    return CLIPTextConfig(vocab_size=49408, max_position_embeddings=77, bos_token_id=0, eos_token_id=2, **sizes)


def make_parts() -> dict[str, torch.nn.Module]:
    """The four models with shapes and no storage."""
    with torch.device("meta"):
        return {
            "text_encoder": CLIPTextModel(text_config(
                hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12,
                hidden_act="quick_gelu", projection_dim=768)),
            "text_encoder_2": CLIPTextModelWithProjection(text_config(
                hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, num_attention_heads=20,
                hidden_act="gelu", projection_dim=1280)),
            "vae": AutoencoderKL(
                down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
                block_out_channels=(128, 256, 512, 512), layers_per_block=2, sample_size=1024, scaling_factor=0.13025,
                force_upcast=True),
            "unet": UNet2DConditionModel(
                sample_size=128, block_out_channels=(320, 640, 1280), layers_per_block=2,
                transformer_layers_per_block=(1, 2, 10),
                down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
                attention_head_dim=(5, 10, 20), use_linear_projection=True, cross_attention_dim=2048,
                addition_embed_type="text_time", addition_time_embed_dim=256,
                projection_class_embeddings_input_dim=2816),
        }


def weights_file(part: str) -> str:
    return ("model" if part.startswith("text") else "diffusion_pytorch_model") + ".safetensors"


def shapes_of(model: torch.nn.Module) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def write_header(file: BinaryIO, shapes: Shapes, dtype: str) -> int:
    """Of a dtype of two bytes. Returns the size of what is to follow."""
    header, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    return end


def write_hole(path: Path, shapes: Shapes) -> None:
    with path.open("wb") as file:
        size = write_header(file, shapes, "F16")
        file.truncate(file.tell() + size)


def random_numbers(name: str, shape: tuple[int, ...], normal: torch.Tensor) -> Iterator[torch.Tensor]:
    """Pieces of a tensor, cut from the same normal numbers again and again: norms near 1, biases near 0, and the rest so
    that what goes in comes out as large."""
    scale = 0.02 if len(shape) == 1 else math.prod(shape[1:]) ** -0.5
    shift = 1 if len(shape) == 1 and name.endswith(".weight") else 0
    left = math.prod(shape)
    while left > 0:
        piece = normal[: min(left, normal.numel())]
        yield piece * scale + shift
        left -= piece.numel()


def write_random(path: Path, shapes: Shapes) -> None:
    normal = torch.randn(1 << 24, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    with path.open("wb") as file:
        write_header(file, shapes, "BF16")
        for name, shape in shapes.items():
            for piece in random_numbers(name, shape, normal):
                file.write(piece.view(torch.int16).numpy().data)


def make_full_size(folder: Path, is_random: bool) -> dict[str, Shapes]:
    """A diffusers folder, the tiny SDXL's tokenizers in it. Returns the shapes by part and name."""
    shapes = {}
    for part, model in make_parts().items():
        (folder / part).mkdir(parents=True)
        config = model.config.to_dict() if part.startswith("text") else dict(model.config)
        (folder / part / "config.json").write_text(json.dumps(config))
        shapes[part] = shapes_of(model)
        (write_random if is_random else write_hole)(folder / part / weights_file(part), shapes[part])
    for name in ("tokenizer", "tokenizer_2"):
        make_tiny_sdxl.make_tokenizer(folder / name)
    make_tiny_sdxl.make_scheduler().save_pretrained(folder / "scheduler")
    (folder / "model_index.json").write_text(json.dumps({"_class_name": "StableDiffusionXLPipeline"}))
    return shapes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to make")
    parser.add_argument("--random", action="store_true", help="numbers instead of holes")
    options = parser.parse_args()
    make_full_size(options.out, options.random)
