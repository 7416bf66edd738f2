"""A program does the same with and without tracing: what it prints, how it ends, and every bit that it computes."""

import re
import signal
import sys
import unittest

from traced import TracedTest


def without_times(text):
    """Kineto's own log lines begin with the time and the process."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+", "<time>", text)


class Everything(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("everything.py")
        cls.done = cls.traced("everything.py")

    def test_it_ran_to_its_end(self):
        self.assertEqual(self.untraced.status, 3, self.untraced.err)
        self.assertIn("compiled ", self.untraced.out)

    def test_status(self):
        self.assertEqual(self.done.status, self.untraced.status)

    def test_results(self):
        self.assertEqual(self.done.out, self.untraced.out)

    def test_standard_error(self):
        self.assertEqual(without_times(self.done.err), without_times(self.untraced.err))

    def test_something_was_recorded(self):
        """Guards the test itself. Each kind of tensor was seen, and none of them stopped the tracer."""
        kinds = {operand.get("kind") for call in self.done.run.calls()
                 for operand in call["operands"]}
        self.assertLessEqual({"subclass", "fake", "nested", "sparse", "quantized", "meta",
                              "functorch"}, kinds)
        (process,) = self.done.run.processes.values()
        self.assertTrue(process["complete"])
        self.assertEqual(self.done.run.others, [])


class Ends(TracedTest):
    """How the program itself ends is how `trace` ends."""

    def run_both(self, program):
        command = [sys.executable, "-c",
                   "import torch; torch.ones(2).half(); print('out', flush=True)\n" + program]
        return self.execute(command), self.traced_command(command)

    def test_uncaught_exception(self):
        plain, traced = self.run_both("torch.ones(2) @ torch.ones(3)")
        self.assertEqual((plain.status, traced.status), (1, 1))
        self.assertEqual(traced.out, plain.out)
        self.assertEqual(traced.err, plain.err)
        (process,) = traced.run.processes.values()
        self.assertEqual(process["end"], "exited")
        self.assertEqual([call["outcome"] for call in traced.run.calls(op="aten::dot")], ["threw"])

    def test_killed(self):
        plain, traced = self.run_both("import os; os.kill(os.getpid(), 9)")
        self.assertEqual(plain.status, -signal.SIGKILL)
        self.assertEqual(traced.status, 128 + signal.SIGKILL)
        self.assertEqual((traced.out, traced.err), (plain.out, plain.err))
        self.assertIn("was killed by signal 9", traced.said)
        (process,) = traced.run.processes.values()
        self.assertEqual((process["end"], process["complete"]), ("running", True))
        self.assertIn("aten::_to_copy", [call["op"] for call in traced.run.calls()])
        self.assertIn(f"pid {process['pid']} was killed by signal 9 (Killed); what", traced.run.text())
        self.assertNotIn("no end was recorded of", traced.run.text())


class Observed(TracedTest):
    """What a debugger, a coverage tool or a profiler of the program is told of."""

    def run_both(self, watch):
        program = f"""
import os, sys, torch
events = []
def watch(frame, event, argument):
    events.append((event, os.path.basename(frame.f_code.co_filename), frame.f_code.co_name, frame.f_lineno))
    return watch
sys.{watch}(watch)
torch.nn.Linear(4, 4)(torch.ones(2, 4)).sum().backward()
sys.{watch}(None)
for event in events: print(*event)
"""
        command = [sys.executable, "-c", program]
        return self.execute(command), self.traced_command(command)

    def test_the_same_events(self):
        for watch in ("settrace", "setprofile"):
            with self.subTest(watch):
                plain, traced = self.run_both(watch)
                self.assertIn(" linear.py __init__ ", plain.out)
                self.assertEqual(traced.out, plain.out)
                self.assertTrue(traced.run.calls(op="aten::addmm"))


if __name__ == "__main__":
    unittest.main()
