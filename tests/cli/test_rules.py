"""dtypecheck rules: the list, one rule, an unknown one."""

import re
import unittest

import tool


class Rules(tool.ToolTest):
    def ids(self):
        lines = self.run_tool("rules").out.splitlines()
        return [line.split()[0] for line in lines[:lines.index("")]]

    def test_list(self):
        ids = self.ids()
        self.assertIn("mixed-operands", ids)
        self.assertIn("silent-promotion", ids)
        self.assertIn("unchecked-data-ptr", ids)  # a check of source
        self.assertEqual(len(ids), len(set(ids)))

    def test_every_rule_has_a_page(self):
        for rule in self.ids():
            result = self.run_tool("rules", rule)
            self.assertEqual((result.status, result.err), (0, ""))
            lines = result.out.splitlines()
            self.assertTrue(lines[0].startswith(rule))
            for heading in ("why", "fix", "example"):
                at = lines.index(heading)
                self.assertRegex(lines[at + 1], r"^  \S", f"{rule}: nothing below '{heading}'")

    def test_the_example_on_the_page_is_a_trace_that_reads(self):
        for rule in self.ids():
            page = self.run_tool("rules", rule).out
            example = page[page.index("\nexample\n") + 9:]
            if "#include" in example:  # of a check of source, which has tests of its own
                continue
            if "# LINE" in example:  # of a program's source, which only tests/rules/run_cases.cpp reads
                continue
            self.write(f"{rule}.trace", example)
            target = re.search(r"# TARGET (\S+)", example)
            options = ["--target", target[1]] if target else []
            result = self.run_tool("report", f"{rule}.trace", "--fail-on", "note", *options)
            self.assertEqual(result.status, 1, result.err)
            self.assertIn(f"[{rule}]", result.out)

    def test_unknown(self):
        self.assert_one_line(self.run_tool("rules", "mixed-operand"), "mixed-operand", "did you mean 'mixed-operands'?")
        self.assert_one_line(self.run_tool("rules", "xyzzy"), "unknown rule xyzzy", "lists them all")


if __name__ == "__main__":
    unittest.main()
