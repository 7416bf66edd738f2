# A float16 T5 whose norms are kept float32, as one is told to, and are run by a fused extension that reads the weight
# as the input's dtype.
# EXPECT rule=mixed-operands severity=error op=python::FusedRMSNormFunction.forward odd=weight file=fused_norm.py line=extension module=encoder.block.0.layer.0.layer_norm
# EXPECT-OPERANDS input=Half weight=Float
# EXPECT-ERROR expected scalar type Half but found Float
# EXPECT-FIX layer_norm to Float
# EXIT 1
import tempfile

import torch
import transformers.models.t5.modeling_t5 as t5
from fused_norm import FusedRMSNorm
from t5_model import write_tiny_t5

with tempfile.TemporaryDirectory() as folder:
    write_tiny_t5(folder)
    t5.T5LayerNorm = FusedRMSNorm
    text_encoder = t5.T5EncoderModel.from_pretrained(folder, dtype=torch.float16)
for module in text_encoder.modules():
    if isinstance(module, FusedRMSNorm):
        module.float()
with torch.no_grad():
    output = text_encoder(torch.arange(8).unsqueeze(0))
print(output.last_hidden_state.abs().mean().item())
