"""Finds in a C++ source what a cure changes, and writes it. Calls are found by their names and brackets, which is enough where the run
says the line: no parser of C++ has to be installed where the program runs.

Edits are as source.py has them.
"""

import os
import re

from source import Unplaced, decoded, edit_of, read
from statement import is_op_called
from syntax import FACTORIES

# What is no code: comments and literals, and what is in them.
NO_CODE = re.compile(rb'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}
OPTIONS = re.compile(rb"options|TensorOptions|dtype\(|\b(?:torch|at|c10)::k[A-Z]|\bopts?\b")
DTYPE = re.compile(rb"(?:torch|at|c10)::k(?:U?Int(?:8|16|32|64)?|Char|Byte|Short|Long|Bool|Double|Half|BFloat16|Float(?:16|32|64)?)\b")
NAME = re.compile(rb"[A-Za-z_]\w*")
CASTS = ("to", "toType")
# What is no tensor among arguments: a number, a list in braces, a dtype, an enumerator, a text.
NO_TENSOR = re.compile(rb'[-\d{"]|(?:torch|at|c10|std)::(?:k[A-Z]|null|Reduction)|(?:true|false|nullptr)\b')
# What a layer is given and has no other name for, in the words of the ops.
LAYER_INPUTS = ("input", "mat1", "indices")
LAYER_OPS = {"linear": ("addmm", "mm", "matmul")}  # what a layer calls by another name
LAYERS_WITH_WEIGHT = re.compile(r"(Linear|Conv\w*|\w+Norm\w*|PReLU)$")


class Text:
    """A C++ source as bytes, and as the same bytes with blanks for what is no code."""

    def __init__(self, path, text=None):
        self.path = path
        self.data = read(path) if text is None else text.encode()
        decoded(path, self.data)
        self.lines = self.data.split(b"\n")
        self.code = NO_CODE.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), self.data)

    def begin_of(self, line):
        return sum(len(one) + 1 for one in self.lines[:line - 1])

    def place(self, offset):
        line = self.data.count(b"\n", 0, offset)
        return line, offset - (self.data.rfind(b"\n", 0, offset) + 1)

    def replaced(self, begin, end, text):
        return (*self.place(begin), *self.place(end), text)

    def closing(self, at):
        """Where the bracket at this place is closed."""
        open_ones = []
        for i in range(at, len(self.code)):
            one = self.code[i:i + 1]
            if one in CLOSING:
                open_ones.append(CLOSING[one])
            elif open_ones and one == open_ones[-1]:
                open_ones.pop()
                if not open_ones:
                    return i
        raise Unplaced("a bracket is not closed")

    def before(self, end):
        """(begin, end) of the expression that ends there."""
        begin = end
        while begin > 0:
            one = self.code[begin - 1:begin]
            if one in (b")", b"]"):
                begin = next((i for i in range(begin - 1, -1, -1) if self.code[i:i + 1] in CLOSING and self.closing(i) == begin - 1), 0)
            elif re.match(rb"[\w.]", one) or self.code[begin - 2:begin] in (b"::", b"->"):
                begin -= 1 if re.match(rb"[\w.]", one) else 2
            else:
                break
        return begin, end

    def behind(self, begin):
        """(begin, end) of the expression that begins there."""
        end = begin
        while end < len(self.code):
            one = self.code[end:end + 1]
            if one in (b"(", b"["):
                end = self.closing(end) + 1
            elif re.match(rb"[\w.]", one) or self.code[end:end + 2] in (b"::", b"->"):
                end += 1 if re.match(rb"[\w.]", one) else 2
            else:
                break
        return begin, end

    def operands(self, sign, line):
        """The two of `a + b`, where the line has the sign once, and no other sign binds one of them."""
        begin, end = self.begin_of(line), self.begin_of(line + 1)
        alone = rb"(?<=[\w)\]]) *%s *(?=[\w(])" % re.escape(sign.encode())
        found = list(re.finditer(alone, self.code[begin:end]))
        if len(found) != 1:
            return None
        left, right = self.before(begin + found[0].start()), self.behind(begin + found[0].end())
        is_whole = re.search(rb"(?:[=(,;{]|\breturn)\s*$", self.code[:left[0]]) and re.match(rb"\s*[;),}]", self.code[right[1]:])
        return (left, right) if is_whole else None

    def made_before(self, at, results, dtype):
        """The variable that a line of the function above made in the dtype, the last one."""
        begin = max(self.code.rfind(b"\n}", 0, at), 0)
        names = []
        for line, *_, its in results:
            bound = re.match(rb"\s*(?:const )?(?:auto&?|(?:\w+::)*Tensor&?)?\s*([A-Za-z_]\w*)\s*=[^=]",
                             self.code[self.begin_of(line):self.begin_of(line + 1)])
            if its == dtype and bound and not self.class_of(bound[1].decode()) and begin < self.begin_of(line) < self.begin_of(self.place(at)[0] + 1):
                names.append((line, bound[1].decode()))
        return [max(names)[1]] if names else []

    def parts(self, begin, end):
        """(begin, end) of what commas part, without the blanks around it."""
        cuts, i = [begin - 1], begin
        while i < end:
            one = self.code[i:i + 1]
            i = self.closing(i) if one in CLOSING else i
            cuts += [i] if one == b"," else []
            i += 1
        found = []
        for first, last in zip(cuts, [*cuts[1:], end]):
            text = self.code[first + 1:last]
            if text.strip():
                found.append((first + 1 + len(text) - len(text.lstrip()), last - len(text) + len(text.rstrip())))
        return found

    def calls(self, line, is_wanted):
        """The calls of functions and methods that begin on the line, or on one of the three below, or on one of the eight above and
        reach to it, and are wanted."""
        begin = self.begin_of(line)
        named = re.compile(rb"\b[A-Za-z_]\w*\s*(?:<[^<>;(){}]*>)?\s*\(")
        for last in (line, line + 1, line + 3):
            all_of_them = [Call(self, one) for one in named.finditer(self.code, begin, self.begin_of(last + 1))]
            found = [one for one in all_of_them if is_wanted(one)]
            if found:
                return found
        above = [Call(self, one) for one in named.finditer(self.code, self.begin_of(max(line - 8, 1)), begin)]
        return [one for one in above if is_wanted(one) and one.end >= begin][-1:]

    def class_of(self, name):
        """"Linear" of `torch::nn::Linear fc{nullptr}` or `fc = register_module("fc", nn::Linear(4, 4))`, here or in a header that is
        included from beside it; "" where it is not found, or several are."""
        texts = [self.data]
        for header in re.findall(rb'#include "([^"]+)"', self.data):
            path = os.path.join(os.path.dirname(self.path), header.decode(errors="replace"))
            texts += [read(path)] if os.path.isfile(path) else []
        name = re.escape(name.encode())
        found = {one for text in texts for pattern in (rb"nn::(\w+)[\s&]+(?:\w+(?:\{[^{}]*\})?,\s*)*%s\b",
                                                        rb'\b%s\s*[=({]\s*register_module\("\w*",\s*(?:\w+::)*(\w+)\(',
                                                        rb"\b%s\s*=\s*(?:\w+::)*nn::(\w+)\(")
                 for one in re.findall(pattern % name, text)}
        return found.pop().decode() if len(found) == 1 else ""


