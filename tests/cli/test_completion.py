"""What shells and man(1) get to know of the options is what the parser knows of them."""

import re
import shutil
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
        self.assertEqual(self.complete("completion", "z"), ["zsh"])

    def test_other_shells_can_read_theirs(self):
        for shell in ("zsh", "fish"):
            text = self.run_tool("completion", shell).out
            for part in ("report", "fail-on", "note", "keep-going"):
                self.assertIn(part, text)
            if shutil.which(shell):
                self.write("done", text)
                subprocess.run([shell, "-n", "done"], cwd=self.work, check=True, timeout=600)
        self.assert_one_line(self.run_tool("completion", "tcsh"), "tcsh", "zsh")

    def test_manual_pages(self):
        for command in self.commands():
            page = self.run_tool("man", command).out
            self.assertIn(f".SH NAME\ndtypecheck\\-{command}".replace("-", "\\-").replace("\\\\-", "\\-"), page)
            for option in self.options_of(command):
                self.assertIn(option.replace("-", "\\-"), page)
        self.assertIn(".SH COMMANDS", self.run_tool("man").out)
        self.assert_one_line(self.run_tool("man", "tarce"), "did you mean 'trace'?")
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=self.run_tool("man", "trace").out,
                                  capture_output=True, text=True, timeout=600)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
