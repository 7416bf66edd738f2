"""A statement and what of it is meant: which call the trace speaks of, which expression is the operand, and how the wanted
dtype is written there. Standard library only, Python 3.8 or later."""

import ast
import re

from source import Unplaced

DTYPES = {}  # torch's name, its second one too: torch's name; as core/dtype_names.h has them, by write_cure.py
CAST_METHODS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64", "byte": "uint8", "char": "int8",
                "short": "int16", "int": "int32", "long": "int64", "bool": "bool"}
METHOD_OF = {dtype: method for method, dtype in CAST_METHODS.items()}
CASTS = {"to", "type", "type_as", *CAST_METHODS}
DTYPE_KEYWORDS = {"dtype", "torch_dtype", "weight_dtype", "param_dtype"}
FACTORIES = {"zeros", "ones", "empty", "full", "rand", "randn", "tensor", "arange", "linspace", "logspace", "eye", "as_tensor",
             "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones",
             "new_full", "new_empty", "new_tensor", "hann_window", "hamming_window", "kaiser_window", "blackman_window"}
SIGNS = {ast.MatMult: "@", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//",
         ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<",
         ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
# Methods that give the numbers of a tensor in another shape.
VIEWS = {"t", "transpose", "permute", "view", "reshape", "unsqueeze", "squeeze", "expand", "flatten", "unflatten", "contiguous",
         "movedim", "swapaxes", "repeat", "detach", "clone"}
# Layers that have a weight in the dtype of all their parameters.
LAYERS_WITH_WEIGHT = re.compile(r"Linear$|Bilinear$|Conv(Transpose)?\dd$|(Layer|Group|Batch|Instance|RMS)Norm(\dd)?$|PReLU$")
# Methods of a module that are not given what it computes with.
NO_FORWARD = {*CASTS, "eval", "train", "parameters", "load_state_dict", "requires_grad_", "zero_grad", "register_buffer", "apply"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


# ---- what stands in a source

def statement_at(source, line):
    """The innermost statement that has the line, or whose head has it."""
    found = None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            if found is None or node.lineno >= found.lineno:
                found = node
    if found is None:
        raise Unplaced(f"line {line} has no statement")
    return found


def is_compound(statement):
    return hasattr(statement, "body")


def head_nodes(statement):
    """The statement's own expressions, without those of the statements inside it."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def calls_in(nodes):
    return sorted((n for n in nodes if isinstance(n, ast.Call)), key=lambda n: (n.lineno, n.col_offset))


def dotted(node):
    """"self.net.fc" of that; the parts that are no names are "()": "Linear().to" of "nn.Linear(4, 4).to" is "().to"."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "()"


def index_of(subscript):
    index = subscript.slice
    return index.value if type(index).__name__ == "Index" else index  # until Python 3.8


def last_part(node):
    return dotted(node).rsplit(".", 1)[-1]


def is_loaded(node):
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def is_cast(node):
    """x.half(), x.to(dtype), x.to(device, dtype=torch.half); not x.to(device)."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in CASTS:
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return node.func.attr in CAST_METHODS or any(
        dotted(a).endswith("dtype") or dotted(a).rpartition(".")[2] in DTYPES for a in given)


def only(places, what):
    if len(places) != 1:
        count = f"{len(places)} times" if places else "not"
        raise Unplaced(f"{what} is {count} in the statement")
    return places[0]


def are_alike(nodes):
    return len({ast.dump(node) for node in nodes}) == 1


def names_bound(statement):
    """The variables that the statement itself gives a value to, in their order."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in statement.items]
    found = [n for t in targets if t is not None for n in ast.walk(t)
             if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [n.id for n in sorted(found, key=lambda n: (n.lineno, n.col_offset))]


def binds(block, name):
    """The statements give the variable a value, whichever way they run."""
    return any(name in map(dotted, getattr(s, "targets", ())) or name in names_bound(s) or
               (isinstance(s, ast.If) and binds(s.body, name) and binds(s.orelse, name)) or
               (isinstance(s, (ast.With, ast.Try)) and binds(s.body, name)) for s in block)


def torch_name(source):
    """How the module calls torch; None where it does not import it under a name."""
    for tree in (source.tree, *source.others):
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.Import) else ():
                if alias.name == "torch" or (alias.name.startswith("torch.") and not alias.asname):
                    return alias.asname or "torch"
    return None


def numpy_name(source):
    """How the module calls NumPy; None where it does not import it under a name."""
    found = [alias.asname or "numpy" for tree in (source.tree, *source.others) for node in ast.walk(tree)
             if isinstance(node, ast.Import) for alias in node.names if alias.name == "numpy"]
    return found[0] if found else None


def modules_imported(source):
    names = {"F", "torch", "nn", "th", "functional"}
    for tree in (source.tree, *source.others):
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.Import) else ():
                names.add(alias.asname or alias.name.split(".")[0])
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
                names |= {alias.asname or alias.name for alias in node.names if alias.name.islower()}
    return names


def import_of_torch(source):
    line = 0
    for node in source.tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_text or is_future):
            line = node.lineno - 1
            break
    return source.new_line(line, "", "import torch")


