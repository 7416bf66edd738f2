"""Writes cures into Python sources, which it reads by ast: with the standard library alone, run by the program's own interpreter
(3.8 or later).

    write_cure.py QUESTION ANSWER, both files of JSON

QUESTION: {"questions": [[cure, …], …], "names", "signs", "dimension_first", "first_only"}, the tables of ops/python_names.inc,
        "precisions", the rows of core/precision_words.inc, "factories", ops that make a tensor of no values, "dtypes": {a name in torch:
        torch's first name of the dtype}, "cast_methods": {"half": torch's name of the dtype}, and "cpp_types": {a dtype's name in C++: the type of its numbers there}; a cure is
        {"path", "file", "cell", "line", "extent", "kind", "dtype", "from", …} as cures/patch.cpp writes it: what the trace knows of
        the call that the cure is about; "base": [{"path", "text"}, …] are sources that ran in place of files
        "results": {file: [[line, column, end line, end column, dtype], …]} and "parameters": {root module: {name: dtype}}, as
        cures/known_dtypes.h has them; of a C++ source "cpp" is the dtype's name there
ANSWER:   for each question {"ways": [{"edits": [{"path", "line", "column", "old", "new"}, …], "demerits": {…}}, …]}, the best way first,
        each with all cures in it, as edits of what ran, and "words" where they do another thing than the cure says; or {"reason"}: why one could not be placed surely. demerits.py counts the demerits,
        unless "counts_demerits" is false: all are 0 then

A cure says what and where: "cast the operand target of mse_loss, train.py line 40, to float16". Here the expression is found
that the line has for it, and each way to write the change there that a maintainer would: by the script's own name for the
dtype, by the dtype of what it meets, as a constant. What is not the only one of its kind on the line is not changed.
"""

import ast
import functools
import json
import operator
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from casts import (asked_instead, asks_for_dtype, cast_edits, cast_text, cast_ways, chain_of, in_kind_of, is_state, suffixed,  # noqa: E402
                   text_of_cast_back, with_keyword)
from cpp_source import CppFile  # noqa: E402
from demerits import demerits, receivers  # noqa: E402
from modules import compiled_argument, dtype_of_value, is_floating, leaves, may_be_list, module_argument, module_call, module_inputs  # noqa: E402
from operands import operand_nodes, signed  # noqa: E402
from source import Notebook, Source, Unplaced, change_between, edit_of, read  # noqa: E402
from statement import Site  # noqa: E402
from syntax import (CASTS, CAST_METHODS, DTYPES, DTYPE_KEYWORDS, FACTORIES, FUNCTIONS, LOW, SIGNS, binder_of, blocks,  # noqa: E402
                    calls_in, casts_low, dotted, head_nodes, import_of_torch, index_of, is_cast, is_compound, is_loaded, is_name,
                    last_part, learn, may_be_tensor, method_of, names_bound, new_import, new_statement, numpy_name, only,
                    require_own_lines, shown_by, statement_at, torch_name, without_methods)
from wanted_dtype import dtype_names, dtype_of, dtype_texts, dtypes_named, names_of_dtype  # noqa: E402


# ---- kinds of cures: each gives its ways, a way is a list of edits

class Way(list):
    """Edits that do another thing than the cure says."""

    def __init__(self, edits, words):
        super().__init__(edits)
        self.words = words


KINDS = {}  # by the names of core/cure_kinds.inc


def writes(kind):
    def note(function):
        KINDS[kind] = function
        return function
    return note


@writes("cast operand")
def cast_operand(site):
    names = site.cure["operand"].split(",")
    lists = {re.sub(r"\[\d+\]$", "", name) for name in names}
    if len(names) > 1 and len(lists) == 1:
        names = list(lists)  # all of one list
    if len(names) > 1:
        found = [operand_nodes(site, calls=[dict(call, operand=call["operand"].split(",")[i]) for call in site.cure["calls"]])
                 for i in range(len(names))]
        if not all(len(nodes) == 1 for nodes in found):
            raise Unplaced("the line does not name each of the operands")
        return cast_ways(site, [nodes[0] for nodes in found])
    nodes = operand_nodes(site) if names == [site.cure["operand"]] or not site.cure["operand"] else []
    if nodes:
        return cast_earlier(site, nodes) + cast_ways(site, nodes, [n for n in nodes if is_unpacked(site, n)])
    if isinstance(site.statement, FUNCTIONS):
        argument = compiled_argument(site)
        if argument is None:
            raise Unplaced("no one call of the compiled function says which argument it is")
        return cast_ways(site, argument)
    if lists != {site.cure["operand"]}:
        nodes = operand_nodes(site, *lists)
        if len(nodes) == 1 and is_name(nodes[0]):
            text = site.source.text(nodes[0])
            return [[site.source.replaced(nodes[0], f"[t.to({dtype}) for t in {text}]"), *more]
                    for dtype, more in dtype_texts(site, nodes[0])]
    return cast_module_input(site)


def is_unpacked(site, node):
    """f(x) of "a[i], b[i] = f(x)" """
    around = site.source.parents.get(node)
    return isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Tuple) and isinstance(node, ast.Call)


def cast_earlier(site, nodes):
    """x.long().sum() for x.sum().long(): the cast that stands behind the op."""
    def called_on(node):
        call = site.source.parents.get(site.source.parents.get(node))
        return (call, method_of(call)) if method_of(call) and call.func.value is node else (None, "")
    call, op = called_on(nodes[0])
    cast, method = called_on(call)
    if len(nodes) > 1 or op not in ("sum", "cumsum") or method not in CAST_METHODS or casts_low(cast) or cast.args:
        return []
    return [[site.source.removed_behind(call, cast), site.source.behind(nodes[0], f".{cast.func.attr}()")]]


@writes("cast module input")
def cast_module_input(site):
    node = module_call(site)
    nodes = operand_nodes(site) if node is None else []
    if nodes:  # a function of the module's own called the op
        return cast_ways(site, nodes)
    if node is None:
        raise Unplaced(f"the inputs of {site.cure['module'] or site.cure['calls'][0]['op']} were not found on the line")
    choices = module_inputs(site, node)
    spread = [keyword.value for keyword in node.keywords if keyword.arg is None and is_name(keyword.value)]
    unknown = [leaf for leaf, at in leaves(site, node.args, site.statement) if dtype_of_value(site, leaf, at) is None]
    if not choices and len(spread) == 1 and torch_name(site.source) and len(unknown) < 2:  # of two one may be it as well
        is_cast = f"{torch_name(site.source)}.is_tensor(v) and v.is_floating_point()"
        return [[site.source.replaced(spread[0], f"{{k: v.to({dtype}) if {is_cast} else v for k, v in {site.source.text(spread[0])}.items()}}"),
                 *more] for dtype, more in dtype_texts(site, node)]
    if not choices:
        raise Unplaced(f"which arguments of the call have another dtype than {site.cure['dtype']} is not known")
    ways = []
    for nodes in choices:
        lists = [n for n in nodes if may_be_list(site, n, node)]
        of_lists = cast_ways(site, nodes, lists) if lists else []
        ways += [way for pair in zip(cast_ways(site, nodes), of_lists) for way in pair] if of_lists else cast_ways(site, nodes)
    return ways


def tensor_shown(site, node, source=None):
    """x of x[0].t().sum(1): a method gives what its tensor is, as a rule, unless it is a cast."""
    shown = shown_by(node, source)
    while method_of(shown) not in ("", *CASTS) and not site.is_function(shown):
        shown = shown_by(shown.func.value, source)
    return shown


@writes("cast and back")
def cast_and_back(site):
    """The operand cast for this call, and what it gives cast back, behind the signs that compute with that: f(x) / n, but not a @ f(x),
    which takes one dtype."""
    nodes = operand_nodes(site)
    node = only(nodes, "the operand")
    if site.is_numpy:
        return clipped_and_back(site, node)
    around = site.source.parents.get(node)
    while around is not None and not isinstance(around, (ast.Call, ast.BinOp, ast.stmt)):
        around = site.source.parents.get(around)
    if isinstance(around, ast.Attribute):
        around = site.source.parents.get(around)
    holder = site.source.parents.get(around)
    while isinstance(around, (ast.Call, ast.BinOp)) and isinstance(holder, ast.BinOp) and not isinstance(holder.op, ast.MatMult):
        around, holder = holder, site.source.parents.get(holder)
    if not isinstance(around, (ast.Call, ast.BinOp)):
        raise Unplaced("the statement gives no value that could be cast back")
    constant = cast_ways(site, node)[-1]
    shown = tensor_shown(site, node)
    names = [n for n in [shown, *ast.walk(node)] if is_name(n) and (
        n is shown or dtype_of_value(site, n, site.statement) == site.cure["from"])]
    back = f".to({site.source.text(names[0])}.dtype)" if names else text_of_cast_back(site)
    if not isinstance(holder, ast.Assign) or not isinstance(holder.targets[0], ast.Tuple):
        return [[*constant, *suffixed(site, around, back)]]
    names, floats = names_bound(holder), site.cure.get("gives_floats", [])
    if len(names) != len(floats) or len(names) != len(holder.targets[0].elts):
        raise Unplaced("the statement gives no value that could be cast back")
    cast = [n for n, is_float in zip(names, floats) if is_float and n != "_"]
    below = new_statement(site.source, holder, "{} = {}".format(", ".join(cast), ", ".join(n + back for n in cast)))
    return [[*constant, *edits] for edits in (returned_back(site, holder, cast, back), [below]) if edits]


def returned_back(site, statement, names, back):
    """return u.to(x.dtype), v: what is computed of the names is computed as they are, and the function gives it cast back."""
    block = getattr(site.scope_of(statement), "body", [])
    if statement not in block or not isinstance(block[-1], ast.Return):
        return []
    behind, known = block[block.index(statement) + 1:], set(names)

    def is_of_them(node):
        return any(isinstance(n, ast.Name) and n.id in known for n in ast.walk(node))

    for other in behind[:-1]:
        if not isinstance(other, ast.Assign) or any(re.search(rf"\b{n}\b", back) for n in names_bound(other)):
            return []
        if is_of_them(other.value) and "int" not in "".join(site.source.results_at(other.value)):
            known.update(names_bound(other))
    value = block[-1].value
    given = value.elts if isinstance(value, ast.Tuple) else [value]
    return [edit for node in given if node is not None and is_of_them(node) for edit in suffixed(site, node, back)]


def clipped_and_back(site, node):
    """np.clip(x.astype(np.int32) + 40, 0, 255).astype(np.uint8), which does not wrap in the cast back."""
    clip = site.source.parents.get(node)
    while isinstance(clip, ast.expr) and not (isinstance(clip, ast.Call) and last_part(clip.func) == "clip"):
        clip = site.source.parents.get(clip)
    if not isinstance(clip, ast.Call):
        raise Unplaced("nothing clips what the line computes")
    return [[*way, *suffixed(site, clip, text_of_cast_back(site))] for way in cast_ways(site, node)]


