"""A random batch for the tiny SDXL's UNet, so that each failure's script is only its own training step."""

import torch


def random_batch(dtype: torch.dtype = torch.float32, channels: int = 4) -> dict:
    """Arguments of UNet2DConditionModel: latents and text in `dtype`, what stays Float in Float."""
    return {
        "sample": torch.randn(1, channels, 8, 8).to(dtype),
        "timestep": torch.tensor([500]),
        "encoder_hidden_states": torch.randn(1, 77, 64).to(dtype),
        "added_cond_kwargs": {
            "text_embeds": torch.randn(1, 32),
            "time_ids": torch.tensor([[96.0, 96.0, 0.0, 0.0, 64.0, 64.0]]),
        },
    }


def random_target() -> torch.Tensor:
    return torch.randn(1, 4, 8, 8)
