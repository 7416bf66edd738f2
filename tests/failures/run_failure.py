#!/usr/bin/env python3
"""Runs one failure under `dtypecheck trace` and holds the JSON report against the script's EXPECT comments.

    run_failure.py --dtypecheck BIN --expect SCRIPT -- PROGRAM ARGS…

Every EXPECT must be met by one finding, and every finding of warning or above must be expected.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from expectations import Expectation, read_script


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


def trace(dtypecheck: Path, folder: Path, program: list[str]) -> tuple[int, dict | None]:
    report = folder / "report.json"
    command = [dtypecheck, "trace", "--out", folder / "run", "--format", "json", "-o", report, "--", *program]
    status = subprocess.run(command, check=False).returncode
    return status, json.loads(report.read_text()) if report.exists() else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", type=Path, required=True)
    parser.add_argument("--expect", type=Path, required=True, metavar="SCRIPT")
    parser.add_argument("program", nargs="+")
    args = parser.parse_args()
    script = read_script(args.expect)
    with tempfile.TemporaryDirectory() as folder:
        status, report = trace(args.dtypecheck, Path(folder), args.program)
    if report is None:
        print(f"{script.path.name}: there is no report; trace ended with {status}")
        return 1
    problems = pair_up(report["findings"], script.expectations)
    if status != script.exit_status:
        problems.append(f"exit status is {status}, expected {script.exit_status}")
    if not report["complete"]:
        problems.append("the report says that it is partial")
    if not report["summary"]["op_calls"]:
        problems.append("no op call was recorded")
    for problem in problems:
        print(f"{script.path.name}: {problem}")
    if problems:
        json.dump(report["findings"], sys.stdout, indent=1)
        print()
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
