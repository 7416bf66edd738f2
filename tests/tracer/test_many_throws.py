"""A process may refuse thousands of calls: each signature keeps what was said of it, and who called."""

import unittest

from traced import TracedTest, line_of


class ManyThrows(TracedTest):
    def test_each_has_its_message(self):
        done = self.traced("many_throws.py")
        self.assertEqual(done.status, 0, done.err)
        refused = done.run.calls(op="aten::mm", outcome="threw")
        self.assertEqual(len(refused), 3499)
        self.assertEqual([call for call in refused if "same dtype" not in (call["error"] or "")], [])

    def test_the_line_that_called_then(self):
        run = self.traced("called_twice.py").run
        called_from = {(call["outcome"], call["operands"][0]["dtype"]): call["caller"]["line"] for call in run.calls(op="aten::matmul")}
        lines = [line_of("called_twice.py", mark) for mark in ("served", "in Double", "refused")]
        self.assertEqual(called_from, dict(zip((("returned", "Float"), ("returned", "Double"), ("threw", "Float")), lines)))


if __name__ == "__main__":
    unittest.main()
