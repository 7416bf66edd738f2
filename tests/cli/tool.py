"""Runs the dtypecheck program that $DTYPECHECK names, in a folder of its own for each test."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402

DTYPECHECK = os.environ["DTYPECHECK"]
PATIENCE_S = 1200  # on a busy machine, for what takes a minute on a quiet one

MIXED = """\
process pid=1 libtorch=2.11.0 steps=1
op aten::addmm bias=Float[320] mat1=Half[2,320] mat2=Float[320,1280] raised "mat1 and mat2 must have the same dtype, but got Half and Float" c10::Error at train.py:1065 main phase forward step 1
"""
CLEAN = """\
process pid=1 libtorch=2.11.0 steps=1
op aten::mm self=Float[2,3] mat2=Float[3,4] -> Float[2,4] at train.py:3 main phase forward step 1
"""
PROMOTED = """\
process pid=1 libtorch=2.11.0 steps=1
op aten::cat tensors=Half[1,4,64,64],Float[1,1,64,64] -> Float[1,5,64,64] at train.py:91 main phase forward step 1
"""


class Result:
    def __init__(self, process, out, err):
        self.status = process.returncode
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")


def descendants(pid):
    """The processes below `pid`, itself last."""
    try:
        tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        children = []
    return [below for child in children for below in descendants(child)] + [pid]


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def finish(process, input=None, patience_s=PATIENCE_S):
    """What the process writes until it ends. One that hangs says where each of its Python threads is: it and all below
    it are aborted, which PYTHONFAULTHANDLER=1 in their environment answers with the stacks."""
    try:
        return process.communicate(input, timeout=patience_s)
    except subprocess.TimeoutExpired:
        # All are stopped first, since one whose child has died goes on; then each ends, and says its stacks alone.
        tree = descendants(process.pid)
        for pid in tree:
            send(pid, signal.SIGSTOP)
        for pid in tree:
            send(pid, signal.SIGABRT)
            send(pid, signal.SIGCONT)
            deadline = time.monotonic() + 60
            while runs(pid) and time.monotonic() < deadline:
                time.sleep(0.01)
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        said = b"\n".join(text for text in (out, err) if text).decode("utf-8", "replace")
        raise AssertionError(f"{process.args} did not end in {patience_s} s:\n{said}") from None


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.environment = clean_environment("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")
        self.environment["HOME"] = str(self.folder)
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        self.environment["PYTHONFAULTHANDLER"] = "1"
        # A sanitizer's build of the tool may itself be traced, with stage 1 loaded before the sanitizer.
        self.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"

    def start(self, *arguments, tool=DTYPECHECK, **options):
        options = {"cwd": self.work, "env": self.environment, "stdin": subprocess.DEVNULL,
                   "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([str(tool), *map(str, arguments)], **options)

    def run_tool(self, *arguments, **options):
        process = self.start(*arguments, **options)
        out, err = finish(process)
        return Result(process, out or b"", err or b"")

    def write(self, name, text, mode=None):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if mode is not None:
            path.chmod(mode)
        return path

    def only_run(self):
        (run,) = (self.work / "dtypecheck-runs").glob("*/")
        return run

    def pseudo_terminal(self, make):
        """What pty.openpty or pty.fork gives; the test is left out where there is none, as in a chroot without devpts."""
        try:
            return make()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal here: {error}")

    @staticmethod
    def read_to_end(terminal):
        """All that is written to the terminal, which is closed."""
        text = b""
        try:
            while chunk := os.read(terminal, 65536):
                text += chunk
        except OSError:  # how Linux ends a terminal
            pass
        os.close(terminal)
        return text

    def assert_one_line(self, result, *parts, status=2):
        """The tool gave up with one line on stderr that holds all of `parts`, and wrote nothing else."""
        self.assertEqual(result.status, status, result.err)
        self.assertEqual(result.out, "")
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("dtypecheck: "), lines[0])
        self.assertFalse(lines[0].endswith("."), lines[0])
        for part in parts:
            self.assertIn(str(part), lines[0])


class SharedCacheTest(ToolTest):
    """Its tests share a cache: LibTorch's headers are parsed by the first that includes them, not by each."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cache = tempfile.mkdtemp(prefix="dtypecheck-test-")
        cls.addClassCleanup(shutil.rmtree, cls.cache, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.environment["XDG_CACHE_HOME"] = self.cache


def compile_c(source, output, *flags, compiler=os.environ.get("CC", "cc")):
    """Compiles with the C compiler of the build; gives the output's path."""
    subprocess.run([compiler, "-x", "c", "-", "-o", str(output), *flags], input=source.encode(), check=True)
    return output
