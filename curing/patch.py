"""Makes a cure's change to a Python source: standard library only, run by the program's own interpreter (3.8 or later).

    patch.py QUESTION ANSWER, both files of JSON

QUESTION: {"cures": [{"path", "line", "extent", "kind", "dtype", "replaces", "code", "op"}, …]}, as core/cure.h has them;
        "extent" is [column, end line, end column] of the call, zeros where it is not known; "op" is the name of the op
        without its namespace; "cell", where the path is a notebook: what stood in the cell that the line is of, when it ran
ANSWER:   {"files": [{"path", "text"}, …], "diff"}, each changed source whole, and a unified diff of all; or {"reason"}: why
        a cure could not be placed surely

A change is made where the statement of the line has one place for it, and only there. All cures are read from the sources
as they stand; two that ask for the same edit make it once, two whose edits overlap cannot be made together.
"""

import ast
import difflib
import json
import re
import sys

DTYPES = {"float16", "half", "bfloat16", "float32", "float", "float64", "double"}
CAST_METHODS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
CASTS = {"to", "type", "long", "int", "bool", *CAST_METHODS}
DTYPE_KEYWORDS = {"dtype", "torch_dtype", "weight_dtype", "param_dtype"}


class Unplaced(Exception):
    """Why there is no sure place for the change."""