class Call:
    def __init__(self, text, found):
        self.text, self.name, self.opening = text, found.start(), found.end() - 1

    @property
    def end(self):
        return self.text.closing(self.opening)

    @property
    def arguments(self):
        return self.text.parts(self.opening + 1, self.end)

    def is_named(self, *names):
        return NAME.match(self.text.code, self.name)[0].decode() in names

    def path(self):
        """"torch.nll_loss" of torch::nll_loss(…)."""
        before = re.search(rb"(?:\w+(?:::|\.|->))*$", self.text.code[:self.name])[0].decode()
        return re.sub(r"::|->", ".", before) + NAME.match(self.text.code, self.name)[0].decode()

    def layer(self):
        """"fc" of fc->forward(x) and of fc(x)."""
        return self.path().split(".")[-2 if self.is_named("forward") and self.receiver() else -1]

    def receiver(self):
        """(begin, end) of `a.b[0]` in `a.b[0].add_(`, or None: of a function."""
        code, end = self.text.code, self.name
        dot = 2 if code[end - 2:end] == b"->" else 1 if code[end - 1:end] == b"." else 0
        return self.text.before(end - dot) if dot else None

    def tensors(self):
        """What it is given but numbers, lists and dtypes, the receiver first."""
        given = [(begin, end) for begin, end in self.arguments if not NO_TENSOR.match(self.text.data, begin)]
        receiver = self.receiver()
        return ([receiver] if receiver else []) + given

    def space(self):
        """torch or at, whichever the call is written with."""
        before = re.search(rb"(\w+)::$", self.text.code[:self.name])
        return before[1].decode() if before and before[1] in (b"torch", b"at") else "torch"


