"""Calls of LibTorch's own operator database that fail, as a program with one call a line.

op_database_calls.py refused|others|mixed FOLDER

refused: what works in Float and fails when the dtype of one operand, or of all, is another one.
others: what fails in Float throughout, for a shape, a dimension or an index: no dtype is wrong.
mixed: what works in some other dtypes or in a mix of them, under autocast or not, and fails for a shape, an index or a
       device, as it does in Float.
Writes calls.pkl, calls.json (what each line calls, and what it says) and program_0.py, program_1.py, …,
since one process keeps the messages of so many throws alone. The helper that calls them lies in a
site-packages of its own, so that the lines of the programs are the user's.
"""
import itertools
import json
import pathlib
import pickle
import re
import sys
import warnings

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "rules/contracts/probe"))
from tasks import op_database  # noqa: E402

HELPER = """import pathlib, pickle
import torch

CALLS = pickle.loads((pathlib.Path(__file__).parents[1] / "calls.pkl").read_bytes())

def call(number, dies=False):
    path, args, kwargs, autocast = CALLS[number]
    function = torch
    for name in path.split("."):
        function = getattr(function, name)
    try:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            function(*args, **kwargs)
    except Exception:
        if dies:
            raise
"""
PROGRAM = """import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "site-packages"))
from op_database import call
"""
FIRST_LINE = PROGRAM.count("\n") + 1
CALLS_A_PROGRAM = 800
SAMPLES = 2
MIXED_CALLS_AN_OP = 12
DTYPES = ("float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool", "complex64",
          "float8_e4m3fn")
ABOUT_DTYPES = re.compile(r"dtype|scalar type|data type|not implemented for|\btypes?\b|complex|"
                          r"floating|integ|bool|cast|Half|Float|Double|Long", re.I)


def replaced(value, change):
    """The value with change(tensor, its number) for each tensor in it."""
    counter = itertools.count()

    def walk(one):
        if isinstance(one, torch.Tensor):
            return change(one.detach().clone(), next(counter))
        if isinstance(one, dict):
            return {key: walk(item) for key, item in one.items()}
        if isinstance(one, (list, tuple)):
            return type(one)(walk(item) for item in one)
        return one
    return walk(value)


def tensors_of(value):
    found = []
    replaced(value, lambda tensor, _: found.append(tensor))
    return found


def function_of(path):
    function = torch
    for name in path.split("."):
        function = getattr(function, name, None)
    return function


def raised(path, arguments, autocast=False):
    """The first line of what the call says; None where it works or cannot be written down."""
    try:
        args, kwargs = pickle.loads(pickle.dumps(arguments))
    except Exception:  # noqa: BLE001 - a function or a generator among the arguments
        return None
    try:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            function_of(path)(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return str(error).split("\n")[0] or type(error).__name__
    return None


def samples():
    """(path, ((arguments), {arguments})) of calls that work in Float."""
    for op in op_database():
        is_random_memory = op.name in ("empty", "empty_like", "new_empty")
        if is_random_memory or not callable(function_of(op.name)):
            continue
        if torch.float32 not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        try:
            for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), SAMPLES):
                arguments = ((sample.input, *sample.args), dict(sample.kwargs))
                if tensors_of(arguments) and raised(op.name, arguments) is None:
                    yield op, arguments
        except Exception:  # noqa: BLE001 - a sample that cannot be made
            continue


def floats_of(arguments):
    return [i for i, t in enumerate(tensors_of(arguments)) if t.dtype == torch.float32]


def refused():
    for op, arguments in samples():
        floats = floats_of(arguments)
        positions = {"all": floats, "first": floats[:1], "last": floats[-1:]} if floats else {}
        for (position, chosen), name in itertools.product(positions.items(), DTYPES):
            if position != "all" and len(floats) < 2:
                continue
            changed = replaced(arguments, lambda tensor, number: tensor.to(
                getattr(torch, name)) if number in chosen else tensor)
            yield op.name, changed, "%s %s" % (position, name), False


