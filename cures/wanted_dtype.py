"""The ways to write the wanted dtype at a statement: by the script's own names, by what it meets, as a constant. Standard library only,
Python 3.8 or later."""

import ast
import re

from modules import module_call
from operands import operand_nodes
from statement import Site
from syntax import (DTYPES, DTYPE_KEYWORDS, FACTORIES, FUNCTIONS, LOW, VIEWS, binder_of, binds, calls_in, dotted, import_of_torch, index_of, is_cast, is_name,
                    last_part, method_of, numpy_name, shown_by, torch_name, without_methods)

# Layers that have a weight in the dtype of all their parameters.
LAYERS_WITH_WEIGHT = re.compile(r"Linear$|Bilinear$|Conv(Transpose)?\dd$|(Layer|Group|Batch|Instance|RMS)Norm(\dd)?$|PReLU$")


def is_item(node):
    """batch["target"]"""
    return isinstance(node, ast.Subscript) and isinstance(getattr(index_of(node), "value", None), str) and is_name(node.value)


def scopes_around(site):
    """The blocks of the function around the statement, of those around it, and of the module."""
    node, found = site.statement, []
    while node is not None:
        if isinstance(node, FUNCTIONS):
            found.append(node)
        node = site.source.parents.get(node)
    return [*found, site.source.tree]


def dtype_of(site, node):
    """"float16" of torch.float16; None where it is no dtype by its name."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("torch", torch_name(
            site.source)):
        return DTYPES.get(node.attr)
    return None


def dtype_names(site):
    """The script's names for dtypes that the line can read: {name: the dtypes that it may have, None one not known}."""
    found = {}
    for scope in scopes_around(site):
        is_module = isinstance(scope, ast.Module)
        for node in ast.walk(scope):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1 or site.scope_of(node) is not scope:
                continue
            if node.lineno < site.statement.lineno or (is_module and len(scopes_around(site)) > 1):
                note_dtypes(site, node, found, dotted(node.targets[0]))
    owner = site.class_around()
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted(node.targets[0]).startswith("self."):
            note_dtypes(site, node, found, dotted(node.targets[0]))
    return {name: dtypes for name, dtypes in found.items() if "()" not in name and ("." in name or has_value(site, name))}


def names_that_ran(site):
    """Names of the wanted dtype whose value the run alone has: of x.to(dtype) and zeros(…, dtype=args.dtype) it has what
    was made."""
    found = {}
    owner = site.class_around()
    for call in calls_in(ast.walk(site.source.tree)):
        given = [k.value for k in call.keywords if k.arg in DTYPE_KEYWORDS]
        if method_of(call) in ("to", "type"):
            given += [a for a in call.args if "dtype" in last_part(a)]
        if len(given) != 1 or not is_name(given[0]) or dtype_of(site, given[0]):
            continue
        root = dotted(given[0]).split(".")[0]
        is_own = root == "self" and owner is not None and owner is site.class_around(call)
        if is_own or (root != "self" and site.scope_of(call) in scopes_around(site) and is_bound(site, root)):
            found.setdefault(dotted(given[0]), set()).update(site.source.results_at(call))
    return [name for name, dtypes in found.items() if dtypes - {""} == {site.cure["dtype"]}]


def own_parameters(site):
    """"self.fc.weight.dtype", or that of the first parameter, in a method of a module whose parameters all have the wanted dtype, as far
    as they ran: of the layer that the function calls next. A dtype of 16 bits alone: Float may be meant whatever the weights are."""
    owner, parts = site.class_around(), site.cure["module"].split(".")
    if owner is None or site.cure["dtype"] not in LOW:
        return []
    made = {dotted(t)[5:] for n in ast.walk(owner) if isinstance(n, ast.Assign) for t in n.targets if dotted(t).startswith("self.")}
    parameters = site.tables.get("parameters", {}).get(parts[0], {})
    for depth in range(len(parts), 0, -1):
        prefix = ".".join(parts[:depth]) + "."
        own = {path[len(prefix):]: dtype for path, dtype in parameters.items() if path.startswith(prefix)}
        own = {path: dtype for path, dtype in own.items() if path.split(".")[0] in made}
        if own:
            break
    else:
        return []
    if set(own.values()) != {site.cure["dtype"]}:
        return []
    callees = [n.func.value if isinstance(n.func, ast.Subscript) else n.func
               for n in calls_in(ast.walk(site.scope_of(site.statement))) if n.lineno >= site.statement.lineno]
    called = [dotted(f)[5:].split(".")[0] for f in callees if dotted(f).startswith("self.")]
    best = min(own, key=lambda path: (called.index(path.split(".")[0]) if path.split(".")[0] in called else len(called),
                                      "weight" not in path.rpartition(".")[2], path.count(".")))
    return [f"self.{best}.dtype" if not re.search(r"\d", best) else "next(self.parameters()).dtype"]


