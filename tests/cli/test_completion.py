"""bash completes exactly the options that the parser knows."""

import re
import subprocess
import unittest

import tool


class Completion(tool.ToolTest):
    def commands(self):
        text = self.run_tool("--help").out
        return re.findall(r"(?m)^  ([a-z-]+) {2,}", text[text.index("commands:"):text.index("example:")])

    def options_of(self, command):
        return re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", self.run_tool(command, "--help").out)

    def complete(self, *words):
        self.write("done.bash", self.run_tool("completion", "bash").out)
        script = ('source done.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dtypecheck 2>/dev/null; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", "dtypecheck", *words], cwd=self.work,
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_bash_knows_every_command_and_option(self):
        commands = self.commands()
        self.assertIn("completion", commands)
        self.assertEqual(self.complete(""), [*commands, "--help", "--version"])
        self.assertEqual(self.complete("lin"), ["lint"])
        for command in ("trace", "report", "lint", "cure"):
            self.assertEqual(self.complete(command, "--"),
                             [name for name in self.options_of(command)], command)

    def test_bash_knows_the_values(self):
        self.assertEqual(self.complete("report", "--fail-on", "n"), ["note", "never"])
        self.assertIn("github", self.complete("lint", "--format", ""))
        self.assertEqual(self.complete("completion", "b"), ["bash"])

    def test_another_shell(self):
        self.assert_one_line(self.run_tool("completion", "tcsh"), "tcsh", "bash")


if __name__ == "__main__":
    unittest.main()
