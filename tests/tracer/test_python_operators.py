"""torch.library.custom_op: its calls are op calls, of whatever torch."""

import unittest

from traced import TracedTest, line_of

PROGRAM = "python_operators.py"


class PythonOperators(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced(PROGRAM)

    def dtypes(self, op, mark):
        (call,) = self.done.run.calls(op=op, line=line_of(PROGRAM, mark))
        return [operand["dtype"] for operand in call["operands"]]

    def test_recorded(self):
        self.assertEqual(self.dtypes("tests::early", "early"), ["Float", "Float"])
        self.assertEqual(self.dtypes("tests::late", "late"), ["Half"])
        self.assertEqual(self.dtypes("tests::early", "mixed"), ["Float", "Half"])

    def test_nothing_changed(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        self.assertEqual(self.done.out, self.plain(PROGRAM).out)
        self.assertEqual(self.done.printed()["grad"], ["16.0"])


if __name__ == "__main__":
    unittest.main()
