"""A model in the 16 bits that an option, a configuration or a default asks for, stepped three times."""
import argparse
import json
import sys

import torch


def main(args):
    torch.manual_seed(0)
    if args.default:
        torch.ones(1)  # LibTorch runs, and the tracer with it, before the default is set
        torch.set_default_dtype(torch.bfloat16)
    model = torch.nn.Linear(32, 8)
    dtype = {"16-true": torch.float16, "bf16-true": torch.bfloat16, "32": None}[args.precision]
    model = model.to(dtype) if dtype else model
    x = torch.randn(4, 32, dtype=model.weight.dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for _ in range(3):
        model(x).float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps([p.float().sum().item() for p in model.parameters()]))


parser = argparse.ArgumentParser()
parser.add_argument("--precision", default="32")
parser.add_argument("--config")
parser.add_argument("--default", action="store_true")
parser.add_argument("--lr", type=float, default=1e-6)
parsed = parser.parse_args()
if parsed.config:
    with open(parsed.config, encoding="utf-8") as file:
        parsed.precision = next(line.split(": ")[1].strip() for line in file if line.startswith("precision"))
sys.exit(main(parsed))
