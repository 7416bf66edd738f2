"""Recording in a program that is already running.

`dtypecheck trace` preloads the tracer into a program. Here the program asks for it itself: the same library is loaded with
ctypes, takes the place of a few functions in the objects that are there, and records from begin() to end() into a folder
of its own, which `dtypecheck report` judges. Nothing here raises into the program: what cannot be recorded is told in one
line on stderr and stands in Run.problem.
"""

import atexit
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref

from dtypecheck._findings import Finding, at_least
from dtypecheck._tool import ToolMissing, find_tool

_lock = threading.Lock()
_library = None
_hooks = None
_current = None  # the Run that is being recorded

_WHY_NOT = {
    1: "this process is traced by dtypecheck trace already; the findings are in its report",
    2: "no LibTorch is loaded; import torch first",
    3: "this process cannot be recorded",
}


def _say(line):
    try:
        print("dtypecheck: " + line, file=sys.stderr)
    except (OSError, ValueError, AttributeError):  # closed, or none
        pass


def is_preloaded():
    """This process was started by `dtypecheck trace`, which records all of it."""
    return "DTYPECHECK_RUN" in os.environ and "libdtypecheck_preload" in os.environ.get("LD_PRELOAD", "")


def _load(tool):
    global _library, _hooks
    if _library is not None:
        return _library
    path = pathlib.Path(tool).resolve().parent.parent / "lib" / "libdtypecheck_preload.so"
    done = subprocess.run([tool, "build-hook", "--cache"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise ToolMissing(done.stderr.decode("utf-8", "replace").strip().replace("dtypecheck: ", "", 1))
    library = ctypes.CDLL(str(path))
    library.dtypecheck_begin.argtypes = [ctypes.c_char_p] * 4
    library.dtypecheck_begin.restype = ctypes.c_int
    library.dtypecheck_end.argtypes = [ctypes.c_char_p]
    library.dtypecheck_end.restype = None
    _hooks = os.fsencode(done.stdout.decode().rstrip("\n"))
    _library = library
    return library


class Run:
    """What was recorded from start to stop, and what dtypecheck finds in it."""

    def __init__(self, out=None, check_values=False):
        self.folder = None
        self.problem = None  # why nothing was recorded; None when all is well
        self._out = out
        self._options = b"check-values" if check_values else b""
        self._pid = os.getpid()
        self._json = None
        self._is_recording = False

    # ---- recording

    def start(self):
        global _current
        with _lock:
            try:
                if self._is_recording:
                    return self
                if _current is not None:
                    return self._cannot("recording goes on already, since an outer trace() or attach(); what happens here is"
                                        " among its findings")
                self._start()
            except (OSError, ToolMissing, AttributeError) as error:
                return self._cannot(str(error))
            if self._is_recording:
                _current = self
        return self

    def _start(self):
        if is_preloaded():
            return self._cannot(_WHY_NOT[1])
        tool = find_tool()
        library = _load(tool)
        self.folder, self._json = self._make_folder(), None
        # The hook's folder is made by the tool, with its lock; a compiler that is at work says so on stderr.
        why_not = library.dtypecheck_begin(os.fsencode(self.folder), _hooks, os.fsencode(tool), self._options)
        if why_not != 0:
            return self._cannot(self._notes() or _WHY_NOT.get(why_not, _WHY_NOT[3]), is_reported=bool(self._notes()))
        self._pid = os.getpid()
        self._is_recording = True
        return self

    def _make_folder(self):
        if self._out is None:
            folder = tempfile.mkdtemp(prefix="dtypecheck-")
            self._finalizer = weakref.finalize(self, _remove, folder, os.getpid())
            return folder
        folder = os.path.abspath(os.fspath(self._out))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if any(name.endswith(".dtrace") for name in os.listdir(folder)):
            raise OSError(f"{folder}: holds the traces of an earlier run; name another folder")
        return folder

    def _notes(self):
        """What stage 1 wrote of why it runs untraced; it has said the same on stderr."""
        note = pathlib.Path(self.folder, f"untraced.{os.getpid()}.txt")
        text = note.read_text(errors="replace") if note.is_file() else ""
        return text.replace("dtypecheck: ", "").strip()

    def _cannot(self, why, is_reported=False):
        if self.problem is None and not is_reported:
            _say(why)
        self.problem = why
        return self

    def stop(self, uncaught=None):
        """Ends the recording; `uncaught` is the exception that left the recorded code, if one did."""
        global _current
        with _lock:
            # A child that was forked meanwhile goes on in a file of its own, and ends with the process.
            if not self._is_recording or self._pid != os.getpid():
                return self
            self._is_recording = False
            _current = None
            text = "" if uncaught is None else f"{type(uncaught).__name__}: {_text_of(uncaught)}"
            _library.dtypecheck_end(text.encode("utf-8", "replace").replace(b"\0", b" "))
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, exception_type, exception, traceback):
        self.stop(exception)
        return False

    # ---- what was found

    def _run_tool(self, *arguments):
        environment = dict(os.environ)
        environment.pop("LD_PRELOAD", None)
        done = subprocess.run([find_tool(), "report", "--fail-on", "never", "-o", "-", *arguments, self.folder],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        is_partial = done.returncode == 2 and done.stdout  # "complete" is false
        if done.returncode != 0 and not is_partial:
            raise ReportFailed(done.stderr.decode("utf-8", "replace").strip())
        return done.stdout.decode("utf-8", "replace")

    def to_json(self):
        """The JSON report (docs/report-schema.json); None where nothing was recorded."""
        if self._is_recording:
            raise ReportFailed("recording goes on; stop() it first")
        if self._json is None and self.folder is not None and self.problem is None:
            self._json = json.loads(self._run_tool("--format", "json"))
        return self._json

    def report(self, *arguments):
        """The report as text, or as `run.report("--format", "html")` and the like say."""
        if self.problem is not None or self.folder is None:
            return f"dtypecheck: {self.problem or 'nothing was recorded'}\n"
        if self._is_recording:
            raise ReportFailed("recording goes on; stop() it first")
        return self._run_tool("--format", "text", "--color", "never") if not arguments else self._run_tool(*arguments)

    @property
    def findings(self):
        """The findings, the first to mend first."""
        report = self.to_json()
        return [Finding(entry, self) for entry in report["findings"]] if report else []

    def findings_at(self, level="warning"):
        """Those of that severity or above."""
        return [finding for finding in self.findings if at_least(finding.severity, level)]

    def __repr__(self):
        state = "recording" if self._is_recording else self.problem or "stopped"
        return f"<dtypecheck.Run {self.folder}: {state}>"


class ReportFailed(RuntimeError):
    """`dtypecheck report` could not judge what was recorded; the message is its own."""


def _text_of(exception):
    try:
        return str(exception)
    except Exception:
        return ""


def _remove(folder, pid):
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _import_torch():
    if "torch" not in sys.modules and not is_preloaded():
        try:
            import torch  # noqa: F401
        except ImportError:
            pass  # begin() says what is missing


def trace(out=None, check_values=False):
    """`with dtypecheck.trace() as run:` records what the block does; run.findings has what was found.

    out: a folder to keep the trace in, for `dtypecheck report`; without, it is gone with the run.
    check_values: also look for the first inf or NaN in a result.
    """
    _import_torch()
    return Run(out, check_values)


def attach(out=None, check_values=False):
    """Records from here on, until run.stop() or the end of the process, when the report is written on stderr."""
    _import_torch()
    run = Run(out, check_values).start()
    if run.problem is None:
        atexit.register(_report_at_exit, run, os.getpid())
    return run


def _report_at_exit(run, pid):
    if os.getpid() != pid or not run._is_recording:
        return
    # sys.last_value: what ended the program, if anything did.
    run.stop(getattr(sys, "last_value", None))
    try:
        sys.stderr.write("\n" + run.report())
    except (ReportFailed, ToolMissing, OSError, ValueError) as error:
        _say(str(error))