def operand(text, line, calls, tables):
    """(begin, end) of the operand of the first of these calls that the line has, and the call."""
    for call in calls:
        for sign in (sign for sign, op in tables["signs"] if op == call["op"] and call["operand"] in call["arguments"]):
            two = text.operands(sign, line) if len(call["arguments"]) == 2 else None
            if two:
                return two[call["arguments"].index(call["operand"])], None
        for found in text.calls(line, lambda one: is_op_called(call["op"], one.path(), tables["names"])):
            tensors = found.tensors()
            further = tensors[len(call["arguments"]):]  # what comes behind the tensors of a function may be a number by name
            is_given = len(tensors) == len(call["arguments"]) or (further and tensors == found.arguments and not found.receiver() and
                                                                  all(NAME.fullmatch(text.data[b:e]) for b, e in further))
            if is_given and call["operand"] in call["arguments"]:
                return tensors[call["arguments"].index(call["operand"])], found
    layer, given = layer_called(text, line, calls)
    if layer is None:
        raise Unplaced("the operand was not found on the line")
    return given, layer


def layer_called(text, line, calls):
    """The call of a layer, `fc->forward(x)` or `fc(x)`, whose op this is, and the argument that the operand is; (None, None) where the
    line has none, or several that may be meant."""
    is_state = any(call["operand"].startswith(("hx", "hidden")) for call in calls)
    if not is_state and not any(call["operand"] in LAYER_INPUTS for call in calls):
        return None, None
    ops = {call["op"].replace("_", "") for call in calls}

    def may_be_layer(call):
        before = text.code[:call.name]
        return call.is_named("forward") or (not before.endswith((b".", b"::")) and call.tensors() and not re.search(rb"\w\s+$", before[-40:]))

    def runs_op(call):
        layer = re.sub(r"(\dd)?(Impl)?$", "", text.class_of(call.layer())).lower()
        return len(layer) > 2 and any(op.startswith(layer) or layer in op or op in LAYER_OPS.get(layer, ()) for op in ops)
    called = text.calls(line, may_be_layer)
    called = [call for call in called if runs_op(call)] or [call for call in called if not text.class_of(call.layer())]
    given = called[0].arguments if len(called) == 1 else []
    index = 1 if is_state else 0
    has_state = any(op.startswith(("lstm", "gru", "rnn")) for op in ops)
    return (called[0], given[index]) if index < len(given) and (has_state or len(given) == 1) else (None, None)


