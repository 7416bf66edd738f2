# from_pretrained() keeps the dtype of the file where it is given none: what is trained stands still in BFloat16, which the program
# never asked for.
# EXPECT-CURE from_pretrained(folder, dtype=torch.float32)
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
with tempfile.TemporaryDirectory() as folder:
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
for ids in torch.randint(0, 64, (16, 4, 16)):
    loss = model(input_ids=ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
