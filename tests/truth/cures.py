"""Lets `dtypecheck cure` look for what cures each program, applies that, and runs the program: is it cured?

    tests/truth/cures.py                       the programs beside this file, which say what to expect
    tests/truth/cures.py --table DIR|FILE ...  any programs, as a table

A program is a file, or a folder with a main.py. It dies of a dtype. It is traced, `dtypecheck cure` tries what is proposed
for its findings, what it proves is applied with `--apply`, and the program is run.
Its comments say what the cure is:

    # EXPECT-CURE self.a(x).to(torch.bfloat16)    a line that the patch adds has this
    # EXPECT-NOT cast_training_params             … and none has this
    # EXPECT-BY-HAND                              nothing is proven: it tells what no line holds
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fork_server import python  # noqa: E402

LIMIT_S = 180


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)


def crash_place(stderr, names):
    """The innermost line of the program's own in its traceback; 0 where it did not raise."""
    places = [(pathlib.Path(file).name, int(line))
              for file, line in re.findall(r'File "([^"]*)", line (\d+)', stderr)
              if pathlib.Path(file).name in names and "site-packages" not in file]
    return places[-1] if places else ("", 0)


def judged(program, options):
    """What is proven for a program, and what becomes of it with that."""
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
        here = [f for f in findings if f["outcome"] == "threw" and place ==
                (pathlib.Path(f["location"]["file"] or "").name, f["location"]["line"])]
        finding = (here or findings or [None])[0]
        result = {"line": place[1], "is_there": bool(here), "text": "", "patch": "", "verdict": "no cure", "cured": "no"}
        if finding is None:
            return result
        tried = run([options.dtypecheck, "cure", "run", "--json"], folder)
        found = json.loads(tried.stdout)
        result["text"] = finding["fix"]
        told = [f'{"; ".join(c["text"] for c in t["changes"])}: {t["verdict"]}: {t["reason"]}' for t in found["tries"]]
        if found["verdict"] == "none":
            result.update(cured="by hand", verdict=" | ".join(told))
            return result
        result.update(patch=found["patch"], verdict=found["verdict"])
        applied = run([options.dtypecheck, "cure", "run", "--apply"], folder)
        again = run([options.python, name], folder)
        result["cured"] = "yes" if applied.returncode == 0 and again.returncode == 0 else "no"
        result["error"] = (applied.stderr + again.stderr).strip().split("\n")[-1]
        return result


def missed(program, result):
    """What the program expects and did not get."""
    text = program.read_text()
    added = [line[1:] for line in result["patch"].splitlines() if line.startswith("+") and not line.startswith("+++")]
    for part in re.findall(r"# EXPECT-NOT (.*)", text):
        if any(part.strip() in line for line in added):
            return f'did not expect "{part.strip()}"'
    for part in re.findall(r"# EXPECT-CURE (.*)", text):
        if not any(part.strip() in line for line in added):
            return f'expected "{part.strip()}", got {added or result["verdict"]}'
    wanted = "by hand" if "# EXPECT-BY-HAND" in text else "yes"
    return "" if result["cured"] == wanted else "the cure does not cure: " + result.get("error", result["verdict"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", type=pathlib.Path, default=[HERE / "programs"])
    parser.add_argument("--dtypecheck", default=str(HERE.parents[1] / "build/bin/dtypecheck"))
    parser.add_argument("--python", default=python())
    parser.add_argument("--table", action="store_true", help="print a table, expect nothing")
    options = parser.parse_args()
    options.dtypecheck = os.path.abspath(options.dtypecheck)
    programs = [p for given in options.programs
                for p in ([given] if not given.is_dir() or (given / "main.py").exists() else
                          sorted(given.glob("*.py")))]
    failures = 0
    if options.table:
        print("| program | dies at | finding there | cure | verdict | cured |")
        print("|---|---:|---|---|---|---|")
    for program in programs:
        result = judged(program, options)
        if options.table:
            cells = (program.stem, result["line"] or "", "yes" if result["is_there"] else "no", result["text"],
                     result["verdict"], result["cured"])
            print("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |", flush=True)
            continue
        problem = missed(program, result)
        failures += bool(problem)
        print(f'{program.name}: {problem or "ok"}: {result["text"]}', flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
