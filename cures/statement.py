"""A statement, and what the trace knows of the call there. Standard library only, Python 3.8 or later."""

import ast

from syntax import CASTS, FUNCTIONS, calls_in, dotted, head_nodes, is_loaded, is_name, last_part, modules_imported, only, statement_at

# Methods of a module, beside casts, that are not given what it computes with.
NO_FORWARD = {"eval", "train", "parameters", "load_state_dict", "requires_grad_", "zero_grad", "register_buffer", "apply"}


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

    def calls(self):
        return calls_in(head_nodes(self.statement))

    def one(self, find, what):
        """The one that `find` finds among the nodes of the expression that ran, or else of the statement."""
        return next((found[0] for found in map(find, self.regions()) if len(found) == 1), None) or only(
            find(self.regions()[-1]), what)

    def is_called(self, op, call):
        return is_op_called(op, dotted(call.func), self.tables["names"])

    def is_function(self, call):
        """No tensor stands before the name: "F.relu", "torch.nn.functional.relu"."""
        return isinstance(call.func, ast.Name) or dotted(call.func).split(".")[0] in self.functions

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
        is_method = depth == 0 and isinstance(node.func, ast.Attribute) and last not in NO_FORWARD | CASTS
        if is_method and is_name(node.func.value):  # "vae.decode(z)"
            receiver = last_part(node.func.value)
            depth = max((i + 1 for i, part in enumerate(parts) if part == receiver), default=0)
        return depth

    def scope_of(self, node):
        while node is not None and not isinstance(node, FUNCTIONS):
            node = self.source.parents.get(node)
        return node or self.source.tree

    def class_around(self, node=None):
        node = node or self.statement
        while node is not None and not isinstance(node, ast.ClassDef):
            node = self.source.parents.get(node)
        return node

    @property
    def is_numpy(self):
        """The arrays are NumPy's, which have astype()."""
        return any(call["op"].startswith("python::numpy.") for call in self.cure["calls"][:1])
