"""Traces the programs of programs/ as users do, and reads back what was recorded.

An import of torch takes seconds, so a program runs once for a whole TestCase (setUpClass), and its tests look at what came
of it. A line of a program that a test asks for ends in "# <- name".
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DTYPECHECK = os.environ["DTYPECHECK"]
PROGRAMS = pathlib.Path(__file__).parent / "programs"

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "cli")]
from common import clean_environment, marked_line  # noqa: E402
from fork_server import python  # noqa: E402
from tool import finish  # noqa: E402


def line_of(program, name):
    return marked_line(PROGRAMS / program, name)


class Done:
    """How a program ended; err is without the lines that dtypecheck itself said."""

    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout.decode("utf-8", "replace")
        lines = process.stderr.decode("utf-8", "replace").splitlines(keepends=True)
        self.err = "".join(line for line in lines if not line.startswith("dtypecheck: "))
        self.said = "".join(line for line in lines if line.startswith("dtypecheck: "))

    def printed(self):
        """{name: the other words} of each printed line "name word …"; a later one of a name wins."""
        return {words[0]: words[1:] for words in map(str.split, self.out.splitlines()) if words}


class Run:
    """The run folder of a traced program, as `dump` and `report` tell of it."""

    def __init__(self, folder):
        self.folder = folder
        self.files = sorted(folder.glob("*.dtrace"))
        self.others = sorted(path.name for path in folder.iterdir() if path.suffix != ".dtrace"
                             and path.name not in ("run.json", "sources.json"))
        self.report = json.loads(tool("report", "--format", "json",
                                      folder).stdout) if self.files else None
        self.processes = {process["pid"]: process
                          for process in self.report["processes"]} if self.files else {}

    def calls(self, **wanted):
        """The op calls with these fields, in the order of their records: calls(op="aten::mm", pid=7, line=3)."""
        if "_calls" not in self.__dict__:
            lines = tool("dump", "--format", "jsonl", self.folder).stdout.splitlines()
            self._calls = [flat(json.loads(line)) for line in lines]
        return [call for call in self._calls if all(field(call, name) == value
                                                    for name, value in wanted.items())]

    def findings(self, rule=None):
        return [finding for finding in self.report["findings"] if rule in (None, finding["rule"])]

    def text(self):
        return tool("report", self.folder).stdout.decode()


def flat(call):
    """An op call of `dump --format jsonl` with the fields of its location beside the others."""
    return call.pop("location", {}) | call


def field(call, name):
    return call.get(name)


def ended(command, **options):
    """Runs a command to its end; gives what it wrote."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, **options)
    out, err = finish(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def tool(*arguments, statuses=(0, 1, 2)):
    """Runs dtypecheck; 1 says that there are findings, 2 that there is none but that a part of the run is missing."""
    done = ended([DTYPECHECK, *map(str, arguments)])
    if done.returncode not in statuses:
        raise AssertionError(f"dtypecheck {arguments}: status {done.returncode}: {done.stderr.decode()}")
    if done.returncode == 2 and not done.stdout and 1 in statuses:
        raise AssertionError(f"dtypecheck {arguments}: {done.stderr.decode()}")
    return done


class TracedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-tracer-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.interpreter = python()
        cls.environment = clean_environment() | {"XDG_CACHE_HOME": str(cls.folder / "cache"), "OMP_NUM_THREADS": "1",
                            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"}
        cls.runs = 0

    @classmethod
    def execute(cls, command, **options):
        options = {"cwd": cls.folder, "env": cls.environment, **options}
        return Done(ended([str(word) for word in command], **options))

    @classmethod
    def plain(cls, program, *arguments):
        return cls.execute([cls.interpreter, PROGRAMS / program, *arguments])

    @classmethod
    def traced(cls, program, *arguments, options=(), **more):
        return cls.traced_command([cls.interpreter, PROGRAMS / program, *arguments], options, **more)

    @classmethod
    def traced_command(cls, command, options=(), out=None, **more):
        cls.runs += 1
        out = out or cls.folder / f"run{cls.runs}"
        done = cls.execute([DTYPECHECK, "trace", "--no-report", "--out", out, *options, "--",
                            *command], **more)
        done.run = Run(out) if out.is_dir() else None
        return done