def made_by(site):
    """The call on this line that made the tensor."""
    op = site.cure["calls"][0]["op"]
    is_cast = op.strip("_").startswith("to") and not op.startswith("python::")
    for nodes in site.regions():
        found = [n for n in calls_in(nodes)
                 if (method_of(n) in CASTS if is_cast else site.is_called(op, n))]
        if not found and op.startswith("empty"):  # inside of torch.tensor(), or of a layer
            found = [n for n in calls_in(nodes) if last_part(n.func) in FACTORIES and site.is_function(n)]
        if found and len({chain_of(site, n) for n in found}) == 1:
            return chain_of(site, found[0]) if is_cast else found[0]
    return None


def made_alike(site, node):
    """All of a dictionary, list or tuple that the same function made in the same dtype, where the run has all of them."""
    holder = site.source.parents.get(node)
    call = site.source.parents.get(holder)  # dict(a=…, b=…)
    is_dict = isinstance(holder, ast.keyword) and dotted(call.func) == "dict"
    items = (holder.values if isinstance(holder, ast.Dict) else [keyword.value for keyword in call.keywords] if is_dict else
             getattr(holder, "elts", [node]))
    alike = [n for n in items if isinstance(n, ast.Call) and dotted(n.func) == dotted(node.func)]
    if not is_floating(site.cure["from"]):
        return [node]  # what else is of integers may be counts and ids
    # The batch that was refused had them all in one dtype; another had some that needed no cast, or another dtype.
    wanted = {site.cure["from"], site.cure["dtype"], ""}
    return alike if all(site.source.results_at(n) and site.source.results_at(n) <= wanted for n in alike) else [node]


def lowered_between(site, node):
    """x, y = x.float(), y.float() for x.bfloat16().float(), y.bfloat16().float(): the casts that only round are left out."""
    def rounds(call):
        inner = call.func.value if asks_for_dtype(site, call) else None
        asks = [one for one in (call, inner) if isinstance(one, ast.Call) and asks_for_dtype(site, one)]
        return [CAST_METHODS.get(one.func.attr) or next(dtype_of(site, a) for a in one.args if dtype_of(site, a)) for one in asks] == [
            site.cure["dtype"], site.cure["from"]]
    if not isinstance(node, ast.Call) or not rounds(node):
        return []
    return [[site.source.removed_behind(call.func.value.func.value, call.func.value) for call in calls_in(head_nodes(site.statement))
             if rounds(call)]]


@writes("cast result")
def cast_result(site):
    node = made_by(site)
    between = [] if node is None else lowered_between(site, node)
    if between:
        return between
    if node is not None:
        alike = made_alike(site, node)
        return cast_ways(site, alike) + (cast_ways(site, node) if len(alike) > 1 else []) + copied(site)
    value = getattr(site.statement, "value", None)
    is_read = is_loading(site) and isinstance(value, ast.Subscript)  # torch.load(path)["latents"]
    if site.cure["calls"][0]["op"].startswith("empty") and not is_read:
        raise Unplaced("the line does not call what makes it")  # a layer's parameters
    operation = signed(site, list(head_nodes(site.statement)), site.cure["calls"][0]["op"])
    if operation and isinstance(operation[2], ast.BinOp):
        return cast_ways(site, operation[2]) + copied(site)
    targets = getattr(site.statement, "targets", [getattr(site.statement, "target", None)])
    is_one = isinstance(site.statement, (ast.Assign, ast.AnnAssign, ast.Return)) and value is not None and not isinstance(
        targets[0], ast.Tuple) and not isinstance(value, (ast.Dict, ast.List, ast.Tuple, ast.Set))
    if not is_one:
        raise Unplaced("the statement gives no value that could be cast")
    return cast_ways(site, value) + copied(site)


def copied(site):
    """A buffer that is bound anew, self.mean = 0.9 * self.mean + …, is written in place and keeps its dtype."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    name = dotted(statement.targets[0])
    is_read = any(isinstance(n, ast.Attribute) and dotted(n) == name for n in ast.walk(statement.value))
    if not name.startswith("self.") or not is_read:
        return []
    return [[site.source.replaced(statement, f"{name}.copy_({site.source.text(statement.value)})")]]


def variable_of(site, operand=""):
    """The variable that is the operand in this statement, or that the module is called with."""
    nodes = operand_nodes(site, operand)
    if not nodes:
        call = module_call(site)
        nodes = [module_argument(site, call)] if call is not None else []
    if len(nodes) < 1 or not isinstance(nodes[0], ast.Name):
        raise Unplaced("the line does not name the variable")
    binder = binder_of(site.source, nodes[0].id, site.statement)
    if binder is None:
        raise Unplaced(f"no one statement above gives {nodes[0].id} its value")
    return nodes[0], binder


@writes("cast variable")
def cast_variable(site):
    """x = x.to(…) below the statement that binds it, where more than this one reads it."""
    if site.is_numpy:
        return cast_arrays(site)
    node, binder = variable_of(site)
    scope = site.scope_of(site.statement)
    readers = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == node.id and is_loaded(n)]
    if len(readers) < 2:
        raise Unplaced(f"nothing else reads {node.id}")
    cast = "tuple(t.to({1}) for t in {0})" if is_state(site, node) else "{0}.to({1})"
    return [[new_statement(site.source, binder, f"{node.id} = {cast.format(node.id, dtype)}"), *more]
            for dtype, more in dtype_texts(site)]


def cast_arrays(site):
    """x = x.astype(…) below the statement that binds it, of each of the operands, or in it where that is x = f(…)."""
    found = {node.id: binder for node, binder in (variable_of(site, name) for name in site.cure["operand"].split(","))}
    ways = []
    for dtype, _ in dtype_texts(site):
        edits = []
        for name, binder in found.items():
            is_made = isinstance(binder, ast.Assign) and is_name(binder.targets[0]) and isinstance(binder.value, ast.Call)
            edits += suffixed(site, binder.value, cast_text(site, dtype)) if is_made else [
                new_statement(site.source, binder, f"{name} = {name}{cast_text(site, dtype)}")]
        ways.append(edits)
    return ways


@writes("cast drawn")
def cast_drawn(site):
    """All that a loop or a call gives in the operand's dtype: "x, y = x.float(), y.float()" below "for x, y in loader:"."""
    drawn = site.cure.get("drawn") or []
    if (site.cure.get("origin") or [0])[0] == site.cure["line"]:  # the line of the loop itself
        names = names_bound(site.statement)
        cast = [n for n, dtype in zip(names, drawn) if dtype == site.cure["from"]] if len(names) == len(drawn) > 1 else []
        if not cast or (len(cast) > 1 and "float" not in site.cure["from"]):  # labels are integers as well
            raise Unplaced("which of what is drawn have the dtype is not known")
        return cast_names(site, cast, site.statement)
    nodes = operand_nodes(site)
    call = module_call(site) if not nodes else None
    nodes = nodes or ([module_argument(site, call)] if call is not None else [])
    if not nodes or nodes[0] is None:
        raise Unplaced("the line does not name the operand")
    root = nodes[0]
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name) or root.id == "self":
        raise Unplaced("the line does not name the variable")
    binder = binder_of(site.source, root.id, site.statement)
    if binder is None:
        raise Unplaced(f"no one statement above gives {root.id} its value")
    names = names_bound(binder)
    if len(names) < 2:
        return cast_container(site, root.id, binder, nodes[0])
    cast = [n for n, dtype in zip(names, drawn) if dtype == site.cure["from"]] if len(names) == len(drawn) else []
    if root.id not in cast or len(cast) < 2:
        raise Unplaced("which others of what is drawn have the dtype is not known")
    return cast_names(site, cast, binder)


def cast_names(site, names, binder):
    return [[new_statement(site.source, binder, "{} = {}".format(", ".join(names), ", ".join(f"{n}.to({dtype})" for n in names))),
             *more] for dtype, more in dtype_texts(site)]


def cast_container(site, name, binder, node):
    """A dictionary, list or named tuple of tensors, as the operand says: batch["x"], batch[0], batch.x."""
    drawn = site.cure.get("drawn") or []
    floats = "" if drawn and set(drawn) == {site.cure["from"]} else " if {0}.is_floating_point() else {0}"
    ways = []
    for dtype, more in dtype_texts(site):
        def one(t):
            return f"{t}.to({dtype}){floats.format(t)}"
        index = getattr(index_of(node), "value", None) if isinstance(node, ast.Subscript) else None
        is_unpacked = any(isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Tuple) and dotted(n.value) == name
                          for n in ast.walk(site.scope_of(site.statement)))
        if isinstance(node, ast.Subscript) and isinstance(index, str):
            text = f"{name} = {{k: {one('v')} for k, v in {name}.items()}}"
        elif isinstance(node, ast.Attribute):
            text = f"{name} = type({name})(*({one('t')} for t in {name}))"
        elif isinstance(node, ast.Subscript) or is_unpacked:
            text = f"{name} = [{one('t')} for t in {name}]"
        else:
            raise Unplaced(f"what {name} holds is not known")
        ways.append([new_statement(site.source, binder, text), *more])
    return ways


def maker_of(site, module):
    """The statement that makes the module, and whether it makes all of it: "unet = …", "self.gate = …" of "net.gate"."""
    parts = module.split(".")

    def made(statement):
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is None:
            return None
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [dotted(t) for t in targets]
        if parts[0] in names:
            return len(parts) == 1
        return True if f"self.{parts[-1]}" in names else None
    if made(site.statement) is not None:
        return site.statement, made(site.statement)
    found = [n for n in ast.walk(site.source.tree) if isinstance(n, ast.stmt) and made(n) is not None
             and isinstance(n.value, ast.Call)]
    exact = [n for n in found if made(n)]
    best = exact or found
    return (best[0], made(best[0])) if len(best) == 1 else (None, False)


