"""Silent damage is reported at its line, and its clean twin is not: values.py, reported.py and further.py three times.

A case is damaged where its number is off the one in Float by more than a twentieth, which the test holds too: what
is told has to be true. What a whole training shows, as a GradScaler that is missing, tests/failures has.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
WANTED = sys.argv[1:]  # a test; none: all
sys.argv = ["values.py", "float"]  # what is imported below computes what is right
DTYPECHECK = os.environ["DTYPECHECK"]
OFF = 0.05  # of the number in Float: 16 bits that lose nothing are nearer


ON_GPU = HERE.parents[1] / "bench" / "on_gpu.py"
# What a pretended GPU does not show: torch.tensor below a default device, autocast of the CPU, products of integers, a loss of large logits.
# Nor does any GPU where the numbers of large tensors are put, or each of the first sums.
A_CPU_ALONE = {"sum_over_the_longest_recording", "rotary_table_of_a_long_context", "labels_of_a_regression", "times_one_by_one", "autocast_without_its_dtype", "overlap_of_large_masks", "loss_of_logits_in_16_bits", "sum_of_which_each_term_loses_a_part",
               "users_of_a_large_table", "energies_of_a_dataset"}


def traced(program, mode, names=(), on_gpu=False):
    """What a program prints, and the findings of warning or above by function."""
    how = ["preflight", "--let-write", "--gpu", "h100", "--steps", "100000"] if on_gpu else ["trace"]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([DTYPECHECK, *how, "--out", f"{folder}/run", "--format", "json", "-o", report, "--",
                               sys.executable, *[ON_GPU] * on_gpu, HERE / program, mode, *names], capture_output=True, text=True,
                              env=clean_environment() | {"OMP_NUM_THREADS": "1"}, timeout=600)
        assert on_gpu or done.returncode == 0, done.stderr  # the numbers of a pretended GPU are none
        findings = json.loads(report.read_text())["findings"]
    told = {}
    for finding in findings:
        if finding["severity"] != "note":
            told.setdefault(str(finding["location"]["function"]).split(".")[0], set()).add(finding["rule"])
    return done.stdout if on_gpu else json.loads(done.stdout), told


class SilentTest(unittest.TestCase):
    def check(self, program, cases, numbers, untold=frozenset()):
        right = numbers(cases)
        (damaged, told), (clean, told_of_clean) = traced(program, "damaged"), traced(program, "clean")
        # The first infinity of a run is reported, not those behind it, and more is looked at before a training begins: in a run of
        # its own each is reported.
        for name, function in cases.items():
            if function.rule and name not in untold and function.rule not in told.get(name, set()):
                told[name] = traced(program, "damaged", [name])[1].get(name, set())
        for name, function in cases.items():
            with self.subTest(name):
                is_off = abs(damaged[name] - right[name]) > OFF * abs(right[name])
                self.assertEqual(is_off, function.rule is not None, "whether it is damaged")
                self.assertLessEqual(abs(clean[name] - right[name]), OFF * abs(right[name]), "the twin is not clean")
                self.assertEqual(told_of_clean.get(name, set()), set())
                if function.rule and name not in untold:
                    self.assertIn(function.rule, told.get(name, set()))
                else:
                    self.assertEqual(told.get(name, set()), set())

    def test_damage_is_reported_and_its_twin_is_not(self):
        import values
        self.check("values.py", dict(values.CASES), values.numbers)

    def test_the_same_is_reported_on_a_gpu(self):
        import values
        cases = {name: function for name, function in values.CASES.items() if name not in A_CPU_ALONE}
        _, told = traced("values.py", "damaged", cases, on_gpu=True)
        _, told_of_clean = traced("values.py", "clean", cases, on_gpu=True)
        for name, function in cases.items():
            with self.subTest(name):
                self.assertEqual(told_of_clean.get(name, set()), set())
                is_told = name in told or function.rule and name in traced("values.py", "damaged", [name], on_gpu=True)[1]
                self.assertEqual(bool(is_told), function.rule is not None)

    def test_a_number_of_the_cpu_beside_a_tensor_on_a_gpu(self):
        for mode, told in (("kept", {"far-from-float"}), ("drawn", set())):
            with self.subTest(mode):
                self.assertEqual(traced("mixed.py", mode, on_gpu=True)[1].get("chances", set()), told)

    def test_what_was_reported(self):
        import reported
        self.check("reported.py", dict(reported.OWN), reported.values.numbers)

    def test_what_was_reported_of_others(self):
        import further
        self.check("further.py", dict(further.OWN), further.values.numbers, further.UNTOLD)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["SilentTest." + name for name in WANTED])