def new_import(source, text):
    """Below the module's imports from the same package, or below all of them."""
    imports = [n for n in source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    package = text.split()[1].split(".")[0]
    alike = [n for n in imports if (getattr(n, "module", None) or n.names[0].name).split(".")[0] == package]
    return source.new_line(max((n.end_lineno for n in alike or imports), default=0), "", text)


def require_own_lines(source, statement):
    """Nothing else may stand on the statement's lines, as in `a = b; c = d`."""
    before = source.lines[statement.lineno - 1][:statement.col_offset]
    after = source.lines[statement.end_lineno - 1][statement.end_col_offset:].strip()
    if before.strip() or (not is_compound(statement) and after and not after.startswith(b"#")):
        raise Unplaced("the statement shares its line with another")


def new_statement(source, statement, text):
    """Behind the statement, or as the first of its block: what it binds has its value there."""
    place = statement
    if is_compound(statement):
        body = statement.body
        has_doc = isinstance(statement, FUNCTIONS) and len(body) > 1 and isinstance(
            getattr(body[0], "value", None), ast.Constant) and isinstance(body[0], ast.Expr)
        place = body[1] if has_doc else body[0]
    require_own_lines(source, place)
    line = place.lineno - 1 if is_compound(statement) else place.end_lineno
    return source.new_line(line, source.indent_of(place.lineno - 1), text)


def blocks(tree):
    """Each list of statements that stand below one another."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def is_op_called(op, path, names):
    """The op is what is called by this path: "linalg.inv" is linalg_inv, "grid_sample" grid_sampler_2d."""
    full = op.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
    name, last = full.strip("_"), path.rsplit(".", 1)[-1].strip("_")
    if len(last) < 2:
        return False
    if name == last or (name.startswith(last + "_") and len(last) > 3):
        return True
    if name.endswith("_" + last) and name[:-len(last) - 1] in path:
        return True
    return any(full.startswith(start) and last == other for start, other in names)


class Site:
    """The place of a cure: its statement, and what the trace knows of the call there."""

    def __init__(self, source, cure, tables):
        self.source, self.cure, self.tables = source, cure, tables
        self.statement = statement_at(source, cure["line"])
        self.focus = self.expression_that_ran()
        self.functions = modules_imported(source)

    def expression_that_ran(self):
        """Where the interpreter told its extent; else None. A call over several lines is told to begin at the name of its
        method, so the end decides."""
        column, end_line, end_column = self.cure.get("extent") or (0, 0, 0)
        if column <= 0:
            return None
        begin, end = (self.cure["line"], column - 1), (end_line, end_column - 1)
        found = [n for n in head_nodes(self.statement) if isinstance(n, ast.expr)
                 and (n.end_lineno, n.end_col_offset) == end and (n.lineno, n.col_offset) <= begin]
        found = [n for n in found if is_loaded(n)]  # of "a[i] = v" the extent is that of "a[i]"
        return max(found, key=lambda n: (n.lineno, n.col_offset), default=None)

    def regions(self):
        """The nodes to look through: those of the expression that ran, and then all of the statement."""
        return ([list(ast.walk(self.focus))] if self.focus is not None else []) + [list(head_nodes(self.statement))]

    def one(self, find, what):
        """The one that `find` finds among the nodes of the expression that ran, or else of the statement."""
        return next((found[0] for found in map(find, self.regions()) if len(found) == 1), None) or only(
            find(self.regions()[-1]), what)

    # ---- which call, and which operand of it

    def is_called(self, op, call):
        return is_op_called(op, dotted(call.func), self.tables["names"])

    def is_function(self, call):
        """No tensor stands before the name: "F.relu", "torch.nn.functional.relu"."""
        return isinstance(call.func, ast.Name) or dotted(call.func).split(".")[0] in self.functions

    def signed(self, nodes, op):
        """The only operation among the nodes that is the op, or that which ran: (left, right, node)."""
        found = self.all_signed(nodes, op)
        ran = [one for one in found if one[2] is self.focus]
        return found[0] if len(found) == 1 else ran[0] if ran else None

    def all_signed(self, nodes, op):
        full = op.rsplit("::", 1)[-1]
        found = []
        for node in nodes:
            if isinstance(node, (ast.BinOp, ast.AugAssign)):
                left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
                sign = SIGNS.get(type(node.op))
            elif isinstance(node, ast.Compare) and len(node.ops) == 1:
                left, right, sign = node.left, node.comparators[0], SIGNS.get(type(node.ops[0]))
            elif isinstance(node, ast.UnaryOp) and full.strip("_").replace("numpy.negative", "neg") == {
                    ast.USub: "neg", ast.Invert: "bitwise_not"}.get(type(node.op)):
                found.append((node.operand, node.operand, node))
                continue
            else:
                continue
            if [sign, full.strip("_")] in self.tables["signs"]:
                found.append((left, right, node))
        return found

    def operand_in(self, nodes, call):
        """The nodes for the operand of this call of the trace, {"op", "operand", "arguments"}; several where the line has
        like calls that are given the same."""
        op, operand = call["op"], call["operand"]
        if self.raised_here(op):
            return self.variable_read(nodes, op, operand)
        found = []
        for node in calls_in(nodes):
            is_module = dotted(node.func).startswith("self.") and self.depth_of(node) > 0
            if is_module or not self.is_called(op, node):
                continue
            argument = self.argument_of(node, call)
            if argument is None or not are_alike([argument, *found]):
                return []
            found.append(argument)
        if found:
            return found
        operation = self.signed(nodes, op)
        name = operand.strip("_")
        is_left, is_right = name in ("self", "input", "tensor"), name in ("other", "mat2", "tensor2", "vec", "exponent")
        if operation and is_left != is_right:
            first = is_left != (op.strip("_") == "rsub")
            chosen, beside = operation[:2] if first else reversed(operation[:2])
            if not may_be_tensor(chosen):
                return [beside]  # 1e-10 + x is add(x, 1e-10)
            sides = [one[0 if chosen is operation[0] else 1] for one in self.all_signed(head_nodes(self.statement), op)]
            alike = [side for side in sides if side is not chosen and is_name(side) and ast.dump(side) == ast.dump(chosen)]
            return [chosen, *alike]  # (x * cos * scale) + (y * sin * scale)
        return self.in_subscript(nodes, op.strip("_"), operand) or self.variable_read(nodes, op, operand)

    def raised_here(self, op):
        """The op is the function around the statement, "python::Chamfer.forward", whose variables are the operands."""
        *owners, name = op[len("python::"):].split(".") if op.startswith("python::") else [""]
        owner = self.class_around()
        return bool(name) and getattr(self.scope_of(self.statement), "name", "") == name and (
            not owners or (owner is not None and owner.name == owners[-1]))

    def argument_of(self, node, call):
        wanted = re.sub(r"\[\d+\]$", "", call["operand"])
        for keyword in node.keywords:
            if keyword.arg is not None and self.is_keyword_of(keyword.arg, wanted):
                return element_of(keyword.value, call["operand"])
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None
        positions = [] if self.is_function(node) else [node.func.value]
        skips = any(call["op"].strip("_").startswith(op) for op in self.tables["dimension_first"])
        for argument in node.args:
            is_dimension = skips and bool(positions)
            skips = skips and not is_dimension
            if not is_dimension and may_be_tensor(argument):
                positions.append(argument)
        names = call["arguments"]
        index = names.index(wanted) if wanted in names else len(names)
        if call["op"] == "embedding" and dotted(node.func) != f"{torch_name(self.source)}.embedding":  # which has the schema's order
            index = 0 if wanted == "indices" else len(positions)
        is_sure = index == 0 or call["op"] == "embedding" or not any(op in call["op"] for op in self.tables["first_only"])
        if not is_sure or index >= len(positions):
            return None
        element = element_index(call["operand"])
        is_unpacked = not call["op"].startswith("_foreach") and index + 1 == len(names) and len(positions) > len(names)
        if element is not None and is_unpacked:  # "einsum(equation, a, b)": a list given one by one
            return positions[index + element] if index + element < len(positions) else None
        return element_of(positions[index], call["operand"])

    @staticmethod
    def is_keyword_of(keyword, argument):
        """Python calls `self` input, and has a few names of its own."""
        name = argument.strip("_")
        return (keyword == name or (keyword == "input" and name in ("self", "bias")) or
                (keyword == "tensor1" and name == "mat1") or (keyword == "hx" and name.endswith("hx")))

    def in_subscript(self, nodes, op, operand):
        """"a[index] = value" """
        if not (op.startswith("index_put") or op in ("index", "copy")):
            return []
        puts = [n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript)]
        if operand in ("values", "src"):
            return [puts[0].value] if len(puts) == 1 else []
        if operand == "self":  # what is written is never cast, but others are to its dtype
            return [puts[0].targets[0].value] if len(puts) == 1 else []
        subscripts = [n for n in nodes if isinstance(n, ast.Subscript)]
        if not operand.startswith("indices") or len(subscripts) != 1:
            return []
        index = index_of(subscripts[0])
        if isinstance(index, ast.Tuple):
            element = element_index(operand)
            return [index.elts[element]] if element is not None and element < len(index.elts) else []
        return [index]

    @staticmethod
    def variable_read(nodes, op, operand):
        """For a refusal in Python the operands are local variables."""
        if not op.startswith("python::"):
            return []
        found = [n for n in nodes if isinstance(n, (ast.Attribute, ast.Name)) and is_loaded(n) and dotted(n) == operand]
        return found if len(found) == 1 else []

    def operand_nodes(self, operand="", calls=None):
        """The operand as the line has it: of the op, or of one around it."""
        for call in calls or self.cure["calls"]:
            call = dict(call, operand=operand) if operand else call
            everywhere = self.operand_in(list(head_nodes(self.statement)), call)
            if self.focus is None:
                if everywhere:
                    return everywhere
                continue
            inside = list(ast.walk(self.focus))
            one = self.operand_in(inside, call)
            if not one:
                everywhere = [node for node in everywhere if node in inside]
            if one and one[0] not in everywhere:
                everywhere = one
            if everywhere:
                return everywhere
        return []

    # ---- modules

    def depth_of(self, node):
        """How many parts of the module's path the callee is the last of: 2 of "unet.conv_in.0" for "self.conv_in"; all of
        them for "nn.Conv2d(3, 3, 3)", a module of this class made on the line."""
        parts = [p for p in self.cure["module"].split(".") if p]
        if isinstance(node.func, ast.Call):
            return len(parts) if last_part(node.func.func) == self.cure["module_class"] else 0
        last = last_part(node.func)
        if isinstance(node.func, ast.Subscript):  # "self.layers[0](x)"
            index = self.source.text(node.func).rsplit("[", 1)[1].rstrip("]")
            last = index if index.isdigit() else last_part(node.func.value)
        if last == self.cure["module_class"]:
            return 0  # makes the module
        depth = max((i + 1 for i, part in enumerate(parts) if part == last), default=0)
        is_method = depth == 0 and isinstance(node.func, ast.Attribute) and last not in NO_FORWARD
        if is_method and is_name(node.func.value):  # "vae.decode(z)"
            receiver = last_part(node.func.value)
            depth = max((i + 1 for i, part in enumerate(parts) if part == receiver), default=0)
        return depth

    def module_call(self, nodes=None):
        """The one call of the module, or of the nearest around it; None where there are several."""
        for region in self.regions() if nodes is None else [nodes]:
            depths = [(self.depth_of(n), n) for n in calls_in(region)]
            deepest = max((depth for depth, _ in depths), default=0)
            found = [n for depth, n in depths if depth == deepest > 0]
            if len(found) == 1:
                return found[0]
        # A model that the script knows by another name, as self._model, or by none: the call is the one in which the op ran.
        is_unnamed = nodes is None and self.cure["module"] and isinstance(self.focus, ast.Call)
        return self.focus if is_unnamed and not self.operand_nodes() else None

    def module_argument(self, node):
        """Which argument of the module the operand is: the only one, what its name says, or the only variable that the line
        gave a value to which made the operand."""
        given = [a for a in [*node.args, *(k.value for k in node.keywords)] if may_be_tensor(a)]
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None
        name = re.sub(r"\[\d+\]$", "", self.cure["calls"][-1]["operand"]).strip("_")
        module_class = self.cure["module_class"]
        is_hidden = name in ("hx", "cx")
        if len(given) == 1:
            return None if is_hidden else given[0]
        for keyword in node.keywords:
            is_mask = module_class == "MultiheadAttention" and keyword.arg == "attn_mask" and name in ("bias", "self")
            if keyword.arg == name or is_mask or self.is_handed_as(keyword.arg, name):
                return keyword.value
        if is_hidden or name == "offsets":
            return node.args[1] if len(node.args) > 1 and (len(given) == 2 or not is_hidden) else None
        if name in ("input", "mat1", "self") and re.search("LSTM|GRU|RNN|Loss$", module_class) and node.args:
            return node.args[0]
        if name == "target" and module_class.endswith("Loss") and len(node.args) == 2:
            return node.args[1]
        made = self.names_of_origin()
        keys = self.keys_given(made)
        found = [a for a in given if (isinstance(a, ast.Name) and a.id in made) or
                 (isinstance(a, ast.Subscript) and getattr(index_of(a), "value", None) in keys)]
        return found[0] if len(found) == 1 else None

    def keys_given(self, names):
        """The keys under which a dictionary of the file has one of the variables, {"ids": ids} or batch["ids"] = ids, and
        no dictionary has another."""
        values = {}
        for node in ast.walk(self.source.tree):
            pairs = zip(node.keys, node.values) if isinstance(node, ast.Dict) else ()
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                pairs = [(index_of(node.targets[0]), node.value)]
            for key, value in pairs:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    values.setdefault(key.value, set()).add(dotted(value))
        return {key for key, given in values.items() if given <= set(names)}

    def is_handed_as(self, keyword, name):
        """A model hands its "labels" to a loss as the target, its "class_labels" to its "class_embedding"."""
        if name == "target":
            return keyword in ("labels", "targets")
        words = self.cure["module"].rsplit(".", 1)[-1].split("_")
        return name == "indices" and any(len(word) > 3 and keyword.startswith(word) for word in words)

    def names_of_origin(self):
        """What the line that made the operand gives a value to; the function in which it was made."""
        return self.names_made_at(*(self.cure.get("origin") or (0, "")))

    def names_made_at(self, line, function):
        if not line:
            return [function] if function else []
        try:
            return names_bound(statement_at(self.source, line)) + [function]
        except Unplaced:
            return [function]

    def module_inputs(self, node):
        """Which arguments of the module are to be cast, each choice a list of nodes, the likeliest first: what its name or its
        origin says, and all that are known to have another floating dtype than the wanted one."""
        one = self.module_argument(node)
        given = list(self.leaves([*node.args, *(k.value for k in node.keywords)], self.statement))
        dtypes = {id(leaf): self.dtype_given(leaf, at) for leaf, at in given}
        is_known = {id(leaf): dtypes[id(leaf)] is not None for leaf, _ in given}
        odd = [leaf for leaf, _ in given if is_floating(dtypes[id(leaf)]) and dtypes[id(leaf)] != self.cure["dtype"]]
        made = [name for line, function in self.cure.get("origins", ()) for name in self.names_made_at(line, function)]
        keys = self.keys_given(made) if made else set()
        read = [leaf for leaf, _ in given if leaf in odd or not is_known[id(leaf)]]
        read = [leaf for leaf in read if (isinstance(leaf, ast.Name) and leaf.id in made) or
                (isinstance(leaf, ast.Subscript) and getattr(index_of(leaf), "value", None) in keys)]
        ones = [] if one is None else [leaf for leaf, _ in self.leaves([one], self.statement)]  # a pair of states is two
        may_be_odd = [*odd, *(leaf for leaf in ones if dtypes.get(id(leaf)) in (None, self.cure["from"]))]  # also of integers
        read = [leaf for leaf in ones if leaf in may_be_odd and leaf not in read] + read
        ways = [nodes for nodes in (read, odd) if nodes]
        return ways[:1] if len(ways) == 2 and set(ways[0]) == set(ways[1]) else ways

    def may_be_list(self, node, call):
        """A variable, or the keyword that it is given for, with a name in the plural, which tensors have as well."""
        keyword = next((k.arg or "" for k in call.keywords if k.value is node), "")
        return isinstance(node, ast.Name) and any(re.search(r"[^s]s$", name) for name in (node.id, keyword))

    def leaves(self, nodes, at):
        """What stands for tensors in the arguments, and the statement where it does: of a dictionary, a list or a tuple that
        is written out, there or where the variable gets it, its values."""
        for node in nodes:
            inner = bound = None
            if isinstance(node, ast.Name):
                bound = binder_of(self.source, node.id, at)
                value = getattr(bound, "value", None) if isinstance(bound, ast.Assign) and dotted(bound.targets[0]) == node.id else None
                inner = value if isinstance(value, (ast.Dict, ast.List, ast.Tuple)) else None
            elif isinstance(node, (ast.Dict, ast.List, ast.Tuple)):
                inner = node
            if inner is not None:
                yield from self.leaves(inner.values if isinstance(inner, ast.Dict) else inner.elts, bound or at)
            elif may_be_tensor(node) and not isinstance(node, ast.Starred):
                yield node, at

    def dtype_given(self, node, at):
        """The dtype of what the node stands for, as the trace has it of the expression that made it; None: not known."""
        if isinstance(node, ast.Name):
            bound = binder_of(self.source, node.id, at)
            if not isinstance(bound, ast.Assign) or dotted(bound.targets[0]) != node.id:
                return None
            node = bound.value
        while node is not None:
            found = self.source.results_at(node)
            if found:
                return found.pop() if len(found) == 1 else None
            node = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else None
        return None

    def compiled_argument(self):
        """All of a compiled function runs at its head: the one call of it, or of its module, elsewhere in the file."""
        own = set(ast.walk(self.statement))
        compiled = [dotted(n.targets[0]) for n in ast.walk(self.source.tree) if isinstance(n, ast.Assign) and
                    isinstance(n.value, ast.Call) and last_part(n.value.func) == "compile"]
        is_module = self.statement.name == "forward"
        names = [*compiled, *(self.cure["module"].split(".") if is_module else [self.statement.name])]
        found = [n for n in calls_in(ast.walk(self.source.tree)) if last_part(n.func) in names and n not in own]
        if len(found) != 1:
            return None
        node = found[0]
        if len(node.args) == 1 and not node.keywords:
            return node.args[0]
        made = self.names_of_origin()
        given = [a for a in [*node.args, *(k.value for k in node.keywords)]
                 if (last_part(a.func) if isinstance(a, ast.Call) else last_part(a)) in made]
        return given[0] if len(given) == 1 else None

    # ---- names for a dtype

    def scopes(self):
        """The blocks of the function around the statement, of those around it, and of the module."""
        node, found = self.statement, []
        while node is not None:
            if isinstance(node, FUNCTIONS):
                found.append(node)
            node = self.source.parents.get(node)
        return [*found, self.source.tree]

    def dtype_of(self, node):
        """"float16" of torch.float16; None where it is no dtype by its name."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("torch", torch_name(
                self.source)):
            return DTYPES.get(node.attr)
        return None

    def dtype_names(self):
        """The script's names for dtypes that the line can read: {name: the dtypes that it may have, None one not known}."""
        found = {}
        for scope in self.scopes():
            is_module = isinstance(scope, ast.Module)
            for node in ast.walk(scope):
                if not isinstance(node, ast.Assign) or len(node.targets) != 1 or self.scope_of(node) is not scope:
                    continue
                if node.lineno < self.statement.lineno or (is_module and len(self.scopes()) > 1):
                    self.note_dtypes(node, found, dotted(node.targets[0]))
        owner = self.class_around()
        for node in ast.walk(owner) if owner is not None else ():
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted(node.targets[0]).startswith("self."):
                self.note_dtypes(node, found, dotted(node.targets[0]))
        return {name: dtypes for name, dtypes in found.items() if "()" not in name and ("." in name or self.has_value(name))}

    def names_that_ran(self):
        """Names of the wanted dtype whose value the run alone has: of x.to(dtype) and zeros(…, dtype=args.dtype) it has what
        was made."""
        found = {}
        owner = self.class_around()
        for call in calls_in(ast.walk(self.source.tree)):
            given = [k.value for k in call.keywords if k.arg in DTYPE_KEYWORDS]
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "type"):
                given += [a for a in call.args if "dtype" in last_part(a)]
            if len(given) != 1 or not is_name(given[0]) or self.dtype_of(given[0]):
                continue
            root = dotted(given[0]).split(".")[0]
            is_own = root == "self" and owner is not None and owner is self.class_around(call)
            if is_own or (root != "self" and self.scope_of(call) in self.scopes() and self.is_bound(root)):
                found.setdefault(dotted(given[0]), set()).update(self.source.results_at(call))
        return [name for name, dtypes in found.items() if dtypes == {self.cure["dtype"]}]

    def own_parameters(self):
        """"self.fc.weight.dtype", or that of the first parameter, in a method of a module whose parameters all have the wanted dtype, as far as they ran: of the
        layer that the function calls next. A dtype of 16 bits alone: Float may be meant whatever the weights are."""
        owner, parts = self.class_around(), self.cure["module"].split(".")
        if owner is None or self.cure["dtype"] not in ("float16", "bfloat16"):
            return []
        made = {dotted(t)[5:] for n in ast.walk(owner) if isinstance(n, ast.Assign) for t in n.targets if dotted(t).startswith("self.")}
        parameters = self.tables.get("parameters", {}).get(parts[0], {})
        for depth in range(len(parts), 0, -1):
            prefix = ".".join(parts[:depth]) + "."
            own = {path[len(prefix):]: dtype for path, dtype in parameters.items() if path.startswith(prefix)}
            own = {path: dtype for path, dtype in own.items() if path.split(".")[0] in made}
            if own:
                break
        else:
            return []
        if set(own.values()) != {self.cure["dtype"]}:
            return []
        callees = [n.func.value if isinstance(n.func, ast.Subscript) else n.func
                   for n in calls_in(ast.walk(self.scope_of(self.statement))) if n.lineno >= self.statement.lineno]
        called = [dotted(f)[5:].split(".")[0] for f in callees if dotted(f).startswith("self.")]
        best = min(own, key=lambda path: (called.index(path.split(".")[0]) if path.split(".")[0] in called else len(called),
                                          "weight" not in path.rpartition(".")[2], path.count(".")))
        return [f"self.{best}.dtype" if not re.search(r"\d", best) else "next(self.parameters()).dtype"]

    def read_elsewhere(self):
        """"module.weight.dtype", which another function of the file reads of its own argument of that name."""
        own = {n.arg for n in ast.walk(self.scope_of(self.statement)) if isinstance(n, ast.arg)}
        if self.cure["dtype"] not in ("float16", "bfloat16"):
            return []
        return [dotted(n) for n in ast.walk(self.source.tree) if isinstance(n, ast.Attribute) and n.attr == "dtype" and
                isinstance(n.value, ast.Attribute) and dotted(n).split(".")[0] in own - {"self"}]

    def has_value(self, name):
        """No branch of the function leaves the variable without one before the statement."""
        node = self.statement
        while node in self.source.parents:
            parent = self.source.parents[node]
            for block in (getattr(parent, part, None) for part in ("body", "orelse", "finalbody")):
                if isinstance(block, list) and node in block:
                    # A function inside, and all below a module's top, is called later.
                    is_later = isinstance(node, (*FUNCTIONS, ast.ClassDef))
                    if binds(block if is_later else block[:block.index(node)], name):
                        return True
            node = parent
        return False

    def own_names(self):
        """Those of the wanted dtype, the sure ones first: (text, is sure)."""
        named = [(name, len(dtypes) == 1) for name, dtypes in self.dtype_names().items()
                 if self.cure["dtype"] in dtypes and None not in dtypes]
        return sorted(named, key=lambda pair: not pair[1])

    def names_of_dtype(self):
        """Those that have the wanted dtype, whichever way the program goes, or had it in the run."""
        return list(dict.fromkeys([*(name for name, is_sure in self.own_names() if is_sure), *self.names_that_ran()]))

    def note_dtypes(self, node, found, name):
        values = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
        dtypes = {self.dtype_of(value) for value in values}
        if name in found or dtypes != {None}:
            found.setdefault(name, set()).update(dtypes)

    def scope_of(self, node):
        while node is not None and not isinstance(node, FUNCTIONS):
            node = self.source.parents.get(node)
        return node or self.source.tree

    def class_around(self, node=None):
        node = node or self.statement
        while node is not None and not isinstance(node, ast.ClassDef):
            node = self.source.parents.get(node)
        return node

    def met_texts(self, cast):
        """"other.dtype" of what the operand meets in the same call, where that has the wanted dtype and a short name: x of
        x.t() too."""
        found = []
        for calls in self.cure.get("others", ()):
            for node in (shown_by(n, self.source) for n in self.operand_nodes(calls=calls)):
                if (is_name(node) or is_item(node)) and (cast is None or ast.dump(node) != ast.dump(cast)):
                    found.append(f"{self.source.text(node)}.dtype")
        node = self.module_call()
        if self.cure.get("meets_parameter") and node is not None and is_name(node.func):
            below = self.cure["module"].split(".")[self.depth_of(node):]  # "0" of the Sequential that a model has
            is_part = all(part.isdigit() for part in below) and dotted(node.func).startswith("self.")
            if (not below or is_part) and LAYERS_WITH_WEIGHT.search(self.cure["module_class"]):
                index = "".join(f"[{part}]" for part in below)
                found.append(f"{self.source.text(node.func)}{index}.weight.dtype")
        return found

    def parameters_met(self):
        """Where the line calls a module, or a method of it, and knows none of its weights by name: its own word for its dtype,
        where the file shows that it has one, as models of diffusers and transformers do, or the first parameter's."""
        node = self.module_call() if self.cure.get("meets_parameter") else None
        if node is None or not is_name(node.func) or self.cure["module_class"].endswith("Loss"):  # which has buffers alone
            return []
        receiver, owner = getattr(node.func, "value", None), self.class_around()
        is_held = dotted(receiver) == "self" and last_part(node.func) not in {n.name for n in getattr(owner, "body", []) if isinstance(n, FUNCTIONS)}
        is_method = receiver is not None and not is_held and last_part(node.func) not in self.cure["module"].split(".")
        name = self.source.text(receiver if is_method else node.func)
        has_dtype = any(isinstance(n, ast.Attribute) and n.attr in ("dtype", "config") and dotted(n.value) == name
                        for n in ast.walk(self.source.tree))
        return [f"{name}.dtype"] * has_dtype + [f"next({name}.parameters()).dtype"]

    def met_later(self):
        """The dtype of what the result meets in the statement, or on a later line of the function, where that has its value here
        already."""
        use = self.cure.get("use")
        if not use or use["line"] < self.statement.lineno:
            return []
        there = Site(self.source, {**self.cure, **use, "use": None}, self.tables)
        if self.scope_of(there.statement) is not self.scope_of(self.statement):
            return []
        met = there.met_texts(None) + [text for text in there.parameters_met() if not text.startswith("next(")]
        return [text for text in met if text.startswith("self.") or self.is_bound(text.split(".")[0])]

    def is_bound(self, name):
        """The function has it for an argument, or gives it a value whichever way it runs."""
        scope = self.scope_of(self.statement)
        return self.has_value(name) or any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(getattr(scope, "args", scope)))

    def shaped_by(self, made):
        """"x.dtype" of zeros(x.shape, device=x.device): what gives a factory its shape or device may have the wanted dtype."""
        if not isinstance(made, ast.Call) or last_part(made.func) not in FACTORIES or not self.is_function(made):
            return []
        found = [f"{self.source.text(node.value)}.dtype" for node in ast.walk(made)
                 if isinstance(node, ast.Attribute) and node.attr in ("device", "shape", "size") and is_name(node.value)]
        has_own = any(isinstance(n, ast.Attribute) and dotted(n) == "self.dtype" for n in ast.walk(self.source.tree))
        return [text for text in found if text != "self.dtype" or has_own]

    def computed_of(self, made):
        """"k.dtype" of f(k).half(): the one variable that a line which casts to 16 bits computes of had the dtype before, perhaps."""
        if self.cure["dtype"] not in ("float16", "bfloat16") or not is_cast(made) or any(self.dtypes_named(made)):
            return []
        given = {n.id for call in calls_in(ast.walk(made.func.value)) for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name)}
        return [f"{name}.dtype" for name in given] if len(given) == 1 else []

    def dtype_texts(self, cast=None):
        """The ways to write the wanted dtype: (text, further edits). Without what is cast the place is another line, where
        what it meets may not be known yet."""
        if self.is_numpy:
            name = numpy_name(self.source)
            return [(f"{name}.{self.cure['dtype']}" if name else f'"{self.cure["dtype"]}"', [])]
        own = self.own_names()
        texts = [name for name, is_sure in own if is_sure] + ([] if cast is None else self.met_texts(cast)) + self.met_later()
        texts += self.names_that_ran() + [name for name, is_sure in own if not is_sure]
        texts += self.own_parameters() + self.read_elsewhere() + self.parameters_met() + self.shaped_by(cast) + self.computed_of(cast)
        name = torch_name(self.source)
        constant = (f"{name or 'torch'}.{self.cure['dtype']}", [] if name else [import_of_torch(self.source)])
        return [*((text, []) for text in dict.fromkeys(texts)), constant]

    # ---- casts

    def chain_of(self, call):
        """Of the casts that are called on one another the last that asks for a dtype, or the last: ".half()" of
        "x.to(device).half()", and of "x.half().to(device)"."""
        def is_cast(node):
            return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CASTS
        while is_cast(getattr(call.func, "value", None)):
            call = call.func.value
        chain = [call]
        while True:
            around = self.source.parents.get(chain[-1])
            outer = self.source.parents.get(around)
            if not (is_cast(outer) and outer.func is around):
                return next((c for c in reversed(chain) if self.asks_for_dtype(c)), chain[-1])
            chain.append(outer)

    def asks_for_dtype(self, call):
        """x.half(), x.to(torch.half)"""
        return isinstance(call.func, ast.Attribute) and call.func.attr in CASTS and (
            call.func.attr in CAST_METHODS or any(self.dtype_of(a) for a in call.args))

    def casts(self, nodes, lists=()):
        """Ways to cast each of the nodes, those of `lists` as lists of tensors."""
        if not isinstance(nodes, list):
            nodes = [nodes]
        if self.cure.get("from", "").startswith("complex") and not self.cure["dtype"].startswith("complex"):
            raise Unplaced("a cast to a real dtype drops the imaginary part")
        ways = []
        for text, more in self.dtype_texts(nodes[0]):
            if any(not is_loaded(node) for node in nodes) and self.is_numpy:
                raise Unplaced("what the line writes into is not cast there")
            has_method = more and self.cure["dtype"] in METHOD_OF  # ".float()" needs no name for torch
            suffix = f".{METHOD_OF[self.cure['dtype']]}()" if has_method else self.cast_text(text)
            edits = [edit for node in nodes for edit in (
                [self.source.replaced(node, f"[t{suffix} for t in {self.source.text(node)}]")] if node in lists else
                self.cast(node, text, suffix))]
            ways.append(edits + (more if any(text in edit[-1] for edit in edits) else []))
        return ways

    def cast(self, node, dtype, suffix):
        """Edits: where the node asks for a dtype that is changed, and else the cast stands behind it."""
        if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
            return [edit for element in node.elts for edit in (
                self.asked_instead(element, dtype, suffix) or self.suffixed(element, suffix))]
        return self.asked_instead(node, dtype, suffix) or self.suffixed(node, suffix)

    @property
    def is_numpy(self):
        """The arrays are NumPy's, which have astype()."""
        return any(call["op"].startswith("python::numpy.") for call in self.cure["calls"][:1])

    def cast_text(self, dtype):
        return f".astype({dtype})" if self.is_numpy else f".to({dtype})"

    def suffixed(self, node, suffix):
        if self.is_state(node):
            return [self.source.replaced(node, f"tuple(t{suffix} for t in {self.source.text(node)})")]
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) or self.is_bracketed(node):
            return [self.source.behind(node, suffix)]
        if self.stands_in_brackets(node):
            return [(node.end_lineno - 1, node.end_col_offset + 1, node.end_lineno - 1, node.end_col_offset + 1, suffix)]
        return [self.source.before(node, "("), self.source.behind(node, ")" + suffix)]

    def stands_in_brackets(self, node):
        """(a * b), which are no call's."""
        before, behind = self.source.lines[node.lineno - 1][:node.col_offset], self.source.lines[node.end_lineno - 1][node.end_col_offset:]
        return before.endswith(b"(") and behind.startswith(b")") and not re.search(rb"[\w)\]]\s*$", before[:-1])

    def is_bracketed(self, node):
        return isinstance(node, (ast.ListComp, ast.Dict, ast.Set))

    def is_state(self, node):
        """The pair of states of an LSTM, which no `.to()` casts: a variable that has both."""
        if isinstance(self.source.parents.get(node), (ast.Tuple, ast.List)):
            return False
        operand = self.cure["calls"][0]["operand"] if self.cure.get("calls") else ""
        is_lstm = "LSTM" in self.cure["module_class"] or any(c["op"].startswith("lstm") for c in self.cure["calls"])
        return is_lstm and operand.strip("_").startswith(("hx", "cx")) and isinstance(node, (ast.Name, ast.Attribute))

    def asked_instead(self, node, dtype, suffix):
        """Where an expression asks for a dtype by itself: torch.zeros(…, dtype=…), x.half(), x.to(torch.half)."""
        if not isinstance(node, ast.Call) or self.is_numpy:
            return []
        for keyword in node.keywords:
            if keyword.arg in DTYPE_KEYWORDS:
                asked = keyword.value
                if isinstance(asked, ast.BoolOp) and isinstance(asked.op, ast.Or):  # "dtype or x.dtype"
                    asked = asked.values[-1]
                return [self.source.replaced(asked, self.in_kind_of(asked, dtype))]
        name = last_part(node.func)
        is_method = isinstance(node.func, ast.Attribute) and not self.is_function(node)
        if is_method and name in CAST_METHODS and not node.args:
            method = suffix.split("(")[0][1:]
            text = METHOD_OF[self.cure["dtype"]] if dtype.endswith(f".{self.cure['dtype']}") and self.cure[
                "dtype"] in METHOD_OF else None
            end = (node.func.end_lineno - 1, node.func.end_col_offset)
            if text or method in CAST_METHODS:
                return [(end[0], end[1] - len(name), *end, text or method)]
            return [(end[0], end[1] - len(name), node.end_lineno - 1, node.end_col_offset, f"to({dtype})")]
        if is_method and name == "type_as":
            return [(node.func.end_lineno - 1, node.func.end_col_offset - len(name), node.end_lineno - 1, node.end_col_offset,
                     f"to({dtype})")]
        if is_method and name in ("to", "type"):
            named = self.dtypes_named(node)
            # "x.to(config.float_th)", which gave another dtype than it was given.
            is_cast = len(node.args) == 1 and not node.keywords and is_name(node.args[0]) and self.cure.get("was") not in (
                None, self.cure.get("from")) and self.source.results_at(node) == {self.cure.get("from")}
            if len(named) == 1 or is_cast:
                return [self.source.replaced(*(named or node.args), dtype)]
        is_drawn = name.startswith("rand") and "float" not in self.cure["dtype"]  # it draws no integers
        is_factory = name in FACTORIES and not is_drawn and (self.is_function(node) or name.startswith("new_"))
        if is_factory and not any(isinstance(a, ast.Starred) for a in node.args) and "(" not in dtype:
            if suffix.startswith(".to("):
                return [self.with_keyword(node, f"dtype={dtype}")]
        return []

    def dtypes_named(self, call):
        """The arguments without a keyword that are dtypes."""
        return [a for a in call.args if self.dtype_of(a) or dotted(a) in self.dtype_names() or dotted(a).endswith("dtype")]

    @staticmethod
    def in_kind_of(value, dtype):
        """A dtype that is given as a text stays one."""
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return f'"{dtype.rsplit(".", 1)[-1]}"' if is_text else dtype

    def with_keyword(self, node, text):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not given:
            return (node.end_lineno - 1, node.end_col_offset - 1, node.end_lineno - 1, node.end_col_offset - 1, text)
        return self.source.behind(max(given, key=lambda n: (n.end_lineno, n.end_col_offset)), ", " + text)

    def back(self):
        """The suffix that casts back to the dtype that the operand had."""
        name = torch_name(self.source)
        if self.is_numpy:
            return self.cast_text(f"{numpy_name(self.source) or 'numpy'}.{self.cure['from']}")
        return f".to({name}.{self.cure['from']})" if name else f".{METHOD_OF[self.cure['from']]}()"


