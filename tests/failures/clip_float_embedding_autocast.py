# As clip_float_embedding.py, under autocast, which cures it on CUDA: autocast for the CPU has no rule for layer_norm.
# EXPECT rule=mixed-operands severity=error op=aten::native_layer_norm odd=input line=here module=encoder.layers.0.layer_norm1
# EXPECT-OPERANDS input=Float weight=Half bias=Half
# EXPECT-ERROR mixed dtype (CPU): expect parameter to have scalar type of Float
# EXPECT-FIX cast the result of text_encoder.embeddings.token_embedding to Half
# EXPECT rule=silent-promotion severity=error op=aten::add line=here module=embeddings
# EXPECT-FIX cast the result of text_encoder.embeddings.token_embedding to Half
# EXIT 1
import sys

import torch
from transformers import CLIPTextModel, CLIPTokenizer

tokenizer = CLIPTokenizer.from_pretrained(sys.argv[1], subfolder="tokenizer")
text_encoder = CLIPTextModel.from_pretrained(sys.argv[1], subfolder="text_encoder", dtype=torch.float16)
text_encoder.get_input_embeddings().to(torch.float32)
tokens = tokenizer("a photo of a cat", padding="max_length", return_tensors="pt")
with torch.autocast("cpu", dtype=torch.float16):
    output = text_encoder(tokens.input_ids)  # <- here
print(output.last_hidden_state.abs().mean().item())
