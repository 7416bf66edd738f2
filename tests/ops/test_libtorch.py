"""The table of ops beside the schemas of the LibTorch that is installed.

What it lists is there; what takes two tensors, or gives a view, it knows.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import unittest

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = (ROOT / "ops/op_list.inc").read_text()
sys.path.insert(0, str(ROOT / "rules/contracts/probe"))
import op_list  # noqa: E402
NOTHING_CLAIMED = [line for line in (ROOT / "tests/ops/nothing_claimed.txt").read_text().splitlines() if not line.startswith("#")]
TENSORS = {"Tensor": 1, "Optional[Tensor]": 1, "List[Tensor]": 2, "Optional[List[Tensor]]": 2,
           "List[Optional[Tensor]]": 2}


def facts():
    """{name of a fact: its bit}, from the header."""
    text = (ROOT / "ops/ops.h").read_text()
    return {name: 1 << int(bit) for name, bit in re.findall(r"(k\w+) = 1ull << (\d+)", text)}


def schemas_by_name():
    """{"add": its overloads}, of the dispatcher's ops: TorchScript has some of its own."""
    dispatched = set(torch._C._dispatch_get_all_op_names())
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        overload = "." + schema.overload_name if schema.overload_name else ""
        if schema.name.startswith("aten::") and schema.name + overload in dispatched:
            found.setdefault(schema.name[6:], []).append(schema)
    return found


def table_of(names):
    """{name: (facts, the op that it is an alias of or itself)}, as C++ has them."""
    lines = "".join("aten::%s\n" % name for name in names)
    answer = subprocess.run([os.environ["DTYPECHECK_PRINT_FACTS"]], input=lines, text=True,
                            stdout=subprocess.PIPE, check=True).stdout
    rows = (line.split(" ") for line in answer.splitlines())
    return {op[6:]: (int(bits), other[6:]) for op, bits, other in rows}


def is_output(argument):
    return argument.kwarg_only and argument.alias_info is not None and argument.alias_info.is_write


def tensors_taken(schema):
    return sum(TENSORS.get(str(a.type), 0) for a in schema.arguments if not is_output(a))


def gives_a_view(schema):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)


def is_in_reach(bound, minor):
    """Whether the installed LibTorch has what there is "until" or "since" that minor."""
    installed, other = (tuple(map(int, text.split(".")[:2])) for text in (torch.__version__, minor))
    return installed <= other if bound == "until" else installed >= other


def nothing_is_claimed(name):
    return any(fnmatch.fnmatchcase(one, pattern) for pattern in NOTHING_CLAIMED for one in (name, name.rstrip("_")))


def measured():
    with open(ROOT / "rules/contracts/cpu.contracts") as file:
        return {line.split(" ")[1][6:].split(".")[0] for line in file if line.startswith("op ")}


class LibTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schemas = schemas_by_name()
        cls.table = table_of(cls.schemas)
        cls.facts = facts()

    def has(self, name, *facts):
        return self.table[name][0] & sum(self.facts[fact] for fact in facts)

    def test_every_line_is_an_op(self):
        lines = re.findall(r"^(?:OP|ALIAS)\((\w+), (.*?)\)(?: +// (until|since) ([\d.]+)$)?", TABLE, re.M)
        self.assertGreater(len(lines), 300)
        ops = {schema.name[6:] for schema in torch._C._jit_get_all_schemas()}
        for name, rest, bound, minor in lines:
            if bound and not is_in_reach(bound, minor):
                self.assertNotIn(name, ops)
                continue
            self.assertTrue(name in ops or name + "_" in ops, "%s is no op" % name)
            if not rest.startswith("k"):
                self.assertIn(rest, self.schemas, "what %s is an alias of" % name)

    def test_of_what_is_measured_something_is_claimed(self):
        self.assertEqual(sorted(set(NOTHING_CLAIMED) & measured()), [])

    def test_what_takes_two_tensors_is_known(self):
        known = measured()

        def is_known(name):
            bits, other = self.table[name]
            return bits != 0 or {name, other, name.rstrip("_")} & known or nothing_is_claimed(name)
        unknown = [name for name, overloads in self.schemas.items()
                   if max(map(tensors_taken, overloads)) >= 2 and not is_known(name)]
        self.assertEqual(unknown, [], "neither ops/op_list.inc nor a contract knows them; tests/ops/nothing_claimed.txt lists what is left out")

    def test_what_gives_a_view_is_known(self):
        known = ("kView", "kCopy", "kQuestion", "kUnrecorded", "kTopLevel")
        unknown = [name for name, overloads in self.schemas.items()
                   if any(map(gives_a_view, overloads)) and not self.has(name, *known) and not nothing_is_claimed(name)]
        self.assertEqual(unknown, [])

    def test_a_view_gives_a_tensor(self):
        for name, overloads in self.schemas.items():
            if self.has(name, "kView"):
                results = {str(result.type) for schema in overloads for result in schema.returns}
                self.assertTrue(results <= {"Tensor", "List[Tensor]"}, (name, results))

    def test_an_alias_takes_what_its_op_takes(self):
        def shapes(name):
            return {tuple(str(a.type) for a in schema.arguments) for schema in self.schemas[name]}
        for name, (_, other) in self.table.items():
            if other != name:
                self.assertTrue(shapes(name) & shapes(other), (name, other))

    def test_the_probe_reads_the_same_table(self):
        for name in self.schemas:
            left_out = self.has(name, *op_list.LEFT_OUT) and not self.has(name, "kOverwrites")
            self.assertEqual(op_list.is_measured(name), not left_out, name)

    def test_autocasts_own_list(self):
        header = pathlib.Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
        listed = header.read_text().partition("#define AT_FORALL_PROMOTE(_)")[2]
        names = re.findall(r"_\((\w+)\)", listed.partition("\n\n")[0])
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertTrue(self.has(name, "kAutocastWidest"), name)


if __name__ == "__main__":
    unittest.main()
