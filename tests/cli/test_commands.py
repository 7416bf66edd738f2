"""The list of commands, their help, and what is said to what they do not know."""

import os
import pty
import re
import resource
import shlex
import shutil
import subprocess
import unittest

import tool

COMMANDS = ["trace", "report", "dump", "rules", "demo", "build-hook"]


class Commands(tool.ToolTest):
    def test_help_lists_every_command(self):
        result = self.run_tool("--help")
        self.assertEqual((result.status, result.err), (0, ""))
        for command in COMMANDS:
            self.assertRegex(result.out, rf"(?m)^  {command} +\S")

    def test_help_of_a_command_names_it_in_full(self):
        for command in COMMANDS:
            result = self.run_tool(command, "--help")
            self.assertEqual((result.status, result.err), (0, ""))
            self.assertIn(f"usage: dtypecheck {command}", result.out)
            self.assertLessEqual(max(map(len, result.out.splitlines())), 120)

    def test_version(self):
        result = self.run_tool("--version")
        self.assertEqual(result.status, 0)
        self.assertRegex(result.out, r"^dtypecheck \d+\.\d+\.\d+\n$")

    def test_no_command(self):
        self.assert_one_line(self.run_tool(), "no command given", "--help")

    def test_unknown_command(self):
        self.assert_one_line(self.run_tool("rport"), "unknown command rport", "did you mean 'report'?")
        self.assert_one_line(self.run_tool("xyzzy"), "unknown command xyzzy", "dtypecheck --help")
        self.assert_one_line(self.run_tool("--versoin"), "did you mean '--version'?")
        self.assert_one_line(self.run_tool("x" * 100_000), "unknown command")

    def test_unknown_option(self):
        self.assert_one_line(self.run_tool("report", "--fromat", "json"), "--fromat", "did you mean '--format'?")
        self.assert_one_line(self.run_tool("trace", "--stedy", "--", "true"), "did you mean '--steady'?")
        self.assert_one_line(self.run_tool("dump", "--xyzzy=1", "a"), "unknown option --xyzzy;", "dump --help")

    def test_wrong_value(self):
        self.assert_one_line(self.run_tool("report", "--format", "pdf"), "--format", "pdf", "json")
        self.assert_one_line(self.run_tool("report", "--fail-on", "always"), "--fail-on", "always", "never")
        self.assert_one_line(self.run_tool("report", "-o"), "--output", "report --help")

    def test_wrong_values_are_reported_in_plain_words(self):
        for arguments, said in (
                (["cure", "--tries", "0", "x"], "--tries takes a number above 0, not '0'"),
                (["trace", "--timeline", "abc", "--", "true"], "--timeline takes a number, not 'abc'"),
                (["trace", "--timeline", "-1", "--", "true"], "--timeline takes a number of 0 or more, not '-1'"),
                (["report", "--format", "x"], "--format takes one of text, lines, "),
                (["report", "-o"], "--output needs FILE"),
                (["lint", "--timeout", "0", "x.cpp"], "--timeout takes a number from 1 to 86400, not '0'"),
                (["trace", "--steady", "--keep-going", "--", "true"], "--steady and --keep-going cannot be given together")):
            self.assert_one_line(self.run_tool(*arguments), said)

    def test_help_says_nothing_in_the_words_of_the_parser(self):
        said = self.run_tool("trace", "--help").out
        for word in ("Excludes", "Needs", "TEXT:{"):
            self.assertNotIn(word, said)

    def test_help_of_a_command_by_the_word(self):
        self.assertEqual(self.run_tool("help", "trace").out, self.run_tool("trace", "--help").out)
        self.assert_one_line(self.run_tool("help", "tarce"), "tarce", "trace")

    def test_a_kernel_of_no_library(self):
        result = self.run_tool("explain", "--kernel", "foo")
        self.assertEqual(result.status, 0)
        self.assertNotIn(".txt", result.out)

    def test_too_many_arguments(self):
        self.assert_one_line(self.run_tool("rules", "mixed-operands", "more"), "unexpected argument 'more'")

    def test_control_characters_are_not_echoed(self):
        result = self.run_tool("re\x1b[31mport\nnext")
        self.assertNotIn("\x1b", result.err)
        self.assert_one_line(result, "unknown command")

    def test_starts_quickly(self):
        def cpu_seconds():
            return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

        begin = cpu_seconds()
        for _ in range(5):
            self.run_tool("rules")
        self.assertLess(cpu_seconds() - begin, 2.5)  # as a rule 25 ms; a sanitizer's build takes more


