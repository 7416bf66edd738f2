"""Reads what a script of this folder wants found, from its own comments (# in Python, // in C++).

    # EXPECT key=value …        one finding of warning or above, or a note that must be there
        rule, severity, op, odd: as in the JSON report     module: the end of the module path, or a part of it
        line=NAME: the line that ends in "# <- NAME", of this file or of file=FILE
    # EXPECT-OPERANDS name=DTYPE …     operands of the finding above that must be among the reported ones
    # EXPECT-FROM name=NAME …          … that took their dtype at the line that ends in "# <- NAME"
    # EXPECT-ERROR text                its error message contains this
    # EXPECT-FIX text                  its cure contains this, whatever the case
    # EXIT N                           the program's status; 0 when not said
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import marked_line  # noqa: E402

KEYS = {"rule", "severity", "op", "odd", "line", "file", "module"}


@dataclass
class Expectation:
    rule: str
    severity: str | None = None
    op: str | None = None
    odd: str | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None
    error: str | None = None
    fix: list[str] = field(default_factory=list)
    operands: dict[str, str] = field(default_factory=dict)
    origins: dict[str, int] = field(default_factory=dict)


@dataclass
class Script:
    path: Path
    expectations: list[Expectation]
    exit_status: int


def words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


def read_expectation(script: Path, text: str) -> Expectation:
    values = words(text)
    if unknown := values.keys() - KEYS:
        raise ValueError(f"{script.name}: EXPECT has no key {', '.join(sorted(unknown))}")
    if "line" in values:
        values.setdefault("file", script.name)
        values["line"] = marked_line(script.with_name(values["file"]), values["line"])
    return Expectation(**values)


def read_script(path: Path) -> Script:
    script = Script(path, [], 0)
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"(?:#|//) (EXPECT|EXPECT-OPERANDS|EXPECT-FROM|EXPECT-ERROR|EXPECT-FIX|EXIT) (.*)", line)
        if not match:
            continue
        kind, text = match.groups()
        if kind == "EXPECT":
            script.expectations.append(read_expectation(path, text))
        elif kind == "EXPECT-OPERANDS":
            script.expectations[-1].operands = words(text)
        elif kind == "EXPECT-FROM":
            origins = {name: marked_line(path, mark) for name, mark in words(text).items()}
            script.expectations[-1].origins = origins
        elif kind == "EXPECT-ERROR":
            script.expectations[-1].error = text
        elif kind == "EXPECT-FIX":
            script.expectations[-1].fix.append(text)
        else:
            script.exit_status = int(text)
    return script
