"""What an op calls is not listened to when that was never worth recording: and still nothing that is, is missed."""

import unittest

from traced import TracedTest, line_of


class Muted(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("calls_later.py")
        cls.done = cls.traced("calls_later.py")

    def count(self, mark, op):
        return sum(call["count"] for call in self.done.run.calls(op=op,
                                                                 line=line_of("calls_later.py",
                                                                              mark)))

    def test_nothing_changed(self):
        self.assertEqual((self.done.status, self.done.out), (0, self.untraced.out))

    def test_op_that_calls_others_is_counted_in_full(self):
        self.assertEqual(self.count("linear", "aten::linear"), 300)
        self.assertEqual(self.count("linear", "aten::addmm"), 300)

    def test_op_that_calls_nothing_is_counted_in_full(self):
        self.assertEqual(self.count("in place", "aten::mul_"), 300)

    def test_op_of_the_programs_own_is_listened_to_at_its_own_lines(self):
        self.assertEqual(self.count("later", "tests::calls_later"), 300)
        self.assertEqual(self.count("own product", "aten::mm"), 150)

    def test_op_that_begins_to_call_another_is_heard_again(self):
        self.assertEqual(self.count("hooked", "aten::tanh"), 300)
        heard = self.count("hooked", "aten::mul")
        self.assertGreaterEqual(heard, 86)  # of 150; it is listened to again after 64 calls at most
        self.assertLessEqual(heard, 150)

    def test_throw_inside_is_recorded(self):
        (finding,) = self.done.run.findings("mixed-operands")
        self.assertEqual(finding["location"]["line"], line_of("calls_later.py", "own throw"))
        self.assertEqual(finding["count"], 1)

    def test_backward_of_a_muted_op_is_heard(self):
        self.assertEqual(self.count("backward", "aten::tanh"), 300)
        self.assertEqual(self.count("backward", "aten::tanh_backward"), 300)


if __name__ == "__main__":
    unittest.main()
