"""How far the figures of `dtypecheck lint` on a list of real faults hang on what is in the list.

    lint_folds.py SCORES [SCORES_BEFORE]

SCORES are JSON lines, one for each case: id, kind ("bug" or "clean"), repo, and of a bug rule, hit (a finding of its rule lies
at its place), level (of the loudest such finding) and noise (it is still told after the fix), of a clean file alarms. The list is
split in five by repository, so that no fold shares code with another. Lint has no parameter that is fitted; what was
learned from a list are its checks, so a fold's figures differ from the others' where a check was made for a case in it. Printed are
each fold by itself and all together; with SCORES_BEFORE also what each fold won and lost since.
"""

import argparse
import collections
import json
import pathlib

FOLDS = 5


def folds_of(cases):
    """The fold of each repository: the largest first, each into the fold that has least so far."""
    sizes = collections.Counter(case["repo"] for case in cases if case["kind"] == "bug")
    repos = sorted({case["repo"] for case in cases}, key=lambda repo: (-sizes[repo], repo))
    filled, folds = [0] * FOLDS, {}
    for repo in repos:
        folds[repo] = filled.index(min(filled))
        filled[folds[repo]] += max(sizes[repo], 1)
    return folds


def read(path):
    cases = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.strip()]
    return {case["id"]: case for case in cases}


def share(part, whole):
    return f"{part:3} of {whole:3} {100 * part / whole:6.1f} %" if whole else "          -     "


def line(name, cases):
    bugs = [case for case in cases if case["kind"] == "bug"]
    hits = [bug for bug in bugs if bug["hit"]]
    quiet = [bug for bug in hits if not bug.get("noise")]
    clean = [case for case in cases if case["kind"] == "clean" and "alarms" in case]
    alarms = sum(case["alarms"] for case in clean)
    return (f"{name:8} {share(len(hits), len(bugs))}   {share(len(quiet), len(hits))}   "
            f"{alarms:3} in {len(clean):2} clean files")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores")
    parser.add_argument("before", nargs="?")
    arguments = parser.parse_args()
    cases = read(arguments.scores)
    before = read(arguments.before) if arguments.before else {}
    print(f"{'fold':8} {'found':20}   {'quiet after the fix':20}   alarms")
    folds = folds_of(cases.values())
    for fold in range(FOLDS):
        inside = [case for case in cases.values() if folds[case["repo"]] == fold]
        print(line(str(fold + 1), inside))
        changed = [case for case in inside if case["id"] in before and case["kind"] == "bug"]
        for word, now in (("won", True), ("lost", False)):
            ids = [case["id"] for case in changed if case["hit"] == now != before[case["id"]]["hit"]]
            if ids:
                print(f"         {word}: {', '.join(ids)}")
    print(line("all", cases.values()))


if __name__ == "__main__":
    main()
