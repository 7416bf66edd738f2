"""The models that runtime.py trains: the tiny SDXL of the examples, and one whose UNet has 330 M
parameters.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples" / "sdxl_lora"))

import make_tiny_sdxl
import torch
from diffusers import StableDiffusionXLPipeline
from make_tiny_sdxl import make_images
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection
from workloads import MID_POOLED_WIDTH, mid_unet


def make_mid_model(folder: Path) -> None:
    """The tiny model's VAE and tokenizers, text encoders of the widths that the UNet asks for."""
    torch.manual_seed(0)
    tokenizer = make_tiny_sdxl.make_tokenizer(folder / "tokenizer")

    def text_config(width: int) -> CLIPTextConfig:
        small = make_tiny_sdxl.text_config(tokenizer).to_dict()
        return CLIPTextConfig(**small | {"hidden_size": width, "intermediate_size": 4 * width,
                                         "projection_dim": width})

    unet = mid_unet()
    pipeline = StableDiffusionXLPipeline(
        vae=make_tiny_sdxl.make_vae(),
        text_encoder=CLIPTextModel(text_config(unet.config.cross_attention_dim - MID_POOLED_WIDTH)),
        text_encoder_2=CLIPTextModelWithProjection(text_config(MID_POOLED_WIDTH)),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=unet,
        scheduler=make_tiny_sdxl.make_scheduler(),
    )
    pipeline.save_pretrained(folder)


def make_models(folder: Path, names: list[str]) -> None:
    make_images(folder / "images", 4)
    for name in names:
        if name == "tiny":
            make_tiny_sdxl.make_model(folder / name, seed=0)
        else:
            make_mid_model(folder / name)


if __name__ == "__main__":
    make_models(Path(sys.argv[1]), sys.argv[2:])
