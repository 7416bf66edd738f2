"""One op call seen at the dispatcher, called again with every combination of operand dtypes."""
import re
import warnings

import torch

import contract_file

DTYPES = {"f": torch.float32, "h": torch.float16, "b": torch.bfloat16, "d": torch.float64}
MAX_ELEMENTS = 1 << 14
DTYPE_WORD = re.compile(r"dtype|scalar type|data type|not implemented|Half|Float|float|double|"
                        r"Double|precision|promot|cast|INTERNAL ASSERT|same type|not supported")


class Call:
    """An op overload with a value for each argument of its schema, and which of them are operands.

    An operand is a floating tensor or a list of them. Its name says what else decides the result:
    "other()" is a tensor without dimensions, which does not promote; "tensors[]" is a list.
    """

    def __init__(self, op, values):
        self.op = op
        self.arguments = op._schema.arguments
        self.values = values
        self.operands = [i for i, value in enumerate(values) if is_operand(value)]
        self.names = ",".join(self._name(i) for i in self.operands)
        self.kinds = contract_file.kinds_of(self.names) if self.operands else ""
        self.ranks = tuple(rank_of(values[i]) for i in self.operands)
        name = op._schema.name
        self.constant = set()
        self.op_name = name + ("." + op._schema.overload_name if op._schema.overload_name else "")

    def _name(self, index):
        value, name = self.values[index], self.arguments[index].name
        if isinstance(value, (list, tuple)):
            return name + "[]"
        return name + "()" if value.dim() == 0 else name

    @property
    def writes(self):
        return any(a.alias_info is not None and a.alias_info.is_write for a in self.arguments)

    def kept(self):
        """With copies of the operands: the caller goes on to write into them."""
        return Call(self.op, [copy_of(value) for value in self.values])

    def with_dtypes(self, combination, requires_grad=False):
        values = list(self.values)
        for i, value in enumerate(values):
            if i not in self.operands:
                values[i] = copy_of(value)
                continue
            letters = combination if self.kinds == "l" else combination[self.operands.index(i)]
            wants_grad = requires_grad and self.arguments[i].name not in self.constant
            values[i] = cast(value, letters, wants_grad)
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


def is_floating(value):
    return (isinstance(value, torch.Tensor) and value.dtype in DTYPES.values()
            and value.layout == torch.strided and value.device.type == "cpu")


def is_operand(value):
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(is_floating(v) for v in value)
    return is_floating(value)


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


def cast(value, letters, requires_grad):
    if isinstance(value, (list, tuple)):
        return [cast(v, letters[i * len(letters) // len(value)], requires_grad)
                for i, v in enumerate(value)]
    tensor = value.detach().to(DTYPES[letters[0]])
    if tensor.data_ptr() == value.data_ptr():
        tensor = tensor.clone()
    return tensor.requires_grad_() if requires_grad else tensor


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
    letters = [contract_file.LETTERS.get(str(t.dtype).replace("torch.", ""), "x")
               for t in tensors_in(result)]
    return "".join(letters[:1] if len(set(letters)) == 1 else letters[:6]) or "-"


def clean(error):
    text = str(error).strip()
    for end in ("\nException raised", "\nCPU: registered", "\n\n"):
        text = text.split(end)[0]
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r'at "[^"]*/([^"/]+)":\d+', r'at "\1"', text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    return text[:300].strip()


def outcome_of_error(error, combination, autocast=""):
    text = clean(error)
    # Values that a lower precision cannot hold (a singular matrix) say nothing about dtypes.
    if not DTYPE_WORD.search(text) and len(set(combination)) == 1:
        return "?"
    kind = type(error).__name__.lstrip("_")
    return contract_file.Rejects((kind, contract_file.message_template(
        text, combination, autocast)))


def forward(call, combination, requires_grad=False, autocast=""):
    values = call.with_dtypes(combination, requires_grad)
    try:
        return letters_of(call.run(values))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
        return outcome_of_error(error, combination, autocast)


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
        return "."
    except Exception as error:  # noqa: BLE001
        return outcome_of_error(error, combination)


def is_differentiated(call):
    name = call.op_name
    return not call.writes and "_backward" not in name and "_foreach" not in name


def autocast_dtypes():
    found = []
    for name, dtype in (("BFloat16", torch.bfloat16), ("Half", torch.float16)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with torch.autocast("cpu", dtype=dtype):
                    enabled = (torch.is_autocast_enabled("cpu")
                               if not hasattr(torch, "is_autocast_cpu_enabled")
                               else torch.is_autocast_cpu_enabled())
                if enabled:
                    found.append((name, dtype))
            except (RuntimeError, TypeError):
                pass
    return found


def measure(call, autocasts, begun=lambda: None):
    """{mode: {combination: outcome}}, or None when the call does not even run as it was seen.

    begun() is called before each mode: a watcher's limit is for one of them.
    """
    base = "f" * (1 if call.kinds == "l" else len(call.kinds))
    combinations = contract_file.combinations_of(call.kinds)
    modes = {}
    with torch.no_grad():
        if not isinstance(forward(call, base), str):
            return None
        modes["plain"] = {c: forward(call, c) for c in combinations}
        if not is_differentiated(call):
            return modes
        for name, dtype in autocasts:
            begun()
            letter = name[0].lower()
            with torch.autocast("cpu", dtype=dtype, cache_enabled=False):
                outcomes = {c: forward(call, c, autocast=letter) for c in combinations}
            if outcomes != modes["plain"]:
                modes["autocast:" + name] = outcomes
    begun()
    call.find_constants(base)
    outcomes = {c: forward(call, c, requires_grad=True) for c in combinations}
    if outcomes != modes["plain"]:
        modes["grad"] = outcomes
    begun()
    if backward(call, base) == ".":
        outcomes = {c: backward(call, c) for c in combinations}
        if any(not isinstance(o, str) for o in outcomes.values()):
            modes["backward"] = outcomes
    return modes


def agreed(first, second):
    """Two measurements of one op with other shapes or numbers: what both say, "?" elsewhere."""
    merged = {}
    for combination, outcome in first.items():
        other = second.get(combination, "?")
        both_reject = not isinstance(outcome, str) and not isinstance(other, str)
        merged[combination] = outcome if outcome == other or both_reject else "?"
    return merged