def python_path(path):
    """"self.net[2].weight" of "self.net.2.weight"."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path)


def is_loading(site):
    """state = torch.load(path)"""
    return any(last_part(n.func).startswith("load") for n in site.calls())


@writes("cast parameters")
def cast_parameters(site):
    """The dtype where the parameters are made; or else the cast behind that, or before their use."""
    module = site.cure["operand"] or site.cure["module"]
    parts = module.split(".")
    # A cast that is a statement by itself is a module's, by whatever name the trace knows that.
    here = [n for n in site.calls() if method_of(n) in CASTS
            and (last_part(n.func.value) == parts[-1] or getattr(site.statement, "value", None) is n
                 and isinstance(site.statement, ast.Expr))]
    if here and len({chain_of(site, n) for n in here}) == 1:  # "net.up.double()"
        cast = chain_of(site, here[0])
        return left_out(site, here) + [[*cast_edits(site, cast, dtype, f".to({dtype})"), *more] for dtype, more in dtype_texts(site)]
    if not module or (module[0].isupper() and len(parts) == 1):  # no variable held it: it is called by its class
        is_made = isinstance(site.statement, ast.Assign) and any(method_of(n) in CASTS for n in ast.walk(site.statement.value))
        if not is_made:
            raise Unplaced("no variable is known to hold the module")
        return [[*remade(site, site.statement, dtype), *more] for dtype, more in dtype_texts(site)]
    if len(optimizers_stepped(site)) == 1:  # of all that is trained
        statement, _, module, _ = above_optimizer(site)
        line = statement.lineno - 1
        return [[site.source.new_line(line, site.source.indent_of(line), f"{module}.to(dtype={dtype})"), *more] for dtype, more in dtype_texts(site)]
    statement, is_whole = maker_of(site, module)
    root = parts[0]
    # What this line put into a module that another line made: load_state_dict(…, assign=True).
    is_put = statement is not site.statement and site.cure.get("is_origin") and not is_compound(site.statement) and any(
        isinstance(n, ast.Name) and n.id == root and is_loaded(n) for n in head_nodes(site.statement))
    # A state that this line read is put into the model elsewhere.
    loads = [n for n in calls_in(ast.walk(site.source.tree)) if method_of(n) == "load_state_dict" and last_part(n.func.value) == root]
    if site.cure.get("is_origin") and len(loads) == 1 and is_loading(site):
        path = python_path(".".join([site.source.text(loads[0].func.value), *parts[1:]]))
        return [[new_statement(site.source, statement_at(site.source, loads[0].lineno), f"{path}.to(dtype={dtype})"), *more]
                for dtype, more in dtype_texts(site)[-1:]]
    ways = []
    for dtype, more in dtype_texts(site):
        if is_put:
            ways.append([new_statement(site.source, site.statement, f"{python_path(module)}.to(dtype={dtype})"), *more])
            continue
        if statement is not None and is_whole:
            edits = remade(site, statement, dtype)
            if edits:
                ways.append([*edits, *more])
                continue
        text = f"{python_path(module)}.to(dtype={dtype})"
        if statement is not None and not is_compound(statement) and root in names_bound(statement):
            ways.append([new_statement(site.source, statement, text), *more])
        elif any(isinstance(n, ast.Name) and n.id == root and is_loaded(n) for n in head_nodes(site.statement)):
            require_own_lines(site.source, site.statement)
            line = site.statement.lineno - 1
            ways.append([site.source.new_line(line, site.source.indent_of(line), text), *more])
    lowered = [c for c in site.calls() if asks_for_dtype(site, c)]
    if not ways and len(lowered) == 1:  # a state that is loaded: {k: v.to(torch.bfloat16) for k, v in state.items()}
        ways = [[*asked_instead(site, lowered[0], dtype, f".to({dtype})"), *more] for dtype, more in dtype_texts(site)]
    if not ways:
        raise Unplaced(f"no statement here makes or uses {module}")
    return ways


def left_out(site, casts):
    """"net.half()" of a module that has the wanted dtype before it, where other statements stand beside."""
    statement, cast = site.statement, casts[0]
    has_others = any(statement in block and len(block) > 1 for block in blocks(site.source.tree))
    is_alone = isinstance(statement, ast.Expr) and statement.value is cast and is_name(cast.func.value) and not cast.args
    if not is_alone or not has_others or cast.keywords or site.cure.get("was") != site.cure["dtype"]:
        return []
    require_own_lines(site.source, statement)
    return [[(statement.lineno - 1, 0, statement.end_lineno, 0, "")]]


def made_plain(site, cast):
    """The cast, or its dtype, is left out: a model is made in Float. One that is loaded may not be."""
    made = [call for call in (cast, *receivers(cast)) if isinstance(call, ast.Call)][-1]
    is_class, asked = last_part(made.func)[:1].isupper(), dtypes_named(site, cast)
    if casts_low(cast) or (is_class and len(asked) == 1 and cast.args == asked and not cast.keywords):
        return [site.source.removed_behind(cast.func.value, cast)]
    if is_class and len(asked) == 1 and cast.args[1:] == asked:
        return [site.source.removed_behind(cast.args[0], asked[0])]
    return []


def remade(site, statement, dtype):
    """Edits of the statement that makes a module, so that it makes it in the dtype."""
    calls = calls_in(ast.walk(statement.value))
    keywords = [k for c in calls for k in c.keywords if k.arg in DTYPE_KEYWORDS]
    methods = [c for c in calls if is_cast(c)]
    if not keywords and len(methods) == 1 and site.cure["dtype"] == "float32":
        plain = made_plain(site, methods[0])
        if plain:
            return plain
    if len(keywords) + len(methods) == 1:
        if keywords:
            return [site.source.replaced(keywords[0].value, in_kind_of(keywords[0].value, dtype))]
        return asked_instead(site, methods[0], dtype, f".to({dtype})")
    if keywords or methods or not isinstance(statement.value, ast.Call):
        return []
    weights = [k.value for k in statement.value.keywords if k.arg in ("weight", "pos_weight")]
    if last_part(statement.value.func).endswith("Loss") and len(weights) == 1:
        return cast_edits(site, weights[0], dtype, f".to({dtype})")
    return [site.source.behind(statement.value, f".to({dtype})")]


def reopened(site):
    """The region that the same code ran under before, around the statements that lead to it without one: those that call
    the function of this line as the region's own statements do, or this line's."""
    above = [n for n in ast.walk(site.source.tree) if isinstance(n, (ast.With, ast.AsyncWith))
             and n.lineno <= site.cure.get("region", 0) <= n.body[0].lineno - 1]
    block = only(above, "the region")
    own = {n for n in ast.walk(site.source.tree) if isinstance(n, (ast.With, ast.AsyncWith)) and opens_autocast(n)
           for n in ast.walk(n)}
    functions = {n.name: n for n in ast.walk(site.source.tree) if isinstance(n, FUNCTIONS)}
    here = site.scope_of(site.statement)

    def leads(name, seen=()):
        function = functions.get(name)
        if function is None or name in seen:
            return False
        return function is here or any(leads(last_part(c.func), (*seen, name)) for c in calls_in(ast.walk(function)))
    entries = {last_part(c.func) for s in block.body for c in calls_in(ast.walk(s))}
    leading = {name for name in entries if isinstance(here, FUNCTIONS) and leads(name)}
    places = [site.statement]
    if site.statement in own:  # what called the model first is known, and not what called it this time
        model = site.cure["module"].split(".")[0]
        places = [n for n in ast.walk(site.source.tree) if isinstance(n, ast.stmt) and n not in own
                  and any(last_part(c.func) == model for c in calls_in(head_nodes(n)))]
    elif leading:
        places = [n for n in ast.walk(site.source.tree) if isinstance(n, ast.stmt) and n not in own
                  and any(last_part(c.func) in leading for c in calls_in(head_nodes(n)))]
        places = [n for n in places if site.scope_of(n) not in [functions[name] for name in leading]]
    header = b" ".join(line.strip() for line in site.source.lines[block.lineno - 1:block.body[0].lineno - 1]).decode()
    edits = []
    for place in places:
        if is_compound(place):
            raise Unplaced("the line is the head of a block")
        require_own_lines(site.source, place)
        indent = site.source.indent_of(place.lineno - 1)
        edits += [site.source.new_line(place.lineno - 1, indent, header),
                  *site.source.indented(place.lineno, place.end_lineno, "\t" if indent.endswith("\t") else "    ")]
    if not edits:
        raise Unplaced("no statement outside of the region leads to the line")
    return [edits]


def opens_autocast(block):
    return any("autocast" in dotted(getattr(item.context_expr, "func", item.context_expr)) for item in block.items)


def region(site, device=None, dtype=None):
    torch = torch_name(site.source) or "torch"
    return f"with {torch}.autocast({device or repr_of(site.cure['device'])}, dtype={dtype or f'{torch}.' + site.cure['dtype']}):"


def repr_of(text):
    return '"' + text + '"'


def devices_of(site):
    """The device that the statement computes on: that of a tensor which it names, or the one where it ran."""
    call = module_call(site)
    given = [module_argument(site, call), *(a for a in call.args if may_be_tensor(a))] if call is not None else []
    read = [n for n in site.calls() if site.is_called(site.cure["calls"][0]["op"], n)] if site.cure["calls"] else []
    given += [a for n in read for a in n.args if is_name(a)]
    computed = signed(site, list(head_nodes(site.statement)), site.cure["calls"][0]["op"]) if site.cure["calls"] else None
    given += computed[:2] if computed else []
    named = [node for node in [*operand_nodes(site), *given] if node is not None and is_name(node)]
    return [f"{site.source.text(node)}.device.type" for node in named[:1]] + [None]


# The object of a framework whose autocast() is the precision that it was given.
FRAMEWORKS = ("Accelerator", "Fabric")


def regions(site):
    """Each way to open autocast for the statement: as the framework's object in scope does, or by torch."""
    scopes = (site.scope_of(site.statement), site.source.tree)
    made = [s for s in ast.walk(site.source.tree) if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)
            and last_part(s.value.func) in FRAMEWORKS and is_name(s.targets[0]) and s.lineno < site.statement.lineno
            and site.scope_of(s) in scopes]
    return [f"with {site.source.text(s.targets[0])}.autocast():" for s in made[-1:]] + [
        region(site, device, dtype) for device in devices_of(site) for dtype in [*names_of_dtype(site), None]]


@writes("open autocast")
def open_autocast(site, last=None):
    """Puts the statement, or those up to the last, into a region of its own."""
    return in_region(site, regions(site), last)


def leave_autocast(site, last=None):
    """The statement, or those up to the last, in a region where autocast is off, with its tensors in Float; what a module is
    given in the dtype of that."""
    call = module_call(site)
    given = module_argument(site, call) if call is not None and last is None else None
    if given is not None and is_name(given):
        return [[*way, *cast_ways(site, given)[0]] for way in autocast_off(site)]
    block = next(b for b in blocks(site.source.tree) if site.statement in b)
    statements = block[block.index(site.statement):block.index(last or site.statement) + 1]
    read = {id(n): n for statement in statements for node in head_nodes(statement)
            for n in tensors_read_by(site, node) if is_name(n) and is_loaded(n)}
    inner = {id(part) for n in read.values() for part in ast.walk(n) if part is not n}
    casts = [site.source.replaced(n, f"{site.source.text(n)}.float()") for n in read.values() if id(n) not in inner]
    return [[*way, *casts] for way in autocast_off(site, last)]


def autocast_off(site, last=None):
    """The same where all that autocast casts there is in Float."""
    torch = torch_name(site.source) or "torch"
    return in_region(site, [f"with {torch}.autocast({device or repr_of(site.cure['device'])}, enabled=False):"
                            for device in devices_of(site)], last)


