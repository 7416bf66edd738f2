"""The lists of core/ and ops/ that cures/*.py are given with a question, as cures/patch.cpp gives them."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ROOT / "core"


def precisions():
    rows = re.findall(r'^PRECISION\((".*?"), k(\w+), k(\w+), (".*?")\)$', (CORE / "precision_words.inc").read_text(), re.M)
    return [[ast.literal_eval(word), dtype, use.lower(), ast.literal_eval(families)] for word, dtype, use, families in rows]


def listed(name):
    text = (CORE / "precision_words.h").read_text()
    return ast.literal_eval("[" + re.search(name + r"\[\] = \{(.*?)\}", text, re.DOTALL)[1] + "]")


def configuration():
    return listed("kConfigurationEndings")


def precision_names():
    return listed("kPrecisionNames")


def dtypes():
    rows = re.findall(r'\{Dtype::\w+, DtypeKind::\w+, \d+, "\w+", "(\w+)", (?:"(\w+)"|nullptr)', (CORE / "dtype_names.h").read_text())
    return {name: torch for torch, shorter in rows for name in (torch, shorter) if name}


def cast_methods():
    """As core/dtype_spellings.h has them."""
    names = "Byte Char Short Int Long Half Float Double Bool BFloat16".split()
    rows = dict(re.findall(r'\{Dtype::\w+, DtypeKind::\w+, \d+, "(\w+)", "(\w+)"', (CORE / "dtype_names.h").read_text()))
    return {name.lower(): rows[name] for name in names}


def factories():
    return re.findall(r"^OP\((\w+), .*kFactory(?!.*kOverwrites)", (ROOT / "ops/op_list.inc").read_text(), re.M)


def cpp_types():
    rows = re.findall(r'DtypeKind::k(?:Integral|Bool|Floating), \d+, "(\w+)", "\w+", .*, (?:"(\w+)"|nullptr)}', (CORE / "dtype_names.h").read_text())
    return {name: cpp or f"at::{name}" for name, cpp in rows}
