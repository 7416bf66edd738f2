"""Scores `dtypecheck explain` on reports with known causes: prints how often it is right, and holds it to what was stated.

$DTYPECHECK_ERROR_CORPUS names a file of JSON lines, which is not part of the repository: `error` (the message, or the fault
in words), `context` (what was being run), `category` (the cause, one of explain's) and `scored` (false: the cause was only
inferred by a reader). Without it the test is skipped.
"""

import json
import os
import subprocess
import sys
import unittest

DTYPECHECK = os.environ["DTYPECHECK"]
CORPUS = os.environ.get("DTYPECHECK_ERROR_CORPUS")


def read_corpus(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def ranking(report):
    """The categories that explain gives for a report, best first; empty when it says that there is no dtype error."""
    text = "\n\n".join(filter(None, (report["error"], report.get("context"))))
    done = subprocess.run([DTYPECHECK, "explain", "--json", "-"], input=text.encode(), stdout=subprocess.PIPE, timeout=900, check=True)
    answer = json.loads(done.stdout)
    return [answer["category"], *answer["also"]] if answer["category"] else []


class Score:
    def __init__(self, name, reports):
        self.name, self.reports = name, reports
        rankings = [ranking(report) for report in reports]
        labels = [report["category"] for report in reports]
        self.first = sum(ranked[:1] == [label] for ranked, label in zip(rankings, labels))
        self.of_three = sum(label in ranked[:3] for ranked, label in zip(rankings, labels))
        self.answered = sum(bool(ranked) for ranked in rankings)

    def __str__(self):
        def share(part, whole):
            return f"{part} of {whole} ({100 * part / max(whole, 1):.1f} %)"

        count = len(self.reports)
        return (f"{self.name}: first answer right {share(self.first, count)}, among the first three {share(self.of_three, count)}, "
                f"right when it answers {share(self.first, self.answered)}")


@unittest.skipUnless(CORPUS, "needs a corpus of reports: set DTYPECHECK_ERROR_CORPUS to its file")
class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reports = read_corpus(CORPUS)
        cls.settled = Score("cause settled by the report", [report for report in reports if report["scored"]])
        cls.inferred = Score("cause inferred by a reader", [report for report in reports if not report["scored"]])
        print(cls.settled, cls.inferred, sep="\n", file=sys.stderr)

    def test_settled(self):
        """What `explain` sets out to reach on reports that it was not made from as well."""
        count = len(self.settled.reports)
        self.assertGreater(count, 0, "no report to score")
        self.assertGreaterEqual(self.settled.first / count, 0.80)
        self.assertGreaterEqual(self.settled.of_three / count, 0.95)
        self.assertGreaterEqual(self.settled.first / self.settled.answered, 0.90)


if __name__ == "__main__":
    unittest.main()
