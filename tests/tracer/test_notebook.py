"""Places in the cells of a notebook."""

import unittest

import traced


class NotebookTest(traced.TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced("notebook.py")

    def test_a_place_is_the_cells_number_and_line(self):
        call = self.done.run.calls(op="aten::mm")[0]
        self.assertEqual((call["file"], call["line"], call["function"]), ("In [2]", 2, "forward"))

    def test_what_a_cell_raised_is_no_note_though_the_kernel_ended_well(self):
        self.assertEqual([finding["severity"] for finding in self.done.run.findings("mixed-operands")],
                         ["error", "error"])

    def test_the_report_quotes_what_stood_in_the_cells(self):
        text = self.done.run.text()
        for part in ("In [2]:2", "return batch @ weight", "In [1]:2", "weight = torch.ones(2, 2).half()"):
            self.assertIn(part, text)
        self.assertNotIn("ipykernel", text)

    def test_the_trace_alone_is_enough_for_that(self):
        (self.done.run.folder / "sources.json").unlink()
        self.assertIn("return batch @ weight", self.done.run.text())


if __name__ == "__main__":
    unittest.main()
