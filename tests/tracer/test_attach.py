"""`dtypecheck attach PID`: the next steps of a program that is already running, which computes what it would have; and what it refuses."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from traced import DTYPECHECK, PROGRAMS, Run, TracedTest, line_of

NOBODY = 65534
PROGRAM = PROGRAMS / "attached.py"


def nobodys_code(pid):
    """Bytes of code that no file has; 0 of a process that cannot be looked at."""
    try:
        with open(f"/proc/{pid}/maps") as maps:
            places = [line.split() for line in maps if "[" not in line]
    except OSError:
        return 0
    ends = [place[0].split("-") for place in places if place[1] == "r-xp" and place[4] == "0"]
    return sum(int(end, 16) - int(begin, 16) for begin, end in ends)


class Trainer:
    """attached.py, which takes the steps that it is told to."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen([sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=folder, env=environment, text=True)
        self.pid = int(self.process.stdout.readline())

    def begin(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()

    def digest(self):
        return self.process.stdout.readline().strip()

    def train(self, steps):
        self.begin(steps)
        return self.digest()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(timeout=60)


@unittest.skipIf(os.uname().machine != "x86_64", "a program that is already running can be attached to on x86-64 alone")
class Attach(TracedTest):
    def trainer(self):
        trainer = Trainer(self.folder, self.environment)
        self.addCleanup(trainer.process.kill)
        return trainer

    def attach(self, pid, *options):
        self.code_before = nobodys_code(pid)
        return subprocess.Popen([DTYPECHECK, "attach", str(pid), *map(str, options)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                env=self.environment)

    def attached(self, pid, *options):
        process = self.attach(pid, *options)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def test_the_next_steps_of_a_trainer_that_computes_the_same(self):
        plain = self.trainer()
        wanted = [plain.train(steps) for steps in (8, 4, 40)]
        self.assertEqual(plain.close(), 0)

        trainer = self.trainer()
        tool = self.attach(trainer.pid, "--steps", 3, "--out", "first")
        self.until_it_is_asked(trainer.pid)
        got = [trainer.train(8)]
        out, err = tool.communicate(timeout=300)
        self.assertEqual(tool.returncode, 1, out + err)  # a warning
        self.assertIn("aten::cat promotes tensors[0] from Half to Float", out)
        run = Run(self.folder / "first")
        (finding,) = run.findings()
        self.assertEqual(finding["location"]["line"], line_of("attached.py", "promotion"))
        (process,) = run.processes.values()
        self.assertEqual((process["pid"], process["steps"], run.report["complete"]), (trainer.pid, 3, True))
        self.assertTrue(any(o.get("parameter") == "model.0.weight" for call in run.calls(op="aten::addmm")
                            for o in call["operands"]))
        description = json.loads((self.folder / "first/run.json").read_text())
        self.assertEqual((description["command"][-1], description["folder"]), (str(PROGRAM), str(self.folder)))

        # Once more, into a folder of its own and with values; nobody steps, and Ctrl-C ends it with what there is.
        tool = self.attach(trainer.pid, "--steps", 1000, "--check-values", "--out", "second")
        self.until_it_is_asked(trainer.pid)
        got.append(trainer.train(4))
        tool.send_signal(signal.SIGINT)
        time.sleep(0.5)
        got.append(trainer.train(40))
        out, err = tool.communicate(timeout=300)
        self.assertEqual(tool.returncode, 1, out + err)
        self.assertEqual(Run(self.folder / "second").report["summary"]["steps_traced"], 4)
        self.assertEqual(got, wanted)
        self.assertEqual(trainer.close(), 0)

    def until_it_is_asked(self, pid):
        """Code of nobody's has come, beside what oneDNN compiled before: the next op loads the tracer."""
        for _ in range(1000):
            if nobodys_code(pid) > self.code_before:
                return time.sleep(0.1)
            time.sleep(0.02)
        self.fail("nothing was put into the program")

    def test_where_no_op_runs_the_program_goes_on_as_it_was(self):
        trainer = self.trainer()
        code, out, err = self.attached(trainer.pid, "--seconds", 1, "--out", "idle")
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("no op ran in 1 s, so nothing was recorded", err)
        self.assertEqual(len(trainer.train(4)), 64)
        self.assertEqual(list((self.folder / "idle").glob("*.dtrace")), [])
        # Nor does a tool that is killed meanwhile.
        tool = self.attach(trainer.pid, "--steps", 2, "--out", "killed")
        self.until_it_is_asked(trainer.pid)
        tool.kill()
        tool.communicate()
        self.assertEqual(len(trainer.train(6)), 64)
        self.assertEqual(trainer.close(), 0)

    def test_after_one_that_was_killed(self):
        trainer = self.trainer()
        tool = self.attach(trainer.pid, "--steps", 1000, "--out", "of_the_killed")
        self.until_it_is_asked(trainer.pid)
        trainer.train(4)
        tool.kill()
        tool.communicate()
        again = self.attach(trainer.pid, "--out", "again")
        self.until_it_is_asked(trainer.pid)
        self.assertEqual(len(trainer.train(4)), 64)
        out, err = again.communicate(timeout=300)
        self.assertEqual((again.returncode, out), (2, ""), err)
        self.assertIn("another dtypecheck attach is recording it already, or one that was killed, whose recording", err)
        self.assertEqual(trainer.close(), 0)
        self.assertEqual(list((self.folder / "again").glob("*.dtrace")), [])
        self.assertTrue(list((self.folder / "of_the_killed").glob("*.dtrace")))

    def refused(self, pid, why):
        code, out, err = self.attached(pid)
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn(f"process {pid}: ", err)
        self.assertIn(why, err)

    def other(self, *command):
        """A program that prints its number and waits for the end of its input."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env=self.environment)
        self.addCleanup(process.communicate)
        return int(process.stdout.readline())

    def python(self, program, under=()):
        return self.other(*under, sys.executable, "-c", f"{program}\nimport os, sys; print(os.getpid(), flush=True); sys.stdin.read()")

    def test_no_such_process(self):
        process = subprocess.Popen(["true"])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.refused(process.pid, "it has ended")
        process.wait()
        self.refused(process.pid, "no process has that number")

    def test_no_libtorch(self):
        self.refused(self.python(""), "no LibTorch is loaded into it")

    def test_traced_already(self):
        self.refused(self.python("", under=[DTYPECHECK, "trace", "--no-report", "--out", self.folder / "whole", "--"]),
                     "dtypecheck trace started it")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to be two users")
    def test_of_another_user(self):
        self.refused(self.python("import os; os.setuid(%d)" % NOBODY), "it is of user nobody, and this is root; run this as nobody")

    def test_stopped(self):
        pid = self.python("")
        os.kill(pid, signal.SIGSTOP)
        self.refused(pid, "it is stopped")
        os.kill(pid, signal.SIGCONT)

    def test_under_a_debugger(self):
        pid, libc = self.python(""), ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(0x4206, pid, 0, 0) != 0:  # PTRACE_SEIZE
            self.skipTest("this system forbids ptrace")
        self.refused(pid, f"process {os.getpid()} traces it already")

    def test_behind_a_filter_of_its_own(self):
        allow = "import ctypes, struct; libc = ctypes.CDLL(None); rule = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, " \
                "0x7fff0000)); code = struct.pack('HxxxxxxP', 1, ctypes.addressof(rule)); libc.prctl(38, 1, 0, 0, 0); " \
                "libc.prctl(22, 2, code, 0, 0)"
        self.refused(self.python(allow), "a seccomp filter of its own")

    @unittest.skipIf(shutil.which("cc") is None, "needs a compiler")
    def test_a_static_program(self):
        program = self.folder / "static"
        made = subprocess.run(["cc", "-static", "-x", "c", "-", "-o", program], input=b"#include <stdio.h>\n"
                              b"#include <unistd.h>\nint main(void) { printf(\"%d\\n\", getpid()); fflush(stdout); return getchar(); }\n", capture_output=True)
        if made.returncode != 0:
            self.skipTest("no static C library is installed")
        self.refused(self.other(program), "it is a static program")


if __name__ == "__main__":
    unittest.main()