def tensors_read_by(site, node):
    """What an operation, a method or a function of a module is given: x and y of "x @ y", x of "x.mT" and of "x.sum(n)"."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Attribute) and dotted(node).split(".")[0] not in (*site.functions, "self"):
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)) and site.is_function(node):
        return node.args[:2]
    return []


def in_region(site, headers, last=None):
    statement, last = site.statement, last or site.statement
    if is_compound(statement):
        raise Unplaced("the line is the head of a block")
    require_own_lines(site.source, statement)
    more = [] if torch_name(site.source) else [import_of_torch(site.source)]
    indent = site.source.indent_of(statement.lineno - 1)
    step = "\t" if indent.endswith("\t") else "    "
    return [[site.source.new_line(statement.lineno - 1, indent, opened), *([] if ".autocast():" in opened else more),
             *site.source.indented(statement.lineno, last.end_lineno, step)] for opened in headers]


@writes("move autocast")
def move_autocast(site):
    """The nearest autocast block above takes in the statements that follow it, up to this one."""
    found = []
    for block in blocks(site.source.tree):
        last = next((s for s in block if s.lineno <= site.statement.lineno and site.statement.end_lineno <= s.end_lineno), None)
        found += [(above, last) for above in block
                  if last is not None and isinstance(above, (ast.With, ast.AsyncWith)) and above.end_lineno < last.lineno
                  and opens_autocast(above)]
    if not found:
        raise Unplaced("no autocast block stands above the line")
    above, last = max(found, key=lambda pair: pair[0].lineno)
    require_own_lines(site.source, last)
    if above.body[0].lineno == above.lineno:
        raise Unplaced("the region is written in one line")
    outer, inner = (site.source.indent_of(s.lineno - 1) for s in (above, above.body[0]))
    return [site.source.indented(above.end_lineno + 1, last.end_lineno, inner[len(outer):])]


@writes("setting")
def change_setting(site):
    """Accelerator(mixed_precision="bf16"): the call of that name gets the keyword."""
    try:
        wanted = ast.parse(site.cure["operand"], mode="eval").body
        keyword, = wanted.keywords
    except (SyntaxError, ValueError, AttributeError):
        raise Unplaced("no edit is known for the setting, only its description") from None
    name = last_part(wanted.func)
    value = site.cure["operand"].split("=", 1)[1].rstrip(")")
    calls = [n for n in site.calls() if last_part(n.func) == name]
    call = only(calls, f"a call of {name}")
    given = [k for k in call.keywords if k.arg == keyword.arg]
    return [[site.source.replaced(given[0].value, value) if given else with_keyword(site, call, f"{keyword.arg}={value}")]]


# ---- rewrites: another call than the line's, which no cast replaces

def bracketed(site, node):
    is_one = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant))
    return site.source.text(node) if is_one else f"({site.source.text(node)})"


def operation(site):
    nodes = list(ast.walk(site.focus)) if site.focus is not None else []
    op = site.cure["calls"][0]["op"]
    found = signed(site, nodes, op) or signed(site, list(head_nodes(site.statement)), op)
    if found is None:
        raise Unplaced("the operation was not found on the line")
    return found


def lowest(site):
    """torch.minimum(a, b) for a + b."""
    node, torch, text = site.statement, torch_name(site.source), site.source.text
    minimum = f"{torch or 'torch'}.minimum"
    if isinstance(node, ast.AugAssign):
        edit = site.source.replaced(node, f"{text(node.target)} = {minimum}({text(node.target)}, {text(node.value)})")
    else:
        left, right, sum_of = operation(site)
        edit = site.source.replaced(sum_of, f"{minimum}({text(left)}, {text(right)})")
    return [[edit, *([] if torch else [import_of_torch(site.source)])]]


def held_at_lowest(site):
    """(a + b).clamp(min=torch.finfo(a.dtype).min) for a + b."""
    node, torch, text = site.statement, torch_name(site.source), site.source.text
    left, right, sum_of = operation(site)
    name = next((text(n) for n in (left, right) if is_name(n)), None)
    if torch is None or name is None:
        raise Unplaced("no name has the dtype of the sum")
    held = f"({text(left)} + {text(right)}).clamp(min={torch}.finfo({name}.dtype).min)"
    if isinstance(node, ast.AugAssign):
        return [[site.source.replaced(node, f"{text(node.target)} = {held}")]]
    return [[site.source.replaced(sum_of, held)]]


def constructor(site):
    """torch.as_tensor(x) for torch.Tensor(x), which makes Float of whatever x has."""
    torch = torch_name(site.source) or "torch"
    found = [n for n in calls_in(list(ast.walk(site.statement))) if dotted(n.func) in (f"{torch}.Tensor", f"{torch}.FloatTensor")]
    call = only(found, "torch.Tensor()")
    if len(call.args) != 1 or isinstance(call.args[0], (ast.Constant, ast.Starred)):
        raise Unplaced("torch.Tensor() is not given one array")
    return [[site.source.replaced(call.func, f"{torch}.as_tensor")]]


def written_name(statement):
    """p of p /= 2, and of p.mul_(a).add_(b)"""
    if isinstance(statement, ast.AugAssign):
        return dotted(statement.target)
    node = statement.value if isinstance(statement, ast.Expr) else None
    while method_of(node).endswith("_"):
        node = node.func.value
    return "" if node is None else dotted(node)


def is_read_again(site, name):
    """A statement behind this one, or around it and so in the next round, reads the variable other than to write into it."""
    scope, statement = site.scope_of(site.statement), site.statement
    writes = {n for s in ast.walk(scope) if isinstance(s, ast.stmt) and written_name(s) == name
              for n in ast.walk(s if isinstance(s, ast.Expr) else s.target)}
    is_loop = any(isinstance(n, (ast.For, ast.While)) and statement in ast.walk(n) and name not in names_bound(n) for n in ast.walk(scope))
    return any(isinstance(n, ast.Name) and n.id == name and is_loaded(n) and n not in writes and n not in ast.walk(statement) and
               (is_loop or n.lineno > statement.lineno) for n in ast.walk(scope))


def not_in_place(site):
    """a = a / 2 for a /= 2, a = a.sqrt() for a.sqrt_(): where a new tensor is what is read then."""
    statement, text = site.statement, site.source.text
    name = written_name(statement)
    if name.isidentifier() and not is_read_again(site, name):
        raise Unplaced(f"{name} is not read behind the line: what it wrote into would stay as it was")
    if isinstance(statement, ast.AugAssign):
        sign = SIGNS[type(statement.op)]
        target = text(statement.target)
        return [[site.source.replaced(statement, f"{target} = {target} {sign} {bracketed(site, statement.value)}")]]
    call = getattr(statement, "value", None)
    if not isinstance(statement, ast.Expr) or not method_of(call).endswith("_") or not is_name(call.func.value):
        raise Unplaced("what is written in place was not found on the line")
    name = text(call.func.value)
    return [[site.source.before(statement, f"{name} = "),
             (call.func.end_lineno - 1, call.func.end_col_offset - 1, call.func.end_lineno - 1, call.func.end_col_offset, "")]]


def floor(site):
    call = site.one(lambda nodes: [n for n in calls_in(nodes) if last_part(n.func) in ("div", "divide")], "a call of div()")
    return [[with_keyword(site, call, 'rounding_mode="floor"')]]


def whole_numbers(site):
    """Of tensors of integers, in all calls of the op in the statement: gj.clamp_(0, gain[3] - 1), of which `gain` is Float."""
    op = site.cure["calls"][0]["op"]
    calls = [n for n in site.calls() if last_part(n.func) == op and not site.is_function(n)]
    given = [a for n in calls for a in [*n.args, *(k.value for k in n.keywords)] if not isinstance(a, (ast.Constant, ast.Starred))]
    if not given:
        raise Unplaced("the statement does not compute the numbers")
    return [[site.source.replaced(a, f"int({site.source.text(a)})") for a in given]]


def floating_alone(site):
    """The rest of a loop over tensors is left out for those that are no floating-point tensors: counters among averages."""
    name, loop = written_name(site.statement), site.source.parents.get(site.statement)
    if not isinstance(loop, ast.For) or name not in names_bound(loop) or is_read_again(site, name):
        raise Unplaced("no loop over tensors writes into each of them here")
    require_own_lines(site.source, site.statement)
    line = site.statement.lineno - 1
    indent, outer = site.source.indent_of(line), site.source.indent_of(loop.lineno - 1)
    step = indent[len(outer):] if indent.startswith(outer) else "    "
    return [[site.source.new_line(line, indent, f"if not {name}.is_floating_point():\n{indent}{step}continue")]]


def floats_alone(site):
    """t.half() if t.is_floating_point() else t: of a batch, whose masks and ids stay what they are."""
    found = [n for n in calls_in(list(head_nodes(site.statement))) if is_cast(n) and is_name(n.func.value)]
    cast = only(found, "a cast of one tensor after the other")
    text, source = site.source.text(cast.func.value), site.source
    holder = source.parents.get(cast)
    if isinstance(holder, ast.IfExp) and holder.body is cast and source.text(holder.orelse) == text:
        is_or = isinstance(holder.test, ast.BoolOp) and isinstance(holder.test.op, ast.Or)
        test = source.text(holder.test)
        return [[source.replaced(holder.test, (f"({test})" if is_or else test) + f" and {text}.is_floating_point()")]]
    kept = [a for a in cast.args if a not in dtypes_named(site, cast)] + [k for k in cast.keywords if k.arg == "device"]
    stays = f"{text}.to({', '.join(source.text(a) for a in kept)})" if kept else text
    new = f"{source.text(cast)} if {text}.is_floating_point() else {stays}"
    stands_alone = isinstance(holder, (ast.Lambda, ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.Dict, ast.DictComp, ast.Assign, ast.Return))
    return [[source.replaced(cast, new if stands_alone else f"({new})")]]


def exclusive_or(site):
    left, right, node = operation(site)
    return [[site.source.replaced(node, f"{site.source.text(left)} ^ {bracketed(site, right)}")]]


def invert(site):
    _, right, node = operation(site)
    return [[site.source.replaced(node, "~" + bracketed(site, right))]]


def fit_number(site):
    """The lowest or highest number of the dtype for one that it does not hold."""
    for nodes in site.regions():
        found = [(call, a) for call in calls_in(nodes) for a in [*call.args, *(k.value for k in call.keywords)]
                 if constant_of(a) == site.cure["value"] and last_part(call.func) not in CONVERSIONS]
        if not found:  # it has a name there: masked_fill(mask, self.lowest)
            op = site.cure["calls"][0]["op"]
            given = [(call, k.value) for call in calls_in(nodes) for k in call.keywords
                     if site.is_called(op, call) and k.arg in ("value", "fill_value")]
            found = given or [(call, call.args[-1]) for call in calls_in(nodes) if call.args and site.is_called(op, call) and
                              is_named_number(call.args[-1]) and
                              op.strip("_") in ("masked_fill", "fill", "fill_diagonal", "full", "full_like", "new_full")]
        if len(found) == 1:
            break
    filled = filled_by(site.statement)
    if not found and filled is not None:
        found = [(None, site.statement.value)]
    if len(found) != 1:
        raise Unplaced("the number does not stand on the line once")
    call, number = found[0]
    torch = torch_name(site.source)
    info = "finfo" if "float" in site.cure["dtype"] else "iinfo"
    end = "min" if site.cure["value"] < 0 else "max"
    ways = [[site.source.replaced(number, f"{torch or 'torch'}.{info}({torch or 'torch'}.{site.cure['dtype']}).{end}"),
             *([] if torch else [import_of_torch(site.source)])]]
    is_method = call is not None and isinstance(call.func, ast.Attribute) and not site.is_function(call)
    filled = call.func.value if is_method else filled if call is None else None
    if filled is not None and is_name(filled) and torch:
        ways.insert(0, [site.source.replaced(number, f"{torch}.{info}({site.source.text(filled)}.dtype).{end}")])
    return ways


def fit_epsilon(site):
    """x / (s + torch.finfo(s.dtype).tiny) for an epsilon that is 0 in the dtype of s."""
    tensor, number, _ = operation(site)
    shown = tensor_shown(site, tensor, site.source)
    torch = torch_name(site.source)
    if not is_name(shown) or not torch:
        raise Unplaced("the line has no name for what the epsilon is added to")
    tiny = f"{torch}.finfo({site.source.text(shown)}.dtype).tiny"
    return [[site.source.replaced(number, f"max({site.source.text(number)}, {tiny})" if is_name(number) else tiny)]]


def fit_bound(site):
    """x.clamp(-1 + eps, 1 - eps), eps = torch.finfo(x.dtype).eps, for bounds that are -1 and 1 in the dtype of x."""
    torch = torch_name(site.source)
    call = only([n for n in calls_in(head_nodes(site.statement)) if last_part(n.func).rstrip("_") in ("clamp", "clip")], "the clamp")
    is_function = dotted(call.func).startswith(f"{torch}.")
    shown = call.args[0] if is_function else without_methods(call.func.value)
    if not torch or not is_name(shown):
        raise Unplaced("the line has no name for what is clamped")
    eps = f"{torch}.finfo({site.source.text(shown)}.dtype).eps"
    edits = []
    for bound in [*call.args[is_function:], *(k.value for k in call.keywords)]:
        value = constant_of(bound)
        if value is not None and 0 < abs(value - round(value)) < 1e-3 and round(value):
            edits.append(site.source.replaced(bound, f"{round(value)} {'-' if value < round(value) else '+'} {eps}"))
        elif isinstance(bound, ast.BinOp) and isinstance(bound.op, (ast.Add, ast.Sub)) and constant_of(bound.left):
            small = bound.right
            edits.append(site.source.replaced(small, eps if constant_of(small) is not None else f"max({site.source.text(small)}, {eps})"))
    if not edits:
        raise Unplaced("the line does not write the bound")
    return [edits]


def fit_optimizer_epsilon(site):
    """AdamW(…, eps=1e-4): its own of 1e-8 is 0 in Half."""
    ran = site.cure["optimizers"].split(",")
    made = only([n for n in calls_in(ast.walk(site.source.tree)) if last_part(n.func) in ran], "what makes the optimizer")
    given = next((k.value for k in made.keywords if k.arg == "eps"), None)
    if given is None:
        last = (made.args + [k.value for k in made.keywords])[-1:]
        if not last or isinstance(last[0], ast.Starred):
            raise Unplaced("what the optimizer is given does not stand in its line")
        return [[site.source.replaced(last[0], f"{site.source.text(last[0])}, eps=1e-4")]]
    text = site.source.text(given)
    return [[site.source.replaced(given, "1e-4" if isinstance(given, ast.Constant) else f"max({text}, 1e-4)")]]


def is_named_number(node):
    return is_name(node.operand if isinstance(node, ast.UnaryOp) else node)


def filled_by(statement):
    """x of `x[:, 0] = -LARGE`, or None."""
    is_fill = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)
    is_number = is_fill and (constant_of(statement.value) is not None or is_named_number(statement.value))
    return statement.targets[0].value if is_number else None


CONVERSIONS = ("float", "int")
FOLDED = {ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.Mult: operator.mul, ast.Div: operator.truediv}


def constant_of(node):
    """The number that is written there: -1e9, 2 ** 30, float(1 << 30)."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant_of(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Call) and last_part(node.func) in CONVERSIONS and len(node.args) == 1:
        return constant_of(node.args[0])
    if isinstance(node, ast.BinOp) and type(node.op) in FOLDED:
        values = [getattr(side, "value", None) for side in (node.left, node.right)]
        is_small = all(isinstance(value, (int, float)) and 0 < value < 1024 for value in values)
        try:
            return float(FOLDED[type(node.op)](*values)) if is_small else None
        except (OverflowError, TypeError):
            return None
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def cast_gradient(site):
    """p.grad = g: the gradient has the dtype of its tensor."""
    statement = site.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Attribute) or target.attr != "grad":
        raise Unplaced("the line sets no gradient")
    edits = suffixed(site, statement.value, f".to({site.source.text(target.value)}.dtype)")
    return [edits, *cast_ways(site, statement.value)[-1:]]


