# A new token is to be learned: its table was made float32 for that, the rest of the encoder is kept in float16. The
# float32 token vectors win over the half position vectors, and the half layer norm refuses the sum.
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
tokenizer.add_tokens("<cat>")
text_encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
text_encoder.get_input_embeddings().to(torch.float32)
tokens = tokenizer("a photo of a <cat>", padding="max_length", return_tensors="pt")
output = text_encoder(tokens.input_ids)  # <- here
print(output.last_hidden_state.abs().mean().item())
