"""One op call seen at the dispatcher, called again with every combination of operand dtypes."""
import os
import re
import warnings

import torch

import contract_file
import letters

# Those of letters.DTYPES that this torch has.
DTYPES = {letter: getattr(torch, name) for letter, name in letters.DTYPES.items()
          if hasattr(torch, name)}
# Where calls are repeated: they are seen on the CPU, which has all of them.
DEVICE = "cpu"
# On a GPU that tracer/pretended/ stands in for: LibTorch's code runs, and kernels do not.
IS_PRETENDED = "DTYPECHECK_PRETENDED_GPU" in os.environ
FLOATING = [DTYPES[letter] for letter in letters.FIRST]
MAX_ELEMENTS = 1 << 14
# What speaks of numbers, sizes or places, and not of dtypes. Kernels of a pretended GPU write nothing,
# so what is read back of its memory is any number.
VALUE_WORD = re.compile(
    r"shape mismatch|out of bounds|size mismatch|integer multiplication overflow|negative|"
    r"cannot be represented as a SymInt|expects std >= 0|powers of two|must be a matrix|"
    r"arguments from the '|to be on CPU|CPU tensor|cpu support")
# oneDNN's, which has Half kernels for CPUs with AVX512-FP16 alone.
OF_THIS_CPU = re.compile(r"could not create a primitive descriptor")
# Libraries that are pretended: a kernel that LibTorch compiles as it runs, and a solver's word about numbers.
OF_NO_CARD = re.compile(r"NVRTC|__HIPCC__|BatchLinearAlgebra")
# An op of another device's: its dtypes are not what it refuses.
OF_ANOTHER_DEVICE = re.compile(r"Could not run '.*' with arguments from the '|to be on CPU|expects CPU tensor")
DTYPE_WORD = re.compile(r"dtype|scalar type|data type|not implemented|Half|Float|float|double|"
                        r"Double|precision|promot|cast|INTERNAL ASSERT|same type|not supported|"
                        r"[Cc]omplex|[Ii]nteg(er|ral)|\b([Bb]ool|Byte|Char|Short|Int|Long)|boolean")


class Call:
    """An op overload with a value for each argument of its schema, and which of them are operands.

    An operand is a floating tensor or a list of them, or of Long where nothing is floating. Its name
    says what else decides the result: "other()" is a tensor without dimensions, which does not
    promote; "tensors[]" is a list. Other tensors are fixed, "index:l": they count, address or mask.
    """

    def __init__(self, op, values):
        self.op = op
        self.arguments = op._schema.arguments
        self.values = values
        self.operands = [i for i, value in enumerate(values) if is_operand(value)]
        if not self.operands:
            self.operands = [i for i, value in enumerate(values) if is_operand(value, [torch.int64])]
        self.fixed = [i for i, value in enumerate(values)
                      if i not in self.operands and next(tensors_in(value), None) is not None]
        self.names = ",".join(self._name(i) for i in self.operands)
        if self.fixed:
            self.names += " " + ",".join(
                "%s:%s" % (self._name(i).rstrip("()"), self._fixed_letters(i)) for i in self.fixed)
        self.kinds = contract_file.kinds_of(self.names) if self.operands else ""
        self.ranks = tuple(rank_of(values[i]) for i in self.operands)
        name = op._schema.name
        self.constant = set()
        self.casts = {}
        self.writes = any(a.alias_info is not None and a.alias_info.is_write
                          for a in self.arguments)
        self.op_name = name + ("." + op._schema.overload_name if op._schema.overload_name else "")

    def _name(self, index):
        value, name = self.values[index], self.arguments[index].name
        if isinstance(value, (list, tuple)):
            return name + "[]"
        return name + "()" if value.dim() == 0 else name

    def _fixed_letters(self, index):
        """Of a list with several dtypes a letter that no dtype has."""
        found = {letter_of(t.dtype) for t in tensors_in(self.values[index])}
        return found.pop() if len(found) == 1 else "x"

    def kept(self):
        """With copies of the operands: the caller goes on to write into them."""
        return Call(self.op, [copy_of(value) for value in self.values])

    def on(self, device):
        return Call(self.op, [moved(value, device) for value in self.values])

    def with_dtypes(self, combination, requires_grad=False):
        values = [copy_of(value) if self.writes else value for value in self.values]
        for place, i in enumerate(self.operands):
            given = combination if self.kinds == "l" else combination[place]
            wants_grad = requires_grad and self.arguments[i].name not in self.constant
            values[i] = fresh(self._cast(i, given), self.writes, wants_grad)
        return values

    def _cast(self, index, given):
        """Each operand is cast to a dtype once."""
        if (index, given) not in self.casts:
            self.casts[index, given] = cast(self.values[index], given)
        return self.casts[index, given]

    def with_fixed(self, combination):
        """The first letter for all operands, then one for each fixed argument."""
        values = self.with_dtypes(combination[0] * (1 if self.kinds == "l" else len(self.kinds)))
        for i, letter in zip(self.fixed, combination[1:]):
            if letter != "x":
                values[i] = cast_all(values[i], letter)
        return values

    def find_constants(self, base):
        """Operands that have no gradient: running_mean. LibTorch says which."""
        for _ in self.operands:
            try:
                self.run(self.with_dtypes(base, requires_grad=True))
                return
            except Exception as error:  # noqa: BLE001
                named = re.search(r"with respect to argument '(\w+)'", str(error))
                if named is None:
                    return
                self.constant.add(named.group(1))

    def run(self, values):
        positional = [v for v, a in zip(values, self.arguments) if not a.kwarg_only]
        named = {a.name: v for v, a in zip(values, self.arguments) if a.kwarg_only}
        return self.op(*positional, **named)


