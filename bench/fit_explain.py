"""Fits what the signs of explain/data/signals.txt weigh, from labelled reports, and writes it there.

    fit_explain.py REPORTS… [--write] [--ablate]

The score of a fault is the sum of what its sentence, its kernel and its signs weigh, and the answer is the fault of the largest
one: a multinomial logistic model, whose features are the signs that `explain --json` names with how loudly each spoke. What a sign
weighs is fitted by the least log loss, with a ridge. REPORTS are JSON lines as bench/explain.py takes them; one that its thread did
not settle counts half.

Printed: how often the first answer is right for reports of repositories (with `year` in the reports: of years) that were left out.
There the ridge pulls towards what signs beside the same messages weigh on average, which no report that is left out has shaped,
and its strength is chosen so. --ablate leaves out each family of signs in turn. --write pulls towards the table, which holds what
earlier reports and the cases in tests/explain said: give it reports that it has not had. It adds to each sign the number of reports
in which it spoke.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy

TABLE = pathlib.Path(__file__).resolve().parent.parent / "explain" / "data" / "signals.txt"
DTYPECHECK = os.environ.get("DTYPECHECK", "dtypecheck")
HEAD = re.compile(r"^signal (\S+) (\S+) beside (.+)$")
FOLDS = 8
UNSETTLED = 0.5  # of a report whose cause a reader inferred
RIDGES = [0.8, 1.6, 3.2]
STEPS = 300


def text_of(report):
    return "\n\n".join(filter(None, (report["error"], report.get("context"))))


def heads():
    """Line in the table -> (category, weight, families)."""
    found = {}
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if match := HEAD.match(line):
            found[number] = match[1], float(match[2]), match[3]
    return found


def answers(reports):
    def ask(report):
        done = subprocess.run([DTYPECHECK, "explain", "--json", "-"], input=text_of(report), text=True,
                              env={**os.environ, "DTYPECHECK_EXPLAIN_TABLES": str(TABLE.parent)}, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(ask, reports))


class Data:
    """Of the reports that get an answer: how loudly each sign spoke for its fault, and what else each fault scored."""

    def __init__(self, reports):
        self.signs = heads()
        self.lines = sorted(self.signs)
        given = answers(reports)
        self.reports = [report for report, one in zip(reports, given) if one.get("scores") or one["category"]]
        self.unanswered = len(reports) - len(self.reports)
        given = [one for one in given if one.get("scores") or one["category"]]
        self.categories = sorted({name for one in given for name in one.get("scores", {})} | {r["category"] for r in self.reports})
        count = len(self.reports), len(self.categories), len(self.lines)
        self.features = numpy.zeros(count)
        self.offset = numpy.zeros(count[:2])
        for row, one in enumerate(given):
            for name, score in one.get("scores", {}).items():
                self.offset[row, self.categories.index(name)] += score
            for sign in one["signs"]:
                category = self.categories.index(sign["category"])
                self.offset[row, category] -= sign["weight"]
                column = self.lines.index(sign["signals_line"])
                self.features[row, category, column] += sign["weight"] / self.signs[sign["signals_line"]][1]
        self.truth = numpy.array([self.categories.index(r["category"]) for r in self.reports])
        self.worth = numpy.array([1 if r["scored"] else UNSETTLED for r in self.reports])
        self.typed = numpy.array([self.signs[line][1] for line in self.lines])
        self.spoke = (self.features.sum(axis=1) > 0).sum(axis=0)

    def first(self, weights, rows=slice(None)):
        return (self.offset[rows] + self.features[rows] @ weights).argmax(axis=1) == self.truth[rows]


def fitted(data, rows, ridge, centre):
    """Projected gradient descent with momentum: weights are not negative, a sign speaks for its fault alone."""
    features, offset = data.features[rows], data.offset[rows]
    truth = numpy.eye(len(data.categories))[data.truth[rows]]
    worth = data.worth[rows][:, None]
    weights, before = centre.copy(), centre.copy()
    rate = 1 / (ridge + 0.5 * max(1, numpy.linalg.norm(features.reshape(-1, features.shape[2]), 2) ** 2))
    for step in range(STEPS):
        ahead = weights + step / (step + 3) * (weights - before)
        scores = offset + features @ ahead
        shares = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        slope = numpy.einsum("rc,rcs->s", worth * (shares - truth), features) + ridge * (ahead - centre)
        before, weights = weights, numpy.maximum(ahead - rate * slope, 0)
    return weights


def averages(data):
    """What signs beside the same families weigh on average; one that spoke in no report keeps its weight."""
    families = numpy.array([data.signs[line][2] for line in data.lines])
    spoke = data.spoke > 0
    return numpy.array([data.typed[spoke & (families == one)].mean() if has_spoken else weight
                        for one, has_spoken, weight in zip(families, spoke, data.typed)])


def folds_by(data, key):
    values = [str(key(report)) for report in data.reports]
    if len(set(values)) <= FOLDS:
        numbers = [sorted(set(values)).index(value) for value in values]
    else:
        numbers = [hashlib.sha256(value.encode()).digest()[0] % FOLDS for value in values]
    return numpy.array(numbers)


def held_out(data, folds, ridge, centre):
    """Whether the first answer is right, of each report by weights that have not seen its fold."""
    right = numpy.zeros(len(data.reports), bool)
    for number in set(folds):
        weights = fitted(data, folds != number, ridge, centre)
        right[folds == number] = data.first(weights, folds == number)
    return right


def share(data, right):
    settled = numpy.array([r["scored"] for r in data.reports])
    return f"{100 * right[settled].mean():.1f} % of {settled.sum()}"


def write(data, weights):
    lines = TABLE.read_text().splitlines()
    for line, weight, count in zip(data.lines, weights, data.spoke):
        category, _, families = data.signs[line]
        lines[line - 1] = f"signal {category} {max(weight, 0.1):.1f} beside {families}"
        if lines[line].startswith("  reports "):
            lines[line] = f"  reports {int(lines[line].split()[1]) + count}"
        else:
            lines[line - 1] += f"\n  reports {count}"
    TABLE.write_text("\n".join(lines) + "\n")


def repository(report):
    return report.get("source", report["id"]).split("#")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--ablate", action="store_true")
    arguments = parser.parse_args()
    reports = [json.loads(line) for path in arguments.reports for line in open(path, encoding="utf-8") if line.strip()]
    data = Data(reports)
    centre = averages(data)
    print(f"{len(data.reports)} reports with an answer, {data.unanswered} without, {len(data.lines)} signs, "
          f"{(data.spoke == 0).sum()} in no report")
    print("the table as it is:", share(data, data.first(data.typed)))
    print("all signs alike:", share(data, data.first(centre)))
    folds = folds_by(data, repository)
    by_ridge = {ridge: held_out(data, folds, ridge, centre) for ridge in RIDGES}
    for ridge, right in by_ridge.items():
        print(f"fitted, ridge {ridge}: held out by repository {share(data, right)}, "
              f"on all {share(data, data.first(fitted(data, slice(None), ridge, centre)))}")
    ridge = max(RIDGES, key=lambda one: by_ridge[one].mean())
    if all("year" in report for report in data.reports):
        print("held out by year:", share(data, held_out(data, folds_by(data, lambda report: report["year"]), ridge, centre)))
    if arguments.ablate:
        for family in sorted({name for _, _, families in data.signs.values() for name in families.split()}):
            is_out = numpy.array([family in data.signs[line][2].split() for line in data.lines])
            kept = data.features.copy()
            data.features[:, :, is_out] = 0
            print(f"without signs beside {family}: {share(data, held_out(data, folds, ridge, centre))}")
            data.features = kept
    if arguments.write:
        weights = fitted(data, slice(None), ridge, data.typed)
        print("the table then:", share(data, data.first(weights)))
        write(data, weights)
        print(f"written with ridge {ridge}")


if __name__ == "__main__":
    sys.exit(main())
