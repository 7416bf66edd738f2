"""Applies each printed cure to its program and runs that: does the cure cure?

    tests/truth/cures.py                       the programs beside this file, which say what to expect
    tests/truth/cures.py --table DIR|FILE ...  any programs, as a table
    tests/truth/cures.py --prove --table …     the same, and what `dtypecheck cure` proves of each

A program is a file, or a folder with a main.py.

A program dies of a dtype. It is traced, the best cure of the finding at the line of the crash (or of
the first finding) is applied to a copy of it, as its `code` and `replaces` say, and the copy is run.
A program's comments say what the cure is:

    # EXPECT-CURE FILE.py:7: self.a(x).to(torch.bfloat16)    the cure's text has this
    # EXPECT-NOT cast_training_params                         … and not this
    # EXPECT-BY-HAND                                          it tells what no line holds
"""

import argparse
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 180


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)


def crash_place(stderr, names):
    """The innermost line of the program's own in its traceback; 0 where it did not raise."""
    places = [(pathlib.Path(file).name, int(line))
              for file, line in re.findall(r'File "([^"]*)", line (\d+)', stderr)
              if pathlib.Path(file).name in names and "site-packages" not in file]
    return places[-1] if places else ("", 0)


def statement_at(source, line):
    """The first and last line of the innermost statement that covers the line."""
    found = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            is_block = hasattr(node, "body")
            if not is_block and (found is None or node.lineno >= found[0]):
                found = (node.lineno, node.end_lineno)
    return found


def applied(source, cure):
    """The program with the cure; None where it has to be done by hand."""
    lines = source.split("\n")
    code, old, at = cure["code"], cure["replaces"], (cure["line"] or 0) - 1
    if code is None or not 0 <= at < len(lines):
        return None
    if old is not None:
        if lines[at].count(old) != 1:
            return None
        lines[at] = lines[at].replace(old, code)
        return "\n".join(lines)
    if re.match(r"[\w, ]+ = ", code):
        return below(lines, statement_head(source, at + 1), code)
    if cure["kind"] == "setting":
        first, last = statement_at(source, at + 1)
        statement = "\n".join(lines[first - 1:last])
        keyword = re.compile(r"\b%s=[^,)\n]+" % re.escape(code.split("=")[0]))
        if len(keyword.findall(statement)) != 1:
            return None
        return "\n".join(lines[:first - 1] + [keyword.sub(code, statement)] + lines[last:])
    if cure["kind"] == "move autocast":
        return moved(source, cure)
    if code.startswith("with ") and code.endswith(":"):
        span = statement_at(source, at + 1)
        if span is None:
            return None
        indent = re.match(r"\s*", lines[span[0] - 1]).group()
        if lines[span[0] - 1].lstrip().startswith("def "):
            return None
        for i in range(span[0] - 1, span[1]):
            lines[i] = "    " + lines[i]
        lines.insert(span[0] - 1, indent + code)
        return "\n".join(lines)
    return None


def statement_head(source, line):
    """The statement that begins at the line."""
    return next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt) and n.lineno == line)


def below(lines, statement, code):
    """The code as a line of its own behind the statement, or first in its block."""
    is_block = hasattr(statement, "body")
    at = statement.body[0].lineno - 1 if is_block else statement.end_lineno
    indent = re.match(r"\s*", lines[at if is_block else statement.lineno - 1]).group()
    return "\n".join(lines[:at] + [indent + code] + lines[at:])


def moved(source, cure):
    """The block above that begins with the cure's code has the lines up to the cure's, too."""
    lines = source.split("\n")
    above = [i for i, line in enumerate(lines[:cure["line"] - 1]) if line.strip() == cure["code"]]
    if not above:
        return None
    depth = len(re.match(r"\s*", lines[above[-1]]).group())
    is_behind = False
    for i in range(above[-1] + 1, statement_at(source, cure["line"])[1]):
        is_behind |= bool(lines[i].strip()) and len(re.match(r"\s*", lines[i]).group()) <= depth
        lines[i] = ("    " if is_behind else "") + lines[i]
    return "\n".join(lines)


