#!/usr/bin/env python3
"""Runs failures under `dtypecheck trace` and holds the JSON report of each against its script's EXPECT comments.

    run_failure.py --dtypecheck BIN --expect SCRIPT -- PROGRAM ARGS…
    run_failure.py --dtypecheck BIN --forked SCRIPT… -- ARGS…     all in one run (forked.py), each in a process of its own

Every EXPECT must be met by one finding, and every finding of warning or above must be expected.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from expectations import Expectation, Script, read_script


def mismatches(finding: dict, want: Expectation) -> list[str]:
    """What keeps the finding from being the expected one; the rule is known to agree."""
    location, problems = finding["location"], []

    def compare(name: str, got, wanted) -> None:
        if wanted is not None and got != wanted:
            problems.append(f"{name} is {got}, expected {wanted}")

    compare("severity", finding["severity"], want.severity)
    compare("op", finding["op"], want.op)
    compare("file", Path(location["file"] or "").name, want.file)
    compare("line", location["line"], want.line)
    compare("odd operand", next((o["name"] for o in finding["operands"] if o["odd"]), None), want.odd)
    dtypes = {operand["name"]: operand["dtype"] for operand in finding["operands"]}
    for name, dtype in want.operands.items():
        compare(f"operand {name}", dtypes.get(name), dtype)
    origins = {operand["name"]: operand["origin"] for operand in finding["operands"]}
    for name, line in want.origins.items():
        nearest = (origins.get(name) or [{"line": None}])[0]
        compare(f"origin of {name}", nearest["line"], line)
    if want.module and want.module not in (location["module"] or ""):
        problems.append(f"module is {location['module']}, expected one with {want.module}")
    if want.error and want.error not in (finding["error"] or ""):
        problems.append(f"error is {finding['error']!r}, expected {want.error!r}")
    for text in want.fix or [""]:
        if not finding["fix"] or text.lower() not in finding["fix"].lower():
            problems.append(f"cure is {finding['fix']!r}, expected one with {text!r}")
    return problems


def pair_up(findings: list[dict], expectations: list[Expectation]) -> list[str]:
    problems, left = [], list(findings)
    for want in expectations:
        same_rule = [f for f in left if f["rule"] == want.rule]
        if not same_rule:
            problems.append(f"missing: {want}")
            continue
        best = min(same_rule, key=lambda finding: len(mismatches(finding, want)))
        left.remove(best)
        problems += [f"{want.rule}: {problem}" for problem in mismatches(best, want)]
    for finding in left:
        if finding["severity"] != "note":
            place = f"{finding['location']['file']}:{finding['location']['line']}"
            problems.append(f"unexpected {finding['severity']} at {place}: {finding['message']} [{finding['rule']}]")
    return problems


def problems_of(script: Script, status: int, report: dict | None) -> list[str]:
    if report is None:
        return [f"there is no report; the program ended with {status}"]
    problems = pair_up(report["findings"], script.expectations)
    if status != script.exit_status:
        problems.append(f"exit status is {status}, expected {script.exit_status}")
    if not report["complete"]:
        problems.append("the report says that it is partial")
    if not report["summary"]["op_calls"]:
        problems.append("no op call was recorded")
    return problems


def tell(script: Script, status: int, report: dict | None) -> bool:
    """Prints what is wrong, with all that was found; whether that is nothing."""
    problems = problems_of(script, status, report)
    for problem in problems:
        print(f"{script.path.name}: {problem}")
    if problems and report:
        json.dump(report["findings"], sys.stdout, indent=1)
        print()
    return not problems


def trace_one(dtypecheck: Path, folder: Path, script: Path, program: list[str]) -> bool:
    report = folder / "report.json"
    command = [dtypecheck, "trace", "--out", folder / "run", "--format", "json", "-o", report, "--", *program]
    status = subprocess.run(command, check=False).returncode
    return tell(read_script(script), status, json.loads(report.read_text()) if report.exists() else None)


def report_of(dtypecheck: Path, run: Path, process: str) -> dict | None:
    (trace,) = run.glob(f"*.{process}.dtrace")
    done = subprocess.run([dtypecheck, "report", "--format", "json", trace], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout) if done.stdout else None


def trace_forked(dtypecheck: Path, folder: Path, scripts: list[Path], arguments: list[str]) -> bool:
    statuses = folder / "statuses"
    command = [dtypecheck, "trace", "--no-report", "--out", folder / "run", "--", sys.executable,
               Path(__file__).with_name("forked.py"), statuses, *scripts, "--", *arguments]
    subprocess.run(command, check=False)
    ended = [line.split(maxsplit=2) for line in statuses.read_text().splitlines()]
    if [Path(script) for _, _, script in ended] != scripts:
        print(f"expected the ends of {scripts}, found {ended}")
        return False
    return all([tell(read_script(Path(script)), int(status), report_of(dtypecheck, folder / "run", process))
                for process, status, script in ended])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", type=Path, required=True)
    parser.add_argument("--expect", type=Path, metavar="SCRIPT")
    parser.add_argument("--forked", type=Path, nargs="+", metavar="SCRIPT")
    parser.add_argument("program", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.forked:
            is_right = trace_forked(args.dtypecheck, Path(folder), args.forked, args.program)
        else:
            is_right = trace_one(args.dtypecheck, Path(folder), args.expect, args.program)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
