"""A run of which a part is missing is never green: each way is exit status 2, with the reason (docs/ci.md)."""

import os
import shutil
import sys
import unittest

from traced import TracedTest, tool

CHILD = "import torch; torch.ones(2).half()"
PARENT = f"""
import os, subprocess, sys
import torch
torch.ones(3).double()
subprocess.run({{command}}, env={{environment}}, check=True)
"""


class Incomplete(TracedTest):
    def said_of(self, folder, *arguments, status=2):
        done = tool("report", folder, *arguments, statuses=[status])
        return done.stdout.decode() + done.stderr.decode()

    def copy_of(self, run):
        copy = self.folder / self.id().rpartition(".")[2]
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run.folder, copy)
        return copy


class MainProcess(Incomplete):
    """A program that fails, and whose children were traced."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = PARENT.format(command=f"[sys.executable, '-c', {CHILD!r}]", environment="None") + "raise ValueError('on purpose')\n"
        cls.done = cls.traced_command([sys.executable, "-c", program])  # whose number the run is to know
        cls.pid = next(pid for pid, process in cls.done.run.processes.items()
                       if "uncaught" in process["facts"])

    def test_whole(self):
        self.assertEqual(self.done.status, 1)
        self.assertTrue(self.done.run.report["complete"])

    def test_its_file_is_deleted(self):
        folder = self.copy_of(self.done.run)
        (file,) = folder.glob(f"*.{self.pid}.dtrace")
        file.unlink()
        self.assertIn(f"{file.name}: was there when the run ended and is missing now", self.said_of(folder))
        merged = self.folder / "merged.dtrace"
        tool("merge", folder, "-o", merged, statuses=[2])
        self.assertIn("was there when the run ended", self.said_of(merged))

    def test_its_file_was_never_there(self):
        folder = self.copy_of(self.done.run)
        (file,) = folder.glob(f"*.{self.pid}.dtrace")
        file.unlink()
        description = (folder / "run.json").read_text()
        (folder / "run.json").write_text(description.replace('"traces"', '"others"'))
        self.assertIn(f"process {self.pid}, which was started, ended with status 1 and left no trace",
                      self.said_of(folder))


class Children(Incomplete):
    """A child that is started without stage 1 in its environment."""

    def traced_parent(self, command, environment, *options, program=PARENT):
        code = program.format(command=command, environment=environment)
        return self.traced_command([self.interpreter, "-c", code], options)

    def test_python(self):
        path = f"PATH={os.environ['PATH']}"
        child = [sys.executable, "-c", CHILD]
        for command, environment in ((["env", "-i", path, *child], None),
                                     (child, {"PATH": os.environ["PATH"]}),
                                     (["sh", "-c", f"env -i {path} {sys.executable} -c '{CHILD}'"], None)):
            done = self.traced_parent(command, environment, "--fail-on", "error")
            self.assertEqual(done.status, 2, done.said)
            self.assertIn("was started in an environment without LD_PRELOAD", done.said)
            self.assertIn("-c import torch", done.said)
            self.assertIn("without LD_PRELOAD", self.said_of(done.run.folder))

    def test_spawned(self):
        """os.posix_spawn, which is how subprocess starts a program where it may."""
        program = ("import os, sys, torch\ntorch.ones(3).double()\n"
                   "pid = os.posix_spawn(sys.executable, {command}, {environment})\nos.waitpid(pid, 0)\n")
        child = [sys.executable, "-c", CHILD]
        done = self.traced_parent(child, {"A": "b"}, "--fail-on", "error", program=program)
        self.assertEqual(done.status, 2, done.said)
        whole = self.traced_parent(child, "os.environ", "--fail-on", "error", program=program)
        self.assertEqual((whole.status, len(whole.run.files)), (0, 2), whole.said)

    def test_what_runs_no_op_is_no_loss(self):
        for command in (["uname"], ["sh", "-c", "true"], ["/bin/ls", "/"]):
            done = self.traced_parent(command, {"PATH": os.environ["PATH"]}, "--fail-on", "error")
            self.assertEqual(done.status, 0, done.said)
            self.assertTrue(done.run.report["complete"])

    def test_a_program_that_is_not_there(self):
        program = PARENT.replace("check=True)", "check=False)").replace("subprocess.run", "try: subprocess.run") + \
            "except FileNotFoundError: pass\n"
        done = self.traced_parent([str(self.folder / "none")], {"A": "b"}, "--fail-on", "error", program=program)
        self.assertEqual((done.status, done.run.others), (0, []), done.said)


class Damage(Incomplete):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced_command([cls.interpreter, "-c", "import torch; torch.ones(2) + torch.arange(2)"])
        (cls.file,) = cls.done.run.files
        cls.bytes = cls.file.read_bytes()

    def with_file(self, content):
        folder = self.copy_of(self.done.run)
        (folder / self.file.name).write_bytes(content)
        return folder

    def test_flipped_bits(self):
        """One bit anywhere. That no bit of a trace with all kinds of records is missed is a test of trace/."""
        for n in range(12):
            bit = (n * 2 + 1) * len(self.bytes) * 8 // 24
            damaged = bytearray(self.bytes)
            damaged[bit // 8] ^= 1 << bit % 8
            with self.subTest(bit=bit):
                self.assertIn("partial: ", self.said_of(self.with_file(bytes(damaged))))

    def test_cut_to_a_quarter(self):
        folder = self.with_file(self.bytes[:len(self.bytes) // 4])
        words = rf"cut short: {len(self.bytes) // 4} of {len(self.bytes)} bytes are there; \d\d+ of \d+ records"
        self.assertRegex(self.said_of(folder), words)
        self.assertRegex(self.said_of(folder, "--fail-on", "never"), words)
        merged = self.folder / "merged.dtrace"
        for command in (["dump", folder], ["merge", folder, "-o", merged], ["dump", merged], ["merge", merged, "-o", self.folder / "again.dtrace"]):
            with self.subTest(command=command):
                self.assertRegex(tool(*command, statuses=[2]).stderr.decode(), words)

    def test_what_is_whole_has_no_remark(self):
        merged = self.folder / "whole.dtrace"
        for command in (["dump", self.done.run.folder], ["merge", self.done.run.folder, "-o", merged], ["dump", merged]):
            self.assertNotIn("missing", tool(*command, statuses=[0]).stderr.decode())


if __name__ == "__main__":
    unittest.main()
