"""Runs every family with every pair of dtypes: in float64, without keep-going, and with it; prints what came of each as JSON.

table.py [DTYPES [PART OF A FAMILY'S NAME]]: DTYPES are letters of fhbd, all of them where none is given.

To be run under `dtypecheck trace --keep-going`, whose fallback is switched off for the first two.
"""

import ctypes
import itertools
import json
import os
import sys
import warnings

import torch

from families import DOUBLE, FAMILIES, REFUSED, Maker

DTYPES = {"f": torch.float32, "h": torch.float16, "b": torch.bfloat16, "d": torch.float64}
# Against float64: the lowest precision of the pair decides, with room for a few roundings and the
# cancellation in a sum.
TOLERANCES = {torch.bfloat16: 6e-2, torch.float16: 1e-2, torch.float32: 2e-5, torch.float64: 1e-9}
FOLLOWED_BY_BFLOAT16 = "autocast"  # computes in BFloat16 whatever the pair is


def find_pause():
    torch.ones(1)
    hooks = os.environ["DTYPECHECK_HOOKS"]
    mapped = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps")
              if line.count("/") > 1}
    for path in sorted(mapped):
        if path.startswith(hooks) or "dtypecheck_hook" in path:
            return ctypes.CDLL(path, mode=os.RTLD_NOLOAD).dtypecheck_hook_pause_keep_going
    raise SystemExit("run me under dtypecheck trace --keep-going")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for one in value for t in tensors_in(one)] if isinstance(value, (list, tuple)) else []


class Case(torch.nn.Module):
    """So that the trace has a module path for each family: cases.0, cases.1, … in their order."""

    def __init__(self, family):
        super().__init__()
        self.family = FAMILIES[family]

    def forward(self, maker, pair):
        return self.family(maker, *pair)


cases = torch.nn.ModuleList(Case(name) for name in FAMILIES)


def run(family, reference, pair):
    """The tensors that came of it, then the gradients with the dtype that each must have."""
    torch.manual_seed(1)
    maker = Maker(reference)
    results = tensors_in(cases[list(FAMILIES).index(family)](maker, pair))
    first = results[0]
    gradients = []
    if first.requires_grad:
        weight = torch.linspace(-1, 1, first.numel(), dtype=DOUBLE).view(first.shape) + 0.125
        (first * weight.to(first.dtype)).sum().backward()
        gradients = [(leaf.grad, dtype) for leaf, dtype in maker.leaves]
    return [t.detach() for t in results], gradients


def attempt(family, reference, pair):
    """Of an exception only the text is kept: with its traceback a failed checkpoint's hooks would stay in force."""
    try:
        return run(family, reference, pair), None
    except Exception as error:  # noqa: BLE001: whatever a family raises is what the table is about
        lines = str(error).splitlines() or [""]
        return None, f"{type(error).__name__}: {lines[0]}"


def differs(got, wanted, tolerance):
    scale = max(1.0, wanted.abs().max().item()) if wanted.numel() else 1.0
    return got.shape != wanted.shape or not torch.allclose(got.to(DOUBLE), wanted.to(DOUBLE),
                                                           rtol=tolerance, atol=tolerance * scale)


def tolerance_of(tensor, tolerance):
    return max(tolerance, TOLERANCES.get(tensor.dtype, 0))


def mistakes(got, wanted, tolerance):
    """What is wrong with the values, or nothing."""
    results, gradients = got
    found = [f"result {i} differs" for i, (a, b) in enumerate(zip(results, wanted[0]))
             if differs(a, b, tolerance_of(a, tolerance))]
    for i, ((a, dtype), (b, _)) in enumerate(zip(gradients, wanted[1])):
        if (a is None) != (b is None):
            found.append(f"gradient {i} is missing")
        elif a is not None and a.dtype != dtype:
            found.append(f"gradient {i} is {a.dtype}")
        elif a is not None and differs(a, b, tolerance):
            found.append(f"gradient {i} differs")
    return found


def verdict(family, pair, pause):
    lowest = torch.bfloat16 if FOLLOWED_BY_BFLOAT16 in family else max(pair, key=TOLERANCES.get)
    pause(1)
    wanted, why_no_reference = attempt(family, True, pair)
    plain, refusal = attempt(family, False, pair)
    pause(0)
    got, failure = attempt(family, False, pair)
    pause(1)
    assert (wanted is None) == (family in REFUSED), f"{family}: {why_no_reference}"
    row = {"refusal": refusal, "failure": failure, "wrong": [], "dtypes": []}
    if got is not None:
        row["wrong"] = mistakes(got, wanted, TOLERANCES[lowest])
        row["dtypes"] = [str(t.dtype).removeprefix("torch.") for t in got[0]]
    if plain is not None and got is not None:
        row["plain_wrong"] = mistakes(plain, wanted, TOLERANCES[lowest])
        row["same"] = all(torch.equal(a, b) or (a != a).any() for a, b in zip(got[0], plain[0]))
    return row


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    pause = find_pause()
    pause(1)
    letters = sys.argv[1] if len(sys.argv) > 1 else "".join(DTYPES)
    chosen = [name for name in FAMILIES if len(sys.argv) < 3 or sys.argv[2] in name]
    table = {}
    for name in chosen:
        for a, b in itertools.product(letters, repeat=2):
            table[f"{name}|{a}{b}"] = verdict(name, (DTYPES[a], DTYPES[b]), pause)
    print(json.dumps({"torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability(),
                      "rows": table}))


if __name__ == "__main__":
    main()
