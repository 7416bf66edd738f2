#!/usr/bin/env python3
"""How many dtype mistakes in programs that build and train models `dtypecheck lint` finds.

    .venv/bin/python bench/lint_mutants.py                      our own four programs
    .venv/bin/python bench/lint_mutants.py --programs LIST.toml
    .venv/bin/python bench/lint_mutants.py --truth FILE         keeps what the runs said, and does not run again
    .venv/bin/python bench/lint_mutants.py --list               the mutants, which nothing runs

A mutant is a program with one mistake: an operator at a place. All mutants of a program are one compilation, in which the environment
chooses one, and what its run says is the truth: it is refused (by an op, at a line), gives other numbers or the same, or its place is
not reached. Lint reads each as a text of its own. A refused one is found by an error or a warning, which its original has not, at the changed line, or at the
refused line with the changed one among the finding's places. At a place that a mistake is made there is also a cast to the dtype that is
there: where the run shows no effect, lint is to be silent.

A list has programs: name, sources, below its folder; and, where a program needs them, includes (folders), edits ([old, new], to make
it small), mnist (the folder, below that of the run, where it looks for the MNIST data, which are random here), aside (true: scored only
with --aside).
"""
import argparse
import dataclasses
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent / "lint_mutants"
COMPILER = "clang++-19"


# ---- Operators: what is changed where. Each takes a text whose comments and strings are blank.

@dataclasses.dataclass(frozen=True)
class Edit:
    begin: int
    end: int
    new: str  # {} stands for the old text; an insertion, where begin is end, is a statement


@dataclasses.dataclass(frozen=True)
class Mutant:
    program: str
    operator: str
    file: str
    edit: Edit
    line: int
    is_neutral: bool  # the dtype that should be there already
    begins: int = 0  # the line that the statement begins on, which a finding may name