class Examples(tool.ToolTest):
    """Every example of every --help runs, in a folder that has what it names. The demo's train: tests/runtime runs them."""

    def furnish(self):
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.write("run.trace", tool.CLEAN)
        timed = tool.CLEAN.rstrip("\n") + "\ntime #1 1 1 1795356682172914926 2500\n"
        self.write("dtypecheck-runs/20250101-000000-1/text.trace", timed)
        self.write("dtypecheck-runs/20250101-000000-1/run.json", "{}")
        self.write("train.py", "")
        self.write("libtorch_trainer", "#!/bin/sh\n", 0o755)
        for name in ("python", "accelerate"):
            self.write(f"bin/{name}", "#!/bin/sh\n", 0o755)
        os.symlink(tool.DTYPECHECK, self.work / "bin/dtypecheck")

    def examples_of(self, command):
        text = self.run_tool(command, "--help").out
        examples = re.findall(r"(?m)^  (dtypecheck .*)$", text[text.index("examples:"):])
        self.assertGreater(len(examples), 0)
        return examples

    def test_examples(self):
        self.environment["PATH"] = f"{self.work}/bin:{self.environment['PATH']}"
        for command in COMMANDS:
            self.furnish()
            for example in self.examples_of(command):
                if command == "demo":
                    continue
                with self.subTest(example):
                    self.assertEqual(shlex.split(example)[1], command)
                    process = subprocess.run(["bash", "-c", example], cwd=self.work, env=self.environment,
                                             stdin=subprocess.DEVNULL, capture_output=True, timeout=900)
                    err = process.stderr.decode()
                    self.assertNotRegex(err, "unknown|unexpected|required|internal error")
                    if command == "build-hook":  # needs a LibTorch at that place; test_build_hook.py has one
                        self.assertIn("give the path of libtorch_cpu.so", err)
                    elif "--fail-on error -- " in example:  # nothing was traced
                        self.assertEqual(process.returncode, 2, err)
                    else:
                        self.assertEqual(process.returncode, 0, err)


class OutputStreams(tool.ToolTest):
    def test_a_reader_that_goes_away_is_no_error(self):
        self.write("long.trace", tool.CLEAN * 20_000)
        process = self.start("dump", "long.trace")
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.wait(timeout=900), 0)
        process.stderr.close()

    def test_head(self):
        self.write("long.trace", tool.CLEAN * 20_000)
        for ignore in ("", "trap '' PIPE; "):
            script = f"set -o pipefail; {ignore}{tool.DTYPECHECK} dump long.trace | head -1"
            process = subprocess.run(["bash", "-c", script], cwd=self.work, env=self.environment, capture_output=True)
            self.assertEqual((process.returncode, process.stderr), (0, b""))
            self.assertEqual(len(process.stdout.splitlines()), 1)

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            result = self.run_tool("rules", stdout=full)
        self.assert_one_line(result, "standard output", "No space left")

    def test_closed_standard_output(self):
        script = f"{tool.DTYPECHECK} rules >&-"
        process = subprocess.run(["bash", "-c", script], cwd=self.work, env=self.environment, capture_output=True)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"standard output", process.stderr)

    def colours(self, environment):
        self.write("run.trace", tool.MIXED)
        pid, terminal = self.pseudo_terminal(pty.fork)
        if pid == 0:
            os.chdir(self.work)
            os.execve(tool.DTYPECHECK, ["dtypecheck", "report", "run.trace"], {**self.environment, **environment})
        text = self.read_to_end(terminal)
        os.waitpid(pid, 0)
        self.assertIn(b"addmm", text)
        return b"\x1b[" in text

    def test_colour_is_for_terminals(self):
        self.assertTrue(self.colours({"TERM": "xterm"}))
        self.assertFalse(self.colours({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertFalse(self.colours({"TERM": "dumb"}))
        self.write("run.trace", tool.MIXED)
        self.assertNotIn("\x1b[", self.run_tool("report", "run.trace").out)


if __name__ == "__main__":
    unittest.main()