def read_elsewhere(site):
    """"module.weight.dtype", which another function of the file reads of its own argument of that name."""
    own = {n.arg for n in ast.walk(site.scope_of(site.statement)) if isinstance(n, ast.arg)}
    if site.cure["dtype"] not in LOW:
        return []
    return [dotted(n) for n in ast.walk(site.source.tree) if isinstance(n, ast.Attribute) and n.attr == "dtype" and
            isinstance(n.value, ast.Attribute) and dotted(n).split(".")[0] in own - {"self"}]


def has_value(site, name):
    """No branch of the function leaves the variable without one before the statement."""
    node = site.statement
    while node in site.source.parents:
        parent = site.source.parents[node]
        for block in (getattr(parent, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                # A function inside, and all below a module's top, is called later.
                is_later = isinstance(node, (*FUNCTIONS, ast.ClassDef))
                if binds(block if is_later else block[:block.index(node)], name):
                    return True
        node = parent
    return False


def own_names(site):
    """Those of the wanted dtype, the sure ones first: (text, is sure)."""
    named = [(name, len(dtypes) == 1) for name, dtypes in dtype_names(site).items()
             if site.cure["dtype"] in dtypes and None not in dtypes]
    return sorted(named, key=lambda pair: not pair[1])


def names_of_dtype(site):
    """Those that have the wanted dtype, whichever way the program goes, or had it in the run."""
    return list(dict.fromkeys([*(name for name, is_sure in own_names(site) if is_sure), *names_that_ran(site)]))


def note_dtypes(site, node, found, name):
    values = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
    dtypes = {dtype_of(site, value) for value in values}
    if name in found or dtypes != {None}:
        found.setdefault(name, set()).update(dtypes)


def met_texts(site, cast):
    """"other.dtype" of what the operand meets in the same call, where that has the wanted dtype and a short name: x of
    x.t() too."""
    found = []
    for calls in site.cure.get("others", ()):
        for node in (shown_by(n, site.source) for n in operand_nodes(site, calls=calls)):
            if (is_name(node) or is_item(node)) and (cast is None or ast.dump(node) != ast.dump(cast)):
                found.append(f"{site.source.text(node)}.dtype")
    node = module_call(site)
    if site.cure.get("meets_parameter") and node is not None and is_name(node.func):
        below = site.cure["module"].split(".")[site.depth_of(node):]  # "0" of the Sequential that a model has
        is_part = all(part.isdigit() for part in below) and dotted(node.func).startswith("self.")
        if (not below or is_part) and LAYERS_WITH_WEIGHT.search(site.cure["module_class"]):
            index = "".join(f"[{part}]" for part in below)
            found.append(f"{site.source.text(node.func)}{index}.weight.dtype")
    return found


def parameters_met(site):
    """Where the line calls a module, or a method of it, and knows none of its weights by name: its own word for its dtype,
    where the file shows that it has one, as models of diffusers and transformers do, or the first parameter's."""
    node = module_call(site) if site.cure.get("meets_parameter") else None
    if node is None or not is_name(node.func) or site.cure["module_class"].endswith("Loss"):  # which has buffers alone
        return []
    receiver, owner = getattr(node.func, "value", None), site.class_around()
    is_held = dotted(receiver) == "self" and last_part(node.func) not in {n.name for n in getattr(owner, "body", []) if isinstance(n, FUNCTIONS)}
    is_method = receiver is not None and not is_held and last_part(node.func) not in site.cure["module"].split(".")
    name = site.source.text(receiver if is_method else node.func)
    has_dtype = any(isinstance(n, ast.Attribute) and n.attr in ("dtype", "config") and dotted(n.value) == name
                    for n in ast.walk(site.source.tree))
    return [f"{name}.dtype"] * has_dtype + [f"next({name}.parameters()).dtype"]


def met_later(site):
    """The dtype of what the result meets in the statement, or on a later line of the function, where that has its value here
    already."""
    use = site.cure.get("use")
    if not use or use["line"] < site.statement.lineno:
        return []
    there = Site(site.source, {**site.cure, **use, "use": None}, site.tables)
    if site.scope_of(there.statement) is not site.scope_of(site.statement):
        return []
    met = met_texts(there, None) + [text for text in parameters_met(there) if not text.startswith("next(")]
    return [text for text in met if text.startswith("self.") or is_bound(site, text.split(".")[0])]


def is_bound(site, name):
    """The function has it for an argument, or gives it a value whichever way it runs."""
    scope = site.scope_of(site.statement)
    return has_value(site, name) or any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(getattr(scope, "args", scope)))


def shaped_by(site, made):
    """"x.dtype" of zeros(x.shape, device=x.device): what gives a factory its shape or device may have the wanted dtype."""
    if not isinstance(made, ast.Call) or last_part(made.func) not in FACTORIES or not site.is_function(made):
        return []
    bound = [binder_of(site.source, k.value.id, site.statement) for k in made.keywords if k.arg == "device" and isinstance(k.value, ast.Name)]
    values = [n.value for n in bound if isinstance(n, ast.Assign) and isinstance(n.value, ast.Attribute) and n.value.attr == "device"]
    shapes = [without_methods(node.value, VIEWS) for node in [*ast.walk(made), *values]
              if isinstance(node, ast.Attribute) and node.attr in ("device", "shape", "size")]
    found = [f"{site.source.text(node)}.dtype" for node in shapes
             if is_name(node) or isinstance(node, ast.Call) and last_part(node.func) == "next"]
    has_own = any(isinstance(n, ast.Attribute) and dotted(n) == "self.dtype" for n in ast.walk(site.source.tree))
    return [text for text in found if text != "self.dtype" or has_own]


def computed_of(site, made):
    """"k.dtype" of f(k).half(): the one variable that a line which casts to 16 bits computes of had the dtype before, perhaps."""
    if site.cure["dtype"] not in LOW or not is_cast(made) or any(dtypes_named(site, made)):
        return []
    given = {n.id for call in calls_in(ast.walk(made.func.value)) for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name)}
    return [f"{name}.dtype" for name in given] if len(given) == 1 else []


def dtype_texts(site, cast=None):
    """The ways to write the wanted dtype: (text, further edits). Without what is cast the place is another line, where
    what it meets may not be known yet."""
    if site.is_numpy:
        name = numpy_name(site.source)
        return [(f"{name}.{site.cure['dtype']}" if name else f'"{site.cure["dtype"]}"', [])]
    own = own_names(site)
    texts = [name for name, is_sure in own if is_sure] + ([] if cast is None else met_texts(site, cast)) + met_later(site)
    texts += names_that_ran(site) + [name for name, is_sure in own if not is_sure]
    texts += own_parameters(site) + read_elsewhere(site) + parameters_met(site) + shaped_by(site, cast) + computed_of(site, cast)
    name = torch_name(site.source)
    constant = (f"{name or 'torch'}.{site.cure['dtype']}", [] if name else [import_of_torch(site.source)])
    return [*((text, []) for text in dict.fromkeys(texts)), constant]


def dtypes_named(site, call):
    """The arguments without a keyword that are dtypes."""
    return [a for a in call.args if dtype_of(site, a) or dotted(a) in dtype_names(site) or dotted(a).endswith("dtype")]
