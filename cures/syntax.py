"""What stands in a source of Python, as its tree shows it without a run. Standard library only, Python 3.8 or later."""

import ast

from source import Unplaced

DTYPES = {}  # torch's name, its second one too: torch's name; learn() adds them, and
CAST_METHODS, METHOD_OF = {}, {}  # "half": torch's name; and the other way round
CASTS = {"to", "type", "type_as"}  # and those methods
LOW = {"float16", "bfloat16"}
DTYPE_KEYWORDS = {"dtype", "torch_dtype", "weight_dtype", "param_dtype"}
# What is no op of its own, and the ops.
FACTORIES = {"tensor", "as_tensor", "new_tensor", "hann_window", "hamming_window", "kaiser_window", "blackman_window"}
SIGNS = {ast.MatMult: "@", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//",
         ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<",
         ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
# Methods that give the numbers of a tensor in another shape.
VIEWS = {"t", "transpose", "permute", "view", "reshape", "unsqueeze", "squeeze", "expand", "flatten", "unflatten", "contiguous",
         "movedim", "swapaxes", "repeat", "detach", "clone"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def learn(question):
    """The names of dtypes and ops that come with a question."""
    DTYPES.update(question["dtypes"])
    CAST_METHODS.update(question["cast_methods"])
    METHOD_OF.update((dtype, method) for method, dtype in CAST_METHODS.items())
    CASTS.update(CAST_METHODS)
    FACTORIES.update({*question["factories"]} - {"range", "resize"})  # which others are called as well


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


def method_of(node):
    """"half" of x.half(), "" of what is no call of a method."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def is_cast(node):
    """x.half(), x.to(dtype), x.to(device, dtype=torch.half); not x.to(device)."""
    if method_of(node) not in CASTS:
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return node.func.attr in CAST_METHODS or any(
        dotted(a).endswith("dtype") or dotted(a).rpartition(".")[2] in DTYPES for a in given)


def casts_low(node):
    """x.half(), x.bfloat16()"""
    return CAST_METHODS.get(method_of(node)) in LOW


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


def without_methods(node, methods=None):
    """p of p.detach().float(): what the methods, or any, are called on."""
    while method_of(node) and (methods is None or method_of(node) in methods):
        node = node.func.value
    return node


def shown_by(node, source=None):
    """x of x.t()[:, 0].view(-1), of x.T, of x - self.mean, which has its dtype as a rule, and of x[ids] where an op of that is recorded."""
    while True:
        if isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node, ast.Subscript) and (isinstance(index_of(node), (ast.Slice, ast.Tuple)) or
                                                  (source is not None and source.results_at(node))):  # else perhaps a list's
            node = node.value
        elif method_of(node) in VIEWS:
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH"):
            node = node.value
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
