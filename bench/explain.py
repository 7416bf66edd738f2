"""How often `dtypecheck explain` is right on reports that its tables were not made from, and how sure it may be.

    explain.py REPORTS [--fit]

REPORTS are JSON lines: error, context, category, scored (tests/cli/test_explain_corpus.py). They are split in five by a hash of
their ids. For each fifth the tables lose each word, and each spelling of a message, that stands in that fifth and in none of the
other four: what was learned from it alone. Sentences that LibTorch itself has (tests/explain/libtorch_sentences.txt, the contract
tables, the files of the torch that Python finds) and the names of its functions, layers and optimizers were not. The calibration (explain/signal_table.h) is fitted on the held-out answers of the other four, and the curve has the
answers of all five by how sure they were. --fit prints the calibration of all of them, for explain/data/signals.txt.
"""

import argparse
import ast
import collections
import concurrent.futures
import functools
import hashlib
import importlib.util
import json
import math
import mmap
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "rules/contracts/probe"))
import sentences  # noqa: E402

FOLDS = 5
TABLES = pathlib.Path(__file__).resolve().parent.parent / "explain" / "data"
DTYPECHECK = os.environ.get("DTYPECHECK", "dtypecheck")
TEMPERATURES = [0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 3]
LAYERS = ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "LayerNorm", "GroupNorm", "RMSNorm", "DataParallel", "DistributedDataParallel",
          "GradScaler", "Adafactor", "Adam", "AdamW", "Muon"]
# Of 64 answers as good as said, 80 % right, the share that is right lies within 5 points of it in two groups of three; groups of 30
# show more of the curve, and one of three is off by 7 points by chance.
LEAST_IN_BIN = [64, 30]
UNLISTED = [0.5 * step for step in range(7)]
TRUST = [(1, 0), *((trust / 10, usually / 10) for trust in (5, 6, 7, 8, 9) for usually in (3, 5, 6, 7, 8, 9))]


def text_of(report):
    return "\n\n".join(filter(None, (report["error"], report.get("context"))))


def fold_of(report):
    return hashlib.sha256(report["id"].encode()).digest()[0] % FOLDS


def answer(report, tables):
    done = subprocess.run([DTYPECHECK, "explain", "--json", "-"], input=text_of(report), text=True,
                          env={**os.environ, "DTYPECHECK_EXPLAIN_TABLES": str(tables)}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def answers(reports, tables):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda report: answer(report, tables), reports))


def normal(text):
    return re.sub(r"\s+", " ", re.sub(r"['\"`]", "", text).lower())


def stands_in(phrase, text):
    phrase = normal(phrase.strip())
    begin = "" if phrase.startswith("*") else r"(?<![a-z0-9])"
    end = "" if phrase.endswith("*") else r"(?![a-z0-9])"
    return re.search(begin + re.escape(phrase.strip("*")) + end, text) is not None


def without_learned(values, fold, others):
    """The parts between | without those that the fold alone has."""
    parts = [part.strip() for part in values.split("|")]
    return [part for part in parts
            if is_name_of_torch(part) or not any(stands_in(part, text) for text in fold) or any(stands_in(part, text) for text in others)]


def joined_lines(text):
    """Fields with what goes on in further lines put behind them."""
    lines = []
    for line in text.splitlines():
        if line.startswith("    ") and lines and not line.strip().startswith("#"):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def matches(sentence, text):
    pattern = r".{0,120}?".join(re.escape(normal(part)) for part in re.split(r"\{[a-z0-9 ]*\}", sentence))
    return re.search(pattern, text) is not None


@functools.cache
def of_libtorch():
    """Sentences that no report had to teach: LibTorch's own, with what is put in left out."""
    root = TABLES.parent.parent
    texts = [line.split(" | ")[0] for line in (root / "tests/explain/libtorch_sentences.txt").read_text().splitlines()]
    for line in (root / "rules/contracts/cpu.contracts").read_text().splitlines():
        if line.startswith("message "):
            texts.append(normal(re.sub(r"\{[A-Z][0-9A]\}", "", line.split(" ", 3)[3])))
    return texts


