"""Applies each printed cure to its program and runs that: does the cure cure?

    tests/truth/cures.py                       the programs beside this file, which say what to expect
    tests/truth/cures.py --table DIR|FILE ...  any programs, as a table

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


def crash_line(stderr, name):
    """The innermost line of the program in its traceback; 0 where it did not raise."""
    lines = re.findall(r'File "[^"]*%s", line (\d+)' % re.escape(name), stderr)
    return int(lines[-1]) if lines else 0


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


def judged(program, options):
    """What is printed for a program, and what becomes of it."""
    with tempfile.TemporaryDirectory() as folder:
        name = program.name
        shutil.copy(program, folder)
        traced = run([options.dtypecheck, "trace", "--out", "run", "--format", "json", "-o",
                      "report.json", "--", options.python, name], folder)
        report = pathlib.Path(folder, "report.json")
        written = report.read_text() if report.exists() else ""  # nothing: it never called torch
        findings = json.loads(written)["findings"] if written else []
        line = crash_line(traced.stderr, name)
        here = [f for f in findings if f["location"]["line"] == line and f["outcome"] == "threw"]
        finding = (here or findings or [None])[0]
        result = {"program": name, "line": line, "died": traced.returncode != 0,
                  "finding": finding, "is_there": bool(here), "text": "", "verdict": "",
                  "cured": "no cure"}
        if finding is None:
            return result
        result["text"] = finding["fix"]
        cures = [cure for cure in finding["cures"] if cure["verdict"] != "fails"]
        if not cures:
            return result
        cure = cures[0]
        result["verdict"] = cure["verdict"]
        source = program.read_text()
        new = applied(source, cure)
        if new is None:
            result["cured"] = "by hand"
            return result
        pathlib.Path(folder, name).write_text(new)
        again = run([options.python, name], folder)
        result["cured"] = "yes" if again.returncode == 0 else "no"
        result["error"] = again.stderr.strip().split("\n")[-1]
        return result


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
    options = parser.parse_args()
    options.dtypecheck = os.path.abspath(options.dtypecheck)
    programs = [p for given in options.programs
                for p in (sorted(given.glob("*.py")) if given.is_dir() else [given])]
    failures = 0
    if options.table:
        print("| program | dies at | finding there | cure | verdict | cured |")
        print("|---|---:|---|---|---|---|")
    for program in programs:
        result = judged(program, options)
        if options.table:
            print("| {} | {} | {} | {} | {} | {} |".format(
                program.stem, result["line"] or "", "yes" if result["is_there"] else "no",
                result["text"].replace("|", "\\|").replace("\n", " "), result["verdict"],
                result["cured"]), flush=True)
            continue
        problem = missed(program, result)
        failures += bool(problem)
        print(f'{program.name}: {problem or "ok"}: {result["text"]}', flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
