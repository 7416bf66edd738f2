"""Tracebacks that this torch really raises, each with its fault, as JSON lines: explain_provoke.py >> REPORTS

Nothing of explain's tables was made from them but LibTorch's sentences. The code of a frame is in them, its function is not, so that
no name gives the fault away. Run with several versions of torch: they say the same in other words.
"""

import json
import sys
import traceback

import torch
import torch.nn.functional as F
from torch import nn

HALF, BFLOAT, DOUBLE = torch.float16, torch.bfloat16, torch.float64


def x():
    return torch.randn(4, 8)


def adam(state, **options):
    parameter = nn.Parameter(torch.ones(4, dtype=BFLOAT))
    optimizer = torch.optim.AdamW([parameter], **options)
    for _ in range(2):
        parameter.grad = torch.ones(4, dtype=BFLOAT)
        optimizer.step()
        optimizer.state[parameter][state] = optimizer.state[parameter][state].float()


def assign_gradient():
    nn.Parameter(torch.ones(4)).grad = torch.ones(4, dtype=HALF)


def put(destination, index):
    destination[index] = x()[:2]


def cat_under_autocast():
    with torch.autocast("cpu", dtype=BFLOAT):
        torch.cat([x().half(), x().bfloat16()])


INTO_HALF = {"dtype": HALF}
CASES = {
    "input-weight-mismatch": [
        lambda: nn.Linear(8, 8).half()(x()), lambda: nn.Linear(8, 8)(x().double()), lambda: nn.Linear(8, 8)(torch.ones(4, 8).long()),
        lambda: nn.Conv2d(3, 4, 3).to(BFLOAT)(torch.randn(1, 3, 8, 8)),
        lambda: nn.Conv2d(3, 4, 3)(torch.ones(1, 3, 8, 8, dtype=torch.uint8)),
        lambda: nn.Conv1d(3, 4, 3, bias=False)(torch.randn(1, 3, 8).double()), lambda: nn.LSTM(8, 8).to(BFLOAT)(torch.randn(3, 2, 8)),
        lambda: nn.GRU(8, 8)(torch.randn(3, 2, 8).double()), lambda: nn.Bilinear(8, 8, 4)(x().double(), x().double()),
        lambda: nn.ConvTranspose2d(3, 4, 3).half()(torch.randn(1, 3, 8, 8))],
    "norm-mixed": [
        lambda: nn.LayerNorm(8).to(BFLOAT)(x()), lambda: nn.GroupNorm(2, 4).to(BFLOAT)(torch.randn(2, 4, 8, 8)),
        lambda: nn.BatchNorm1d(8)(x().double())],
    "attention-qkv": [
        lambda: F.scaled_dot_product_attention(x()[None, None].half(), x()[None, None], x()[None, None]),
        lambda: F.scaled_dot_product_attention(x()[None], x()[None], x()[None], attn_mask=torch.ones(4, 4).long())],
    "promotion-cat-or-arith": [
        lambda: torch.ones(3).long().add_(torch.rand(3)), lambda: torch.ones(3).long().mul_(1.5),
        lambda: F.grid_sample(torch.randn(1, 3, 4, 4), torch.zeros(1, 4, 4, 2, dtype=DOUBLE), align_corners=False),
        lambda: torch.zeros(4, 8).scatter_(0, torch.zeros(4, 8).long(), x().half()),
        lambda: torch.zeros(4, 8).index_add_(0, torch.arange(4), x().half()), lambda: torch.ones(3).bool() - torch.ones(3).bool(),
        lambda: x().masked_fill_(torch.ones(4, 8), 0), lambda: x()[torch.tensor([0.0, 1.0])], lambda: nn.Embedding(10, 4)(torch.rand(3)),
        lambda: F.nll_loss(F.log_softmax(x(), 1), torch.rand(4)), lambda: torch.arange(4).mean(),
        lambda: torch.add(x(), x(), out=torch.empty(4, 8, dtype=torch.int32)), lambda: torch.dot(x()[0], x()[0].double()),
        lambda: torch.heaviside(x(), x().double()), lambda: torch.linalg.solve(torch.eye(8), x()[0].double()),
        lambda: torch.linalg.multi_dot([x(), x().T.double(), x()]),
        lambda: torch.ones(3).to(torch.float8_e4m3fn) + torch.ones(3)],
    "optimizer-state-dtype": [
        lambda: torch.zeros(3).lerp_(torch.ones(3, dtype=BFLOAT), 0.1), lambda: adam("exp_avg", foreach=False),
        lambda: adam("exp_avg", foreach=True)],
    "backward-dtype": [
        assign_gradient, lambda: F.mse_loss(torch.ones(4, requires_grad=True).half(), torch.zeros(4)).backward()],
    "index-put": [
        lambda: put(torch.zeros(4, 8, **INTO_HALF), torch.tensor([0, 1])),
        lambda: put(torch.zeros(2, 8, **INTO_HALF), torch.ones(2).bool())],
    "overflow-nan": [
        lambda: x().half().masked_fill(x() > 0, -1e9), lambda: x().half().masked_fill(x() > 0, torch.finfo(torch.float32).min),
        lambda: torch.multinomial(torch.full((4,), float("nan")), 1)],
    "library-limits-dtype": [
        lambda: x().bfloat16().numpy(), lambda: torch.linalg.svd(x().half()), lambda: torch.fft.fft(x().bfloat16()),
        lambda: torch.linalg.inv(torch.eye(4, dtype=BFLOAT)), lambda: torch.clamp(torch.ones(3, dtype=torch.complex64), max=2),
        lambda: torch.quantile(x().half(), 0.5), lambda: torch.finfo(torch.uint8)],
    "cpu-half-unimplemented": [
        lambda: nn.Linear(8, 8).half()(x().half()), lambda: nn.LayerNorm(8).half()(x().half()),
        lambda: nn.Conv2d(3, 4, 3).half()(torch.randn(1, 3, 8, 8).half()), lambda: torch.cdist(x().half(), x().half())],
    "autocast-misuse": [cat_under_autocast],
}


def main():
    for category, calls in CASES.items():
        for number, call in enumerate(calls):
            try:
                call()
            except AttributeError:
                continue  # this torch has no such op or dtype
            except Exception:  # noqa: BLE001 - what it says is what is wanted
                said = traceback.format_exc().replace("in <lambda>", "in main").replace(f"in {call.__name__}", "in main")
                print(json.dumps({"id": f"{category} {number} {torch.__version__}", "error": said, "context": "", "category": category,
                                  "scored": True, "text": "printed"}))


if __name__ == "__main__":
    sys.exit(main())
