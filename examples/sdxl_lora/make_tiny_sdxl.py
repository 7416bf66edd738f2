#!/usr/bin/env python3
"""Writes a tiny SDXL with random weights and a few captioned images, without a network.

    python make_tiny_sdxl.py OUT [--seed N] [--images N]

    OUT/model/   a diffusers folder of the SDXL layout: UNet (2 M parameters), VAE, two CLIP text encoders, two
                 tokenizers, scheduler; every class and wiring is the real one, only the widths are small
    OUT/images/  N images and metadata.jsonl, one {"file_name": …, "text": …} a line

The same seed gives the same bytes. It learns nothing worth seeing: it is there to try a training script in seconds.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here is ever downloaded

import torch
from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
from PIL import Image, ImageDraw
from tokenizers.pre_tokenizers import ByteLevel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer
from transformers.utils import logging

MARKER = ".tiny_sdxl"  # says that a folder is ours to write over
COLOURS = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (50, 80, 200),
           "yellow": (220, 190, 40)}
SHAPES = ("disc", "square")
TEXT_WIDTH = 32  # of each encoder; the UNet's cross attention sees both side by side
START, END = "<|startoftext|>", "<|endoftext|>"


def captions(count: int) -> list[tuple[str, str]]:
    """(colour, shape) of each image."""
    pairs = [(colour, shape) for shape in SHAPES for colour in COLOURS]
    return [pairs[i % len(pairs)] for i in range(count)]


def caption_text(colour: str, shape: str) -> str:
    return f"a photo of a {colour} {shape}"


def word_merges(words: list[str]) -> list[tuple[str, str]]:
    """Byte-pair merges that make each word one token, first letters first; CLIP marks a word's end with </w>."""
    merges: dict[tuple[str, str], None] = {}
    for word in words:
        letters = [*word[:-1], word[-1] + "</w>"]
        while len(letters) > 1:
            merges[(letters[0], letters[1])] = None
            letters[:2] = [letters[0] + letters[1]]
    return list(merges)


def make_tokenizer(folder: Path) -> CLIPTokenizer:
    """A CLIP tokenizer that knows every byte, and the captions' words as one token each."""
    symbols = sorted(ByteLevel.alphabet())
    merges = word_merges(sorted({w for c in COLOURS for s in SHAPES
                                 for w in caption_text(c, s).split()}))
    tokens = [*symbols, *(s + "</w>" for s in symbols), *("".join(m) for m in merges), START, END]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({token: i
                                                   for i, token in enumerate(dict.fromkeys(tokens))}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    config = {"tokenizer_class": "CLIPTokenizer", "model_max_length": 77, "bos_token": START}
    config |= {"eos_token": END, "unk_token": END, "pad_token": END}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return CLIPTokenizer.from_pretrained(folder)


def text_config(tokenizer: CLIPTokenizer) -> CLIPTextConfig:
    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        hidden_size=TEXT_WIDTH,
        projection_dim=TEXT_WIDTH,
        intermediate_size=2 * TEXT_WIDTH,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=77,
        hidden_act="gelu",
    )


def make_unet() -> UNet2DConditionModel:
    size_ids, size_id_width = 6, 8  # original size, crop corner, target size: two numbers each
    return UNet2DConditionModel(
        sample_size=32,
        block_out_channels=(32, 64),
        layers_per_block=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        transformer_layers_per_block=(1, 2),
        attention_head_dim=(2, 4),
        use_linear_projection=True,
        cross_attention_dim=2 * TEXT_WIDTH,
        addition_embed_type="text_time",
        addition_time_embed_dim=size_id_width,
        projection_class_embeddings_input_dim=size_ids * size_id_width + TEXT_WIDTH,
    )


def make_vae() -> AutoencoderKL:
    return AutoencoderKL(
        sample_size=128,
        block_out_channels=(32, 64),
        latent_channels=4,
        down_block_types=("DownEncoderBlock2D", "DownEncoderBlock2D"),
        up_block_types=("UpDecoderBlock2D", "UpDecoderBlock2D"),
        scaling_factor=0.13025,
        force_upcast=True,
    )


def make_scheduler() -> EulerDiscreteScheduler:
    """SDXL's own numbers."""
    return EulerDiscreteScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        steps_offset=1,
        timestep_spacing="leading",
    )


def make_model(folder: Path, seed: int) -> StableDiffusionXLPipeline:
    torch.manual_seed(seed)
    tokenizer = make_tokenizer(folder / "tokenizer")
    config = text_config(tokenizer)
    pipeline = StableDiffusionXLPipeline(
        vae=make_vae(),
        text_encoder=CLIPTextModel(config),
        text_encoder_2=CLIPTextModelWithProjection(config),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=make_unet(),
        scheduler=make_scheduler(),
    )
    pipeline.save_pretrained(folder)
    return pipeline


def draw(colour: str, shape: str, index: int) -> Image.Image:
    image = Image.new("RGB", (96, 80 + 16 * (index % 3)), (225, 225 - 10 * index % 60, 215))
    box = (20 + 3 * index % 12, 16, 72, 68)
    pen = ImageDraw.Draw(image)
    (pen.ellipse if shape == "disc" else pen.rectangle)(box, fill=COLOURS[colour])
    return image


def make_images(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for index, (colour, shape) in enumerate(captions(count)):
        name = f"{index:03}_{colour}_{shape}.png"
        draw(colour, shape, index).save(folder / name)
        lines.append(json.dumps({"file_name": name, "text": caption_text(colour, shape)}) + "\n")
    (folder / "metadata.jsonl").write_text("".join(lines))


def claim(folder: Path) -> None:
    """Makes the folder ours, or stops where it holds something else."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        sys.exit(f"{folder}: is not empty and was not made by this script; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text("made by make_tiny_sdxl.py, which may write over it\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("--seed", type=int, default=0,
                        help="of the random weights (default: %(default)s)")
    parser.add_argument("--images", type=int, default=4, metavar="N",
                        help="how many (default: %(default)s)")
    args = parser.parse_args()
    logging.disable_progress_bar()
    try:
        claim(args.out)
        make_images(args.out / "images", args.images)
        pipeline = make_model(args.out / "model", args.seed)
    except OSError as error:
        sys.exit(f"{error.filename or args.out}: {(error.strerror or str(error)).lower()}")
    parameters = sum(p.numel() for p in pipeline.unet.parameters())
    print(f"{args.out}: model with a UNet of {parameters:,} parameters, {args.images} images")


if __name__ == "__main__":
    main()
