# On its way to Python torch changes the message: it is one failure, told once.
# EXPECT-CURE kernel.to(img.dtype)
import torch
import torch.nn as nn
import torch.nn.functional as F


def sobel(img):
    k = torch.tensor([[1., 0., -1.], [2., 0., -2.], [1., 0., -1.]])
    kernel = torch.stack([k, k.T])[:, None]
    return F.conv2d(img, kernel, padding=1)


model = nn.Conv2d(1, 1, 3, padding=1).to(torch.bfloat16)
sobel(model(torch.rand(2, 1, 8, 8, dtype=torch.bfloat16))).abs().mean().backward()
