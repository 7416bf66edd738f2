"""Which expression of a statement is the operand that the trace speaks of. Standard library only, Python 3.8 or later."""

import ast
import re

from syntax import SIGNS, are_alike, calls_in, dotted, head_nodes, index_of, is_loaded, is_name, may_be_tensor, torch_name


def signed(site, nodes, op):
    """The only operation among the nodes that is the op, or that which ran: (left, right, node)."""
    found = operations(site, nodes, op)
    ran = [one for one in found if one[2] is site.focus]
    return found[0] if len(found) == 1 else ran[0] if ran else None


def operations(site, nodes, op):
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
        if [sign, full.strip("_")] in site.tables["signs"]:
            found.append((left, right, node))
    return found


def operand_in(site, nodes, call):
    """The nodes for the operand of this call of the trace, {"op", "operand", "arguments"}; several where the line has
    like calls that are given the same."""
    op, operand = call["op"], call["operand"]
    if raised_here(site, op):
        return variable_read(nodes, op, operand)
    found = []
    for node in calls_in(nodes):
        is_module = dotted(node.func).startswith("self.") and site.depth_of(node) > 0
        if is_module or not site.is_called(op, node):
            continue
        argument = argument_of(site, node, call)
        if argument is None or not are_alike([argument, *found]):
            return []
        found.append(argument)
    if found:
        return found
    operation = signed(site, nodes, op)
    name = operand.strip("_")
    is_left, is_right = name in ("self", "input", "tensor"), name in ("other", "mat2", "tensor2", "vec", "exponent")
    if operation and is_left != is_right:
        first = is_left != (op.strip("_") == "rsub")
        chosen, beside = operation[:2] if first else reversed(operation[:2])
        is_number = call.get("meets_number") and is_read_as_tensor(site, beside) and not is_read_as_tensor(site, chosen)
        if is_number or not may_be_tensor(chosen):
            return [beside]  # 1e-10 + x is add(x, 1e-10), and classes * x is mul(x, classes)
        sides = [one[0 if chosen is operation[0] else 1] for one in operations(site, head_nodes(site.statement), op)]
        alike = [side for side in sides if side is not chosen and is_name(side) and ast.dump(side) == ast.dump(chosen)]
        return [chosen, *alike]  # (x * cos * scale) + (y * sin * scale)
    return in_subscript(site, nodes, op.strip("_"), operand) or variable_read(nodes, op, operand)


def is_read_as_tensor(site, node):
    """No literal, and no bare name but one of which the function reads an attribute or an element, or that is one."""
    def says(n):
        if isinstance(n, ast.Assign):
            return isinstance(n.value, ast.Subscript) and any(dotted(target) == node.id for target in n.targets)
        return isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.value, ast.Name) and n.value.id == node.id
    is_name_alone = isinstance(node, ast.Name)
    return may_be_tensor(node) and (not is_name_alone or any(map(says, ast.walk(site.scope_of(site.statement)))))


def raised_here(site, op):
    """The op is the function around the statement, "python::Chamfer.forward", whose variables are the operands."""
    *owners, name = op[len("python::"):].split(".") if op.startswith("python::") else [""]
    owner = site.class_around()
    return bool(name) and getattr(site.scope_of(site.statement), "name", "") == name and (
        not owners or (owner is not None and owner.name == owners[-1]))


def argument_of(site, node, call):
    wanted = re.sub(r"\[\d+\]$", "", call["operand"])
    for keyword in node.keywords:
        if keyword.arg is not None and is_keyword_of(keyword.arg, wanted):
            return element_of(keyword.value, call["operand"])
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return None
    own = [a for a in node.args if dotted(a) == f"self.{wanted}"]
    if wanted in ("weight", "bias") and len(own) == 1:  # layer_norm(x, shape, self.weight, self.bias)
        return own[0]
    positions = [] if site.is_function(node) else [node.func.value]
    skips = any(call["op"].strip("_").startswith(op) for op in site.tables["dimension_first"])
    for argument in node.args:
        is_dimension = skips and bool(positions)
        skips = skips and not is_dimension
        if not is_dimension and may_be_tensor(argument):
            positions.append(argument)
    names = call["arguments"]
    index = names.index(wanted) if wanted in names else len(names)
    if call["op"] == "embedding" and dotted(node.func) != f"{torch_name(site.source)}.embedding":  # which has the schema's order
        index = 0 if wanted == "indices" else len(positions)
    is_sure = index == 0 or call["op"] == "embedding" or not any(op in call["op"] for op in site.tables["first_only"])
    if not is_sure or index >= len(positions):
        return None
    element = element_index(call["operand"])
    is_unpacked = not call["op"].startswith("_foreach") and index + 1 == len(names) and len(positions) > len(names)
    if element is not None and is_unpacked:  # "einsum(equation, a, b)": a list given one by one
        return positions[index + element] if index + element < len(positions) else None
    return element_of(positions[index], call["operand"])


def is_keyword_of(keyword, argument):
    """Python calls `self` input, and has a few names of its own."""
    name = argument.strip("_")
    return (keyword == name or (keyword == "input" and name in ("self", "bias")) or
            (keyword == "tensor1" and name == "mat1") or (keyword == "hx" and name.endswith("hx")))


def in_subscript(site, nodes, op, operand):
    """"a[index] = value", and "a[index], b[index] = f(x)" """
    if not (op.startswith("index_put") or op in ("index", "copy")):
        return []
    targets = [(getattr(n.targets[0], "elts", n.targets), n.value) for n in nodes if isinstance(n, ast.Assign)]
    puts = [put for put in targets if all(isinstance(target, ast.Subscript) for target in put[0])]
    if operand in ("values", "src"):
        return [puts[0][1]] if len(puts) == 1 else []
    if operand == "self":  # what is written is never cast, but others are to its dtype
        return [puts[0][0][0].value] if len(puts) == 1 else []
    subscripts = [n for n in nodes if isinstance(n, ast.Subscript)]
    if not operand.startswith("indices") or len(subscripts) != 1:
        return []
    index = index_of(subscripts[0])
    if isinstance(index, ast.Tuple):
        element = element_index(operand)
        choosers = [n for n in index.elts if not isinstance(n, (ast.Slice, ast.Constant))]
        if len(choosers) == 1:  # a[..., mask, :]
            return choosers
        return [index.elts[element]] if element is not None and element < len(index.elts) else []
    return [index]


def variable_read(nodes, op, operand):
    """For a refusal in Python the operands are local variables."""
    if not op.startswith("python::"):
        return []
    found = [n for n in nodes if isinstance(n, (ast.Attribute, ast.Name)) and is_loaded(n) and dotted(n) == operand]
    return found if len(found) == 1 else []


def operand_nodes(site, operand="", calls=None):
    """The operand as the line has it: of the op, or of one around it."""
    for call in calls or site.cure["calls"]:
        call = dict(call, operand=operand) if operand else call
        everywhere = operand_in(site, list(head_nodes(site.statement)), call)
        if site.focus is None:
            if everywhere:
                return everywhere
            continue
        inside = list(ast.walk(site.focus))
        one = operand_in(site, inside, call)
        if not one:
            everywhere = [node for node in everywhere if node in inside]
        if one and one[0] not in everywhere:
            everywhere = one
        if everywhere:
            return everywhere
    return []


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