def cast_kept(site):
    """self.k = self.k.to(k.dtype) above self.k.index_copy_(0, at, k) and self.k[at] = k: what a module keeps, in the dtype of what is
    written to it."""
    targets = getattr(site.statement, "targets", [])
    written = [n.func.value for n in site.calls() if method_of(n).endswith("_")] + [n.value for n in targets if isinstance(n, ast.Subscript)]
    kept = only([n for n in written if is_name(n) and dotted(n).startswith("self.")], "what the module keeps")
    line, text = site.statement.lineno - 1, site.source.text(kept)
    return [[site.source.new_line(line, site.source.indent_of(line), f"{text} = {text}.to({dtype})"), *more]
            for dtype, more in dtype_texts(site, kept)]


def cast_gradient_read(site):
    """grad = p.grad in the optimizer's class, of which all is computed that its states meet."""
    around = site.class_around()
    read = [n for n in ast.walk(around or site.source.tree) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
            and isinstance(n.value, ast.Attribute) and n.value.attr == "grad"]
    return cast_ways(site, only(read, "one line that reads the gradient").value)


def method_call(site, method):
    return site.one(lambda nodes: [n for n in calls_in(nodes) if method_of(n) == method], f"a call of {method}()")


def receiver_of(site, method):
    return method_call(site, method).func.value


def cast_before_requires_grad(site):
    return cast_ways(site, receiver_of(site, "requires_grad_"))[-1:]


def cast_for_numpy(site):
    """x.float().numpy(); and where what comes here may be integers as well, of BFloat16 alone."""
    receiver = receiver_of(site, "numpy")
    torch, tensor = torch_name(site.source), without_methods(receiver, ("detach", "cpu", "contiguous"))
    text = site.source.text(tensor)
    guarded = f"({text}.float() if {text}.dtype == {torch}.bfloat16 else {text})"
    is_shared = torch is not None and isinstance(tensor, (ast.Name, ast.Attribute))
    return cast_ways(site, receiver)[-1:] + ([[site.source.replaced(tensor, guarded)]] if is_shared else [])


def cast_in_parameter(site):
    """nn.Parameter(x.float()) for nn.Parameter(x).float(), which is no Parameter."""
    cast = site.one(lambda nodes: [n for n in calls_in(nodes) if method_of(n) in CASTS and isinstance(n.func.value, ast.Call)
                                   and last_part(n.func.value.func) == "Parameter"], "the cast of a Parameter")
    made = cast.func.value
    given = only(made.args[:1] or [k.value for k in made.keywords if k.arg == "data"], "what the Parameter is made of")
    if isinstance(given, ast.Starred):
        raise Unplaced("the line does not name what the Parameter is made of")
    suffix = site.source.text(cast)[len(site.source.text(made)):].strip()
    return [[site.source.removed_behind(made, cast), *suffixed(site, given, suffix)]]


def cast_inverted(site):
    inverted = site.one(lambda nodes: [n.operand for n in nodes if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Invert)], "a ~")
    return cast_ways(site, inverted)[-1:]


def dtypes_given(nodes):
    """(call, keyword) of the dtypes that calls are given: dtype=, param_dtype=; of to(device, dtype) the second argument."""
    named = [(n, k) for n in calls_in(nodes) for k in n.keywords if (k.arg or "").endswith("dtype")]
    placed = [(n, ast.keyword(arg="dtype", value=n.args[1])) for n in calls_in(nodes)
              if method_of(n) == "to" and len(n.args) == 2]
    return named + placed


def dtype_argument(site):
    """dtype=torch.float32 for dtype="float32" and dtype=np.float32, dtype=getattr(torch, name) for dtype=name."""
    given = site.one(lambda nodes: [k.value for n, k in dtypes_given(nodes) if site.is_function(n)], "a dtype")
    torch = torch_name(site.source)
    if torch is None:
        raise Unplaced("the file has no name for torch")
    name = getattr(given, "value", None) if isinstance(given, ast.Constant) else getattr(given, "attr", None)
    is_name = isinstance(name, str) and re.fullmatch(r"(b?float|u?int|complex)\d+|bool|half|float|double|short|int|long", name)
    text = f"{torch}.{name}" if is_name else f"getattr({torch}, {site.source.text(given)})"
    if isinstance(given, ast.Constant) and not is_name:
        raise Unplaced(f"torch has no dtype {name}")
    return [[site.source.replaced(given, text)]]


def dtype_given(site):
    """Another dtype for the one that a call hands on: dtype=torch.float32 for dtype=weight_dtype."""
    given = only(dtypes_given(head_nodes(site.statement)), "a dtype")[1]
    (text, more) = dtype_texts(site)[-1]
    return [[site.source.replaced(given.value, text), *more]]


def dtype_named(site):
    """The name that the line's dtype has in the function means another: `dtype = torch.float32` for `dtype = x.dtype`."""
    given = site.one(dtypes_given, "a dtype")[1].value
    bound = binder_of(site.source, given.id, site.statement) if isinstance(given, ast.Name) else None
    is_one = isinstance(bound, ast.Assign) and len(bound.targets) == 1 and isinstance(bound.targets[0], ast.Name)
    if not is_one or site.scope_of(bound) is not site.scope_of(site.statement):
        raise Unplaced("no name of the function's own says the dtype")
    (text, more) = dtype_texts(site)[-1]
    return [[site.source.replaced(bound.value, text), *more]]


