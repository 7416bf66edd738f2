"""The cast bill: as many casts and bytes as PyTorch itself sees, whose they are, and the time line."""

import json
import subprocess
import sys
import unittest

from traced import PROGRAMS, TracedTest, line_of, tool

STEPS = 32


class Casts(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced("casts.py", options=["--timeline", "2"])
        cls.casts = cls.done.run.report["casts"]

    def line(self, mark, reason, backward=False):
        (line,) = [one for one in self.casts["lines"]
                   if (one["location"]["line"], one["reason"], one["backward"]) == (line_of("casts.py", mark), reason, backward)]
        return line

    def test_as_pytorch_counts(self):
        counted = subprocess.run([self.interpreter, PROGRAMS / "casts.py"], capture_output=True, text=True, check=True,
                                 env={"COUNT": "1", "PATH": "/usr/bin"}).stdout
        casts, moved = map(int, counted.split())
        bill = self.casts["per_step"]
        self.assertEqual(round(bill["casts"] * STEPS), casts)
        self.assertEqual(round((bill["bytes_read"] + bill["bytes_written"]) * STEPS), moved)

    def test_whose_they_are(self):
        self.assertEqual(self.line("autocast", "autocast")["cost"]["casts"], 5)
        self.assertEqual(self.line("asked", "asked")["cost"]["casts"], 1)
        self.assertEqual(self.line("asked", "asked", backward=True)["to"], "BFloat16")
        self.assertEqual(self.line("autocast", "autocast", backward=True)["to"], "Float")

    def test_sizes_of_all_calls(self):
        """A signature knows the shape of its first call alone."""
        cost = self.line("copied", "asked")["cost"]
        self.assertEqual((cost["casts"], cost["bytes_read"]), (3, 4 * 3 * (2 + 5 + 11)))

    def test_time_is_sampled(self):
        self.assertGreater(self.casts["per_step"]["cpu_ns"], 0)
        self.assertTrue(0 < self.casts["cpu_share"] < 1)

    def test_time_line(self):
        written = tool("dump", "--format", "perfetto", self.done.run.folder).stdout
        events = json.loads(written)["traceEvents"]
        ops = [event for event in events if event.get("cat") == "op"]
        steps = [event["name"] for event in events if event.get("cat") == "step"]
        self.assertEqual(steps, ["step 1", "step 2"])
        self.assertIn("aten::linear Float+BFloat16", {event["name"] for event in ops})
        by_thread = {}
        for event in ops:
            by_thread.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        for spans in by_thread.values():  # what overlaps is nested, or the UI draws nonsense
            open_until = []
            for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
                while open_until and open_until[-1] <= begin:
                    open_until.pop()
                self.assertTrue(not open_until or end <= open_until[-1])
                open_until.append(end)


if __name__ == "__main__":
    unittest.main()
