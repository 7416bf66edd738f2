# A table of token vectors was raised to Float, to be trained, in a library's encoder that was loaded in Half: lowered again it would
# not be trained as is meant, so the encoder is loaded in Float.
# EXPECT-CURE dtype=torch.float32)
# EXPECT-NOT .to(torch.float16)
import tempfile

import torch
from transformers import CLIPTextConfig, CLIPTextModel

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    CLIPTextModel(CLIPTextConfig(vocab_size=100, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
                                 max_position_embeddings=8, bos_token_id=98, eos_token_id=99)).save_pretrained(folder)
    encoder = CLIPTextModel.from_pretrained(folder, dtype=torch.float16)
encoder.get_input_embeddings().to(torch.float32)
tokens = torch.tensor([[98, 1, 2, 99]])
print(encoder(tokens).last_hidden_state.float().abs().mean().item())