def without_dtype(site):
    """The call asks for no dtype, and takes that of what it is given: x.to(y.device) for x.to(y)."""
    like = [n for n in site.calls() if method_of(n) == "to" and len(n.args) == 1 and not n.keywords and not dtypes_named(site, n)
            and isinstance(n.args[0], (ast.Name, ast.Attribute, ast.Subscript))]
    if len(like) == 1:
        return [[site.source.behind(like[0].args[0], ".device")]]
    call, keyword = site.one(dtypes_given, "a dtype")
    given = keyword.value
    before = [n for n in [*call.args, *(k.value for k in call.keywords)] if (n.lineno, n.col_offset) < (given.lineno, given.col_offset)]
    if not before:
        raise Unplaced("the dtype comes first")
    return [[site.source.removed_behind(max(before, key=lambda n: (n.lineno, n.col_offset)), given)]]


def cast_arguments(site):
    """What an extension is given in the one dtype is cast to the other, and what it gives back cast back; or not back, for
    what gives no tensor. A statement that is the call alone writes what it is given."""
    calls = site.calls()
    call = site.focus if isinstance(site.focus, ast.Call) else only(calls, "a call")
    if isinstance(site.statement, ast.Expr) and site.statement.value is call:
        raise Unplaced("the call may write what it is given")
    if any(isinstance(a, ast.Starred) for a in call.args):
        raise Unplaced("the argument was not found on the line")
    variables = site.cure.get("variables") or {}
    given = [a for a in [*call.args, *(k.value for k in call.keywords)] if is_name(a) and
             (variables.get(dotted(a)) or variables.get(dotted(a).replace("self.", "", 1))) == site.cure["from"]]
    if not given:
        raise Unplaced("no argument on the line is known to have the dtype")
    edits = cast_ways(site, given)[-1]
    return [[*edits, *suffixed(site, call, text_of_cast_back(site))], edits]


def without_scaler(site):
    """What needs the GradScaler is left out where there is none."""
    for node in site.calls():
        if not isinstance(node.func, ast.Attribute) or not dotted(node.func.value).endswith("scaler"):
            continue
        scaler = site.source.text(node.func.value)
        if node.func.attr == "get_scale":
            return [[site.source.replaced(node, f"({site.source.text(node)} if {scaler} is not None else 1.0)")]]
        if isinstance(site.statement, ast.Expr) and site.statement.value is node:
            return [[site.source.before(node, f"{scaler} and ")]]
    raise Unplaced("the line calls no method of the scaler that could be left out")


def named_by_scaler(site):
    """(scaler, optimizer) as scaler.step(optimizer) names them, in the function or else in the file."""
    for tree in (site.scope_of(site.statement), site.source.tree):
        found = {(site.source.text(n.func.value), site.source.text(n.args[0])) for n in calls_in(ast.walk(tree))
                 if method_of(n) == "step" and len(n.args) == 1 and is_name(n.args[0])}
        if len(found) == 1:
            return found.pop()
    raise Unplaced("no one scaler.step(optimizer) names the two")


def unscale(site):
    """Above the clipping, and above the loop that clips one gradient after the other."""
    statement, around = site.statement, site.source.parents.get(site.statement)
    while isinstance(around, (ast.For, ast.If)):
        if isinstance(around, ast.For):
            if not re.search(r"parameters\(|param_groups", site.source.text(around.iter)):
                break
            statement = around
        around = site.source.parents.get(around)
    require_own_lines(site.source, statement)
    line = statement.lineno - 1
    return [[site.source.new_line(line, site.source.indent_of(line), "{}.unscale_({})".format(*named_by_scaler(site)))]]


def scaled(site):
    """A scaler that is off is on; or one is made above the loops, scales what backward() is called on, and steps."""
    scalers = [n for n in calls_in(ast.walk(site.source.tree)) if last_part(n.func) == "GradScaler"]
    off = [k for n in scalers for k in n.keywords if k.arg == "enabled"]
    if len(off) == 1:
        return [[site.source.replaced(off[0].value, "True")]]
    scope, text = site.scope_of(site.statement), site.source.text
    if scalers or any(isinstance(n, ast.Name) and n.id == "scaler" for n in ast.walk(scope)):
        raise Unplaced("the program has a scaler already")
    loss = only([n for n in site.calls() if last_part(n.func) == "backward"], "backward()").func.value
    steps = {text(n.value.func.value): n for n in ast.walk(scope) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call) and
             last_part(n.value.func) == "step" and not n.value.args and is_name(n.value.func.value)}
    schedules = {dotted(n.targets[0]) for n in ast.walk(site.source.tree) if isinstance(n, ast.Assign) and
                 isinstance(n.value, ast.Call) and any(dotted(a) in steps for a in n.value.args)}  # made of an optimizer
    steps = [n for name, n in steps.items() if name not in schedules]
    step = only(steps, "the optimizer's step")
    loop = site.statement
    for node in iter(lambda: site.source.parents.get(loop), scope):
        loop = node
    line = loop.lineno - 1
    torch = torch_name(site.source) or "torch"
    edits = [site.source.new_line(line, site.source.indent_of(line), f"scaler = {torch}.amp.GradScaler({repr_of(site.cure['device'])})"),
             site.source.before(loss, "scaler.scale("), site.source.behind(loss, ")"),
             site.source.replaced(step.value, f"scaler.step({text(step.value.func.value)})"),
             new_statement(site.source, step, "scaler.update()")]
    for clip in (n for n in ast.walk(scope) if isinstance(n, ast.Expr) and "clip_grad" in last_part(getattr(n.value, "func", n))):
        line = clip.lineno - 1
        edits.append(site.source.new_line(line, site.source.indent_of(line), f"scaler.unscale_({text(step.value.func.value)})"))
    return [edits]


def region_dtype(site):
    """torch.autocast(device, dtype=…): the dtype is given, or changed."""
    call = only([n for n in site.calls() if "autocast" in last_part(n.func)], "autocast")
    given = [k for k in call.keywords if k.arg == "dtype"]
    return [[site.source.replaced(given[0].value, text) if given else with_keyword(site, call, f"dtype={text}"), *more]
            for text, more in dtype_texts(site)]


def buffer(site):
    """self.table = f(), in the line or what made the attribute that it reads, becomes a buffer of the module, which casts of
    that cast."""
    owner = site.class_around()
    target = site.statement.targets[0] if isinstance(site.statement, ast.Assign) and len(site.statement.targets) == 1 else None
    made_here = getattr(site.scope_of(site.statement), "name", "") == "__init__" and target is not None
    node = target if made_here else only(operand_nodes(site), "the operand")
    made = [n for n in ast.walk(owner) if isinstance(n, ast.Assign) and len(n.targets) == 1 and dotted(n.targets[0]) == dotted(node)
            and getattr(site.scope_of(n), "name", "") == "__init__"] if owner is not None else []
    if not isinstance(node, ast.Attribute) or dotted(node.value) != "self" or len(made) != 1:
        raise Unplaced("the line reads no attribute that a module sets")
    text = f'self.register_buffer("{node.attr}", {site.source.text(made[0].value)}, persistent=False)'
    return [[site.source.replaced(made[0], text)]]


def buffer_kept(site):
    """The buffer that the statement reads keeps its dtype when its module is cast, and goes where the module goes."""
    owner = site.class_around()
    registered = [n.args[0].value for n in calls_in(ast.walk(owner)) if dotted(n.func) == "self.register_buffer" and n.args
                  and isinstance(n.args[0], ast.Constant)] if owner is not None else []
    read = {n.attr for n in ast.walk(site.statement) if isinstance(n, ast.Attribute) and dotted(n.value) == "self"}
    methods = [n for n in owner.body if isinstance(n, FUNCTIONS)] if registered else []
    if any(n.name == "_apply" for n in methods):
        raise Unplaced("the module has an _apply() of its own")
    name = only([n for n in dict.fromkeys(registered) if n in read], "the buffer")
    first = next(n for n in methods if n.name == "__init__")
    indent = site.source.indent_of(first.lineno - 1)
    step = site.source.indent_of(first.body[0].lineno - 1)[len(indent):]
    lines = ["def _apply(self, fn, *args, **kwargs):", f"{step}{name} = self.{name}  # keeps its dtype",
             f"{step}super()._apply(fn, *args, **kwargs)", f"{step}self.{name} = {name}.to(self.{name}.device)", f"{step}return self"]
    text = "\n".join(lines).replace("\n", f"\n{indent}")
    return [[site.source.new_line(first.end_lineno, "", f"\n{indent}{text}")]]


def fake_kernel(site):
    """What a custom op's fake kernel makes has the dtype of the argument that the real one's result has."""
    call = site.cure["calls"][0]
    name = call["op"].rsplit("::", 1)[-1]

    def is_of_it(decorator):
        func = getattr(decorator, "func", decorator)
        given = [a.value for a in getattr(decorator, "args", ()) if isinstance(a, ast.Constant)]
        return last_part(func) in ("register_fake", "impl_abstract") and (
            name in dotted(func).split(".") or any(str(a).endswith("::" + name) for a in given))
    kernel = only([n for n in ast.walk(site.source.tree) if isinstance(n, FUNCTIONS) and any(map(is_of_it, n.decorator_list))],
                  f"the fake kernel of {name}")
    made = [k for n in calls_in(ast.walk(kernel)) for k in n.keywords if k.arg == "dtype"]
    names = [a.arg for a in kernel.args.args]
    if len(made) != 1 or call["operand"] not in call["arguments"] or call["arguments"].index(call["operand"]) >= len(names):
        raise Unplaced("the fake kernel does not make one tensor in a dtype")
    return [[site.source.replaced(made[0].value, f"{names[call['arguments'].index(call['operand'])]}.dtype")]]


def lowered_again(site):
    """A module that a function raises is, at its end, what it was: behind the last statement that uses it."""
    calls = [n for n in site.calls() if method_of(n) in CASTS]
    name = site.source.text(only(calls, "the cast").func.value)
    scope = site.scope_of(site.statement)
    if not isinstance(scope, FUNCTIONS):
        raise Unplaced("the cast is in no function")
    top = site.statement
    for node in iter(lambda: site.source.parents.get(top), scope):
        top = node

    def uses(node):
        return any(isinstance(n, (ast.Name, ast.Attribute)) and site.source.text(n) == name for n in ast.walk(node))
    last = max((n for n in scope.body if uses(n)), key=lambda n: n.lineno)
    if any(isinstance(n, (ast.Return, ast.Yield)) for n in ast.walk(last)):
        raise Unplaced(f"the statement that uses {name} last returns")
    kept = [n.targets[0].id for n in scope.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
            and n.lineno < top.lineno and site.source.text(n.value) == f"{name}.dtype"]
    line, indent = top.lineno - 1, site.source.indent_of(top.lineno - 1)
    own = kept[0] if kept else "dtype_before"
    edits = [] if kept else [site.source.new_line(line, indent, f"{own} = next({name}.parameters()).dtype")]
    return [[*edits, site.source.new_line(last.end_lineno, indent, f"{name}.to({own})")]]


