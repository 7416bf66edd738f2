# A float32 T5 with the fused norm: every dtype agrees, nothing to find.
# EXIT 0
import tempfile

import torch
import transformers.models.t5.modeling_t5 as t5
from fused_norm import FusedRMSNorm
from t5_model import write_tiny_t5

with tempfile.TemporaryDirectory() as folder:
    write_tiny_t5(folder)
    plain = t5.T5EncoderModel.from_pretrained(folder)
    t5.T5LayerNorm = FusedRMSNorm
    fused = t5.T5EncoderModel.from_pretrained(folder)
tokens = torch.arange(8).unsqueeze(0)
with torch.no_grad():
    difference = (fused(tokens).last_hidden_state - plain(tokens).last_hidden_state).abs().max().item()
assert difference < 1e-5, difference
