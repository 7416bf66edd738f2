"""What is left out before its arguments are seen: only that, and only where it is certain which op is called."""

import unittest

from traced import TracedTest, line_of


class LeftOut(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("left_out.py")
        cls.done = cls.traced("left_out.py")

    def count(self, mark, op):
        return sum(call["count"]
                   for call in self.done.run.calls(op=op, line=line_of("left_out.py", mark)))

    def test_nothing_changed(self):
        self.assertEqual((self.done.status, self.done.out), (0, self.untraced.out))

    def test_allocations_inside_of_an_op_are_left_out(self):
        self.assertEqual(self.count("outside", "aten::empty_like"), 0)

    def test_the_python_of_an_op_is_the_programs(self):
        self.assertEqual(self.count("inside", "tests::allocates"), 300)
        self.assertEqual(self.count("inside", "aten::zeros_like"), 0)
        self.assertEqual(self.count("in own op", "aten::zeros_like"), 301)
        self.assertEqual(self.count("boxed in own op", "aten::zeros_like"), 301)

    def test_allocations_of_the_program_are_counted_in_full(self):
        self.assertEqual(self.count("outside", "aten::zeros_like"), 300)

    def test_ops_that_are_called_from_one_address_are_told_apart(self):
        self.assertEqual(self.count("product in own op", "aten::mm"), 301)
        self.assertEqual(self.count("boxed", "aten::zeros_like"), 300)
        self.assertEqual(self.count("boxed as well", "aten::relu"), 300)


if __name__ == "__main__":
    unittest.main()