def own_masters(site):
    """The script casts what it trains to Float, but in a block for another 16-bit dtype, if args.mixed_precision == "fp16":,
    which this run did not enter. Each block of that kind, one behind a loaded checkpoint too, is entered by its dtype."""
    brain = words_of_brain(site)
    found = {node: [n for s in node.body for n in ast.walk(s) if raises_trained(n)] for node in ast.walk(site.source.tree)
             if isinstance(node, ast.If) and not node.orelse and word_tested(node.test) in brain}
    found = {node: casts for node, casts in found.items() if casts}
    ran = any(site.source.results_at(n.value) for casts in found.values() for n in casts if isinstance(n, ast.Assign))
    if not found or ran:
        return []
    names = [name for name, dtypes in dtype_names(site).items() if "float32" in dtypes and dtypes & LOW]
    torch = torch_name(site.source)
    bound = [n.lineno for n in ast.walk(site.source.tree) if isinstance(n, ast.Assign) and names
             and dotted(n.targets[0]) == names[0]]
    tested = {node: word_tested(node.test) for node in found}
    lines = ", ".join(str(node.lineno) for node in found)
    words = "cast what is trained to Float in this precision too, as the script does in another, " \
            f"{os.path.basename(site.cure['file'])}:{lines}"
    ways = [Way([site.source.replaced(node.test, f'{site.source.text(node.test.left)} in ("{word}", "{brain[word]}")')
                 for node, word in tested.items()], words)]
    if bound and torch and all(max(bound) < node.lineno for node in found):
        ways.insert(0, Way([site.source.replaced(node.test, f"{names[0]} != {torch}.float32") for node in found], words))
    return ways


def words_of_brain(site):
    """{"fp16": "bf16"}: of each word for Half the one for BFloat16 that may stand in its place."""
    rows = [(word, dtype, use, family) for word, dtype, use, families in site.tables["precisions"] for family in families.split(",")]
    brain = {row[2:]: row[0] for row in rows if row[1] == "BFloat16"}
    return {row[0]: brain[row[2:]] for row in rows if row[1] == "Half" and row[2:] in brain}


def word_tested(test):
    return getattr(test.comparators[0], "value", None) if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) else None


def raises_trained(node):
    """cast_training_params(unet), or p.data = p.to(torch.float32)."""
    if isinstance(node, ast.Call):
        return last_part(node.func) == "cast_training_params"
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Attribute) and target.attr == "data" and isinstance(node.value, ast.Call) and (
        last_part(node.value.func) == "float" or "float32" in map(last_part, [*node.value.args, *(
            k.value for k in node.value.keywords)]))


def optimizers_stepped(site):
    """The names of what this line steps, or unscales the gradients of."""
    return {dotted(n.func.value) for n in site.calls() if method_of(n) == "step" and not n.args} | {
        dotted(a) for n in site.calls() if method_of(n) in ("unscale_", "step") for a in n.args[:1]}


def above_optimizer(site):
    """The statement above which the model is whole and the optimizer of this line is not made yet, what makes that, the name of the
    model there, and all names that are read up to there."""
    optimizer, module = only([*optimizers_stepped(site)], "the optimizer"), site.cure["operand"]
    root = module.split(".")[0]
    made = only([n for n in ast.walk(site.source.tree) if isinstance(n, ast.Assign) and optimizer in map(dotted, n.targets)
                 and isinstance(n.value, ast.Call) and last_part(n.value.func) != "prepare"], f"what makes {optimizer}")
    statement, listed = where_listed(site, made, root)
    read = {dotted(n) for n in ast.walk(site.scope_of(made)) if isinstance(n, (ast.Name, ast.Attribute)) and n.lineno <= made.lineno}
    if root not in read and f"self.{root}" in read:  # a trainer has it
        module = f"self.{module}"
    elif root not in read and listed:
        module = listed
    elif root not in read or root in names_bound(statement):
        raise Unplaced(f"{module or 'the model'} is no variable where {optimizer} is made")
    if root in read and listed != root:
        statement = made
    require_own_lines(site.source, statement)
    return statement, made, module, read


@writes("master weights")
def masters(site):
    """What is trained is cast to Float before the optimizer is given it, or where the script does so in other runs."""
    if len(optimizers_stepped(site)) != 1:
        return cast_parameters(site)
    own = own_masters(site)
    if own:
        return own
    statement, made, module, read = above_optimizer(site)
    root = site.cure["operand"].split(".")[0]
    # All that the optimizer is given, as far as its lists are seen: a VAE that nobody froze is trained by none.
    others = {m: where_listed(site, made, m) for m in site.cure.get("trained", ()) if m != root and m in read and root in read}
    others = {m: at for m, (at, name) in others.items() if name in (None, m)}
    if others:  # above the first of them
        statement = min([statement, *others.values()], key=lambda n: n.lineno)
        module = f"[{', '.join([module, *others])}]"
    require_own_lines(site.source, statement)
    cast = "cast_training_params"
    imports = [a.name for n in ast.walk(site.source.tree) if isinstance(n, ast.ImportFrom) for a in n.names]
    torch = torch_name(site.source) or "torch"
    lines = [f"{cast}({module}, dtype={torch}.float32)"] if cast in imports or site.cure.get("has_diffusers") else [
        f"for parameter in {module}.parameters():" if not others else f"for parameter in (p for m in {module} for p in m.parameters()):",
        "    if parameter.requires_grad:", "        parameter.data = parameter.data.float()"]
    line = statement.lineno - 1
    indent = site.source.indent_of(line)
    more = [] if cast in imports or len(lines) > 1 else [new_import(site.source, f"from diffusers.training_utils import {cast}")]
    return [[site.source.new_line(line, indent, text) for text in lines] + more]


def where_listed(site, made, root):
    """The statement that makes the optimizer, or that above it which lists the parameters of the module for it; and what the
    function calls that module, where the run's name for it is none: "net" of "self.params = [p for p in net.parameters()]"."""
    names = sorted({dotted(n) for n in ast.walk(made.value) if is_name(n)})
    above = [n for n in ast.walk(site.scope_of(made)) if isinstance(n, ast.Assign) and n.lineno < made.lineno]
    bound = [binder_of(site.source, name, made) or next(iter(n for n in above[::-1] if name in map(dotted, n.targets)), None)
             for name in names]
    found = {}
    for statement in [*(n for n in bound if isinstance(n, ast.Assign)), made]:
        for n in calls_in(ast.walk(statement.value)):
            if last_part(n.func) in ("parameters", "named_parameters") and is_name(getattr(n.func, "value", None)):
                found.setdefault(dotted(n.func.value), statement)
    if root in found:
        return found[root], root
    return (*found.values(), *found) if len(found) == 1 else (made, None)


def in_float(site):
    """What asks for 16-bit weights, as a word of a setting or as torch's dtype, and what asks for Float ones in its place."""
    rows = site.tables["precisions"]
    mixed = {family: word for word, dtype, use, families in rows if (dtype, use) == ("BFloat16", "compute") for family in families.split(",")}
    words = {word: mixed[families] for word, _, use, families in rows if use == "weights" and families in mixed}
    return {**words, **{name: "float32" for name, dtype in DTYPES.items() if dtype in LOW}}


