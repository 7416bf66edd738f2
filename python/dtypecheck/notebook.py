"""%load_ext dtypecheck, and then %%dtypecheck above a cell: it runs as always, and the findings stand below it."""

import ast

from dtypecheck._recording import ReportFailed, trace
from dtypecheck._tool import ToolMissing


def _options(line):
    options = line.split()
    unknown = [option for option in options if option != "--check-values"]
    if unknown:
        raise ValueError(f"%%dtypecheck: unknown option {unknown[0]}; there is --check-values")
    return {"check_values": "--check-values" in options}


def _parts(shell, cell):
    """The cell as IPython compiles it, under the number that the user sees: statements, and the expression whose value
    is shown. A line more in front, so that a line has the number that it has below %%dtypecheck."""
    source = "\n" + shell.transform_cell(cell)
    name = shell.compile.cache(source, shell.displayhook.prompt_count, raw_code="\n" + cell)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown = None if last is None else shell.compile(ast.Expression(last.value), name, "eval")
    return shell.compile(tree, name, "exec"), shown


def _magic(shell, line, cell):
    options = _options(line)
    statements, shown = _parts(shell, cell)
    run = trace(**options)
    try:
        with run:
            exec(statements, shell.user_global_ns, shell.user_ns)
            value = None if shown is None else eval(shown, shell.user_global_ns, shell.user_ns)
        shell.displayhook(value)  # how a tensor is shown is not the cell's
    finally:  # the report of a cell that raised stands above its traceback
        try:
            print(run.report(), end="")
        except (ReportFailed, ToolMissing, OSError) as failure:
            print(f"dtypecheck: {failure}")


def load(shell):
    shell.register_magic_function(lambda line, cell: _magic(shell, line, cell), "cell", "dtypecheck")