def names_of_dtype(text, cure, at, call):
    """The dtype that is wanted as the C++ there can say it: a tensor's whose name is known before, and as a constant."""
    names = []
    where = cure.get("use") or cure
    for other in where.get("others", []):
        try:
            (begin, end), _ = operand(text, where["line"], other, cure)
        except Unplaced:
            continue
        name = text.data[begin:end]
        # Within the function: its head begins behind what closed the one before.
        function = max(text.code.rfind(b"\n}", 0, at), 0)
        is_known = NAME.fullmatch(name) and re.search(rb"\b%s\b" % name, text.code[function:at])
        if is_known or where is cure:
            names.append(name.decode())
    if where.get("meets_parameter") and call and where is cure and LAYERS_WITH_WEIGHT.match(text.class_of(call.layer())):
        names.append(f"{call.layer()}->weight")
    names += text.made_before(at, cure["results"], cure["dtype"])
    members = members_of_dtype(text, cure)
    return [*members, *(f"{name}.scalar_type()" for name in names)], names, f"{call.space() if call else 'torch'}::k{cure['cpp']}"


def members_of_dtype(text, cure):
    """dtype_ of "module_.to(dtype_)", by which a line of the file cast to the wanted dtype."""
    lines = {}
    for line, _, _, _, dtype in cure["results"]:
        lines.setdefault(line, set()).add(dtype)
    found = [(text.place(cast.start())[0] + 1, cast.group(1).decode()) for cast in re.finditer(rb"\.to\((\w+_)\)", text.code)]
    return list(dict.fromkeys(name for line, name in found if lines.get(line) == {cure["dtype"]}))


def cast_operand(text, cure):
    (begin, end), call = operand(text, cure["line"], cure["calls"], cure)
    if re.fullmatch(rb"\{[^{},]+\}", text.data[begin:end]):  # module.forward({input})
        begin, end = begin + 1, end - 1
    relative, _, constant = names_of_dtype(text, cure, begin, call)
    asked = [one for one in text.calls(text.place(begin)[0] + 1, lambda one: one.is_named(*CASTS) and one.name >= begin) if one.end == end - 1]
    said = DTYPE.search(text.code, asked[0].opening, asked[0].end) if asked else None
    if said:
        return without_cast(text, cure, asked[0]) + [[text.replaced(said.start(), said.end(), constant)]]
    source = text.data[begin:end].decode()
    name = source if re.fullmatch(r"[\w.:>\[\]()-]+", source) else f"({source})"
    return [[text.replaced(begin, end, f"{name}.to({dtype})")] for dtype in [*relative, constant]]


def cast_result(text, cure):
    """What a factory makes is made in the dtype; a cast casts to it, or goes where it was that before; what another call gives is cast."""
    op = cure["calls"][0]["op"] if cure["calls"] else ""
    if op in ("_to_copy", "to"):
        return cast_instead(text, cure)
    found = text.calls(cure["line"], lambda one: is_op_called(op, one.path(), cure["names"]))
    if len({text.data[one.opening:one.end] for one in found}) != 1:
        raise Unplaced(f"the line has {'several calls' if found else 'no call'} of {op}")
    relative, names, constant = names_of_dtype(text, cure, found[0].name, found[0])
    if op not in FACTORIES:
        return [[text.replaced(call.end + 1, call.end + 1, f".to({dtype})") for call in found] for dtype in [*relative, constant]]
    if not found[0].arguments or found[0].receiver():
        raise Unplaced(f"{op} is no factory")
    last = [call.arguments[-1] for call in found]
    bound = options_bound(text, *last[0])
    if bound is None and not OPTIONS.search(text.data[slice(*last[0])]):
        return [[text.replaced(end, end, f", {way}") for _, end in last] for way in [*(f"{name}.options()" for name in names), constant]]
    last = [bound] if bound else last
    beside = re.search(rb"\.device\(([\w.:>-]+?)(?:\.|->)device\(\)\)", text.code[slice(*last[0])])
    dtypes = list(dict.fromkeys([*relative, *([f"{beside[1].decode()}.scalar_type()"] if beside else []), constant]))
    said = [DTYPE.search(text.code, *one) for one in last]
    if all(said):
        return [[text.replaced(*one.span(), dtype) for one in said] for dtype in dtypes]
    return [[text.replaced(end, end, f".dtype({dtype})") for _, end in last] for dtype in dtypes]


