"""Which call of a statement is a module's, and which of its arguments are to be cast. Standard library only, Python 3.8 or later."""

import ast
import functools
import re

from operands import operand_nodes
from source import Source, Unplaced, read
from statement import Site
from syntax import (FUNCTIONS, binder_of, calls_in, dotted, index_of, is_cast, last_part, may_be_tensor, method_of, names_bound,
                    statement_at)


def is_floating(dtype):
    return dtype is not None and "float" in dtype


def module_call(site, nodes=None):
    """The one call of the module, or of the nearest around it; None where there are several."""
    for region in site.regions() if nodes is None else [nodes]:
        depths = [(site.depth_of(n), n) for n in calls_in(region)]
        deepest = max((depth for depth, _ in depths), default=0)
        found = [n for depth, n in depths if depth == deepest > 0]
        if len(found) == 1:
            return found[0]
    # A model that the script knows by another name, as self._model, or by none: the call is the one in which the op ran.
    is_unnamed = nodes is None and site.cure["module"] and isinstance(site.focus, ast.Call)
    return site.focus if is_unnamed and not operand_nodes(site) else None


def module_argument(site, node):
    """Which argument of the module the operand is: the only one, what its name says, or the only variable that the line
    gave a value to which made the operand."""
    given = [a for a in [*node.args, *(k.value for k in node.keywords)] if may_be_tensor(a)]
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return None
    name = re.sub(r"\[\d+\]$", "", site.cure["calls"][-1]["operand"]).strip("_")
    module_class = site.cure["module_class"]
    is_hidden = name in ("hx", "cx")
    if len(given) == 1:
        return None if is_hidden else given[0]
    for keyword in node.keywords:
        is_mask = module_class == "MultiheadAttention" and keyword.arg == "attn_mask" and name in ("bias", "self")
        if keyword.arg == name or is_mask or is_handed_as(site, keyword.arg, name):
            return keyword.value
    if is_hidden or name == "offsets":
        return node.args[1] if len(node.args) > 1 and (len(given) == 2 or not is_hidden) else None
    if name in ("input", "mat1", "self") and re.search("LSTM|GRU|RNN|Loss$", module_class) and node.args:
        return node.args[0]
    if name == "target" and module_class.endswith("Loss") and len(node.args) == 2:
        return node.args[1]
    made = names_of_origin(site)
    keys = keys_given(site, made)
    found = [a for a in given if (isinstance(a, ast.Name) and a.id in made) or
             (isinstance(a, ast.Subscript) and getattr(index_of(a), "value", None) in keys)]
    return found[0] if len(found) == 1 else None


def keys_given(site, names):
    """The keys under which a dictionary of the file has one of the variables, {"ids": ids} or batch["ids"] = ids, and
    no dictionary has another."""
    values = {}
    for node in ast.walk(site.source.tree):
        pairs = zip(node.keys, node.values) if isinstance(node, ast.Dict) else ()
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            pairs = [(index_of(node.targets[0]), node.value)]
        for key, value in pairs:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                values.setdefault(key.value, set()).add(dotted(value))
    return {key for key, given in values.items() if given <= set(names)}


def is_handed_as(site, keyword, name):
    """A model hands its "labels" to a loss as the target, its "class_labels" to its "class_embedding"."""
    if name == "target":
        return keyword in ("labels", "targets")
    words = site.cure["module"].rsplit(".", 1)[-1].split("_")
    return name == "indices" and any(len(word) > 3 and keyword.startswith(word) for word in words)


def names_of_origin(site):
    """What the line that made the operand gives a value to; the function in which it was made."""
    return names_made_at(site, *(site.cure.get("origin") or (0, "")))


def names_made_at(site, line, function):
    if not line:
        return [function] if function else []
    try:
        return names_bound(statement_at(site.source, line)) + [function]
    except Unplaced:
        return [function]


@functools.lru_cache(maxsize=None)
def source_of(path, text):
    return Source(path, read(path) if text is None else text.encode())


def handed_down(site, node):
    """The arguments of the model's call whose dtype lines of its forward() refused, by the names that these read."""
    found, changed = [], {file["path"]: file["text"] for file in site.tables.get("base", ())}
    if any(isinstance(a, ast.Starred) for a in node.args):
        return []
    for inner in site.cure.get("inner", ()):
        try:
            source = source_of(inner["file"], changed.get(inner["file"]))
            there = Site(source, {**site.cure, **inner}, site.tables)
        except (OSError, Unplaced):
            continue
        function = there.scope_of(there.statement)
        if getattr(function, "name", "") != "forward":
            continue
        names = {name for call in ([there.focus] if isinstance(there.focus, ast.Call) else there.calls()[:1])
                 for argument in [*call.args, *(k.value for k in call.keywords)] for name in dtype_givers(source, argument, there.statement)}
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][1:]
        found += [a for name, a in zip(parameters, node.args) if name in names]
        found += [k.value for k in node.keywords if k.arg in names]
    return [leaf for leaf, at in leaves(site, found, site.statement) if dtype_of_value(site, leaf, at) != site.cure["dtype"]]


