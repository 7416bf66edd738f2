"""Labels, indices and masks in every wrong dtype; a line "# <- name" is where its finding has to stand."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
weight = torch.randn(3, 4, requires_grad=True)
rows, classes, mask = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([[1, 0, 0, 1]])
scores = F.linear(rows, weight)

losses = [
    F.cross_entropy(scores, classes.int()),  # <- int labels
    F.cross_entropy(scores, classes.half()),  # <- half labels
    F.nll_loss(F.log_softmax(scores, 1), classes.float()),  # <- float labels
    F.cross_entropy(scores, F.one_hot(classes, 3)),  # <- one-hot labels
    F.binary_cross_entropy_with_logits(scores, F.one_hot(classes, 3)),  # <- one-hot values
    F.embedding(classes.float(), weight).sum(),  # <- float ids
    weight[classes.double()].sum(),  # <- float indices
    weight.masked_fill(mask.float(), 0.0).sum(),  # <- float mask
    torch.where(mask.int(), weight, 0.0).sum(),  # <- int condition
    F.scaled_dot_product_attention(weight, weight, weight, attn_mask=mask[:, :3]).sum(),  # <- int mask
    F.linear(classes[:4], weight).sum(),  # <- integer input
]
sum(losses).backward()

right = [
    F.cross_entropy(scores, classes), F.cross_entropy(scores, classes),
    F.nll_loss(F.log_softmax(scores, 1), classes), F.cross_entropy(scores, F.one_hot(classes, 3).float()),
    F.binary_cross_entropy_with_logits(scores, F.one_hot(classes, 3).float()), F.embedding(classes, weight).sum(),
    weight[classes].sum(), weight.masked_fill(mask.bool(), 0.0).sum(), torch.where(mask.bool(), weight, 0.0).sum(),
    F.scaled_dot_product_attention(weight, weight, weight, attn_mask=mask[:, :3].bool()).sum(),
    F.linear(classes[:4].float(), weight).sum(),
]
print("as meant", all(torch.equal(loss, other) for loss, other in zip(losses, right)), bool(weight.grad.isfinite().all()))