def others():
    for op, arguments in samples():
        tensors = tensors_of(arguments)
        floats = floats_of(arguments)
        larger = [n for n in floats[1:] if tensors[n].dim() > 0]
        for number in larger[-1:]:
            yield op.name, replaced(arguments, lambda tensor, i: torch.randn(
                [size + 3 for size in tensor.shape] + [7]) if i == number else tensor), "shape", False
        integers = [n for n, tensor in enumerate(tensors) if tensor.dtype == torch.int64]
        for number in integers[:1]:
            yield op.name, replaced(arguments, lambda tensor, i: tensor + 100000
                                    if i == number else tensor), "index", False
        for name in ("dim", "axis"):
            if isinstance(arguments[1].get(name), int):
                yield op.name, (arguments[0], dict(arguments[1], **{name: 99})), "dimension", False
        if op.error_inputs_func is None:
            continue
        try:
            errors = list(op.error_inputs("cpu"))
        except Exception:  # noqa: BLE001
            continue
        for error in errors:
            sample = error.sample_input
            wrong = ((sample.input, *sample.args), dict(sample.kwargs))
            if all(t.dtype == torch.float32 for t in tensors_of(wrong)):
                yield op.name, wrong, "error input", False


def wrong_ones(tensor):
    """(what is wrong with it, the tensor in another shape, on another device or with an index too large), in its dtype."""
    if tensor.dim() > 0:
        yield "size", torch.cat([tensor, tensor, tensor.narrow(-1, 0, min(1, tensor.shape[-1]))], -1)
        yield "first size", torch.cat([tensor, tensor, tensor.narrow(0, 0, min(1, tensor.shape[0]))], 0)
    yield "dimensions", tensor.expand(7, 3, *tensor.shape).contiguous()
    yield "device", tensor.to("meta")
    if tensor.dtype == torch.int64:
        yield "index", tensor + 100000


def mixes_of(floats):
    """(which, {number: dtype}) of a call's Float tensors."""
    for name in DTYPES[:4]:
        dtype = getattr(torch, name)
        yield "all " + name, dict.fromkeys(floats, dtype)
        if len(floats) > 1:
            yield "first " + name, {floats[0]: dtype}
            yield "last " + name, {floats[-1]: dtype}


def mixed():
    """A mix is legal where the call works with it, and the rest is to blame where that fails in Float as well."""
    for op, arguments in samples():
        tensors, floats = tensors_of(arguments), floats_of(arguments)
        if any(tensor.layout != torch.strided for tensor in tensors):
            continue
        wrong = [(number, how, other) for number, tensor in enumerate(tensors) for how, other in wrong_ones(tensor)]
        wrong = [(number, how, other) for number, how, other in wrong if raised(
            op.name, replaced(arguments, lambda tensor, i: other if i == number else tensor))]
        found = 0
        for autocast, (which, dtypes) in itertools.product((True, False), mixes_of(floats)):
            if raised(op.name, replaced(arguments, lambda t, i: t.to(dtypes.get(i, t.dtype))), autocast):
                continue
            for number, how, other in wrong:
                changed = replaced(arguments, lambda tensor, i: (other if i == number else tensor).to(
                    dtypes.get(i, tensor.dtype)))
                if found < MIXED_CALLS_AN_OP and raised(op.name, changed, autocast):
                    found += 1
                    yield op.name, changed, "%s, %s%s" % (which, how, " under autocast" if autocast else ""), autocast


def main():
    warnings.filterwarnings("ignore")
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    calls, told, seen = [], [], set()
    for path, arguments, what, autocast in {"refused": refused, "others": others, "mixed": mixed}[kind]():
        said = raised(path, arguments, autocast)
        # Of a call in Float that speaks of dtypes it is not sure that they are right.
        if said is None or (kind == "others" and ABOUT_DTYPES.search(said)):
            continue
        if (path, what, said[:60]) not in seen:
            seen.add((path, what, said[:60]))
            calls.append((path, *arguments, autocast))
            told.append({"op": path, "what": what, "error": said[:200],
                         "program": "program_%d.py" % (len(told) // CALLS_A_PROGRAM),
                         "line": FIRST_LINE + len(told) % CALLS_A_PROGRAM})
    packages = folder / "site-packages"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "op_database.py").write_text(HELPER)
    (folder / "calls.pkl").write_bytes(pickle.dumps(calls))
    (folder / "calls.json").write_text(json.dumps(told))
    for number, call in enumerate(told):
        with open(folder / call["program"], "a") as program:
            program.write((PROGRAM if call["line"] == FIRST_LINE else "") + "call(%d)\n" % number)
    print(len(calls), "calls of", len({call["op"] for call in told}), "ops")


if __name__ == "__main__":
    main()
