"""What a maintainer would not keep of a change, as far as the source shows it: each is counted in the trees before and after.
Standard library only, Python 3.8 or later."""

import ast
import functools

from syntax import (CAST_METHODS, DTYPES, LOW, VIEWS, blocks, casts_low, dotted, is_cast, is_loaded, last_part, method_of, modules_imported,
                    names_bound, torch_name)


def receivers(call):
    """x.to(a).eval() is called on x.to(a), and that on x."""
    while method_of(call):
        call = call.func.value
        yield call


def casts_in_row(node):
    """x.half().float(), and x.half().cpu().float(); not x.float().sum().half(), which computes the sum in Float."""
    if not is_cast(node):
        return False
    for receiver in receivers(node):
        if is_cast(receiver):
            return True
        if not (isinstance(receiver, ast.Call) and getattr(receiver.func, "attr", "") in (*VIEWS, "cpu", "cuda", "detach", "contiguous")):
            return False
    return False


def cast_by(statement):
    """The name that the statement casts: x = x.to(a), or model.to(a) alone."""
    value = getattr(statement, "value", None)
    chain = [] if value is None else [value, *receivers(value)]
    if not isinstance(statement, (ast.Assign, ast.Expr)) or not any(map(is_cast, chain)):
        return None
    bound = names_bound(statement)
    return bound[0] if len(bound) == 1 else dotted(chain[-1]) if isinstance(statement, ast.Expr) else None


def raised_again(tree):
    """Loops that raise the parameters of a model which a line of the file lowers as it makes it: model = Net().half()."""
    lowered = {dotted(n.targets[0]) for n in ast.walk(tree) if isinstance(n, ast.Assign) and casts_low(n.value)}
    return sum(isinstance(n, ast.For) and method_of(n.iter) == "parameters" and dotted(n.iter.func.value) in lowered and
               any(method_of(c) == "float" for c in ast.walk(n)) for n in ast.walk(tree))


def doubled(source, tree):
    """A cast behind a cast: in one expression, in two statements that follow one another, or of a model that was just made."""
    rows = raised_again(tree) + sum(casts_in_row(node) for node in ast.walk(tree))
    return rows + sum(cast_by(one) is not None and cast_by(one) == cast_by(other)
                      for block in blocks(tree) for one, other in zip(block, block[1:]))


def literals(source, tree, dtypes=DTYPES.keys(), left_out=()):
    """torch.float32 and .float(), which say one dtype whatever the program computes in; not `if dtype != torch.float32`, which asks."""
    torch = torch_name(source) or "torch"
    asked = {inner for node in ast.walk(tree) if isinstance(node, ast.Compare) for inner in (node.left, *node.comparators)}
    return sum(isinstance(node, ast.Attribute) and dotted(node.value) == torch and node.attr in dtypes and node not in asked or
               method_of(node) in dtypes & CAST_METHODS.keys() and not node.args for node in ast.walk(tree) if node not in left_out)


def low(source, tree):
    """16 bits that are written down in a function in which no tensor was made in them: the program's other modes compute in
    another dtype. What autocast is told makes none."""
    def counted(whole, left_out=()):
        functions = [n for n in ast.walk(whole) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        counts = [literals(source, function, names, left_out) for function in functions]
        return [*counts, literals(source, whole, names, left_out) - sum(counts)]
    names = {name for name, dtype in DTYPES.items() if dtype in LOW}
    regions = {inner for node in ast.walk(source.tree) if isinstance(node, ast.Call) and last_part(node.func) == "autocast"
               for inner in ast.walk(node)}
    made = counted(source.tree, regions)  # no change makes a function
    return sum(now for now, made in zip(counted(tree), made) if made == 0)


def integers(source, tree):
    """{k: v.to(dtype) for …} and (a.long() for a in (x, ids)), which cast what is no float as well, or all of several."""
    def casts_several(node):
        is_written_out = isinstance(node, (ast.GeneratorExp, ast.ListComp)) and any(
            len(getattr(loop.iter, "elts", ())) > 1 for loop in node.generators)
        return is_written_out and is_cast(node.elt)
    return sum(isinstance(node, ast.DictComp) and is_cast(node.value) or casts_several(node) for node in ast.walk(tree))


def names_read(source, tree):
    """Variables and options, "weight_dtype" and "args.dtype", not what is called or imported, nor a tensor's own dtype."""
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    parts = called | {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node not in called}
    named = {dotted(node) for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute)) and node not in parts
             and is_loaded(node)}
    options = {node.value.lstrip("-").replace("-", "_") for node in ast.walk(tree)
               if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    left_out = {"self", *modules_imported(source)}
    return {name for name in named if "()" not in name and name.partition(".")[0] not in left_out
            and (not name.endswith(".dtype") or "dtype" in options or name.startswith("args."))}


@functools.lru_cache(maxsize=None)
def before(counted, source):
    return counted(source, source.tree)


def demerits(files):
    """Of all (source, tree with the change)."""
    counts = {"dead": sum(len(before(names_read, source) - names_read(source, tree)) for source, tree in files)}
    for count in (doubled, literals, low, integers):
        counts[count.__name__] = sum(max(0, count(source, tree) - before(count, source)) for source, tree in files)
    return counts
