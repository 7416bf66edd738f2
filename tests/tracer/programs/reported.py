"""Models of three public reports that ended with a named op, tiny and with weights that reach Half's limit: reported.py CASE DTYPE

t5         huggingface/transformers issue 5651: `wo` of T5's feed-forward layer gives 66246 in Float, and an infinity in Half
normalize  huggingface/diffusers pull request 13316: F.normalize() has an epsilon that is 0 in Half, and divides 0 by 0
sana       huggingface/diffusers issue 10336: Sana's attention gives more than 65504, and clips that in Half alone
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

case, dtype = sys.argv[1], getattr(torch, sys.argv[2])
torch.manual_seed(0)
ids = torch.arange(24).reshape(2, 12) % 32


def t5():
    from transformers import T5Config, T5EncoderModel
    model = T5EncoderModel(T5Config(vocab_size=32, d_model=16, d_kv=8, d_ff=32, num_layers=3, num_heads=2)).eval()
    with torch.no_grad():
        model.encoder.block[1].layer[-1].DenseReluDense.wo.weight.mul_(400000).clamp_(-50000, 50000)
    return model.to(dtype), lambda model: model(input_ids=ids).last_hidden_state


def normalize():
    class RMSNorm(nn.Module):
        def forward(self, x):
            return F.normalize(x, dim=1) * 4.0  # <- normalize

    model = nn.Sequential(nn.Conv1d(4, 16, 3, padding=1, bias=False), nn.ReLU(), RMSNorm(), nn.Conv1d(16, 4, 1)).eval()
    x = torch.randn(2, 4, 12)
    x[0, :, 4:9] = 0  # silence
    return model.to(dtype), lambda model: model(x.to(dtype))


def sana():
    from diffusers.models.attention_processor import Attention, SanaLinearAttnProcessor2_0
    model = Attention(query_dim=16, heads=2, dim_head=8, processor=SanaLinearAttnProcessor2_0()).eval()
    with torch.no_grad():
        model.to_out[0].weight.mul_(500000).clamp_(-60000, 60000)
    x = torch.randn(2, 12, 16)
    return model.to(dtype), lambda model: model(x.to(dtype))


model, run = {"t5": t5, "normalize": normalize, "sana": sana}[case]()
with torch.no_grad():
    result = run(model)
    print("loss", F.mse_loss(result.float() / 1e4, torch.zeros(result.shape)).item())
