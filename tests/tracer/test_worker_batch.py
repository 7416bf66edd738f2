"""Where a batch has its dtype from that a worker of a DataLoader made: the line of the worker."""

import unittest

from traced import PROGRAMS, TracedTest, line_of

PROGRAM = "worker_batch.py"


class WorkerBatch(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced(PROGRAM)

    def finding_at(self, name):
        line = line_of(PROGRAM, name)
        (found,) = [finding for finding in self.done.run.findings("mixed-operands")
                    if finding["location"]["line"] == line]
        return found

    @staticmethod
    def origin_of(finding, dtype):
        (operand,) = [each for each in finding["operands"] if each["dtype"] == dtype]
        return operand["origin"]

    def test_batch_leads_into_the_worker(self):
        finding = self.finding_at("batch")
        maker = self.origin_of(finding, "Double")[-1]
        self.assertEqual((maker["op"], maker["line"], maker["kind"], maker["probable"]),
                         ("aten::full", line_of(PROGRAM, "made"), "made", False))
        self.assertNotEqual(maker["process"], finding["process"])
        self.assertIn(f"aten::full at {PROGRAMS / PROGRAM}:{maker['line']} in a DataLoader worker",
                      finding["why"])
        self.assertIn(maker["line"], [cure["line"] for cure in finding["cures"]])

    def test_an_empty_batch_does_too(self):
        maker = self.origin_of(self.finding_at("empty batch"), "Double")[-1]
        self.assertEqual((maker["op"], maker["line"]), ("aten::zeros", line_of(PROGRAM, "made empty")))

    def test_what_the_program_made_does_not(self):
        finding = self.finding_at("own array")
        for link in self.origin_of(finding, "Double"):
            self.assertEqual(link["process"], finding["process"])
        self.assertNotIn("DataLoader", finding["why"])


if __name__ == "__main__":
    unittest.main()