def options_bound(text, begin, end):
    """(begin, end) of what the function binds the name above, "auto options = torch::dtype(torch::kFloat);"; None where it is no name
    of options that say a dtype."""
    name = text.data[begin:end]
    if not NAME.fullmatch(name):
        return None
    function = max(text.code.rfind(b"\n}", 0, begin), 0)
    made = list(re.compile(rb"(?:\bauto|Options)&?\s+%s\s*=\s*([^;{}]+);" % re.escape(name)).finditer(text.code, function, begin))
    return made[-1].span(1) if made and DTYPE.search(text.code, *made[-1].span(1)) else None


def cast_instead(text, cure):
    """The cast of the line, of a tensor or of a module: another dtype for the one that it says. Where what it casts has the wanted
    dtype before, the cast goes, and with it the line that is nothing else."""
    called = text.calls(cure["line"], lambda one: one.is_named(*CASTS) and one.receiver())

    def that_say(calls):
        return [(call, said) for call in calls for said in [DTYPE.search(text.code, call.opening, call.end)] if said]

    casts = that_say(called)
    is_said = casts and all(said[0].decode().endswith("::k" + cure["cpp"]) for _, said in casts)
    if is_said:  # "torch::tensor(x, torch::kInt).to(torch::kFloat)": the cast is in what makes the tensor
        casts = that_say(text.calls(cure["line"], lambda one: one.is_named("tensor") and not one.receiver()))
    if not casts and not is_said and len(called) == 1 and len(called[0].arguments) == 1:  # "model->to(dtype)": the run says that it is one
        casts = [(called[0], said) for said in [re.compile(rb"(?!\w*[dD]evice)[\w.:>-]+").fullmatch(text.code, *called[0].arguments[0])] if said]
    if len(casts) != 1:
        raise Unplaced(f"the line has {'several casts' if casts else 'no cast'} that say a dtype")
    call, said = casts[0]
    relative, _, constant = names_of_dtype(text, cure, call.name, call)
    return without_cast(text, cure, call) + [[text.replaced(said.start(), said.end(), dtype)] for dtype in [*relative, constant]]


def without_cast(text, cure, call):
    """The ways to leave the cast out: the line that is nothing else, or what follows the receiver, where that is read."""
    if cure.get("was") != cure["dtype"] or len(call.arguments) != 1:
        return []
    receiver, line = call.receiver(), text.place(call.name)[0] + 1
    begin, end = text.begin_of(line), text.begin_of(line + 1)
    if text.code[begin:end].strip() == text.code[receiver[0]:call.end + 1] + b";":
        return [[text.replaced(begin, end, "")]]
    is_read = not re.search(rb"(?:[;{})]|\belse)\s*$", text.code[:receiver[0]])
    return [[text.replaced(receiver[1], call.end + 1, "")]] if is_read else []


# What reads the numbers of a tensor.
READERS = ("data_ptr", "const_data_ptr", "mutable_data_ptr", "accessor", "packed_accessor32", "packed_accessor64")


