"""--steady looks away once nothing new comes, and still sees what goes wrong."""

import json
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

    def test_an_evaluation_in_a_step_that_was_not_traced(self):
        run = self.traced("steady_phases.py", options=["--steady"]).run
        (process,) = run.processes.values()
        self.assertEqual(process["steps"], 60)
        self.assertLess(process["steps_traced"], 30)
        line = line_of("steady_phases.py", "evaluation")
        self.assertIn("aten::add", [call["op"] for call in run.calls(line=line)])


class Unseen(TracedTest):
    """What throws in a step that is not looked at: the op, its operands and its line are read from the stack."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("unseen.py")
        cls.environment["DTYPECHECK_LOOK_AWAY_AFTER"] = "3"
        cls.done = cls.traced("unseen.py", options=["--steady"])
        cls.refused = {finding["location"]["line"]: finding for finding in cls.done.run.findings()}

    @staticmethod
    def by_line(run):
        """What is odd at each line that refused something, and with what rule and message."""
        found = {}
        for finding in run.findings():
            odd = [o["dtype"] for o in finding["operands"] if o["odd"]]
            found[finding["location"]["line"]] = (finding["rule"], odd, finding["error"])
        return found

    def operands_at(self, name):
        finding = self.refused[line_of("unseen.py", name)]
        return finding["op"], {o["name"]: o["dtype"] for o in finding["operands"]}

    def test_results_are_the_same(self):
        self.assertEqual((self.done.status, self.done.out, self.done.err),
                         (0, self.untraced.out, self.untraced.err))

    def test_nothing_is_lost(self):
        del self.environment["DTYPECHECK_LOOK_AWAY_AFTER"]
        seen = self.by_line(self.traced("unseen.py").run)
        self.assertEqual(len(seen), 12)
        self.assertEqual(self.by_line(self.done.run), seen)

    def test_operands(self):
        for name, op, operands in (
                ("module", "aten::linear", {"input": "Double", "weight": "Float", "bias": "Float"}),
                ("operator", "aten::matmul", {"self": "Float", "other": "Half"}),
                ("function", "aten::layer_norm", {"input": "Float", "weight": "Half"}),
                ("method", "aten::index_add_", {"self": "Float", "index": "Long", "source": "Half"}),
                ("store", "aten::index_put_", {"self": "Float", "indices[0]": "Long", "values": "Half"}),
                ("keyword", "aten::mm", {"self": "Float", "mat2": "Float", "out": "Half"}),
                ("list", "aten::einsum", {"tensors[0]": "Float", "tensors[1]": "Half"}),
                ("place", "aten::add_", {"self": "Long", "other": "Float"})):
            with self.subTest(name):
                self.assertEqual(self.operands_at(name), (op, operands))

    def test_module(self):
        location = self.refused[line_of("unseen.py", "module")]["location"]
        self.assertEqual((location["module"], location["step"]), ("model.0", 10))

    def test_backward(self):
        location = self.refused[line_of("unseen.py", "backward")]["location"]
        self.assertEqual((location["phase"], location["step"]), ("backward", 20))

    def test_below_autocast(self):
        finding = self.refused[line_of("unseen.py", "autocast")]
        self.assertNotIn("autocast is off", json.dumps(finding))

    def test_a_loss_that_is_nan(self):
        self.assertEqual(len(self.done.run.findings("non-finite-loss")), 1)

    def test_an_error_of_the_programs_own_is_none(self):
        self.assertNotIn("nothing of dtypes", json.dumps(self.done.run.report["findings"]))


if __name__ == "__main__":
    unittest.main()