def without_comments(text):
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def closing(text, at):
    """The position of what closes the bracket at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return i
    return len(text)


def arguments(text, opening):
    """(begin, end) of each argument between the brackets that open there."""
    end, depth, begin, spans = closing(text, opening), 0, opening + 1, []
    for i in range(opening + 1, end + 1):
        if (i == end or text[i] == ",") and depth == 0:
            spans.append((begin, i))
            begin = i + 1
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
    trimmed = [(b + len(text[b:e]) - len(text[b:e].lstrip()), b + len(text[b:e].rstrip())) for b, e in spans]
    return [(b, e) for b, e in trimmed if e > b]


def argument_of(names, position, of_method=False):
    """The argument at a position of each call of these functions; of a method the tensor itself is none."""
    def places(text):
        lead = r"(?:\.|->)" if of_method else r"(?<![\w.>])(?:[\w]+::)*"
        for call in re.finditer(rf"{lead}(?:{names})\(", text):
            given = arguments(text, call.end() - 1)
            if position < len(given) and not text[given[position][0]] in "{&":
                yield given[position]
    return places


def matches(pattern):
    def places(text):
        for match in re.finditer(pattern, text):
            yield match.span(1)
    return places


def called(names):
    """The whole of each call of torch::name(…)."""
    def places(text):
        for call in re.finditer(rf"\btorch::(?:{names})\(", text):
            yield call.start(), closing(text, call.end() - 1) + 1
    return places


def functions(text, head):
    for match in re.finditer(head, text):
        opening = text.find("{", closing(text, match.end() - 1))
        between = text[closing(text, match.end() - 1) + 1:opening]
        if opening > 0 and re.fullmatch(r"\s*(const|override|\s)*", between):
            yield opening, closing(text, opening)


def assigned_in_forward(text):
    for begin, end in functions(text, r"\bforward\("):
        for match in re.finditer(r"[;{}]\s*(?:auto |torch::Tensor )?\w+ = ([^;=]+);", text[begin:end]):
            yield begin + match.start(1), begin + match.end(1)


def returned(text):
    for begin, end in functions(text, r"\btorch::Tensor [\w:]+\("):
        for match in re.finditer(r"\breturn ([^;{}]+);", text[begin:end]):
            yield begin + match.start(1), begin + match.end(1)


def before_optimizer(text):
    for match in re.finditer(r"\btorch::optim::\w+ \w+\(?\s*\{?\s*(\w+(?:->|\.))parameters\(\)", text):
        yield match.start(), match.start(), match[1]


def before_load(text):
    for match in re.finditer(r"\btorch::load\((\w+),", text):
        yield match.start(), match.start(), match[1] + "->"


def before_stack(text):
    for match in re.finditer(r"\.map\(torch::data::transforms::Stack<>\(\)\)", text):
        yield match.start(), match.start()


def cast(dtype):
    return f"({{}}).to(torch::{dtype})"


MODULE = r"(?:\w+(?:->|\.))+"
INPUT = matches(rf"\b{MODULE}forward\(((?:\w|\.)+)\)")
TARGET = argument_of("nll_loss|cross_entropy", 1)
INDEX = [argument_of("gather|index_select|scatter_|scatter_add_", 1, of_method=True), argument_of("gather|index_select", 2),
         argument_of("one_hot|embedding", 0)]
MASK = [argument_of("masked_fill_?|masked_select", 0, of_method=True), argument_of("where", 0)]
PRODUCT = [argument_of("mm|matmul|bmm", 0), argument_of("mm|matmul|bmm", 1), argument_of("mm|matmul|bmm", 0, of_method=True)]
STATE = matches(r"\bforward\([^;]*?std::(?:make_tuple|tie)\((\w+),")
FACTORY = called("zeros|ones|rand|randn|full|empty|linspace|eye")
LOSS = matches(r"\b\w*[lL]oss\w* = ([^;=]+);")
MADE = matches(r"(?<!const )\b(?:torch|at)::Tensor \w+ = ([^;=]+);")
STEPS = r"((?<![\w.>])\w+(?:(?:\.|->)\w+(?:\([^()]*\))?)*)"
SUMMED = matches(STEPS + r"\.(?:sum|mean)\(")
READ = matches(STEPS + r"\.(?:template )?item(?:<|\()")
BLOB_DTYPE = matches(r"\bfrom_blob\([^;]*?\b(torch::k(?:Float\w*|Long|Byte|UInt8|Double|Int\w*)\b)")

# name, places, what the mistake is, what is there already
OPERATORS = [
    ("model in Half", [before_optimizer, before_load], "{}to(torch::kHalf);", "{}to(torch::kFloat);"),
    ("model in Double", [before_optimizer, before_load], "{}to(torch::kDouble);", None),
    ("input in Half", [INPUT], cast("kHalf"), cast("kFloat")),
    ("input in Double", [INPUT], cast("kDouble"), None),
    ("input in Byte", [INPUT], cast("kByte"), None),
    ("class target in Float", [TARGET], cast("kFloat"), cast("kLong")),
    ("class target in Int", [TARGET], cast("kInt"), None),
    ("class target in Byte", [TARGET], cast("kByte"), None),
    ("probability target in Long", [argument_of("binary_cross_entropy(?:_with_logits)?", 1)], cast("kLong"), cast("kFloat")),
    ("regression target in Double", [argument_of("mse_loss|smooth_l1_loss|l1_loss|criterion", 1)], cast("kDouble"), cast("kFloat")),
    ("index in Float", INDEX, cast("kFloat"), cast("kLong")),
    ("index in Int", INDEX, cast("kInt"), None),
    ("mask in Float", MASK, cast("kFloat"), cast("kBool")),
    ("mask in Byte", MASK, cast("kByte"), None),
    ("hidden state in Double", [STATE], cast("kDouble"), cast("kFloat")),
    ("product with Double", PRODUCT, cast("kDouble"), cast("kFloat")),
    ("Half inside forward", [assigned_in_forward], cast("kHalf"), cast("kFloat")),
    ("result in Double", [returned], cast("kDouble"), cast("kFloat")),
    ("factory in Half", [FACTORY], cast("kHalf"), cast("kFloat")),
    ("factory in Double", [FACTORY], cast("kDouble"), None),
    ("batch in Double", [matches(r"\b(batch\.data)\b")], cast("kDouble"), cast("kFloat")),
    ("batch's target in Float", [matches(r"\b(batch\.target)\b")], cast("kFloat"), cast("kLong")),
    ("transform to Double", [before_stack],
     ".map(torch::data::transforms::TensorLambda<>([](torch::Tensor one) { return one.to(torch::kDouble); }))", None),
    ("from_blob of Int", [BLOB_DTYPE], "torch::kInt", "{}"),
    ("Byte divided in place", [matches(r"([\w.]+)\.div_\(")], cast("kByte"), cast("kFloat")),
    ("loss in Half", [LOSS], cast("kHalf"), cast("kFloat")),
    ("sum in Half", [SUMMED], cast("kHalf"), cast("kFloat")),
    ("truncated to Long", [assigned_in_forward, MADE, matches(r"\b(batch\.data)\b")], cast("kLong"), None),
    ("read as Int", [READ], cast("kInt"), None),
    ("gradient in Double", [argument_of("backward", 0, of_method=True)], cast("kDouble"), cast("kFloat")),
]


def mutants_of(program, file, text, most, seed):
    """Mutants of one file, of each operator so many at most."""
    blank = without_comments(text)
    found = []
    for name, finders, wrong, right in OPERATORS:
        places = sorted({place for finder in finders for place in finder(blank)})
        random.Random(f"{seed} {program} {file} {name}").shuffle(places)
        for begin, end, *holder in sorted(places[:most]):
            line = text.count("\n", 0, begin) + 1
            for new in (wrong, right):
                if new is None:
                    continue
                is_right = new is right
                new = new.replace("{}", holder[0]) if holder else new
                before = re.search(r"[^;{}]*$", blank[:begin])[0]
                begins = line - before.lstrip().count("\n")
                edit = Edit(begin, end, new if begin == end else new.replace("{}", text[begin:end]))
                found.append(Mutant(program, name, file, edit, line, is_right, begins))
    return found


# ---- All mutants of a file as one text

class Combined:
    """The text, the original line of each of its lines, and the mutants that stand on each."""

    def __init__(self, text, numbered):
        self.text, self.lines, self.mutants = "", [1], [set()]
        self.original = text
        spans = sorted({(m.edit.begin, m.edit.end) for _, m in numbered}, key=lambda span: (span[0], -span[1]))
        self.at = {span: [(n, m) for n, m in numbered if (m.edit.begin, m.edit.end) == span] for span in spans}
        self.emit_range(0, len(text), spans, set())

    def emit(self, text, line, mutants):
        for i, part in enumerate(text.split("\n")):
            if i:
                self.text += "\n"
                self.lines.append(line + i)
                self.mutants.append(set())
            self.text += part
            if part:
                self.lines[-1] = line + i
                self.mutants[-1] |= mutants

    def line_at(self, position):
        return self.original.count("\n", 0, position) + 1

    def new_line(self, line):
        self.text += "\n"
        self.lines.append(line)
        self.mutants.append(set())

    def emit_range(self, begin, end, spans, mutants):
        at = begin
        while spans:
            first, last = spans[0]
            inner = [s for s in spans[1:] if s[0] < last and s[1] <= last and first < last]
            spans = [s for s in spans[1:] if s not in inner and s[0] >= last]
            self.emit(self.original[at:first], self.line_at(at), mutants)
            self.emit_span(first, last, inner, mutants)
            at = last
        self.emit(self.original[at:end], self.line_at(at), mutants)

    def emit_span(self, begin, end, inner, mutants):
        line, here = self.line_at(begin), self.at[begin, end]
        numbers = {n for n, _ in here} | mutants
        self.new_line(line)
        if begin == end:
            for number, mutant in here:
                new = mutant.edit.new
                if new.startswith("."):  # a step of a chain
                    new = new.replace("return one.to(torch::kDouble)", f"return mutant({number}) ? one.to(torch::kDouble) : one")
                else:
                    new = f"if (mutant({number})) {new}"
                self.emit(new, line, {number})
                self.new_line(line)
            return
        is_tensor = not self.original[begin:end].startswith("torch::k")
        kind = "torch::Tensor" if is_tensor else ""
        self.emit("(", line, numbers)
        for number, mutant in here:
            self.new_line(line)
            self.emit(f"mutant({number}) ? {kind}({mutant.edit.new}) :".replace("\n", " "), line, {number})
        self.new_line(line)
        self.emit(f"{kind}(", line, numbers)
        self.emit_range(begin, end, inner, numbers)
        self.emit("))", self.line_at(end), numbers)
        self.new_line(self.line_at(end))


# ---- Compiling and running

def installed_torch():
    return next(iter(sorted((ROOT / ".venv/lib").glob("python3*/site-packages/torch"))), None)


def can_run():
    return installed_torch() is not None and shutil.which(COMPILER) is not None


class Torch:
    def __init__(self, folder):
        torch = installed_torch()
        if not can_run():
            sys.exit(f"bench/lint_mutants.py: needs {COMPILER} and the torch of .venv, which scripts/setup puts there")
        self.flags = ["-std=c++20", "-O0", "-g1", "-w", "-isystem", torch / "include", "-isystem",
                      torch / "include/torch/csrc/api/include"]
        libraries = torch / "lib"
        self.link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch", "-ltorch_cpu", "-lc10", "-ldl", "-no-pie", "-rdynamic"]
        self.header = folder / "mutants.pch"
        if not self.header.exists() or self.header.stat().st_mtime < (HERE / "mutants.h").stat().st_mtime:
            self.call("-x", "c++-header", HERE / "mutants.h", "-fpch-instantiate-templates", "-fno-pie", "-o", self.header)

    def call(self, *words):
        done = subprocess.run([str(word) for word in (COMPILER, *self.flags, *words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)

    def compile(self, folder, sources, includes, out):
        """The lines of each source with an error; none: `out` is there."""
        errors = set()
        words = [COMPILER, *self.flags, "-fno-pie", "-ferror-limit=0", "-fmacro-backtrace-limit=1", "-ftemplate-backtrace-limit=0",
                 "-include-pch", self.header, *[word for i in includes for word in ("-I", folder / i)]]
        objects = []
        for source in sources:
            objects.append(folder / (source.replace("/", "_") + ".o"))
            done = subprocess.run([str(w) for w in (*words, "-c", folder / source, "-o", objects[-1])], capture_output=True, text=True)
            if done.returncode != 0:
                for file, line in re.findall(r"([^\s:]+):(\d+):\d+: (?:error|note: in instantiation)", done.stderr):
                    errors.add((os.path.relpath(file, folder), int(line)))
                if not errors:
                    raise SystemExit(done.stderr)
        if not errors:
            self.call(*objects, "-o", out, *self.link)
        return errors


def mnist_data(folder):
    """Random files as torch::data::datasets::MNIST reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = random.Random(1)
    for name, count in (("train", 60000), ("t10k", 10000)):
        block = numbers.randbytes(28 * 28 * 100)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(b"".join(n.to_bytes(4) for n in (0x803, count, 28, 28)) + block * (count // 100))
        labels = bytes(numbers.randrange(10) for _ in range(100))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(b"".join(n.to_bytes(4) for n in (0x801, count)) + labels * (count // 100))


class Program:
    def __init__(self, listed, base, options):
        self.name, self.listed = listed["name"], listed
        self.sources = listed["sources"]
        self.includes = listed.get("includes", [])
        headers = [str(p.relative_to(base)) for i in self.includes for p in sorted((base / i).rglob("*.h*"))
                   if p.suffix in (".h", ".hpp")]
        self.texts = {file: (base / file).read_text() for file in self.sources + headers}
        for old, new in listed.get("edits", []):
            if not any(old in text for text in self.texts.values()):
                raise SystemExit(f"{self.name}: no file has the text {old!r} of its edits")
            self.texts = {file: text.replace(old, new) for file, text in self.texts.items()}
        self.hash = hashlib.sha256(repr(sorted(self.texts.items())).encode()).hexdigest()
        self.mutants = [m for file, text in self.texts.items()
                        for m in mutants_of(self.name, file, text, options.most, options.seed)]

    def write(self, folder, mutant=None):
        (folder / ".git").mkdir(exist_ok=True)  # headers are looked for in the whole of a repository
        for file, text in self.texts.items():
            if mutant is not None and file == mutant.file:
                new = mutant.edit.new.replace("\n", " ") if mutant.edit.begin == mutant.edit.end else mutant.edit.new
                text = text[:mutant.edit.begin] + new + text[mutant.edit.end:]
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)

    def run_all(self, torch, folder, options):
        """[(mutant, what its run says)], the original's first, as None."""
        numbered = list(enumerate(self.mutants))
        for _ in range(5):
            texts = {file: Combined(text, [(n, m) for n, m in numbered if m.file == file]) for file, text in self.texts.items()}
            for file, text in texts.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text(text.text)
            errors = torch.compile(folder, self.sources, self.includes, folder / "program")
            if not errors:
                break
            wrong = {n for file, line in errors if file in texts and line <= len(texts[file].mutants)
                     for n in texts[file].mutants[line - 1]}
            if not wrong:
                raise SystemExit(f"{self.name}: does not compile: {sorted(errors)[:5]}")
            numbered = [(n, m) for n, m in numbered if n not in wrong]
        where = folder / "run"
        where.mkdir(exist_ok=True)
        if "mnist" in self.listed:
            mnist_data(where / self.listed["mnist"])
        original = self.run(folder, where, texts, -1, options)
        if original["threw"] or original["status"] not in (0, "timeout"):
            raise SystemExit(f"{self.name}: does not run: {original}")
        said = [(None, original)]
        for number, mutant in numbered:
            one = self.run(folder, where, texts, number, options)
            one["outcome"] = outcome(one, original)
            said.append((mutant, one))
            if options.verbose:
                print(f"  {self.name} {mutant.file}:{mutant.line} {mutant.operator}: {one['outcome']}"
                      f" {one['op']} {one['at']} {one['says']}", file=sys.stderr)
        return said

    def run(self, folder, where, texts, number, options):
        environment = {**os.environ, "MUTANT": str(number), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run([folder / "program"], cwd=where, env=environment, capture_output=True, text=True,
                                  errors="replace", timeout=options.timeout)
            out, err, status = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            out, err, status = *((t or b"").decode(errors="replace") for t in (late.stdout, late.stderr)), "timeout"
        is_reached = "\nmutant reached\n" in "\n" + err
        throws = re.findall(r"^mutant threw ?(.*?):((?: 0x[0-9a-f]+)*)$", err, re.M)
        what = re.search(r"what\(\):\s*(.*)", err)
        frames = []
        if throws:
            addresses = [hex(int(a, 16) - 1) for a in throws[-1][1].split()]
            lines = subprocess.run(["addr2line", "-e", folder / "program", *addresses], capture_output=True, text=True).stdout
            for file, line in re.findall(r"^(.+?):(\d+)", lines, re.M):
                name = os.path.relpath(os.path.realpath(file), os.path.realpath(folder))
                if name in texts and int(line) <= len(texts[name].lines):
                    frames.append([name, texts[name].lines[int(line) - 1]])
        return {"status": status, "reached": is_reached, "threw": len(throws), "op": throws[-1][0] if throws else "", "at": frames,
                "says": what[1][:160] if what else "", "out": out, "saw": re.findall(r"^mutant saw (.*)$", err, re.M)}


def outcome(run, original):
    if not run["reached"]:
        return "not reached"
    if run["threw"] > original["threw"] or run["status"] not in (0, "timeout"):
        return "refused"
    for key in ("saw", "out"):
        a, b = run[key], original[key]
        least = min(len(a), len(b))
        if a[:least] != b[:least]:
            return "other numbers"
    return "no effect"


# ---- Lint

def lint(dtypecheck, folder, cache):
    """The cache has the bundled headers precompiled from the second run on."""
    words = [dtypecheck, "lint", "--torch", "bundled", "--all", "--format", "json", "."]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": cache})
    if done.returncode not in (0, 1):
        raise SystemExit(f"{folder}: {done.stderr}")
    return json.loads(done.stdout)


def places_of(finding, folder):
    def place(location):
        return os.path.relpath(folder / location["file"], folder), location["line"]
    return place(finding["location"]), [place(p) for p in finding.get("places", [])]


def is_loud(finding):
    return finding["severity"] != "note"


def known_by(finding):
    return finding["rule"], finding["message"], finding["location"]["file"], finding["location"]["line"]


def score(mutant, said, findings, folder):
    """How a mutant was found: "line", "origin", "op" (without the origin), "elsewhere", ""."""
    best = ""
    at = [tuple(frame) for frame in said["at"]]
    lines = {(mutant["file"], line) for line in range(mutant["begins"], mutant["line"] + mutant["height"])}
    for finding in findings:
        where, others = places_of(finding, folder)
        if where in lines:
            return "line"
        if lines & set(others):
            return "origin"
        best = "op" if where in at else best or "elsewhere"
    return best


def scored(program, said, dtypecheck):
    """Each mutant's row, and the loud findings on the original."""
    rows = []
    with (tempfile.TemporaryDirectory(prefix="dtypecheck-mutants-") as name,
          tempfile.TemporaryDirectory(prefix="dtypecheck-mutants-") as cache):
        folder = Path(name)
        program.write(folder)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = lint(dtypecheck, folder, cache)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        original = {known_by(f) for f in report["findings"]}
        false = [f"{f['location']['file']}:{f['location']['line']}: {f['message']} [{f['rule']}]"
                 for f in report["findings"] if is_loud(f)]
        facts = {"loud": false, "files": len(program.sources), "partly": report["source"]["partly"], "remarks": report["remarks"],
                 "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
        for mutant, one in said:
            if mutant is None:
                continue
            program.write(folder, mutant)
            new = [f for f in lint(dtypecheck, folder, cache)["findings"] if is_loud(f) and known_by(f) not in original]
            height = program.texts[mutant.file][mutant.edit.begin:mutant.edit.end].count("\n") + 1
            place = {"file": mutant.file, "line": mutant.line, "height": height, "begins": mutant.begins}
            rows.append({"program": program.name, "operator": mutant.operator, **place, "new": mutant.edit.new, "neutral": mutant.is_neutral,
                         "outcome": one["outcome"], "op": one["op"].split(" ")[-1], "at": one["at"], "says": one["says"],
                         "found": score(place, one, new, folder),
                         "findings": [f"{f['location']['file']}:{f['location']['line']}: {f['message']} [{f['rule']}]" for f in new]})
    return rows, facts


def print_table(rows, facts, verbose):
    print(f"{'operator':<30}{'refused':>8}{'found':>7}{'other':>7}{'told':>6}{'same':>6}{'told':>6}")
    for name in [o[0] for o in OPERATORS] + ["all"]:
        of = [r for r in rows if name in (r["operator"], "all")]
        refused, other, same = ([r for r in of if r["outcome"] == kind] for kind in ("refused", "other numbers", "no effect"))
        if of:
            print(f"{name:<30}{len(refused):>8}{sum(r['found'] in ('line', 'origin') for r in refused):>7}{len(other):>7}"
                  f"{sum(bool(r['found']) for r in other):>6}{len(same):>6}{sum(bool(r['found']) for r in same):>6}")
    refused = [r for r in rows if r["outcome"] == "refused"]
    print("refused, found:", dict(Counter(r["found"] or "no" for r in refused)))
    files, partly = sum(f["files"] for f in facts.values()), sum(f["partly"] for f in facts.values())
    print(f"originals: {sum(len(f['loud']) for f in facts.values())} loud findings; {partly} of {files} files in part; "
          f"{sum(f['seconds'] for f in facts.values()) / max(files, 1):.2f} s of processor time a file")
    for name, of in facts.items():
        for line in of["loud"]:
            print(f"  {name}, as it is: {line}")
        if verbose and of["partly"]:
            print(f"  {name}, in part: {of['remarks']}")
    for row in rows if verbose else []:
        wanted = row["outcome"] == "refused"
        if wanted == (row["found"] in ("line", "origin")) and (wanted or not row["found"]):
            continue
        at = f" by {row['op']} at {':'.join(map(str, row['at'][0]))}" if row["at"] else f" by {row['op']}"
        print(f"  {row['program']} {row['file']}:{row['line']} {row['operator']}: {row['outcome']}{at if wanted else ''}; "
              f"found: {row['found'] or 'no'} {row['findings'][:2]} {row['says'][:90] if wanted else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=HERE / "programs.toml")
    parser.add_argument("--only", help="a program's name")
    parser.add_argument("--aside", action="store_true", help="score those that are set aside, and no others")
    parser.add_argument("--truth", type=Path, help="a JSON file of what the runs said")
    parser.add_argument("--folder", type=Path, help="where to compile; the precompiled headers stay there")
    parser.add_argument("--rows", type=Path, help="write the scored mutants there, as JSON")
    parser.add_argument("--most", type=int, default=2, help="places of an operator in one file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=20)
    parser.add_argument("--dtypecheck", type=Path, default=ROOT / "build/bin/dtypecheck")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--run-only", action="store_true", help="no lint")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    listed = tomllib.loads(options.programs.read_text())["program"]
    base = options.programs.resolve().parent
    programs = [Program(one, base, options) for one in listed
                if bool(one.get("aside")) == options.aside and options.only in (None, one["name"])]
    if options.list:
        for program in programs:
            for m in program.mutants:
                print(f"{m.program} {m.file}:{m.line} {m.operator}{' (there already)' if m.is_neutral else ''}: {m.edit.new}")
        return
    known = json.loads(options.truth.read_text()) if options.truth and options.truth.exists() else {}
    rows, facts = [], {}
    with tempfile.TemporaryDirectory(prefix="dtypecheck-mutants-") as name:
        folder = (options.folder or Path(name)).resolve()
        for program in programs:
            if known.get(program.name, {}).get("hash") != program.hash:
                place = folder / program.name
                place.mkdir(parents=True, exist_ok=True)
                said = program.run_all(Torch(folder), place, options)
                runs = [[None if m is None else dataclasses.asdict(m), {**one, "out": "", "saw": []}] for m, one in said]
                known[program.name] = {"hash": program.hash, "runs": runs}
                if options.truth:
                    options.truth.write_text(json.dumps(known, indent=1))
            if options.run_only:
                continue
            said = [(m and Mutant(**{**m, "edit": Edit(**m["edit"])}), one) for m, one in known[program.name]["runs"]]
            of_program, facts[program.name] = scored(program, said, options.dtypecheck.resolve())
            rows += of_program
    if options.rows:
        options.rows.write_text(json.dumps(rows, indent=1))
    if not options.run_only:
        print_table(rows, facts, options.verbose)


if __name__ == "__main__":
    main()
