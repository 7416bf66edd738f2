"""How a cast is written at a statement: behind an expression, or where that asks for a dtype itself. Standard library only, Python 3.8 or
later."""

import ast
import re

from source import Unplaced
from syntax import (CASTS, CAST_METHODS, DTYPES, DTYPE_KEYWORDS, FACTORIES, FUNCTIONS, METHOD_OF, is_loaded, is_name, last_part, method_of, numpy_name,
                    torch_name)
from wanted_dtype import dtype_of, dtype_texts, dtypes_named


def chain_of(site, call):
    """Of the casts that are called on one another the last that asks for a dtype, or the last: ".half()" of
    "x.to(device).half()", and of "x.half().to(device)"."""
    while method_of(getattr(call.func, "value", None)) in CASTS:
        call = call.func.value
    chain = [call]
    while True:
        around = site.source.parents.get(chain[-1])
        outer = site.source.parents.get(around)
        if not (method_of(outer) in CASTS and outer.func is around):
            return next((c for c in reversed(chain) if asks_for_dtype(site, c)), chain[-1])
        chain.append(outer)


def asks_for_dtype(site, call):
    """x.half(), x.to(torch.half)"""
    return method_of(call) in CASTS and (
        call.func.attr in CAST_METHODS or any(dtype_of(site, a) for a in call.args))


def cast_ways(site, nodes, lists=()):
    """Ways to cast each of the nodes, those of `lists` as lists of tensors."""
    if not isinstance(nodes, list):
        nodes = [nodes]
    if site.cure.get("from", "").startswith("complex") and not site.cure["dtype"].startswith("complex"):
        raise Unplaced("a cast to a real dtype drops the imaginary part")
    ways = []
    for text, more in dtype_texts(site, nodes[0]):
        if any(not is_loaded(node) for node in nodes) and site.is_numpy:
            raise Unplaced("what the line writes into is not cast there")
        has_method = more and site.cure["dtype"] in METHOD_OF  # ".float()" needs no name for torch
        suffix = f".{METHOD_OF[site.cure['dtype']]}()" if has_method else cast_text(site, text)
        edits = [edit for node in nodes for edit in (
            [site.source.before(node, f"[t{suffix} for t in "), site.source.behind(node, "]")] if node in lists else
            cast_edits(site, node, text, suffix))]
        ways.append(edits + (more if any(text in edit[-1] for edit in edits) else []))
    return ways


def cast_edits(site, node, dtype, suffix):
    """Edits: where the node asks for a dtype that is changed, and else the cast stands behind it."""
    if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
        return [edit for element in node.elts for edit in (
            asked_instead(site, element, dtype, suffix) or suffixed(site, element, suffix))]
    return asked_instead(site, node, dtype, suffix) or suffixed(site, node, suffix)


def cast_text(site, dtype):
    return f".astype({dtype})" if site.is_numpy else f".to({dtype})"


def suffixed(site, node, suffix):
    if may_be_none(site, node):
        text = f"{node.id}{suffix} if {node.id} is not None else None"
        is_argument = isinstance(site.source.parents.get(node), (ast.Call, ast.keyword))
        return [site.source.replaced(node, text if is_argument else f"({text})")]
    if is_state(site, node):
        return [site.source.replaced(node, f"tuple(t{suffix} for t in {site.source.text(node)})")]
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) or is_bracketed(site, node):
        return [site.source.behind(node, suffix)]
    if stands_in_brackets(site, node):
        return [(node.end_lineno - 1, node.end_col_offset + 1, node.end_lineno - 1, node.end_col_offset + 1, suffix)]
    return [site.source.before(node, "("), site.source.behind(node, ")" + suffix)]


def may_be_none(site, node):
    """A parameter whose default is None, read where nothing has bound it again or asked whether it is."""
    scope = site.scope_of(site.statement)
    if not isinstance(node, ast.Name) or not isinstance(scope, FUNCTIONS) or not has_default_none(scope.args, node.id):
        return False
    name = node.id
    if any(isinstance(n, ast.Name) and n.id == name and not is_loaded(n) for n in ast.walk(scope)):
        return False
    around = node
    while around is not scope:
        around = site.source.parents[around]
        if isinstance(around, (ast.If, ast.IfExp)) and is_read(around.test, name):
            return False
    return not any(isinstance(n, ast.If) and is_read(n.test, name) and isinstance(n.body[-1], (ast.Return, ast.Raise))
                   for n in scope.body if n.lineno < site.statement.lineno)


def is_read(tree, name):
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(tree))


def has_default_none(arguments, name):
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip((a.arg for a in reversed(positional)), reversed(arguments.defaults)))
    defaults.update(zip((a.arg for a in arguments.kwonlyargs), arguments.kw_defaults))
    default = defaults.get(name)
    return isinstance(default, ast.Constant) and default.value is None


def stands_in_brackets(site, node):
    """(a * b), which are no call's."""
    before, behind = site.source.lines[node.lineno - 1][:node.col_offset], site.source.lines[node.end_lineno - 1][node.end_col_offset:]
    return before.endswith(b"(") and behind.startswith(b")") and not re.search(rb"[\w)\]]\s*$", before[:-1])


def is_bracketed(site, node):
    return isinstance(node, (ast.ListComp, ast.Dict, ast.Set))


def is_state(site, node):
    """The pair of states of an LSTM, which no `.to()` casts: a variable that has both."""
    if isinstance(site.source.parents.get(node), (ast.Tuple, ast.List)):
        return False
    operand = site.cure["calls"][0]["operand"] if site.cure.get("calls") else ""
    is_lstm = "LSTM" in site.cure["module_class"] or any(c["op"].startswith("lstm") for c in site.cure["calls"])
    return is_lstm and operand.strip("_").startswith(("hx", "cx")) and isinstance(node, (ast.Name, ast.Attribute))


