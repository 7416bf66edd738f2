"""Phases and steps follow what runs: closures, optimizers that step in the backward pass, several optimizers."""

import unittest

from traced import TracedTest, line_of


class Phases(TracedTest):
    def trace(self, way, *options):
        done = self.traced("phases.py", way, options=options)
        self.assertEqual(done.status, 0, done.err)
        (self.process,) = done.run.processes.values()
        self.calls = done.run.calls
        return done.run

    def phases(self, name, **wanted):
        calls = self.calls(line=line_of("phases.py", name), **wanted)
        self.assertTrue(calls, name)
        return {call["phase"] for call in calls}

    def test_closure(self):
        """What an optimizer's closure computes is forward and backward, in the step that it is of."""
        self.trace("closures")
        self.assertEqual(self.phases("forward"), {"forward", "backward"})
        self.assertEqual(self.phases("closure noise"), {"forward"})
        self.assertEqual(self.phases("closure loss"), {"forward", "backward"})
        self.assertEqual(self.phases("old arithmetic"), {"optimizer"})
        self.assertEqual({call["phase"] for call in self.calls(op="aten::addcdiv_")} |
                         {call["phase"] for call in self.calls(op="aten::lerp_")}, {"optimizer"})
        linears = self.calls(line=line_of("phases.py", "forward"), op="aten::linear")
        self.assertEqual((min(c["step"] for c in linears), max(c["last_step"] for c in linears)),
                         (1, 9))
        self.assertEqual(self.process["steps"], 9)

    def test_method_in_a_hook(self):
        self.trace("method")
        self.assertEqual(self.phases("own arithmetic"), {"optimizer"})
        self.assertEqual(self.phases("own copy"), {"optimizer"})
        self.assertEqual(self.phases("forward"), {"forward", "backward"})
        self.assertEqual(self.process["steps"], 6)

    def test_write_in_a_hook(self):
        self.trace("hook")
        self.assertEqual(self.phases("hook writes"), {"optimizer"})
        self.assertEqual(self.process["steps"], 6)

    def test_optimizer_for_each_parameter(self):
        self.trace("each")
        self.assertEqual(self.phases("hook steps"), {"optimizer"})
        (step,) = {(c["step"], c["last_step"]) for c in self.calls(line=line_of("phases.py", "hook steps"))}
        self.assertEqual(step, (1, 3))
        self.assertEqual(self.process["steps"], 3)

    def test_gradients_that_the_engine_adds_up(self):
        self.trace("added")
        self.assertEqual(self.phases("added up", op="aten::slice_backward"), {"backward"})
        self.assertEqual(self.phases("added up", op="aten::add_"), {"backward"})

    def test_accumulation_and_two_optimizers(self):
        self.trace("two")
        self.assertEqual(self.phases("first of two") | self.phases("second of two"), {"optimizer"})
        for name in "first of two", "second of two":
            call = self.calls(line=line_of("phases.py", name))[0]
            self.assertEqual((call["step"], call["last_step"]), (1, 3))
        self.assertEqual((self.process["steps"], self.process["steps_traced"]), (3, 3))

    def test_what_is_done_to_gradients_before_a_step(self):
        self.trace("clipped")
        self.assertEqual(self.phases("scaled loss", op="aten::mul"), {"forward", "backward"})
        for name in "unscaled", "clipped", "scale updated":
            self.assertEqual(self.phases(name), {"optimizer"}, name)
        self.assertEqual(self.process["steps"], 3)

    def test_functions_of_the_programs_own(self):
        self.trace("own")
        self.assertEqual(self.phases("own forward"), {"forward"})
        self.assertEqual(self.phases("own backward"), {"backward"})
        self.assertIn("forward", self.phases("recomputed", op="aten::exp"))


if __name__ == "__main__":
    unittest.main()