def judged(program, options):
    """What is printed for a program, and what becomes of it."""
    with tempfile.TemporaryDirectory() as folder:
        name = "main.py" if program.is_dir() else program.name
        if program.is_dir():
            shutil.copytree(program, folder, dirs_exist_ok=True)
        else:
            shutil.copy(program, folder)
        names = {path.name for path in pathlib.Path(folder).rglob("*.py")}
        traced = run([options.dtypecheck, "trace", "--out", "run", "--format", "json", "-o",
                      "report.json", "--", options.python, name], folder)
        report = pathlib.Path(folder, "report.json")
        written = report.read_text() if report.exists() else ""  # nothing: it never called torch
        findings = json.loads(written)["findings"] if written else []
        place = crash_place(traced.stderr, names)
        line = place[1]
        here = [f for f in findings if f["outcome"] == "threw" and place ==
                (pathlib.Path(f["location"]["file"] or "").name, f["location"]["line"])]
        finding = (here or findings or [None])[0]
        result = {"program": name, "line": line, "died": traced.returncode != 0,
                  "finding": finding, "is_there": bool(here), "text": "", "verdict": "",
                  "cured": "no cure", "proven": ""}
        if finding is None:
            return result
        result["text"] = finding["fix"]
        if options.prove:
            result["proven"] = proven(folder, finding, options)
        cures = [cure for cure in finding["cures"] if cure["verdict"] != "fails"]
        if not cures:
            return result
        cure = cures[0]
        result["verdict"] = cure["verdict"]
        changed = pathlib.Path(folder, cure["file"] or name)
        new = applied(changed.read_text(), cure)
        if new is None:
            result["cured"] = "by hand"
            return result
        changed.write_text(new)
        again = run([options.python, name], folder)
        result["cured"] = "yes" if again.returncode == 0 else "no"
        result["error"] = again.stderr.strip().split("\n")[-1]
        return result


def proven(folder, finding, options):
    """What `dtypecheck cure` proves: "the first", "cure 2" of those told, or why nothing."""
    tried = run([options.dtypecheck, "cure", "run", "--json"], folder)
    try:
        causes = json.loads(tried.stdout)["causes"]
    except ValueError:
        return tried.stderr.strip().split("\n")[-1]
    own = [c for c in causes if c["finding"] == finding["id"]] or causes
    cures = own[0]["cures"] if own else []
    for cure in cures:
        if cure["verdict"] in ("proven", "cures this"):
            which = "the first" if cure["number"] == cures[0]["number"] else f'the {cure["text"]}'
            return which if cure["verdict"] == "proven" else which + ", and " + cure["reason"]
    told = [f'{cure["verdict"]}: {cure["reason"]}' for cure in cures if cure["verdict"] != "not tried"]
    return "no: " + (told or [cure["reason"] for cure in cures] or ["no cure"])[0]


def missed(program, result):
    """What the program expects and did not get."""
    text = program.read_text()
    wanted = re.findall(r"# EXPECT-CURE (.*)", text)
    for part in re.findall(r"# EXPECT-NOT (.*)", text):
        if part.strip() in result["text"]:
            return f'did not expect "{part.strip()}"'
    by_hand = "# EXPECT-BY-HAND" in text
    for part in wanted:
        if part.strip() not in result["text"]:
            return f'expected "{part.strip()}"'
    return "" if result["cured"] == ("by hand" if by_hand else "yes") else "the cure does not cure: " + result.get("error", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", type=pathlib.Path, default=[HERE / "programs"])
    parser.add_argument("--dtypecheck", default=str(HERE.parents[1] / "build/bin/dtypecheck"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--table", action="store_true", help="print a table, expect nothing")
    parser.add_argument("--prove", action="store_true", help="run `dtypecheck cure` as well")
    options = parser.parse_args()
    options.dtypecheck = os.path.abspath(options.dtypecheck)
    programs = [p for given in options.programs
                for p in ([given] if not given.is_dir() or (given / "main.py").exists() else
                          sorted(given.glob("*.py")))]
    failures = 0
    if options.table:
        print("| program | dies at | finding there | cure | verdict | cured | proven |")
        print("|---|---:|---|---|---|---|---|")
    for program in programs:
        result = judged(program, options)
        if options.table:
            print("| {} | {} | {} | {} | {} | {} | {} |".format(
                program.stem, result["line"] or "", "yes" if result["is_there"] else "no",
                result["text"].replace("|", "\\|").replace("\n", " "), result["verdict"],
                result["cured"], result["proven"].replace("|", "\\|")), flush=True)
            continue
        problem = missed(program, result)
        failures += bool(problem)
        print(f'{program.name}: {problem or "ok"}: {result["text"]}', flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
