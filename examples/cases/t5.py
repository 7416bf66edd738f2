"""Encodes a prompt with a tiny T5 in a dtype, as the pipelines of PixArt do on a GPU. usage: t5.py DTYPE"""

import os
import sys

import torch
from transformers import T5Config, T5EncoderModel

if not os.path.isdir("t5"):
    torch.manual_seed(0)
    config = T5Config(vocab_size=128, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu")
    T5EncoderModel(config).save_pretrained("t5")
encoder = T5EncoderModel.from_pretrained("t5", torch_dtype=getattr(torch, sys.argv[1])).to("cuda")
with torch.no_grad():
    prompt = encoder(torch.arange(1, 17, device="cuda").reshape(2, 8))[0]
print(prompt.dtype, tuple(prompt.shape))