def must_copy(site, node):
    """self.shadow[name] = p.data.half() of a Float tensor: a cast to Float would keep p itself, which the average is then written to."""
    if site.cure["kind"] != "cast result" or site.cure.get("was") != site.cure["dtype"]:
        return False
    statement = site.statement
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    is_stored = isinstance(targets[0], (ast.Attribute, ast.Subscript)) or any(isinstance(n, (ast.ListComp, ast.DictComp)) for n in ast.walk(statement))
    chain = node.func.value
    while method_of(chain) not in ("", "clone"):
        chain = chain.func.value
    return is_stored and method_of(chain) != "clone"


def default_of(site, asked, dtype):
    """The default of a function's own argument that no call gives: def load(x, dtype=torch.bfloat16), where a constant is to be written."""
    function = site.scope_of(site.statement)
    is_constant = re.fullmatch(r"\w+\.\w+", dtype) and dtype.rsplit(".", 1)[-1] in DTYPES
    if not isinstance(asked, ast.Name) or not isinstance(function, ast.FunctionDef) or not is_constant:
        return None
    arguments = function.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args]
    given = dict(zip(reversed(names), reversed(arguments.defaults)))
    given.update({a.arg: value for a, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value})
    default = given.get(asked.id)
    if default is None or last_part(default) not in DTYPES or any(
            isinstance(n, ast.Name) and n.id == asked.id and not is_loaded(n) for n in ast.walk(function)):
        return None
    made = site.class_around(function)
    called = made.name if function.name == "__init__" and made is not None else function.name
    place = names.index(asked.id) - (made is not None) if asked.id in names else len(names)
    for call in ast.walk(site.source.tree):
        is_call = isinstance(call, ast.Call) and last_part(call.func) == called
        if is_call and (len(call.args) > place or any(isinstance(a, ast.Starred) for a in call.args)
                        or any(k.arg in (asked.id, None) for k in call.keywords)):
            return None
    return default


def asked_instead(site, node, dtype, suffix):
    """Where an expression asks for a dtype by itself: torch.zeros(…, dtype=…), x.half(), x.to(torch.half)."""
    if not isinstance(node, ast.Call) or site.is_numpy:
        return []
    for keyword in node.keywords:
        if keyword.arg in DTYPE_KEYWORDS:
            asked = keyword.value
            if isinstance(asked, ast.BoolOp) and isinstance(asked.op, ast.Or):  # "dtype or x.dtype"
                asked = asked.values[-1]
            default = default_of(site, asked, dtype)
            return [site.source.replaced(*((default, dtype) if default is not None else (asked, in_kind_of(asked, dtype))))]
    name = last_part(node.func)
    is_method = isinstance(node.func, ast.Attribute) and not site.is_function(node)
    if is_method and name in CASTS and must_copy(site, node):
        return [(node.func.end_lineno - 1, node.func.end_col_offset - len(name), node.end_lineno - 1, node.end_col_offset, "clone()")]
    if is_method and name in CAST_METHODS and not node.args:
        method = suffix.split("(")[0][1:]
        text = METHOD_OF[site.cure["dtype"]] if dtype.endswith(f".{site.cure['dtype']}") and site.cure[
            "dtype"] in METHOD_OF else None
        end = (node.func.end_lineno - 1, node.func.end_col_offset)
        if text or method in CAST_METHODS:
            return [(end[0], end[1] - len(name), *end, text or method)]
        return [(end[0], end[1] - len(name), node.end_lineno - 1, node.end_col_offset, f"to({dtype})")]
    if is_method and name == "type_as":
        return [(node.func.end_lineno - 1, node.func.end_col_offset - len(name), node.end_lineno - 1, node.end_col_offset,
                 f"to({dtype})")]
    if is_method and name in ("to", "type"):
        named = dtypes_named(site, node)
        # "x.to(config.float_th)", which gave another dtype than it was given.
        is_cast = len(node.args) == 1 and not node.keywords and is_name(node.args[0]) and site.cure.get("was") not in (
            None, site.cure.get("from")) and site.source.results_at(node) == {site.cure.get("from")}
        if len(named) == 1 or is_cast:
            asked = (named or node.args)[0]
            default = default_of(site, asked, dtype)
            return [site.source.replaced(asked if default is None else default, dtype)]
    is_drawn = name.startswith("rand") and "float" not in site.cure["dtype"]  # it draws no integers
    is_factory = name in FACTORIES and not is_drawn and (site.is_function(node) or name.startswith("new_"))
    if is_factory and all(k.arg is not None for k in node.keywords) and ("(" not in dtype or dtype.endswith(".dtype")):
        if suffix.startswith(".to("):
            return [with_keyword(site, node, f"dtype={dtype}")]
    return []


def in_kind_of(value, dtype):
    """A dtype that is given as a text stays one."""
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    name = dtype.rsplit(".", 1)[-1].strip('"')
    return f'"{name}"' if is_text else dtype


def with_keyword(site, node, text):
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not given:
        return (node.end_lineno - 1, node.end_col_offset - 1, node.end_lineno - 1, node.end_col_offset - 1, text)
    return site.source.behind(max(given, key=lambda n: (n.end_lineno, n.end_col_offset)), ", " + text)


def text_of_cast_back(site):
    """The suffix that casts back to the dtype that the operand had."""
    name = torch_name(site.source)
    if site.is_numpy:
        return cast_text(site, f"{numpy_name(site.source) or 'numpy'}.{site.cure['from']}")
    return f".to({name}.{site.cure['from']})" if name else f".{METHOD_OF[site.cure['from']]}()"
