"""What was complete when a process died is in its trace, wherever in a training step it was killed."""

import random
import unittest

from traced import TracedTest

KILLS = 50


class Killed(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = random.randrange(1 << 30)
        cls.steps = cls.folder / "steps.py"  # a name only: where the lines of the steps say they are from
        cls.done = cls.traced("killed.py", KILLS, cls.steps, cls.seed)
        cls.children = [tuple(map(int, line.split()[1:])) for line in cls.done.out.splitlines()]
        cls.by_line = {}  # (pid, line) to the op calls there
        for call in cls.done.run.calls():
            if call.get("file") == str(cls.steps):
                cls.by_line.setdefault((call["pid"], call["line"]), []).append(call)

    def what_ran(self, pid, line):
        return [(call["op"], call["phase"], len(call["results"]), call["count"])
                for call in self.by_line.get((pid, line), [])]

    def test_program_ran(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        self.assertEqual(len(self.children), 1 + KILLS)

    def test_kills_came_at_different_moments(self):
        """Guards the test itself: killing only before or after the training would prove nothing."""
        in_training = [lines for _, lines in self.children[1:] if 0 < lines < 200]
        self.assertGreater(len(set(in_training)), KILLS // 8, f"seed {self.seed}: {self.children}")

    def test_no_trace_is_damaged(self):
        for pid, lines in self.children[1:]:
            if lines == 0 and pid not in self.done.run.processes:
                continue  # killed before its first op
            process = self.done.run.processes[pid]
            self.assertTrue(process["complete"], process)
            self.assertEqual(process["end"], "running", process)

    def test_completed_steps_are_recorded_in_full(self):
        reference, lines = self.children[0]
        self.assertEqual(lines, 8)
        step = self.what_ran(reference, 8)
        ops = {op for op, *_ in step}
        self.assertLessEqual({"aten::linear", "aten::addmm", "aten::tanh", "aten::sum",
                              "aten::tanh_backward", "aten::mm"}, ops)
        for pid, lines in self.children[1:]:
            for line in range(2, lines + 1):
                self.assertEqual(self.what_ran(pid, line), step,
                                 f"seed {self.seed}, pid {pid}, line {line} of {lines}")


if __name__ == "__main__":
    unittest.main()