class Source:
    """A source as bytes, since ast counts columns in bytes of UTF-8."""

    def __init__(self, path, data, ran=()):
        decoded(path, data)
        self.path = path
        self.lines = data.split(b"\n")
        self.ran = dict(zip(self.lines, ran))  # what Python saw in place of the line
        self.tree = self.parsed(data, f"this Python cannot parse {path}")
        self.others = []  # trees of other cells
        self.edits = []  # (line, column, end line, end column, bytes); lines from 0

    def parsed(self, data, problem):
        lines = [self.ran.get(line, line) for line in data.split(b"\n")]
        try:
            return ast.parse(b"\n".join(lines), self.path)
        except (SyntaxError, ValueError) as error:
            raise Unplaced(f"{problem}: {error}") from None

    def segment(self, node):
        return self.between(node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset).decode()

    def between(self, line, column, end_line, end_column):
        if line == end_line:
            return self.lines[line][column:end_column]
        middle = self.lines[line + 1:end_line]
        return b"\n".join([self.lines[line][column:], *middle, self.lines[end_line][:end_column]])

    def edit(self, line, column, end_line, end_column, text):
        edit = (line, column, end_line, end_column, text.encode())
        if edit not in self.edits:
            self.edits.append(edit)

    def replace(self, node, text):
        self.edit(node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset, text)

    def insert(self, line, column, text):
        self.edit(line, column, line, column, text)

    def insert_line(self, line, indent, text):
        """Before the line; its line end is that of the line."""
        neighbour = self.lines[min(line, len(self.lines) - 1)]
        end = "\r\n" if neighbour.endswith(b"\r") else "\n"
        if line < len(self.lines):
            self.insert(line, 0, indent + text + end)
        else:
            self.insert(len(self.lines) - 1, len(self.lines[-1]), end + indent + text)

    def indent_of(self, line):
        return re.match(rb"[ \t\f]*", self.lines[line]).group().decode()

    def changed(self):
        lines = list(self.lines)
        places = sorted(edit[:4] for edit in self.edits)
        if any(a[2:] > b[:2] for a, b in zip(places, places[1:])):
            raise Unplaced("two changes of the same code")
        # From the end; of two at one place the one that was asked for first comes to stand first.
        edits = sorted(enumerate(self.edits), key=lambda numbered: (*numbered[1][:2], numbered[0]), reverse=True)
        for _, (line, column, end_line, end_column, text) in edits:
            first = lines[line][:column] + text + lines[end_line][end_column:]
            lines[line:end_line + 1] = [first]
        return b"\n".join(lines)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def decoded(path, data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unplaced(f"{path} is not UTF-8") from None


class Notebook:
    """A file of JSON, one of whose cells is what ran: IPython's own lines, "%time f()", ran as calls of it."""

    LAYOUTS = [{"indent": indent, "ensure_ascii": is_ascii} for is_ascii in (False, True) for indent in (1, 2, 4, None)]

    def __init__(self, path, ran):
        self.data, self.ran = decoded(path, read(path)), self.lines_of(ran)
        try:
            self.notebook = json.loads(self.data)
            cells = [c for c in self.notebook["cells"] if c["cell_type"] == "code"]
            fitting = [c for c in cells if self.fits(self.lines_of("".join(c["source"])))]
        except (ValueError, KeyError, TypeError):
            raise Unplaced(f"{path} is no notebook") from None
        if len(fitting) != 1:
            count = f"{len(fitting)} cells" if fitting else "no cell"
            raise Unplaced(f"{path} has {count} with what ran")
        self.cell = fitting[0]
        self.others = ["".join(c["source"]) for c in cells if c is not self.cell]

    @staticmethod
    def lines_of(text):
        return text.rstrip().split("\n")

    def fits(self, lines):
        return len(lines) == len(self.ran) and all(
            stood == ran or ("get_ipython()" in ran and re.search("[%!?]", stood)) for stood, ran in zip(lines, self.ran))

    def source(self, name):
        source = Source(name, "".join(self.cell["source"]).encode(), [line.encode() for line in self.ran])
        for other in self.others:
            lines = [line for line in other.split("\n") if not line.lstrip().startswith(("%", "!"))]
            try:
                source.others.append(ast.parse("\n".join(lines)))
            except (SyntaxError, ValueError):
                pass  # in another language, or none that has been run
        return source

    def with_cell(self, text):
        """The whole file, laid out as it was where that is one of the usual ways."""
        end = self.data[len(self.data.rstrip()):]
        layout = next((layout for layout in self.LAYOUTS
                       if json.dumps(self.notebook, **layout) + end == self.data), self.LAYOUTS[0])
        is_list = isinstance(self.cell["source"], list)
        self.cell["source"] = text.splitlines(keepends=True) if is_list else text
        return json.dumps(self.notebook, **layout) + end


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


def call_at(statement, cure):
    """The expression that ran, where the interpreter told its extent; else None. A call over several lines is told to
    begin at the name of its method, so the end decides."""
    column, end_line, end_column = cure.get("extent") or (0, 0, 0)
    if column <= 0:
        return None
    begin, end = (cure["line"], column - 1), (end_line, end_column - 1)
    found = [n for n in head_nodes(statement) if isinstance(n, ast.expr)
             and (n.end_lineno, n.end_col_offset) == end and (n.lineno, n.col_offset) <= begin]
    return max(found, key=lambda n: (n.lineno, n.col_offset), default=None)


def is_inside(place, node):
    """A place is (line, column, end line, end column), lines from 0."""
    return ((node.lineno - 1, node.col_offset) <= place[:2] and
            place[2:] <= (node.end_lineno - 1, node.end_col_offset))


def is_compound(statement):
    return hasattr(statement, "body")


def head_nodes(statement):
    """The statement's own expressions, without those of the statements inside it."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def parse_expression(code):
    try:
        return ast.parse(code, mode="eval").body
    except SyntaxError:
        raise Unplaced(f"`{code}` is not an expression") from None


def without_cast(code):
    """What `code` casts: pred of pred.float(), (a + b) of (a + b).to(torch.float16)."""
    node = parse_expression(code)
    is_cast = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CASTS
    if not is_cast:
        raise Unplaced(f"`{code}` is no cast")
    return node.func.value


def name_of(call):
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_loaded(node):
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def only(places, what):
    if len(places) != 1:
        count = f"{len(places)} times" if places else "not"
        raise Unplaced(f"{what} is {count} in the statement")
    return places[0]


def torch_name(source):
    """How the module calls torch; None where it does not import it under a name."""
    for tree in (source.tree, *source.others):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Import):
                continue
            for alias in node.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and not alias.asname):
                    return alias.asname or "torch"
    return None


def with_torch(source, code):
    """`code` with torch under the name that it has in the module, which imports it where it does not yet."""
    if not re.search(r"\btorch\b", code):
        return code
    name = torch_name(source)
    if name is not None:
        return re.sub(r"\btorch\b(?=\.)", name, code)
    line = 0
    for node in source.tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_text or is_future):
            line = node.lineno - 1
            break
    source.insert_line(line, "", "import torch")
    return code


def cast_expression(source, statement, cure):
    """Puts the cast where the expression that it casts stands."""
    code = cure["code"]
    if code.startswith("."):
        return append_cast(source, statement, cure)
    if is_assignment(code):
        return insert_assignment(source, statement, with_torch(source, code))
    wanted = ast.dump(without_cast(code))
    places = [n for n in head_nodes(statement)
              if isinstance(n, ast.expr) and is_loaded(n) and ast.dump(n) == wanted]
    call = call_at(statement, cure)
    in_call = [n for n in ast.walk(call) if n in places] if call is not None else []
    if len(in_call) != 1:
        in_call = [n for n in places if is_argument_of(statement, n, cure.get("op", ""))]
    place = only(in_call or places, f"`{source.segment(places[0]) if places else code}`")
    source.replace(place, with_torch(source, code))


def is_assignment(code):
    try:
        return isinstance(ast.parse(code).body[0], ast.Assign)
    except (SyntaxError, IndexError):
        return False


def insert_assignment(source, statement, code):
    """Behind the statement, or as the first of its block: the variables have their values there."""
    if not is_compound(statement):
        require_own_lines(source, statement)
        return source.insert_line(statement.end_lineno, source.indent_of(statement.lineno - 1), code)
    first = statement.body[0]
    require_own_lines(source, first)
    source.insert_line(first.lineno - 1, source.indent_of(first.lineno - 1), code)


def replace_text(source, statement, cure):
    """`code` in place of what stands in the statement once."""
    old = cure["replaces"].encode()
    begin, end = (rb"(?<![\w.])" if re.match(rb"\w", old) else b""), (rb"(?!\w)" if re.search(rb"\w$", old) else b"")
    last = statement.body[0].lineno - 1 if is_compound(statement) else statement.end_lineno
    found = [(line, match.start(), line, match.end()) for line in range(statement.lineno - 1, last)
             for match in re.finditer(begin + re.escape(old) + end, source.lines[line])]
    call = call_at(statement, cure)
    here = [place for place in found if call is not None and is_inside(place, call)]
    place = only(here if len(here) == 1 else found, f"`{cure['replaces']}`")
    source.edit(*place, with_torch(source, cure["code"]))


def is_argument_of(statement, place, op):
    """An argument of a call by the op's name, as F.mse_loss(pred, …) is for mse_loss, or an operand of an operator."""
    for node in head_nodes(statement):
        if isinstance(node, ast.Call):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            receiver = getattr(node.func, "value", None)
            if op and name_of(node).strip("_") == op.strip("_") and (place in arguments or place is receiver):
                return True
    return False


def append_cast(source, statement, cure):
    """`.to(…)` behind the value of a statement that has one."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) or value is None:
        raise Unplaced("the statement gives no value that could be cast")
    text = with_torch(source, cure["code"])
    if isinstance(value, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)):
        return source.insert(value.end_lineno - 1, value.end_col_offset, text)
    source.insert(value.lineno - 1, value.col_offset, "(")
    source.insert(value.end_lineno - 1, value.end_col_offset, ")" + text)


def dtype_places(statement):
    """(node, kind) of each dtype that the statement names."""
    inside = set()
    for node in head_nodes(statement):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in DTYPE_KEYWORDS:
                    inside |= {id(n) for n in ast.walk(keyword.value)}
                    yield keyword.value, "text" if isinstance(keyword.value, ast.Constant) else "dtype"
            if isinstance(node.func, ast.Attribute) and node.func.attr in CAST_METHODS and not node.args:
                yield node, "method"
    for node in head_nodes(statement):
        is_dtype = isinstance(node, ast.Attribute) and node.attr in DTYPES and getattr(node.value, "id", "") == "torch"
        if is_dtype and id(node) not in inside:
            yield node, "dtype"


def set_dtype(source, statement, dtype):
    """Writes the dtype where the statement names one; False where it names none, or several."""
    places = list(dtype_places(statement))
    if len(places) != 1:
        return False
    node, kind = places[0]
    if kind == "method":
        name = next(name for name, of in CAST_METHODS.items() if of == dtype) if dtype in CAST_METHODS.values() else None
        if name is None or name == node.func.attr:
            return False
        column = node.func.end_col_offset
        source.edit(node.func.end_lineno - 1, column - len(node.func.attr), node.func.end_lineno - 1, column, name)
        return True
    text = f'"{dtype}"' if kind == "text" and isinstance(node.value, str) else with_torch(source, f"torch.{dtype}")
    if source.segment(node) == text:
        return False
    source.replace(node, text)
    return True


def names_bound(statement):
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def names_read(statement):
    return {n.id for n in head_nodes(statement) if isinstance(n, ast.Name) and is_loaded(n)}


def cast_parameters(source, statement, cure):
    """The dtype where the parameters are made; or else the cast as a statement behind that, or before their use."""
    whole = ast.dump(without_cast(cure["code"]))
    # What the statement makes or casts as a whole; a layer of that gets its cast behind it.
    makes = [n for n in ast.walk(statement) if isinstance(n, ast.expr) and
             ast.dump(n).replace("Store()", "Load()") == whole]
    if makes and set_dtype(source, statement, cure["dtype"]):
        return
    root = next((n.id for n in ast.walk(parse_expression(cure["code"])) if isinstance(n, ast.Name) and n.id != "torch"),
                None)
    require_own_lines(source, statement)
    indent = source.indent_of(statement.lineno - 1)
    code = with_torch(source, cure["code"])
    if root in names_bound(statement) and not is_compound(statement):
        source.insert_line(statement.end_lineno, indent, code)
    elif root in names_read(statement):
        source.insert_line(statement.lineno - 1, indent, code)
    else:
        raise Unplaced(f"the statement neither makes nor uses {root or cure['code']}")


def require_own_lines(source, statement):
    """Nothing else may stand on the statement's lines, as in `a = b; c = d`."""
    before = source.lines[statement.lineno - 1][:statement.col_offset]
    after = source.lines[statement.end_lineno - 1][statement.end_col_offset:].strip()
    if before.strip() or (not is_compound(statement) and after and not after.startswith(b"#")):
        raise Unplaced("the statement shares its line with another")


def open_autocast(source, statement, cure):
    """Puts the statement into a region of its own."""
    if is_compound(statement):
        raise Unplaced("the line is the head of a block")
    require_own_lines(source, statement)
    indent = source.indent_of(statement.lineno - 1)
    source.insert_line(statement.lineno - 1, indent, with_torch(source, cure["code"]))
    indent_lines(source, statement.lineno, statement.end_lineno, "\t" if indent.endswith("\t") else "    ")


def indent_lines(source, first, last, step):
    kept = set()  # lines inside of a text, which are no indentation
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and getattr(node, "end_lineno", 0) > getattr(node, "lineno", 0):
            kept |= set(range(node.lineno + 1, node.end_lineno + 1))
    for line in range(first, last + 1):
        if line not in kept and source.lines[line - 1].strip():
            source.insert(line - 1, len(source.indent_of(line - 1).encode()), step)


def blocks(tree):
    """Each list of statements that stand below one another."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def move_autocast(source, statement, cure):
    """The `with` block above takes in the statements that follow it, up to this one."""
    found = []
    for block in blocks(source.tree):
        last = next((s for s in block if s.lineno <= statement.lineno and statement.end_lineno <= s.end_lineno), None)
        found += [(region, last) for region in block
                  if last is not None and isinstance(region, (ast.With, ast.AsyncWith))
                  and region.end_lineno < last.lineno
                  and source.lines[region.lineno - 1].decode().strip() == cure["code"]]
    if not found:
        raise Unplaced(f"no block above the line begins with `{cure['code']}`")
    region, last = max(found, key=lambda pair: pair[0].lineno)
    require_own_lines(source, last)
    if region.body[0].lineno == region.lineno:
        raise Unplaced("the region is written in one line")
    outer, inner = source.indent_of(region.lineno - 1), source.indent_of(region.body[0].lineno - 1)
    indent_lines(source, region.end_lineno + 1, last.end_lineno, inner[len(outer):])


def change_setting(source, statement, cure):
    """`mixed_precision="bf16"` where the call of the statement has that keyword, or behind its arguments."""
    try:
        wanted, = ast.parse(f"f({cure['code']})", mode="eval").body.keywords
    except (SyntaxError, ValueError):
        raise Unplaced(f"`{cure['code']}` is not one keyword of a call") from None
    calls = [n for n in head_nodes(statement) if isinstance(n, ast.Call)]
    given = [k for call in calls for k in call.keywords if k.arg == wanted.arg]
    if given:
        keyword = only(given, f"`{wanted.arg}`")
        return source.replace(keyword.value, with_torch(source, cure["code"].split("=", 1)[1].strip()))
    call = only(calls, "a call")
    text = with_torch(source, cure["code"])
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not given:
        return source.insert(call.end_lineno - 1, call.end_col_offset - 1, text)
    last = max(given, key=lambda node: (node.end_lineno, node.end_col_offset))
    source.insert(last.end_lineno - 1, last.end_col_offset, ", " + text)


CHANGES = {"cast operand": cast_expression, "cast result": cast_expression, "cast module input": cast_expression,
           "cast parameters": cast_parameters, "open autocast": open_autocast,
           "move autocast": move_autocast, "setting": change_setting}


class File:
    """A source that cures change, or a notebook's cell."""

    def __init__(self, cure):
        self.path, self.name = cure["path"], cure.get("shown", cure["path"])
        self.notebook = Notebook(self.path, cure["cell"]) if cure.get("cell") else None
        self.source = self.notebook.source(self.name) if self.notebook else Source(self.path, read(self.path))

    def change(self, cure):
        change = replace_text if cure.get("replaces") else CHANGES.get(cure["kind"])
        if change is None or not cure["code"]:
            raise Unplaced("it is told in words alone")
        change(self.source, statement_at(self.source, cure["line"]), cure)

    def changed(self):
        """The whole file, and its diff."""
        source = self.source
        data = source.changed()
        if ast.dump(source.parsed(data, "the change does not parse")) == ast.dump(source.tree):
            raise Unplaced("the line says so already")
        text = data.decode()
        old, new = b"\n".join(source.lines).decode().splitlines(keepends=True), text.splitlines(keepends=True)
        lines = difflib.unified_diff(old, new, self.name, self.name, n=1)
        diff = "".join(line if line.endswith("\n") else line + "\n" for line in lines).replace("\r\n", "\n")
        return (self.notebook.with_cell(text) if self.notebook else text), diff


def patch(question):
    files = {}  # by path and cell: two cells of one notebook are two patches
    for cure in question["cures"]:
        key = (cure["path"], cure.get("cell"))
        if key not in files:
            files[key] = File(cure)
        files[key].change(cure)
    if len({path for path, _ in files}) != len(files):
        raise Unplaced("several cells of one notebook")
    changed = [(file.path, *file.changed()) for file in files.values()]
    return {"files": [{"path": path, "text": text} for path, text, _ in changed],
            "diff": "".join(diff for _, _, diff in changed)}


def main(question, answer_file):
    with open(question, encoding="utf-8") as file:
        cures = json.load(file)
    try:
        answer = patch(cures)
    except Unplaced as reason:
        answer = {"reason": str(reason)}
    except OSError as error:
        answer = {"reason": f"{error.filename}: {error.strerror}"}
    except RecursionError:
        answer = {"reason": "a source is nested too deeply"}
    with open(answer_file, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
