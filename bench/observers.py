"""What can watch a step: our tracer, and what comes with PyTorch. Each is a context: entered before
the steps, left after.

Leaving includes the work that an observer puts off until it is stopped.
"""

import contextlib
import ctypes
import os
import tempfile
import warnings
from pathlib import Path

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile
from torch.utils._debug_mode import DebugMode
from torch.utils._python_dispatch import TorchDispatchMode


warnings.filterwarnings("ignore", message=".*Profiler clears events")


class Tracer:
    """The hook of the dtypecheck that traces this process. It begins looking away; entered it
    looks.
    """

    def __init__(self):
        self.hook = self._find()
        self._pause, self._leave = self.hook.dtypecheck_hook_pause, self.hook.dtypecheck_hook_leave
        self.look_away()

    @staticmethod
    def _find():
        torch.ones(1)  # the first op of a process loads the hook
        mapped = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps")
                  if line.count("/") > 1}
        hooks = os.environ.get("DTYPECHECK_HOOKS", "")
        for path in sorted(mapped):
            if "dtypecheck_hook" in path or hooks and path.startswith(hooks):
                with contextlib.suppress(OSError):
                    return ctypes.CDLL(path, mode=os.RTLD_NOLOAD)
        raise SystemExit("no dtypecheck hook in this process; run it under dtypecheck trace")

    def look(self):
        self._leave(0)
        self._pause(0)

    def look_away(self):
        """As --steady does between the steps that it traces."""
        self._leave(0)
        self._pause(1)

    def leave(self):
        """LibTorch asks its own function again, and no callback of ours is left."""
        self._pause(1)
        self._leave(1)

    def __enter__(self):
        self.look()

    def __exit__(self, *_):
        self.look_away()


class DtypeMode(TorchDispatchMode):
    """What people write for themselves: the name and the result's dtype of every op that reaches
    the dispatch mode.
    """

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.last = (function, result.dtype, [a.dtype for a in args
                                                  if isinstance(a, torch.Tensor)])
        return result


@contextlib.contextmanager
def execution_trace():
    with tempfile.TemporaryDirectory() as folder:
        observer = ExecutionTraceObserver().register_callback(str(Path(folder) / "trace.json"))
        observer.start()
        yield
        observer.stop()
        observer.unregister_callback()


def profiler(**options):
    # Parsing what was recorded into Python objects, which is put off until someone asks, is not
    # part of the bill.
    return profile(activities=[ProfilerActivity.CPU], **options)


PEERS = {
    "torch.profiler": profiler,
    "torch.profiler, shapes": lambda: profiler(record_shapes=True),
    "torch.profiler, shapes and stacks": lambda: profiler(record_shapes=True, with_stack=True),
    "ExecutionTraceObserver": execution_trace,
    "TorchDispatchMode reading dtypes": DtypeMode,
    "DebugMode": DebugMode,
}


def events_of(step) -> int:
    """How many events the dispatcher, the autograd engine and the optimizer announce in one step.
    """
    with profiler() as p:
        step()
    names = [event.name() for event in p.profiler.kineto_results.events()]
    return sum(not name.startswith(("ProfilerStep", "[memory]")) for name in names)
