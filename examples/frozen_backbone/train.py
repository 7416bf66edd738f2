"""Trains a head on the features of a frozen backbone. It dies of a dtype, on purpose: `dtypecheck trace --cure -- python train.py`."""
import torch
from backbone import Head, load_backbone
from evaluate import accuracy

weight_dtype = torch.bfloat16
backbone = load_backbone(weight_dtype)
torch.manual_seed(1)
images = torch.randn(64, 32)
labels = images[:, :4].argmax(1)

head = Head(classes=4)
optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
for epoch in range(2):
    for first in range(0, 64, 16):
        batch = slice(first, first + 16)
        features = backbone(images[batch])
        loss = torch.nn.functional.cross_entropy(head(features), labels[batch])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(backbone, head, images, labels):.2f}")