def data_read(text, cure):
    """accessor<double, 2>() for accessor<float, 2>(); or `auto forces = ….to(torch::kFloat)`, where the line reads a variable that the
    function makes above."""
    reads = text.calls(cure["line"], lambda one: one.is_named(*READERS) and b"<" in text.code[one.name:one.opening])
    types = [re.compile(rb"<\s*([\w:]+)").search(text.code, one.name, one.opening) for one in reads]
    if not reads or len({one[1] for one in types}) != 1:
        raise Unplaced("the line reads the data of no tensor, or as several types")
    ways = [[text.replaced(one.start(1), one.end(1), cure["cpp_types"][cure["cpp"]]) for one in types]] if cure["cpp"] in cure["cpp_types"] else []
    asked_type = {"long": "int64_t", "int": "int32_t"}.get(types[0][1].decode(), types[0][1].decode().replace("c10::", "at::"))
    read, asked = reads[0].receiver(), next((dtype for dtype, name in cure["cpp_types"].items() if name == asked_type), None)
    name = text.data[read[0]:read[1]] if read else b""
    function = max(text.code.rfind(b"\n}", 0, reads[0].name), 0)
    made = list(re.compile(rb"(?:\bauto|Tensor)\s+%s\s*=\s*([^;{}]+);" % re.escape(name)).finditer(text.code, function, reads[0].name))
    if len(reads) == 1 and asked and NAME.fullmatch(name) and made:
        begin, end = made[-1].span(1)
        is_one = text.behind(begin)[1] == end
        ways.append([text.replaced(begin, begin, "" if is_one else "("), text.replaced(end, end, f"{'' if is_one else ')'}.to(torch::k{asked})")])
    return ways


def buffer_read(text, cure):
    """A buffer is read as what it is declared to hold, and cast: of a `std::vector<double> state`, from_blob(state.data(), {9}) becomes
    from_blob(state.data(), {9}, torch::kDouble).to(torch::kFloat)."""
    calls = text.calls(cure["line"], lambda one: one.is_named("from_blob"))
    if len(calls) != 1 or len(calls[0].arguments) < 2:
        raise Unplaced("the line wraps no buffer, or several")
    call = calls[0]
    name = re.match(rb"&?([A-Za-z_]\w*)", text.code[call.arguments[0][0]:call.arguments[0][1]])
    declared = name and re.findall(rb"(?:\b(?:vector|array|span)<\s*([\w:]+)\s*(?:,[^<>]*)?>\s*&?|\b([\w:]+)\s*\*)\s*%s\b" % re.escape(name[1]), text.code)
    elements = {(one or other).decode().replace("std::", "") for one, other in declared or ()}
    types = {"int": "Int", "long": "Long", **{kind: dtype for dtype, kind in cure["cpp_types"].items()}}
    dtype = next((types[one] for one in elements if one in types), None)
    if len(elements) != 1 or dtype is None:
        raise Unplaced("what the elements of the buffer are does not stand in the file")
    begin, end = call.arguments[-1]
    said = DTYPE.search(text.code, begin, end)
    meant, given = text.data[said.start():said.end()].decode() if said else f"{call.space()}::kFloat", f"{call.space()}::k{dtype}"
    if given == meant:
        raise Unplaced("the buffer is read as what it holds")
    edit = text.replaced(said.start(), said.end(), given) if said else text.replaced(end, end, f", {given}")
    return [[edit, text.replaced(call.end + 1, call.end + 1, f".to({meant})")]]


REWRITES = {"data read": data_read, "buffer read": buffer_read}


def rewrite(text, cure):
    if cure["operand"] not in REWRITES:
        raise Unplaced("no edit in C++ is known for it, only its description")
    return REWRITES[cure["operand"]](text, cure)


KINDS = {"cast operand": cast_operand, "cast result": cast_result, "cast parameters": cast_instead, "rewrite": rewrite}


class CppFile:
    """As write_cure.File is, of a C++ source."""

    def __init__(self, cure, text=None):
        self.path, self.text = cure["path"], Text(cure["path"], text)

    def ways(self, cure):
        if cure["kind"] not in KINDS:
            raise Unplaced("no edit in C++ is known for it, only its description")
        return KINDS[cure["kind"]](self.text, cure)

    def edits(self, made):
        return [edit_of(self.path, self.text.lines, edit) for edit in dict.fromkeys(made)]