@functools.cache
def torch_files():
    """The texts and libraries of the torch that Python finds, which say what no table here has."""
    found = importlib.util.find_spec("torch")
    if not found:
        print("no torch here: sentences and names of its files count as learned", file=sys.stderr)
        return []
    root = pathlib.Path(found.origin).parent
    texts = (sentences.text_of(node) for folder in ("_refs", "amp", "autograd", "distributed", "nn", "optim", "utils")
             for path in sorted((root / folder).rglob("*.py")) for node in ast.walk(ast.parse(path.read_bytes())))
    sources = "\n".join(text for text in texts if text).encode()
    libraries = [open(root / "lib" / name, "rb") for name in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so")]
    return [sources, *(mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ) for library in libraries)]


@functools.cache
def torch_names():
    """Its functions, layers, optimizers and collectives, in lower case."""
    if not importlib.util.find_spec("torch"):
        return frozenset()
    import torch
    import torch.distributed
    rooms = [torch, torch.Tensor, torch.nn, torch.nn.functional, torch.optim, torch.distributed, torch.amp, torch.linalg]
    return frozenset(name.lower() for room in rooms for name in dir(room)
                     if not name.startswith("_") and ("_" in name or room in (torch.nn, torch.optim) or room is torch))


def is_name_of_torch(word):
    bare = word.lower().lstrip("*").removeprefix("torch.").removeprefix("nn.").removeprefix("distributed.")
    if word.startswith("torch.") or "_" in bare or bare.rstrip("*") in {name.lower() for name in LAYERS}:
        return any(name.startswith(bare[:-1]) if bare.endswith("*") else name == bare for name in torch_names())
    return False


@functools.cache
def is_of_libtorch(sentence):
    """Not of the reports: one of its sentences, whichever dtypes were put in."""
    sentence = re.sub(r"torch\.(cuda\.)?(\{\}|[A-Z]\w*)Tensor", "{}", sentence)
    longest = max((piece.strip() for piece in re.split(r"\{[a-z0-9 ]*\}", sentence)), key=len)
    return (any(normal(longest) in text for text in of_libtorch()) or
            len(longest) > 12 and any(file.find(longest.encode()) >= 0 for file in torch_files()))


def learned_tables(folder, fold, others):
    """Copies the tables without what only the fold can have taught."""
    shutil.copytree(TABLES, folder, dirs_exist_ok=True)
    lost = 0
    for name in ("signals.txt", "messages.txt"):
        lines, spellings = [], collections.Counter()
        blocks = joined_lines((TABLES / name).read_text())
        heads = [i for i, line in enumerate(blocks) if line and not line.startswith((" ", "#"))] + [len(blocks)]
        for begin, end in zip(heads, heads[1:]):
            kept = []
            for line in blocks[begin:end]:
                key, _, value = line.strip().partition(" ")
                if key == "words" and not blocks[begin].startswith("list"):
                    parts = without_learned(value, fold, others)
                    lost += value.count("|") + 1 - len(parts)
                    line = "  words " + " | ".join(parts or ["no such word"])
                if key == "says" and blocks[begin].startswith("message"):
                    is_learned = (any(matches(value, text) for text in fold) and
                                  not any(matches(value, text) for text in others) and
                                  not is_of_libtorch(value))
                    spellings[is_learned] += 1
                    if is_learned:
                        lost += 1
                        continue
                kept.append(line)
            if blocks[begin].startswith("message") and not any(line.strip().startswith("says ") for line in kept):
                kept.insert(1, "  says a sentence that nobody says")
            lines += kept
        (folder / name).write_text("\n".join(lines) + "\n")
    return lost


def is_of_words(given):
    return not given.get("message")


def confidence(scores, temperature, unlisted, trust, usually):
    best = max(scores)
    share = 1 / (sum(math.exp((score - best) / temperature) for score in scores) + math.exp((unlisted - best) / temperature))
    return trust * share + (1 - trust) * usually


def fitted(pairs):
    """The calibration of the least log loss of "the first answer is right"."""
    best = (math.inf, None)
    for temperature in TEMPERATURES:
        for unlisted in UNLISTED:
            shares = [(confidence(scores, temperature, unlisted, 1, 0), is_right) for scores, is_right in pairs]
            for trust, usually in TRUST:
                sures = [(min(max(trust * share + (1 - trust) * usually, 1e-3), 1 - 1e-3), is_right) for share, is_right in shares]
                loss = -sum(math.log(sure if is_right else 1 - sure) for sure, is_right in sures)
                best = min(best, (loss, (temperature, unlisted, trust, usually)))
    return best[1]