def is_floating(value, dtypes=tuple(FLOATING)):
    return (isinstance(value, torch.Tensor) and value.dtype in dtypes
            and value.layout == torch.strided and value.device.type in ("cpu", DEVICE))


def is_operand(value, dtypes=tuple(FLOATING)):
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(is_floating(v, dtypes) for v in value)
    return is_floating(value, dtypes)


def letter_of(dtype):
    return letters.LETTERS.get(str(dtype).replace("torch.", ""), "x")


def rank_of(value):
    return tuple(v.dim() for v in value) if isinstance(value, (list, tuple)) else value.dim()


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def copy_of(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [copy_of(v) for v in value]
    return value


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, torch.device):
        return torch.device(device)
    if isinstance(value, (list, tuple)):
        return [moved(v, device) for v in value]
    return value


def cast(value, given):
    """A list with two dtypes has the first in its first half."""
    if isinstance(value, (list, tuple)):
        return [cast(v, given[i * len(given) // len(value)]) for i, v in enumerate(value)]
    value = value.detach()
    if given[0] in letters.INTEGRAL and value.is_floating_point():
        # Away from zero: what is divided by, or a probability, is 1 and not 0.
        value = value.nan_to_num(0, 100, -100).clamp(-100, 100)
        value = value.sign() * value.abs().ceil()
        value = value.abs() if given[0] == "u" else value
    return value.to(DTYPES[given[0]])


def fresh(value, is_written, requires_grad):
    """What an op may write into is its own, and a gradient is asked of a leaf."""
    if isinstance(value, list):
        return [fresh(v, is_written, requires_grad) for v in value]
    tensor = value.clone() if is_written else value.detach()
    takes_grad = requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    return tensor.requires_grad_() if takes_grad else tensor


def cast_all(value, letter):
    if isinstance(value, (list, tuple)):
        return [cast_all(v, letter) for v in value]
    return value.to(DTYPES[letter]) if isinstance(value, torch.Tensor) else value


def call_of(op, args, kwargs):
    """The Call, or None where the op takes no operand that this table is about."""
    arguments = op._schema.arguments
    values = []
    for i, argument in enumerate(arguments):
        if i < len(args):
            values.append(args[i])
        elif argument.name in kwargs:
            values.append(kwargs[argument.name])
        elif argument.has_default_value():
            values.append(argument.default_value)
        else:
            return None
    for tensor in tensors_in(values):
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_complex():
            return None
        # An empty tensor reaches no kernel, and so no kernel that refuses it.
        if tensor.numel() == 0 or tensor.numel() > MAX_ELEMENTS:
            return None
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return None
    if any(isinstance(v, torch.dtype) for v in values):
        return None  # the result's dtype is an argument
    call = Call(op, values)
    is_scalar_list = call.kinds == "l" and 0 in call.ranks[0]
    return call if 0 < len(call.operands) <= 8 and not is_scalar_list else None


def has_tensor(value):
    return next(tensors_in(value), None) is not None


def letters_of(result):
    """One letter a result; a list of tensors of one dtype is one result."""
    if isinstance(result, tuple):
        return "".join(letters_of(item) for item in result if has_tensor(item))[:6] or "-"
    found = [letter_of(t.dtype) for t in tensors_in(result)]
    return "".join(found[:1] if len(set(found)) == 1 else found[:6]) or "-"


def clean(error):
    text = str(error).strip()
    for end in ("\nException raised", "\nCPU: registered", "\n\n"):
        text = text.split(end)[0]
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r'at "[^"]*/([^"/]+)":\d+', r'at "\1"', text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    return text[:300].strip()


def outcome_of_error(error, combination):
    text = clean(error)
    if DEVICE == "cuda" and "CUDA error" in text:
        os._exit(3)  # this process has no CUDA any more: a fresh child goes on with the next op
    # Values that a dtype cannot hold (a singular matrix, an index) say nothing about dtypes.
    is_wide = any(letter not in letters.FIRST for letter in combination)
    if OF_NO_CARD.search(text) or OF_ANOTHER_DEVICE.search(text):
        return "?"
    is_about_dtypes = DTYPE_WORD.search(text) and not VALUE_WORD.search(text)
    if not is_about_dtypes and (is_wide or len(set(combination)) == 1):
        return "?"
    return contract_file.Rejects((type(error).__name__.lstrip("_"), text))


def outcome_of(call, values, combination):
    try:
        found = letters_of(call.run(values))
        wait_for_device()
        return found
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
        return outcome_of_error(error, combination)


def wait_for_device():
    """What a kernel ends in is reported where the device is next asked."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def forward(call, combination, requires_grad=False):
    return outcome_of(call, call.with_dtypes(combination, requires_grad), combination)


def backward(call, combination):
    """"." when gradients come through, None when there is nothing to differentiate."""
    values = call.with_dtypes(combination, requires_grad=True)
    try:
        outputs = [t for t in tensors_in(call.run(values)) if t.requires_grad]
    except Exception:  # noqa: BLE001 - the forward row has it
        return "-"
    if not outputs:
        return None
    inputs = [t for i in call.operands for t in tensors_in(values[i]) if t.requires_grad]
    try:
        torch.autograd.grad(outputs, inputs, [torch.ones_like(t) for t in outputs],
                            allow_unused=True)
        wait_for_device()
        return "."
    except Exception as error:  # noqa: BLE001
        return outcome_of_error(error, combination)


def is_differentiated(call):
    name = call.op_name
    return not call.writes and "_backward" not in name and "_foreach" not in name


def is_autocast_on():
    if DEVICE == "cuda":
        return torch.is_autocast_enabled()
    if hasattr(torch, "is_autocast_cpu_enabled"):
        return torch.is_autocast_cpu_enabled()
    return torch.is_autocast_enabled("cpu")


def autocast_dtypes():
    found = []
    for name, dtype in (("BFloat16", torch.bfloat16), ("Half", torch.float16)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with torch.autocast(DEVICE, dtype=dtype):
                    enabled = is_autocast_on()
                if enabled:
                    found.append((name, dtype))
            except (RuntimeError, TypeError):
                pass
    return found


def measured_letters():
    return "".join(DTYPES)


def base_of(call):
    letter = letter_of(next(tensors_in(call.values[call.operands[0]])).dtype)
    return ("l" if letter == "l" else "f") * (1 if call.kinds == "l" else len(call.kinds))


def combinations(call, mode, is_wide):
    """Of the first four dtypes, or all others. One tensor alone in a list is of one dtype."""
    first = contract_file.combinations_of(call.kinds)
    found = contract_file.combinations_of(call.kinds, measured_letters(), mode)
    is_lone = call.kinds == "l" and len(call.values[call.operands[0]]) == 1
    return [c for c in found if (c in first) != is_wide and (len(c) == 1 or not is_lone)]


def measure(call, autocasts, begun=lambda: None, is_wide=False):
    """{mode: {combination: outcome}}, or None when the call does not even run as it was seen.

    begun() is called before each mode: a watcher's limit is for one of them.
    """
    if DEVICE != "cpu":
        call = call.on(DEVICE)
    base = base_of(call)
    measured = combinations(call, "grad", is_wide)
    modes = {}
    with torch.no_grad():
        if not isinstance(forward(call, base), str):
            return None
        plain = {c: forward(call, c) for c in combinations(call, "plain", is_wide)}
        modes["plain"] = plain
        as_plain = {c: plain[c] for c in measured}
        if is_wide and call.fixed and base[0] == "f":
            begun()
            of_fixed = {c: outcome_of(call, call.with_fixed(c), c + "l") for c in
                        contract_file.index_combinations_of(call.names, measured_letters())}
            if of_fixed:
                modes["index"] = of_fixed
        if not is_differentiated(call):
            return modes
        for name, dtype in autocasts:
            begun()
            with torch.autocast(DEVICE, dtype=dtype, cache_enabled=False):
                outcomes = {c: forward(call, c) for c in measured}
            if dtype == torch.float16 and DEVICE == "cpu":
                outcomes = on_any_cpu(outcomes)
            if outcomes != as_plain:
                modes["autocast:" + name] = outcomes
    if base[0] == "l":
        return modes
    begun()
    call.find_constants(base)
    outcomes = {c: forward(call, c, requires_grad=True) for c in measured}
    if outcomes != as_plain:
        modes["grad"] = outcomes
    begun()
    if backward(call, base) == ".":
        outcomes = {c: backward(call, c) for c in measured}
        # Nothing to differentiate, as of integers, is no refusal.
        outcomes = {c: "-" if o is None else o for c, o in outcomes.items()}
        if any(not isinstance(o, str) for o in outcomes.values()):
            modes["backward"] = outcomes
    return modes


def on_any_cpu(outcomes):
    """What Half autocast does, where another CPU may do otherwise: not known."""
    return {combination: "?" if not isinstance(outcome, str) and OF_THIS_CPU.search(outcome[1])
            else outcome for combination, outcome in outcomes.items()}


def agreed(first, second):
    """Two measurements of one op with other shapes or numbers: what both say, "?" elsewhere."""
    merged = dict(second)
    for combination, outcome in first.items():
        other = second.get(combination, outcome)
        both_reject = not isinstance(outcome, str) and not isinstance(other, str)
        merged[combination] = outcome if outcome == other or both_reject else "?"
    return merged
