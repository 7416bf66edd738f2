"""--steady looks away once nothing new comes, and still sees what goes wrong."""

import unittest

from traced import TracedTest, line_of


class Steady(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("steady.py")
        cls.done = cls.traced("steady.py", options=["--steady"])

    def test_results_are_the_same(self):
        self.assertEqual((self.done.status, self.done.out, self.done.err),
                         (0, self.untraced.out, self.untraced.err))

    def test_most_steps_were_not_traced(self):
        (process,) = self.done.run.processes.values()
        self.assertEqual(process["steps"], 300)
        self.assertGreaterEqual(process["steps_traced"], 8)
        self.assertLess(process["steps_traced"], 60)

    def test_refusal_in_a_step_that_was_not_traced(self):
        (finding,) = self.done.run.findings()
        self.assertEqual(finding["rule"], "mixed-operands")
        self.assertEqual(finding["error"],
                         "mat1 and mat2 must have the same dtype, but got Double and Float")
        self.assertEqual(finding["location"]["line"], line_of("steady.py", "mixed"))
        self.assertEqual(finding["location"]["step"], 251)

    def test_report_says_that_it_sampled(self):
        (process,) = self.done.run.processes.values()
        self.assertIn(f"steady: {process['steps_traced']} of 300 steps traced",
                      self.done.run.text())


if __name__ == "__main__":
    unittest.main()
