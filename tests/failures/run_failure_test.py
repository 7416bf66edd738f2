#!/usr/bin/env python3
"""The runner itself: what it must refuse."""

import copy
import unittest

from expectations import Expectation
from run_failure import pair_up

FINDING = {
    "rule": "mixed-operands",
    "severity": "error",
    "message": "Float input meets a Half weight",
    "op": "aten::addmm",
    "error": "mat1 and mat2 must have the same dtype, but got Float and Half",
    "fix": "latents = latents.to(torch.float16)",
    "location": {"file": "examples/train.py", "line": 12, "module": "unet.time_embedding.linear_1"},
    "operands": [{"name": "mat1", "dtype": "Float", "odd": True, "origin": []},
                 {"name": "mat2", "dtype": "Half", "odd": False, "origin": [{"line": 3}]}],
}


def wanted(**changes) -> Expectation:
    values = dict(rule="mixed-operands", severity="error", op="aten::addmm", odd="mat1", file="train.py", line=12)
    values |= dict(module="time_embedding", error="must have the same dtype", fix=[".to("], operands={"mat2": "Half"}, origins={"mat2": 3})
    return Expectation(**(values | changes))


def finding(**changes) -> dict:
    return copy.deepcopy(FINDING) | changes


class PairUp(unittest.TestCase):
    def test_accepts_what_was_expected(self):
        self.assertEqual(pair_up([finding()], [wanted()]), [])

    def test_refuses_every_difference(self):
        for change in ({"severity": "warning"}, {"op": "aten::mm"}, {"odd": "mat2"}, {"line": 13}, {"file": "a.py"},
                       {"module": "conv_in"}, {"error": "other"}, {"fix": ["autocast"]}, {"operands": {"mat2": "Float"}},
                       {"origins": {"mat2": 4}}, {"origins": {"mat1": 3}}):
            with self.subTest(change=change):
                self.assertEqual(len(pair_up([finding()], [wanted(**change)])), 1)

    def test_refuses_a_finding_without_cure(self):
        self.assertEqual(len(pair_up([finding(fix="")], [wanted(fix=[])])), 1)

    def test_refuses_a_missing_finding(self):
        self.assertEqual(len(pair_up([], [wanted()])), 1)
        self.assertEqual(len(pair_up([finding()], [wanted(), wanted()])), 1)

    def test_refuses_an_unexpected_finding_unless_it_is_a_note(self):
        self.assertEqual(len(pair_up([finding(), finding(severity="warning")], [wanted()])), 1)
        self.assertEqual(pair_up([finding(), finding(severity="note")], [wanted()]), [])


if __name__ == "__main__":
    unittest.main()
