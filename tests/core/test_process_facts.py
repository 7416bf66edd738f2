"""Each fact of a process that a rule's case gives is one that is written: its key stands in core/process_facts.inc, and its
value is what may stand there. The runs that have these facts are those of tests/tracer/test_recorded*.py.

    test_process_facts.py CMAKE
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from process_facts import FACTS, LIST, ROOT, fact_of, faults

CMAKE = sys.argv.pop(1)
GIVEN = re.compile(r' fact:("(?:[^"\\]|\\.)*"|[^\s="]+)=("(?:[^"\\]|\\.)*"|\S*)')
FOLDERS = ("analyzer", "bench", "cli", "core", "cures", "explain", "reports", "rules", "runtime", "symbols", "trace", "tracer")


def plain(word):
    """A word of a trace's text, without its quotes."""
    return word[1:-1].encode().decode("unicode_escape").encode("latin-1").decode() if word.startswith('"') else word


def given(text):
    """The facts of each line `process …`."""
    return [{plain(name): plain(value) for name, value in GIVEN.findall(line)} for line in text.splitlines()
            if line.startswith("process")]


class ProcessFacts(unittest.TestCase):
    def test_cases_of_rules(self):
        cases = [*ROOT.glob("tests/rules/**/*.trace"), *ROOT.glob("tests/known_bugs/**/*.trace"), *ROOT.glob("rules/*.cpp")]
        found = [f"{path.relative_to(ROOT)}: {fault}" for path in cases for facts in given(path.read_text(encoding="utf-8"))
                 for fault in faults(facts)]
        self.assertEqual(found, [])
        self.assertGreater(sum(bool(facts) for path in cases for facts in given(path.read_text(encoding="utf-8"))), 30)

    def test_what_is_a_fault(self):
        right, unknown, other = given('process pid=1 fact:exit.status="1" fact:env.RANK=0 fact:"asked Half /a b.py:7"="/a b.py:7\\x09f\\n"\n'
                                      'process fact:accelerate.distributed="NO" fact:env.HOME="/x" fact:weights.Float="steps=1"\n'
                                      'op aten::mm fact:none="x"\nprocess pid=3 fact:exit.status="on" fact:accelerate.mixed_precision="16"')
        self.assertEqual(list(right), ["exit.status", "env.RANK", "asked Half /a b.py:7"])
        self.assertEqual(faults(right), [])
        self.assertEqual([fault.split(":")[0] for fault in faults(unknown)], list(unknown))
        self.assertEqual([fault.split(" ")[0] for fault in faults(other)], ["exit.status:", "accelerate.mixed_precision:"])

    def test_each_line_is_read_and_no_key_hides_another(self):
        self.assertEqual(len(FACTS), len(re.findall(r"^FACT\(", LIST.read_text(encoding="utf-8"), re.MULTILINE)))
        for fact in FACTS:
            if not fact.rest:
                self.assertIs(fact_of(fact.key), fact)

    def test_each_key_is_recorded_or_says_why_not(self):
        runs = {run for path in ROOT.glob("tests/tracer/test_recorded*.py")
                for run in re.findall(r'\bhold\("(\w+)"', path.read_text(encoding="utf-8"))}
        self.assertEqual([fact.key for fact in FACTS if fact.recorded not in runs and " " not in fact.recorded], [])

    def test_a_key_without_a_writer_stops_cmake(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "writer.cpp").write_text("write_fact(FactKey::kGpuLate, 1);\n")
            (folder / "script.cmake").write_text(f'include({ROOT}/cmake/listed.cmake)\nstop_at_unwritten(facts.inc "{folder}")\n')
            for name, file, stops in (("kGpuLate", "writer.cpp", False), ("kGpu", "writer.cpp", True), ("kGpuLate", "none.cpp", True)):
                (folder / "facts.inc").write_text(f'// A list.\nFACT({name}, "a.key", "{file}", "", "", R"(.)")\n')
                done = subprocess.run([CMAKE, "-P", "script.cmake"], cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.returncode != 0, stops, done.stderr)
                self.assertEqual(f"expected FactKey::{name} in {file}" in " ".join(done.stderr.split()), stops, done.stderr)

    def test_facts_are_asked_for_by_their_keys(self):
        """A name that is spelled out is one that nobody may write."""
        spelled = re.compile(r'\bfacts\s*(?:\.(?:find|at|count|contains|lower_bound)\(|\[)\s*(?:std::string\()?"')
        found = [str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*")
                 if path.suffix in (".cpp", ".h", ".c") and spelled.search(path.read_text(encoding="utf-8", errors="replace"))]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