def ask_otherwise(site):
    """A line that asks for 16-bit weights asks for Float ones: their dtype, its name, .half(), a framework's argument."""
    edits, instead = [], in_float(site)
    for node in head_nodes(site.statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in instead:
            edits.append(site.source.replaced(node, repr(instead[node.value]).replace("'", '"')))
        elif isinstance(node, ast.Attribute) and node.attr in instead and dotted(node).startswith(f"{torch_name(site.source)}."):
            edits.append(site.source.replaced(node, f"{dotted(node.value)}.float32"))
        elif casts_low(node) and not node.args:
            edits.append(site.source.replaced(node, f"{site.source.text(node.func.value)}.float()"))
        elif isinstance(node, ast.keyword) and node.arg == "autocast_adapter_dtype":
            edits.append(site.source.replaced(node.value, "True"))
    if len(edits) != 1:
        raise Unplaced("what asks for 16 bits was not found on the line")
    return [edits]


def clipped_picture(site):
    """np.clip(picture.astype(np.int32) + noise, 0, 255).astype(np.uint8)"""
    operation = signed(site, list(head_nodes(site.statement)), site.cure["calls"][0]["op"])
    node, name = operation[2] if operation else None, numpy_name(site.source)
    if not isinstance(node, ast.BinOp) or name is None:
        raise Unplaced("the line has no such operation")
    return [[site.source.before(node, f"{name}.clip("), *suffixed(site, node.left, f".astype({name}.int32)"),
             site.source.behind(node, f", 0, 255).astype({name}.uint8)")]]


def dtype_left_out(site):
    """from_pretrained(path, dtype=torch.float32) for a call that takes the dtype of a file where it is given none."""
    call = site.focus if isinstance(site.focus, ast.Call) else only([n for n in site.calls() if n is getattr(site.statement, "value", None)], "the call")
    return [[with_keyword(site, call, f"dtype={text}"), *more] for text, more in dtype_texts(site)[-1:]]


def own_backward(site):
    """forward and backward of a torch.autograd.Function get what hands the one's autocast on to the other."""
    functions = [n for n in ast.walk(site.source.tree) if isinstance(n, ast.ClassDef) and any(
        last_part(base) == "Function" for base in n.bases)]
    around = site.class_around()
    owner = around if around in functions else only(functions, "one torch.autograd.Function")
    methods = {n.name: n for n in owner.body if isinstance(n, FUNCTIONS)}
    torch = torch_name(site.source)
    if torch is None or not {"forward", "backward"} <= set(methods):
        raise Unplaced("the class has no forward and backward")
    edits = []
    for name, decorator in (("forward", "custom_fwd"), ("backward", "custom_bwd")):
        line = methods[name].lineno - 1
        text = f"@{torch}.amp.{decorator}(device_type={repr_of(site.cure['device'])})"
        if any(decorator in ast.dump(one) for one in methods[name].decorator_list):
            raise Unplaced(f"{name} has {decorator}")
        edits.append(site.source.new_line(line, site.source.indent_of(line), text))
    return [edits]


def astype_call(site):
    """x.astype(np.uint8) of the line, or np.asarray(x, np.uint8), and where it names the dtype."""
    op = site.cure["calls"][0]["op"].rsplit(".", 1)[-1]
    call = site.one(lambda nodes: [n for n in calls_in(nodes) if last_part(n.func) == op], f"a call of {op}()")
    dtypes = [*call.args[0 if op == "astype" else 1:][:1], *(k.value for k in call.keywords if k.arg == "dtype")]
    return call, only(dtypes, "the dtype")


def clipped(site):
    """np.clip(x, 0, 255).astype(np.uint8) for x.astype(np.uint8), and np.asarray(np.clip(x, 0, 255), np.uint8)."""
    call, _ = astype_call(site)
    is_function = last_part(call.func) != "astype"
    name, receiver = numpy_name(site.source), call.args[0] if is_function else call.func.value
    if name is None and is_function:
        raise Unplaced("the file does not import numpy")
    bits = int(re.sub(r"\D", "", site.cure["dtype"]))
    ends = (0, 2 ** bits - 1) if site.cure["dtype"].startswith("u") else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
    text = site.source.text(receiver)
    if is_function:
        return [[site.source.replaced(receiver, f"{name}.clip({text}, {ends[0]}, {ends[1]})")]]
    has_brackets = (call.func.lineno, call.func.col_offset) < (receiver.lineno, receiver.col_offset)  # (x * 255).astype(np.uint8)
    end = (receiver.end_lineno - 1, receiver.end_col_offset + has_brackets)
    if name is None:
        return [[(*end, *end, f".clip({ends[0]}, {ends[1]})")]]
    return [[(call.func.lineno - 1, call.func.col_offset, *end, f"{name}.clip({text}, {ends[0]}, {ends[1]})")]]


def astype(site):
    """The dtype that the line names, or, where it writes to an array, as "store.ids[i] = x.astype(d)", the one that this is made in."""
    _, dtype = astype_call(site)
    written = [t.value for t in getattr(site.statement, "targets", []) if isinstance(t, ast.Subscript)]
    if written:
        made = [k.value for n in ast.walk(site.source.tree) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
                and last_part(written[0]) in map(last_part, n.targets) for k in n.value.keywords if k.arg == "dtype"
                and last_part(k.value) == site.cure.get("narrow")]
        dtype = only(made, "what makes the array in that dtype")
    if isinstance(dtype, ast.Name):
        raise Unplaced("a variable gives the dtype")
    (text, _), = dtype_texts(site)
    return [[site.source.replaced(dtype, in_kind_of(dtype, text))]]


def linear_in_float(site):
    """F.linear(x.float(), self.fc.weight.float(), self.fc.bias.float()) for self.fc(x), without a cast of x."""
    call = module_call(site)
    given = module_argument(site, call) if call is not None else None
    if given is None or not is_name(call.func):
        raise Unplaced("the line calls no layer by its name")
    given = without_methods(given, CASTS)
    layer, parameters = site.source.text(call.func), site.tables.get("parameters", {}).get(site.cure["module"].split(".")[0], {})
    has_bias = f"{site.cure['module']}.bias" in parameters
    torch = torch_name(site.source)
    has_functional = any(alias.asname == "F" and f"{getattr(node, 'module', '')}.{alias.name}".endswith("torch.nn.functional")
                         for node in ast.walk(site.source.tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names)
    function = "F" if has_functional else f"{torch or 'torch'}.nn.functional"
    text = f"{function}.linear({site.source.text(given)}.float(), {layer}.weight.float(){f', {layer}.bias.float()' * has_bias})"
    return [[site.source.replaced(call, text), *([] if torch or has_functional else [import_of_torch(site.source)])]]


def default_dtype(site):
    """torch.set_default_dtype(torch.float64) below the imports of the file that asks for it."""
    torch = torch_name(site.source)
    imports = [n for n in site.source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    if torch is None or not imports:
        raise Unplaced("the file does not import torch at its top")
    return [[site.source.new_line(max(n.end_lineno for n in imports), "", f"\n{torch}.set_default_dtype({torch}.{site.cure['dtype']})")]]


def copied_back(site):
    """p.copy_(weight), behind the step that goes to weight = p.float(), or to weight = p and weight = weight.float()."""
    step = only([n for n in site.calls() if method_of(n).endswith("_") and is_name(n.func.value)], "the step")
    copy = source = dotted(step.func.value)
    bound = [n for n in ast.walk(site.scope_of(site.statement)) if isinstance(n, ast.Assign) and n.lineno < site.statement.lineno
             and copy in map(dotted, n.targets)]
    for node in sorted(bound, key=lambda n: -n.lineno):
        source = dotted(without_methods(node.value)) if source == copy else source
    if source == copy or "()" in source:
        raise Unplaced(f"what {copy} is a copy of is not in the function")
    return [[site.source.new_line(site.statement.end_lineno, site.source.indent_of(site.statement.lineno - 1), f"{source}.copy_({copy})")]]


REWRITES = {"linear in Float": linear_in_float, "copied back": copied_back, "clipped": clipped, "clipped back": clipped_picture, "astype": astype, "autocast left": leave_autocast,
            "autocast off": autocast_off, "lowest": lowest, "held at lowest": held_at_lowest, "constructor": constructor, "not in place": not_in_place,
            "floating alone": floating_alone, "floats alone": floats_alone, "floor": floor, "whole numbers": whole_numbers, "^": exclusive_or,
            "~": invert, "number": fit_number, "epsilon": fit_epsilon, "bound": fit_bound, "optimizer epsilon": fit_optimizer_epsilon, "default dtype": default_dtype, "gradient": cast_gradient, "gradient read": cast_gradient_read, "kept": cast_kept,
            "numpy": cast_for_numpy, "requires_grad_": cast_before_requires_grad, "inverted": cast_inverted, "parameter cast": cast_in_parameter, "arguments": cast_arguments,
            "scaler": without_scaler, "dtype": dtype_argument, "dtype given": dtype_given, "dtype named": dtype_named, "no dtype": without_dtype, "dtype left out": dtype_left_out,
            "asked": ask_otherwise, "region again": reopened, "region dtype": region_dtype, "scaled": scaled, "unscale": unscale, "buffer": buffer,
            "buffer kept": buffer_kept, "lowered again": lowered_again, "fake kernel": fake_kernel, "own backward": own_backward}


@writes("rewrite")
def rewrite(site):
    if site.cure["operand"] not in REWRITES:
        raise Unplaced("no edit is known for it, only its description")
    return REWRITES[site.cure["operand"]](site)


# ---- one patch of all cures

class File:
    """A source that cures change, or a notebook's cell. `data` is what ran, maybe in place of the file."""

    def __init__(self, path, cell, data, results):
        self.path = path
        self.notebook = Notebook(path, data, cell) if cell else None
        self.source = self.notebook.source(self.path) if self.notebook else Source(self.path, data)
        self.source.note_results(results)

    def changed(self, edits):
        """The edits as core/edit.h has them, and the tree with them."""
        data, tree = self.source.changed(edits)
        lines = self.source.lines
        if self.notebook:
            was, text = self.notebook.data.encode(), self.notebook.with_cell(data.decode()).encode()
            lines, edits = was.split(b"\n"), [change_between(was, text)]
        return [edit_of(self.path, lines, edit) for edit in dict.fromkeys(edits)], tree


file_of = functools.lru_cache(maxsize=None)(File)  # questions ask of the same files again and again


def opens_region(site):
    """What puts the statement, and those after it, into a region; None for other changes."""
    kind, how = site.cure["kind"], site.cure["operand"]
    return open_autocast if kind == "open autocast" else {"autocast left": leave_autocast, "autocast off": autocast_off}.get(
        how if kind == "rewrite" else None)


def joined_regions(sites):
    """Statements next to one another that are each put into the same region get one: {site: its last}."""
    opened = sorted({id(s.statement): s for s in sites if opens_region(s)}.values(), key=lambda s: s.statement.lineno)
    for first in opened:
        block = next((b for b in blocks(first.source.tree) if first.statement in b), [])
        run = [first]
        for other in opened:
            is_next = (other.source is first.source and run[-1].statement in block and
                       other.statement in block[block.index(run[-1].statement) + 1:][:1])
            if is_next and opens_region(other) == opens_region(first) and region(other) == region(first):
                run.append(other)
        if len(run) > 1:
            return run
    return []


def write(question):
    learn(question)
    base = {file["path"]: file for file in question.get("base", [])}
    files, in_cpp, all_ways, sites = {}, {}, [], []
    for cure in question["cures"]:
        key, results = (cure["path"], cure.get("cell")), question.get("results", {}).get(cure.get("file"), ())
        text = base.get(cure["path"], {}).get("text")
        if "cpp" in cure:
            in_cpp.setdefault(key, CppFile(cure, text))
            all_ways.append((key, in_cpp[key].ways({**question, **cure, "results": results})))
            continue
        if key not in files:
            files[key] = file_of(*key, read(key[0]) if text is None else text.encode(), tuple(map(tuple, results)))
        sites.append((key, Site(files[key].source, cure, question)))
    if len({path for path, _ in files}) != len(files):
        raise Unplaced("several cells of one notebook")
    run = joined_regions([site for _, site in sites])
    for key, site in sites:
        if any(site.statement is s.statement for s in run) and opens_region(site):
            all_ways.append((key, opens_region(site)(run[0], run[-1].statement)))
            continue
        change = KINDS.get(site.cure["kind"])
        if change is None:
            raise Unplaced("no edit is known for it, only its description")
        all_ways.append((key, change(site)))
    answers, reason = [], None
    for number in range(max(len(ways) for _, ways in all_ways)):
        edits = {key: [] for key in (*files, *in_cpp)}
        for key, ways in all_ways:
            edits[key].extend(ways[min(number, len(ways) - 1)])
        try:
            changed = [(files[key].source, *files[key].changed(edits[key])) for key in files]
        except Unplaced as one:
            reason = reason or one
            continue
        answer = {"edits": [*(edit for _, made, _ in changed for edit in made),
                            *(edit for key in in_cpp for edit in in_cpp[key].edits(edits[key]))],
                  "demerits": demerits([(source, tree) for source, _, tree in changed] if question.get("counts_demerits", True) else [])}
        if len(all_ways) == 1:
            answer["words"] = getattr(all_ways[0][1][number], "words", "")
        if answer["edits"] not in [other["edits"] for other in answers]:
            answers.append(answer)
    if not answers:
        raise reason
    return {"ways": answers}


def main(question, answer_file):
    with open(question, encoding="utf-8") as file:
        asked = json.load(file)
    answers = [answer({**asked, "cures": cures}) for cures in asked["questions"]]
    with open(answer_file, "w", encoding="utf-8") as file:
        json.dump(answers, file)


def answer(question):
    try:
        return write(question)
    except Unplaced as reason:
        return {"reason": str(reason)}
    except OSError as error:
        return {"reason": f"{error.filename}: {error.strerror}"}
    except RecursionError:
        return {"reason": "a source is nested too deeply"}
    except Exception as error:  # the other changes are tried all the same
        return {"reason": f"a fault of dtypecheck's: {type(error).__name__}: {error}"}


if __name__ == "__main__":
    main(*sys.argv[1:])
