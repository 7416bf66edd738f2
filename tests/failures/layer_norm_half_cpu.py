# CLIP in float16 on the CPU: LibTorch before 2.3 has no kernel for its layer norms; this one has, so it is only a note.
# EXPECT rule=cpu-half-norm severity=note op=aten::native_layer_norm line=here module=encoder.layers
# EXIT 0
import sys

import torch
from transformers import CLIPTextModel, CLIPTokenizer

tokenizer = CLIPTokenizer.from_pretrained(sys.argv[1], subfolder="tokenizer")
text_encoder = CLIPTextModel.from_pretrained(sys.argv[1], subfolder="text_encoder", dtype=torch.float16)
tokens = tokenizer("a photo of a cat", padding="max_length", return_tensors="pt")
with torch.no_grad():
    output = text_encoder(tokens.input_ids)  # <- here
print(output.last_hidden_state.abs().mean().item())