def dtype_givers(source, node, at):
    """The arguments of the function around the statement that have their dtype from its caller, and hand it to the expression:
    x and y of cat([time(t).to(x.dtype), y[:, 0]])."""
    def of_all(nodes):
        return {name for n in nodes for name in dtype_givers(source, n, at)}
    if isinstance(node, ast.Name):
        bound = binder_of(source, node.id, at)
        if isinstance(bound, FUNCTIONS):
            return {node.id}
        return dtype_givers(source, bound.value, bound) if isinstance(bound, ast.Assign) else set()
    if isinstance(node, (ast.Tuple, ast.List)):
        return of_all(node.elts)
    if isinstance(node, ast.BinOp):
        return of_all([node.left, node.right])
    if isinstance(node, ast.IfExp):
        return of_all([node.body, node.orelse])
    if isinstance(node, ast.Subscript):
        return dtype_givers(source, node.value, at)
    if not isinstance(node, ast.Call):
        return set()
    if is_cast(node) or method_of(node) == "type_as":
        given = [*node.args, *(k.value for k in node.keywords)]
        return of_all([a.value if isinstance(a, ast.Attribute) and a.attr == "dtype" else a for a in given if
                       method_of(node) == "type_as" or (isinstance(a, ast.Attribute) and a.attr == "dtype")])
    if dotted(node.func).partition(".")[0] in ("torch", "F"):
        return of_all(node.args)
    return dtype_givers(source, node.func.value, at) if method_of(node) else set()


def module_inputs(site, node):
    """Which arguments of the module are to be cast, each choice a list of nodes, the likeliest first: what its name or its
    origin says, and all that are known to have another floating dtype than the wanted one."""
    one = module_argument(site, node)
    given = list(leaves(site, [*node.args, *(k.value for k in node.keywords)], site.statement))
    dtypes = {id(leaf): dtype_of_value(site, leaf, at) for leaf, at in given}
    is_known = {id(leaf): dtypes[id(leaf)] is not None for leaf, _ in given}
    odd = [leaf for leaf, _ in given if is_floating(dtypes[id(leaf)]) and dtypes[id(leaf)] != site.cure["dtype"]]
    made = [name for line, function in site.cure.get("origins", ()) for name in names_made_at(site, line, function)]
    keys = keys_given(site, made) if made else set()
    read = [leaf for leaf, _ in given if leaf in odd or not is_known[id(leaf)]]
    read = [leaf for leaf in read if (isinstance(leaf, ast.Name) and leaf.id in made) or
            (isinstance(leaf, ast.Subscript) and getattr(index_of(leaf), "value", None) in keys)]
    down = handed_down(site, node)
    handed = [leaf for leaf, _ in given if leaf in down]
    ones = [] if one is None else [leaf for leaf, _ in leaves(site, [one], site.statement)]  # a pair of states is two
    may_be_odd = [*odd, *(leaf for leaf in ones if dtypes.get(id(leaf)) in (None, site.cure["from"]))]  # also of integers
    read = [leaf for leaf in ones if leaf in may_be_odd and leaf not in read] + read
    ways = []
    for nodes in (handed, read, odd):
        if nodes and set(nodes) not in [set(way) for way in ways]:
            ways.append(nodes)
    return ways


def may_be_list(site, node, call):
    """A variable, or the keyword that it is given for, with a name in the plural, which tensors have as well."""
    keyword = next((k.arg or "" for k in call.keywords if k.value is node), "")
    return isinstance(node, ast.Name) and any(re.search(r"[^s]s$", name) for name in (node.id, keyword))


def leaves(site, nodes, at):
    """What stands for tensors in the arguments, and the statement where it does: of a dictionary, a list or a tuple that
    is written out, there or where the variable gets it, its values."""
    for node in nodes:
        inner = bound = None
        if isinstance(node, ast.Name):
            bound = binder_of(site.source, node.id, at)
            value = getattr(bound, "value", None) if isinstance(bound, ast.Assign) and dotted(bound.targets[0]) == node.id else None
            inner = value if isinstance(value, (ast.Dict, ast.List, ast.Tuple)) else None
        elif isinstance(node, (ast.Dict, ast.List, ast.Tuple)):
            inner = node
        if inner is not None:
            yield from leaves(site, inner.values if isinstance(inner, ast.Dict) else inner.elts, bound or at)
        elif may_be_tensor(node) and not isinstance(node, ast.Starred):
            yield node, at


def dtype_of_value(site, node, at):
    """The dtype of what the node stands for, as the trace has it of the expression that made it; None: not known."""
    if isinstance(node, ast.Name):
        bound = binder_of(site.source, node.id, at)
        if not isinstance(bound, ast.Assign) or dotted(bound.targets[0]) != node.id:
            return None
        node = bound.value
    while node is not None:
        found = site.source.results_at(node)
        if found:
            return found.pop() if len(found) == 1 else None
        node = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else None
    return None


def compiled_argument(site):
    """All of a compiled function runs at its head: the one call of it, or of its module, elsewhere in the file."""
    own = set(ast.walk(site.statement))
    compiled = [dotted(n.targets[0]) for n in ast.walk(site.source.tree) if isinstance(n, ast.Assign) and
                isinstance(n.value, ast.Call) and last_part(n.value.func) == "compile"]
    is_module = site.statement.name == "forward"
    names = [*compiled, *(site.cure["module"].split(".") if is_module else [site.statement.name])]
    found = [n for n in calls_in(ast.walk(site.source.tree)) if last_part(n.func) in names and n not in own]
    if len(found) != 1:
        return None
    node = found[0]
    if len(node.args) == 1 and not node.keywords:
        return node.args[0]
    made = names_of_origin(site)
    given = [a for a in [*node.args, *(k.value for k in node.keywords)]
             if (last_part(a.func) if isinstance(a, ast.Call) else last_part(a)) in made]
    return given[0] if len(given) == 1 else None
