"""Lints cases and compares what is found with the // EXPECT lines under the lines it is about.

usage: run_cases.py [--example ID] FILE… | --headers bundled|venv|system|DIR

The FILEs and the example of a check are linted in one run, with the bundled LibTorch. --headers takes every case and every example to one LibTorch:
that of .venv, that of the system (1.13), or that of a folder.

    // EXPECT warning: message [rule]

A finding without an EXPECT fails as surely as an EXPECT without a finding.

    // ALSO note [rule]

is a further place of a finding; a case with an ALSO has one for each.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DTYPECHECK = os.environ["DTYPECHECK"]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SYSTEM = "/usr"  # Debian's LibTorch is 1.13.1
HAS_CUDA = pathlib.Path("/usr/local/cuda/include/crt").exists()
EXPECT = re.compile(r"//\s*EXPECT\s+(error|warning|note): (.*) \[([a-z0-9-]+)\]\s*$")
ALSO = re.compile(r"//\s*ALSO\s+(.*) \[([a-z0-9-]+)\]\s*$")


def marked(source, mark):
    """(line, …) of each EXPECT or ALSO; the line is the last one above that has no such mark."""
    found, line = [], 0
    for number, text in enumerate(source.splitlines(), 1):
        match = mark.search(text)
        if match:
            found.append((line, *match.groups()))
        elif not EXPECT.search(text) and not ALSO.search(text):
            line = number
    return sorted(found)


def expected(source):
    """(line, severity, message, rule) of each EXPECT."""
    return marked(source, EXPECT)


def lint(paths, torch):
    alone = [] if all(is_of_no_casts(path) for path in paths) else ["--alone"]  # nobody knows then what other files cast
    done = subprocess.run([DTYPECHECK, "lint", *alone, "--torch", torch, "--all", "--format", "json", *map(str, paths)],
                          capture_output=True, text=True, timeout=1800)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{paths[0]}: {done.stderr}")
    return json.loads(done.stdout)


def is_of_no_casts(path):
    return "no_casts" in (path.parent.name, path.name.split(".")[0])


# The contracts of LibTorch 1.13 have no masks of masked_fill(), and of labels that nll_loss() refuses nothing where the input may be Half.
NOT_OF_1_13 = re.compile(r"aten::masked_fill does not take|aten::nll_loss needs Long")

NO_HALF = re.compile(r"has no Half kernel on cpu( in LibTorch 1\.13\.1)?$")


def differences(source, findings, is_1_13):
    found = sorted((f["location"]["line"], f["severity"], f["message"], f["rule"]) for f in findings)
    wanted = [e for e in expected(source) if not (is_1_13 and NOT_OF_1_13.search(e[2]) and e not in found)]
    # LibTorch 1.13 looks for a product's Half kernel before it compares the operands, and says that there is none.
    refused_first = [f for f in found if is_1_13 and NO_HALF.search(f[2])]
    mixed = {w[:2] for w in wanted if w[3] == "mixed-operands"}
    refused_at = {f[:2] for f in refused_first}
    wanted = [w for w in wanted if w in found or w[3] != "mixed-operands" or w[:2] not in refused_at]
    found = [f for f in found if f in wanted or f not in refused_first or f[:2] not in mixed]
    also = marked(source, ALSO)
    if also:
        found += sorted((p["line"], p["note"], f["rule"]) for f in findings for p in f["places"])
        wanted += also
    return ([f"expected, not found: {e}" for e in wanted if e not in found] +
            [f"found, not expected: {f}" for f in found if f not in wanted])


def compare(paths, torch):
    """Whether each file has the findings that it names, all of them linted in one run."""
    report = lint(paths, torch)
    of_file = {path.resolve(): [] for path in paths}
    for finding in report["findings"]:
        file = pathlib.Path(finding["location"]["file"])
        of_file[(file if file.is_absolute() else pathlib.Path.cwd() / file).resolve()].append(finding)
    wrong = [f"{path.name}: {line}" for path in paths for line in differences(path.read_text(), of_file[path.resolve()], torch == SYSTEM)]
    if report["source"]["partly"]:
        wrong.append(f"parsed with errors: {report['remarks']}")
    for line in wrong:
        print(line)
    return not wrong


def example(rule):
    page = subprocess.run([DTYPECHECK, "lint", "--explain", rule], capture_output=True, text=True, check=True).stdout
    lines = page[page.index("\nexample\n") + 9:].splitlines()
    return "\n".join(line[2:] for line in lines) + "\n"


def write_example(rule, folder):
    text = example(rule)
    if not any(e[3] == rule for e in expected(text)):
        raise SystemExit(f"{rule}: its example has no EXPECT of it")
    path = pathlib.Path(folder) / f"{rule}.{'cu' if '__global__' in text else 'cpp'}"
    path.write_text(text)
    return path


def copy_without_python(path, folder):
    """Debian's LibTorch has no pybind11 beside it: what is bound to Python is registered as an operator. Nor const_data_ptr."""
    text = path.read_text().replace("torch/extension.h", "torch/all.h").replace("const_data_ptr", "data_ptr")
    text = text.replace("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)", "TORCH_LIBRARY(cases, m)")
    first, rest = text.split("\n", 1)
    if "TORCH_LIBRARY" in text and first == "#include <torch/all.h>":
        text = f"#include <torch/script.h>\n{rest}"  # which has both, in one line
    elif "TORCH_LIBRARY" in text:
        text = f"#include <torch/library.h>  // {first.lstrip('/ ')}\n{rest}"
    copy = pathlib.Path(folder) / f"{path.parent.name}.{path.name}"
    copy.write_text(text)
    return copy


