"""A source as edits see it: what stands where, and what takes its place. Standard library only, Python 3.8 or
later.

An edit is (line, column, end line, end column, new text): lines from 0, columns in bytes of UTF-8, as ast counts them.
"""

import ast
import json
import re


class Unplaced(Exception):
    """Why there is no sure place for a change."""


class Source:
    def __init__(self, path, data, ran=()):
        decoded(path, data)
        self.path = path
        self.lines = data.split(b"\n")
        self.ran = dict(zip(self.lines, ran))  # what Python saw in place of the line
        self.tree = self.parsed(data, f"this Python cannot parse {path}")
        self.others = []  # trees of other cells
        self.results = {}  # dtypes of what expressions gave when they ran: by where one ends, (begin, dtype)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def parsed(self, data, problem):
        lines = [self.ran.get(line, line) for line in data.split(b"\n")]
        try:
            return ast.parse(b"\n".join(lines), self.path)
        except (SyntaxError, ValueError) as error:
            raise Unplaced(f"{problem}: {error}") from None

    def text(self, node):
        line, end = node.lineno - 1, node.end_lineno - 1
        if line == end:
            return self.lines[line][node.col_offset:node.end_col_offset].decode()
        middle = self.lines[line + 1:end]
        return b"\n".join([self.lines[line][node.col_offset:], *middle, self.lines[end][:node.end_col_offset]]).decode()

    def note_results(self, results):
        for line, column, end_line, end_column, dtype in results:
            self.results.setdefault((end_line, end_column), []).append(((line, column), dtype))

    def results_at(self, node):
        """The dtypes that the expression gave, "" for one that it did not always give. A call over several lines is told to begin at the name of its method."""
        begin, end = (node.lineno, node.col_offset + 1), (node.end_lineno, node.end_col_offset + 1)
        return {dtype for where, dtype in self.results.get(end, ()) if where >= begin}

    @staticmethod
    def replaced(node, text):
        return (node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset, text)

    @staticmethod
    def behind(node, text):
        return (node.end_lineno - 1, node.end_col_offset, node.end_lineno - 1, node.end_col_offset, text)

    @staticmethod
    def removed_behind(node, whole):
        return (node.end_lineno - 1, node.end_col_offset, whole.end_lineno - 1, whole.end_col_offset, "")

    @staticmethod
    def before(node, text):
        return (node.lineno - 1, node.col_offset, node.lineno - 1, node.col_offset, text)

    def new_line(self, line, indent, text):
        """A line of its own before this one, or several, which lends it its line end."""
        neighbour = self.lines[min(line, len(self.lines) - 1)]
        end = "\r\n" if neighbour.endswith(b"\r") else "\n"
        text = text.replace("\n", end)
        if line < len(self.lines):
            return (line, 0, line, 0, indent + text + end)
        last = len(self.lines) - 1
        return (last, len(self.lines[last]), last, len(self.lines[last]), end + indent + text)

    def indent_of(self, line):
        return re.match(rb"[ \t\f]*", self.lines[line]).group().decode()

    def indented(self, first, last, step):
        """The lines from the first to the last, from 1, one step further in."""
        kept = set()  # lines inside of a text, which are no indentation
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and getattr(node, "end_lineno", 0) > getattr(node, "lineno", 0):
                kept |= set(range(node.lineno + 1, node.end_lineno + 1))
        edits = []
        for line in range(first, last + 1):
            if line not in kept and self.lines[line - 1].strip():
                column = len(self.indent_of(line - 1).encode())
                edits.append((line - 1, column, line - 1, column, step))
        return edits

    def changed(self, edits):
        """The bytes with all of the edits, equal ones made once, and their tree."""
        edits = list(dict.fromkeys(edits))
        places = sorted(edit[:4] for edit in edits)
        if any(a[2:] > b[:2] for a, b in zip(places, places[1:])):
            raise Unplaced("two changes of the same code")
        lines = list(self.lines)
        # From the end; of two at one place the one that was asked for first comes to stand first.
        for _, (line, column, end_line, end_column, text) in sorted(
                enumerate(edits), key=lambda numbered: (*numbered[1][:2], numbered[0]), reverse=True):
            lines[line:end_line + 1] = [lines[line][:column] + text.encode() + lines[end_line][end_column:]]
        data = b"\n".join(lines)
        tree = self.parsed(data, "the change does not parse")
        if ast.dump(tree) == ast.dump(self.tree):
            raise Unplaced("the line says so already")
        return data, tree


def edit_of(path, lines, edit):
    """As core/edit.h has it: {"path", "line", "column", "old", "new"}, from 1."""
    line, column, end_line, end_column, text = edit
    old = b"\n".join([*lines[line:end_line], lines[end_line][:end_column]])[column:]
    return {"path": path, "line": line + 1, "column": column + 1, "old": old.decode(), "new": text}


def change_between(old, new):
    """The one edit that makes the one text of the other, in whole lines."""
    old, new = (text.split(b"\n") for text in (old, new))
    first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), 0)
    last = next((i for i, (a, b) in enumerate(zip(old[first:][::-1], new[first:][::-1])) if a != b), 0)
    end = len(old) - 1 - last
    return first, 0, end, len(old[end]), b"\n".join(new[first:len(new) - last]).decode()


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

    def __init__(self, path, data, ran):
        self.data, self.ran = decoded(path, data), self.lines_of(ran)
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
