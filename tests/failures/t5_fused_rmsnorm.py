# A float16 T5 whose norms a fused extension replaces. T5 keeps its feed-forward's last layer float32, so the residual
# stream is float32 from the second block on; the extension reads its half weight as the input's dtype.
# EXPECT rule=mixed-operands severity=error op=python::FusedRMSNormFunction.forward odd=input file=fused_norm.py line=extension module=encoder.block.1.layer.0.layer_norm
# EXPECT-OPERANDS input=Float weight=Half
# EXPECT-ERROR expected scalar type Float but found Half
# EXPECT-FIX layer_norm to Half
# EXPECT rule=silent-promotion severity=error op=aten::add line=here
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
with torch.no_grad():
    output = text_encoder(torch.arange(8).unsqueeze(0))  # <- here
print(output.last_hidden_state.abs().mean().item())