def fit_both(judged):
    kinds = {}
    for of_words in (False, True):
        pairs = [(scores, is_right) for scores, is_right, words in judged if words == of_words]
        kinds[of_words] = fitted(pairs) if pairs else (1, 0, 1, 0)
    return kinds


def judged_of(reports, given):
    """(scores, whether the first is right, whether it is of words) of each that was answered."""
    return [(list(one["scores"].values()), one["category"] == report["category"], is_of_words(one))
            for report, one in zip(reports, given) if one["category"] and one.get("scores")]


class Tally:
    def __init__(self):
        self.count = self.first = self.three = self.answered = 0

    def add(self, report, given):
        ranked = [given["category"], *given["also"]] if given["category"] else []
        self.count += 1
        self.answered += bool(ranked)
        self.first += ranked[:1] == [report["category"]]
        self.three += report["category"] in ranked[:3]

    def __str__(self):
        def share(part, whole):
            return f"{100 * part / max(whole, 1):.1f} %"
        return (f"{self.count} reports: first {share(self.first, self.count)}, in three {share(self.three, self.count)}, "
                f"right when it answers {share(self.first, self.answered)}")


def bins_of(points, least):
    """By how sure they are, as many in each: a tenth from 0.4 to 0.5 would have ten answers, whose share of right ones is anyone's
    guess within fifteen points."""
    points = sorted(points)
    count = max(1, len(points) // least)
    return [points[len(points) * i // count:len(points) * (i + 1) // count] for i in range(count)]


def curve(points, least):
    bins = bins_of(points, least)
    worst = gap = 0
    for part in bins:
        sures, rights = zip(*part)
        said, right = sum(sures) / len(part), sum(rights) / len(part)
        worst, gap = max(worst, abs(said - right)), gap + len(part) * abs(said - right) / len(points)
        print(f"  {sures[0]:.2f} to {sures[-1]:.2f}: said {100 * said:.0f} %, right {100 * right:.0f} % of {len(part)}")
    print(f"  distance: mean {100 * gap:.1f} points, largest {100 * worst:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="name the held-out answers that are wrong")
    arguments = parser.parse_args()
    with open(arguments.reports, encoding="utf-8") as lines:
        reports = [json.loads(line) for line in lines if line.strip()]
    settled = [report for report in reports if report["scored"]]
    whole = Tally()
    for report, given in zip(settled, answers(settled, TABLES)):
        whole.add(report, given)
    print("as they are, settled:", whole)
    tally, by_text, folds, lost = Tally(), collections.defaultdict(Tally), [], 0
    for number in range(FOLDS):
        fold = [report for report in reports if fold_of(report) == number]
        others = [report for report in reports if fold_of(report) != number]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            lost += learned_tables(folder, [normal(text_of(r)) for r in fold], [normal(text_of(r)) for r in others])
            given = answers(fold, folder)
        folds.append((fold, given))
        for report, one in zip(fold, given):
            if report["scored"]:
                tally.add(report, one)
                by_text[report["text"]].add(report, one)
                if arguments.wrong and one["category"] != report["category"]:
                    print(f"  {report['id']} {report['category']} -> {one['category']}: {text_of(report)[:150]!r}")
    points = []
    for number, (fold, given) in enumerate(folds):
        kinds = fit_both([pair for other, part in enumerate(folds) if other != number for pair in judged_of(*part)])
        settled_here = [(report, one) for report, one in zip(fold, given) if report["scored"]]
        for scores, is_right, of_words in judged_of(*zip(*settled_here)):
            points.append((confidence(scores, *kinds[of_words]), is_right))
    print(f"each fifth without the {lost / FOLDS:.0f} words and spellings that it alone has, settled:", tally)
    for text, part in sorted(by_text.items()):
        print(f"  {text}: {part}")
    print("how sure, settled, the calibration fitted on the held-out answers of the other four fifths:")
    for least in LEAST_IN_BIN:
        curve(points, least)
    if arguments.fit:
        # Of held-out scores: those of tables that have seen a report are surer than new reports deserve.
        for of_words, numbers in fit_both([pair for part in folds for pair in judged_of(*part)]).items():
            print(f"calibration {'words' if of_words else 'messages'}", *(f"{number:g}" for number in numbers))


if __name__ == "__main__":
    sys.exit(main())