def is_floating(dtype):
    return dtype is not None and "float" in dtype


def binder_of(source, name, node):
    """The statement above this one, of the same function, that gives the variable its value, or the function that has it for
    an argument; it stands in the same block or in one around it."""
    while True:
        parent = source.parents.get(node)
        if parent is None:
            return None
        for block in (getattr(parent, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                for above in reversed(block[:block.index(node)]):
                    if name in names_bound(above):
                        return above
                    if is_compound(above) and any(name in names_bound(n) for n in ast.walk(above)
                                                  if isinstance(n, ast.stmt)):
                        return None  # it depends
        if name in names_bound(parent):
            return parent
        if isinstance(parent, FUNCTIONS):
            return parent if any(a.arg == name for a in ast.walk(parent.args) if isinstance(a, ast.arg)) else None
        node = parent


def is_name(node):
    """Something that a line can read again at no cost: x, self.fc.weight, not f(x)."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_name(node.value))


def is_item(node):
    """batch["target"]"""
    return isinstance(node, ast.Subscript) and isinstance(getattr(index_of(node), "value", None), str) and is_name(node.value)


def shown_by(node, source=None):
    """x of x.t()[:, 0].view(-1), of x - self.mean, which has its dtype as a rule, and of x[ids] where an op of that is recorded."""
    while True:
        if isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node, ast.Subscript) and (isinstance(index_of(node), (ast.Slice, ast.Tuple)) or
                                                  (source is not None and source.results_at(node))):  # else perhaps a list's
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
            node = node.func.value
        else:
            return node


def may_be_tensor(node):
    """No literal: not 0.5, -1, (2, 3), True, torch.float16."""
    if isinstance(node, ast.UnaryOp):
        return may_be_tensor(node.operand)
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(may_be_tensor(element) for element in node.elts)
    is_dtype = isinstance(node, ast.Attribute) and dotted(node).startswith("torch.") and node.attr in DTYPES
    return not isinstance(node, (ast.Constant, ast.JoinedStr)) and not is_dtype


def element_index(name):
    match = re.search(r"\[(\d+)\]$", name)
    return int(match.group(1)) if match else None


def element_of(node, name):
    """An element of a list that is written out, or the whole."""
    index = element_index(name)
    if index is None:
        return node
    is_written_out = isinstance(node, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in node.elts)
    if not is_written_out:
        return None
    return node.elts[index] if index < len(node.elts) else None
