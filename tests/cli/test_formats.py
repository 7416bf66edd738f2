"""The formats that other programs read line by line or as tests, colour, and the width of lines."""

import os
import pty
import re
import subprocess
import unittest
import xml.etree.ElementTree

import tool

HOSTILE = tool.MIXED.replace("train.py", "a,b%c/train.py").replace("and Float", "%0A::error::]]>&<\\x1b[2J\\nFloat")
LONG_MODULE = "unet." + ".".join(f"down_blocks_with_a_long_name_{i}" for i in range(9))
LONG = tool.MIXED.replace(" main phase", f" in {LONG_MODULE} (Linear) phase")


class Formats(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("mixed.trace", tool.MIXED)
        self.write("hostile.trace", HOSTILE)
        self.write("clean.trace", tool.CLEAN)
        self.write("promoted.trace", tool.PROMOTED)

    def test_lines(self):
        result = self.run_tool("report", "--format", "lines", "mixed.trace", "promoted.trace")
        self.assertEqual(result.status, 1)
        for line in result.out.splitlines():
            self.assertRegex(line, r"^train\.py:\d+: (error|warning): .* \[[a-z-]+\]$")
        self.assertEqual(len(result.out.splitlines()), 2)
        self.assertEqual(self.run_tool("report", "--format", "lines", "clean.trace").out, "")

    def test_lines_say_what_is_missing(self):
        result = self.run_tool("report", "--format", "lines", "mixed.trace", "none.trace")
        self.assertIn("dtypecheck: warning: left out: none.trace: cannot be read", result.out)

    def test_github(self):
        result = self.run_tool("report", "--format", "github", "promoted.trace")
        annotation, verdict = result.out.splitlines()
        self.assertTrue(annotation.startswith("::warning file=train.py,line=91,title=silent-promotion::"), annotation)
        self.assertIn("%0Awhy: ", annotation)
        self.assertIn("%0Atry: ", annotation)
        self.assertIn("1 warning", verdict)

    def test_no_text_begins_a_command_or_ends_a_property(self):
        result = self.run_tool("report", "--format", "github", "hostile.trace")
        commands = [line for line in result.out.splitlines() if line.startswith("::")]
        (command,) = commands
        properties, message = re.fullmatch(r"::error (.*?)::(.*)", command).groups()
        self.assertEqual(dict(part.split("=") for part in properties.split(",")),
                         {"file": "a%2Cb%25c/train.py", "line": "1065", "title": "mixed-operands"})
        self.assertNotIn("\x1b", result.out)
        self.assertNotRegex(message, r"%(?![0-9A-F]{2})")

    def test_junit(self):
        result = self.run_tool("report", "--format", "junit", "-o", "out.xml", "mixed.trace", "promoted.trace", "hostile.trace")
        self.assertEqual((result.status, result.out), (1, ""))
        (suite,) = xml.etree.ElementTree.parse(self.work / "out.xml").getroot()
        cases = suite.findall("testcase")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("4", "3", "0"))
        self.assertEqual([len(case.findall("failure")) for case in cases], [1, 1, 1, 0])
        self.assertEqual((cases[-1].get("name"), cases[0].get("line")), ("traced in full", "1065"))
        self.assertIn("Half input meets", cases[0].find("failure").text)

    def test_junit_fails_what_fails_the_command(self):
        out = self.run_tool("report", "--format", "junit", "--fail-on", "error", "promoted.trace", "none.trace").out
        (suite,) = xml.etree.ElementTree.fromstring(out)
        self.assertEqual((suite.get("failures"), suite.get("errors")), ("0", "1"))
        self.assertIn("none.trace", suite.findall("testcase")[-1].find("error").text)

    def test_lines_of_a_traced_program_go_where_its_report_goes(self):
        result = self.run_tool("trace", "--format", "github", "--", "true")
        self.assertEqual((result.status, result.out), (0, ""))
        self.assertNotIn("report.github", result.err)


class Terminal(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("long.trace", LONG)

    def on_terminal(self, *arguments, **environment):
        """What the tool writes on a terminal."""
        ours, theirs = self.pseudo_terminal(pty.openpty)
        process = self.start(*arguments, stdout=theirs, env={**self.environment, "TERM": "xterm", **environment})
        os.close(theirs)
        out = b""
        try:
            while chunk := os.read(ours, 4096):
                out += chunk
        except OSError:  # the last of the writers has gone
            pass
        os.close(ours)
        process.stderr.close()
        process.wait(timeout=900)
        return out.decode()

    def test_colour(self):
        report = ("report", "long.trace")
        self.assertIn("\x1b[1;31m", self.on_terminal(*report))
        self.assertNotIn("\x1b", self.on_terminal(*report, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_terminal(*report, "--color", "never"))
        self.assertIn("\x1b", self.on_terminal(*report, "--color", "always", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.run_tool(*report).out)
        self.assertIn("\x1b", self.run_tool(*report, "--color", "always").out)
        self.environment["CLICOLOR_FORCE"] = "1"
        self.assertIn("\x1b", self.run_tool(*report).out)
        self.assertNotIn("\x1b", self.run_tool(*report, "--format", "junit").out)
        self.environment["NO_COLOR"] = "1"
        self.assertNotIn("\x1b", self.run_tool(*report).out)

    def test_a_terminal_gets_what_fits_and_a_pipe_gets_all(self):
        shown = self.on_terminal("report", "long.trace", COLUMNS="80", NO_COLOR="1")
        wide = [line for line in shown.splitlines() if len(line) > 80]
        self.assertTrue(all(LONG_MODULE in line for line in wide), wide)  # names stay in one piece
        self.assertIn(LONG_MODULE, self.on_terminal("report", "long.trace", COLUMNS="400", NO_COLOR="1"))
        self.assertIn(LONG_MODULE, self.run_tool("report", "long.trace").out)


if __name__ == "__main__":
    unittest.main()
