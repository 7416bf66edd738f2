"""Writes a tiny T5 text encoder for the failures that live there."""

from pathlib import Path

import torch
from transformers import T5Config, T5EncoderModel


def write_tiny_t5(folder: str | Path) -> None:
    torch.manual_seed(0)
    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu")
    T5EncoderModel(config).save_pretrained(folder)