def check_with(headers, folder):
    """Every case and example with one set of headers; more than one set would need one run each."""
    needs_cuda = [] if HAS_CUDA or headers == "bundled" else list(HERE.glob("parsing/*.cu"))
    cases = sorted(p for p in HERE.glob("*/*.c*") if p.suffix in (".cpp", ".cu") and p not in needs_cuda)
    cases += [write_example(rule, folder) for rule in all_ids()]
    torch = headers
    if headers == "venv":
        torch = next(iter(sorted(ROOT.glob(".venv/lib/python3*/site-packages/torch"))), None)
        if torch is None:
            skip("no torch in .venv; scripts/setup puts it there")
    if headers == "system":
        torch = SYSTEM
        if not pathlib.Path("/usr/include/ATen/core/Tensor.h").exists():
            skip("no LibTorch in /usr/include; the package is libtorch-dev")
        copies = pathlib.Path(folder) / "copies"
        copies.mkdir()
        is_newer = re.compile(r"ATen/Dispatch_v2\.h|torch::scaled_dot_product_attention|ScalarType::Float8")
        cases = [copy_without_python(case, copies) for case in cases if not is_newer.search(case.read_text())]
    apart = [case for case in cases if is_of_no_casts(case)]
    other_default = [case for case in cases if "set_default_dtype" in case.read_text()]  # holds for all files of a run
    rest = [case for case in cases if case not in apart + other_default]
    return all([compare(some, str(torch)) for some in ([copy_apart(case, folder) for case in apart], other_default, rest)])


def copy_apart(path, folder):
    """A project of its own, which has no other files."""
    copy = pathlib.Path(folder) / "apart/no_casts" / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    (copy.parents[1] / "setup.py").touch()
    return pathlib.Path(shutil.copy(path, copy))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def all_ids():
    text = subprocess.run([DTYPECHECK, "lint", "--list-checks"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text[:text.index("\n\n")].splitlines()]


def main(arguments):
    with tempfile.TemporaryDirectory(prefix="dtypecheck-test-") as folder:
        if arguments[0] == "--headers":
            return all([check_with(headers, folder) for headers in arguments[1:]])
        paths = [pathlib.Path(path) for path in arguments]
        if arguments[0] == "--example":
            paths[:2] = [write_example(arguments[1], folder)]
        return compare([copy_apart(path, folder) if is_of_no_casts(path) else path for path in paths], "bundled")


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
