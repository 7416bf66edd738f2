"""A process may refuse thousands of calls: each signature keeps what was said of it."""

import unittest

from traced import TracedTest


class ManyThrows(TracedTest):
    def test_each_has_its_message(self):
        done = self.traced("many_throws.py")
        self.assertEqual(done.status, 0, done.err)
        refused = done.run.calls(op="aten::mm", outcome="threw")
        self.assertEqual(len(refused), 3499)
        self.assertEqual([call for call in refused if "same dtype" not in (call["error"] or "")], [])


if __name__ == "__main__":
    unittest.main()
