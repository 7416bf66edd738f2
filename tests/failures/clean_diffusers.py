# A frozen VAE and text encoder in BFloat16 beside a UNet that is trained in Float under autocast: nothing to find.
# EXIT 0
import torch
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from diffusers.training_utils import EMAModel
from torch import nn
from transformers import CLIPTextConfig, CLIPTextModel

blocks = dict(block_out_channels=(8, 16), norm_num_groups=4, layers_per_block=1)
vae = AutoencoderKL(down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                    latent_channels=4, sample_size=16, **blocks)
text_encoder = CLIPTextModel(CLIPTextConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
                                            num_attention_heads=2, max_position_embeddings=8))
unet = UNet2DConditionModel(sample_size=8, cross_attention_dim=16, attention_head_dim=4,
                            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **blocks)
for frozen in (vae, text_encoder):
    frozen.requires_grad_(False).to(dtype=torch.bfloat16)
average = EMAModel(unet.parameters(), decay=0.99)
schedule = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
for _ in range(2):
    with torch.no_grad():
        latents = vae.encode(torch.rand(2, 3, 16, 16).to(torch.bfloat16)).latent_dist.sample()
        latents = latents * vae.config.scaling_factor
        hidden = text_encoder(torch.randint(0, 50, (2, 8)))[0]
    noise = torch.randn_like(latents)
    times = torch.randint(0, 100, (2,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = unet(schedule.add_noise(latents, noise, times), times, encoder_hidden_states=hidden).sample
    loss = nn.functional.mse_loss(prediction.float(), noise.float())
    loss.backward()
    nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    average.step(unet.parameters())
print(loss.item())
