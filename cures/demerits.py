"""What a maintainer would not keep of a change, as far as the source shows it: each is counted in the trees before and after.
Standard library only, Python 3.8 or later."""

import ast

from statement import CAST_METHODS, DTYPES, blocks, dotted, is_cast, is_loaded, modules_imported, names_bound, torch_name


LOW = frozenset({"float16", "half", "bfloat16"})


def receivers(call):
    """x.to(a).eval() is called on x.to(a), and that on x."""
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        call = call.func.value
        yield call


def casts_in_row(node):
    return is_cast(node) and any(is_cast(receiver) for receiver in receivers(node))


def cast_by(statement):
    """The name that the statement casts: x = x.to(a), or model.to(a) alone."""
    value = getattr(statement, "value", None)
    chain = [] if value is None else [value, *receivers(value)]
    if not isinstance(statement, (ast.Assign, ast.Expr)) or not any(map(is_cast, chain)):
        return None
    bound = names_bound(statement)
    return bound[0] if len(bound) == 1 else dotted(chain[-1]) if isinstance(statement, ast.Expr) else None


def doubled(source, tree):
    """A cast behind a cast: in one expression, or in two statements that follow one another."""
    rows = sum(casts_in_row(node) for node in ast.walk(tree))
    return rows + sum(cast_by(one) is not None and cast_by(one) == cast_by(other)
                      for block in blocks(tree) for one, other in zip(block, block[1:]))


def literals(source, tree, dtypes=frozenset(DTYPES)):
    """torch.float32 and .float(), which say one dtype whatever the program computes in."""
    torch = torch_name(source) or "torch"
    return sum(isinstance(node, ast.Attribute) and dotted(node.value) == torch and node.attr in dtypes or
               isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in dtypes & set(CAST_METHODS)
               and not node.args for node in ast.walk(tree))


def low(source, tree):
    """16 bits that are written down in a function that wrote none down: the program's other modes compute in another dtype."""
    def counted(whole):
        functions = [n for n in ast.walk(whole) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        counts = {f.name: literals(source, f, LOW) for f in functions}
        counts[""] = literals(source, whole, LOW) - sum(literals(source, f, LOW) for f in functions)
        return counts
    before = counted(source.tree)
    return sum(count for name, count in counted(tree).items() if before.get(name, 0) == 0)


def integers(source, tree):
    """{k: v.to(dtype) for …}, which casts what is no float as well."""
    return sum(isinstance(node, ast.DictComp) and is_cast(node.value) for node in ast.walk(tree))


def names_read(source, tree):
    """Variables and options, "weight_dtype" and "args.dtype", not what is called or imported, nor a tensor's own dtype."""
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    parts = called | {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node not in called}
    named = {dotted(node) for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute)) and node not in parts
             and is_loaded(node)}
    options = {node.value.lstrip("-").replace("-", "_") for node in ast.walk(tree)
               if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {name for name in named if "()" not in name and name.partition(".")[0] not in {"self", *modules_imported(source)}
            and (not name.endswith(".dtype") or "dtype" in options or name.startswith("args."))}


def demerits(files):
    """Of all (source, tree with the change)."""
    counts = {"dead": sum(len(names_read(source, source.tree) - names_read(source, tree)) for source, tree in files)}
    for count in (doubled, literals, low, integers):
        counts[count.__name__] = sum(max(0, count(source, tree) - count(source, source.tree)) for source, tree in files)
    return counts
