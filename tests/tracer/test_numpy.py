"""What NumPy wraps around is an op call of its own, at its line, and what does not is none."""

import unittest

from traced import TracedTest, line_of

PROGRAM = "numpy_wraps.py"


class Numpy(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced(PROGRAM)

    def test_nothing_changed(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        plain = self.plain(PROGRAM)
        self.assertEqual((self.done.out, self.done.err), (plain.out, plain.err))

    def test_calls(self):
        for name, op, dtypes in (("off", "subtract", ["Byte", "Byte"]), ("off", "square", ["Byte"]), ("brighter", "add", ["Byte", "Byte"]),
                                 ("areas", "multiply", ["Int", "Int"]), ("columns", "add", ["Byte", "Byte"])):
            with self.subTest(name, op=op):
                (call,) = self.done.run.calls(op=f"python::numpy.{op}", line=line_of(PROGRAM, name))
                self.assertEqual([operand["dtype"] for operand in call["operands"]], dtypes)
                self.assertEqual(call["results"][0]["dtype"], dtypes[0])

    def test_shapes_and_counts(self):
        (call,) = self.done.run.calls(op="python::numpy.subtract", line=line_of(PROGRAM, "off"))
        self.assertEqual([operand["shape"] for operand in call["operands"]], [[16, 16, 3]] * 2)
        self.assertEqual(call["count"], 201)  # four threads
        (square,) = self.done.run.calls(op="python::numpy.square", line=line_of(PROGRAM, "off"))
        self.assertEqual(square["operands"][0]["origin_id"], call["id"])

    def test_findings(self):
        found = {finding["location"]["line"] for finding in self.done.run.findings("far-from-float")}
        self.assertEqual(found, {line_of(PROGRAM, name) for name in ("off", "brighter", "areas", "steps", "columns")})


class Casts(TracedTest):
    """One number of many is lost, or what torch.tensor() casts an array by."""

    def test_findings(self):
        program = "numpy_casts.py"
        done, plain = self.traced(program), self.plain(program)
        self.assertEqual((done.status, done.out, done.err), (0, plain.out, plain.err))
        found = {finding["location"]["line"]: finding["message"] for finding in done.run.findings()}
        self.assertEqual(found, {line_of(program, name): message for name, message in (
            ("peak", "32768 is cast to Short and becomes -32768"), ("below", "-2.5 is cast to Byte and becomes 254"),
            ("id", "2147483648 is cast to Int and becomes -2147483648"), ("last", "256 is cast to Byte and becomes 0"),
            ("observations", "0.5403023058681398 became 0 in a cast to Byte"),
            ("wrapped", "33000 is cast to Short and becomes -32536"),
            ("bytes", "260.3174603174603 is cast to Byte and becomes 4"),
            ("row", "torch.tensor is asked for Byte and makes 0 of 0.5403"))})


if __name__ == "__main__":
    unittest.main()
