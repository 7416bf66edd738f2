"""Measures what the ops of the torch at hand accept: run it with the Python that has that torch.

usage: measure.py -o FILE [--jobs N] [--op-limit SECONDS] [--only TEXT]

Every op call that torch's operator database and hand_written.py reach is repeated at the dispatcher with
every combination of Float, Half, BFloat16 and Double on its operands, then with the other dtypes. Each child
process takes one task after another; one that dies or hangs costs what it was measuring of that op, and a fresh
child goes on with the rest.
"""
import argparse
import collections
import datetime
import errno
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
import warnings

START = time.time()
# Of each op: the first four dtypes in all combinations, and then all others. What the others kill or hold up
# costs nothing of the first.
PARTS = ("first", "others")


def parse_arguments():
    parser = argparse.ArgumentParser(description="measure what the ops of this torch accept")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--jobs", type=int, default=max(1, min(os.cpu_count() or 1, 4)),
                        help="child processes")
    parser.add_argument("--op-limit", type=float, default=60.0, help="seconds that one op may take")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", default="", help="tasks with this text in their name")
    return parser.parse_args()


def fail(message):
    sys.stderr.write("dtypecheck: %s\n" % message)
    sys.exit(2)


ARGUMENTS = parse_arguments() if __name__ == "__main__" else None
# Children are forked, and a process whose parent has initialised CUDA has none: another process is
# asked whether there is a device, and the database, which would ask a device for more, finds none.
# Numba, which it imports where it is installed, asks the driver itself.
try:
    import torch
except ImportError as error:
    fail("%s: no torch can be imported (%s); give --python the interpreter of an environment with "
         "torch" % (sys.executable, " ".join(str(error).split())))
try:
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: F401
except ImportError:
    fail("%s: torch %s is too old to be measured; 1.13 or later is needed"
         % (sys.executable, torch.__version__))

import contract_file  # noqa: E402
import record  # noqa: E402
import replay  # noqa: E402
import tasks  # noqa: E402


def finds_cuda():
    asked = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.is_available())"],
                           stdout=subprocess.PIPE)
    return asked.stdout.strip() == b"True"


if ARGUMENTS is not None and ARGUMENTS.device == "cuda":
    if not finds_cuda():
        fail("%s: torch %s finds no CUDA device" % (sys.executable, torch.__version__))
    replay.DEVICE = "cuda"


def work(pipe, all_tasks):
    """The child: a task's number in, ("op", …) for each op begun, ("row", …) for each measured;
    ("unusable", why) where it cannot use the device."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # warnings of LibTorch's own
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    try:
        torch.zeros(1, device=replay.DEVICE)
    except Exception as error:  # noqa: BLE001 - whatever it is, nothing can be measured
        pipe.send(("unusable", str(error).strip().split("\n")[0]))
        return
    autocasts = replay.autocast_dtypes()
    while True:
        index, seen, skipped = pipe.recv()
        if index is None:
            return
        recorder = record.Recorder(seen)
        torch.manual_seed(0)
        pipe.send(("op", "recording"))
        try:
            all_tasks[index][1](recorder)
        except Exception as error:  # noqa: BLE001 - what was recorded before it still counts
            pipe.send(("note", "%s: %s" % (type(error).__name__, str(error)[:200])))
        for call in recorder.calls:
            for part in PARTS:
                name = (call.op_name, call.names, part)
                if name in skipped:
                    continue
                pipe.send(("op", name))
                modes = replay.measure(call, autocasts, lambda: pipe.send(("op", name)),
                                       is_wide=part == "others")
                if modes is None:
                    break
                pipe.send(("row", (name, call.ranks, modes)))
        pipe.send(("done", None))


class Child:
    def __init__(self, all_tasks):
        self.pipe, other = multiprocessing.Pipe()
        # Forked, so that a new child starts with torch and the database loaded.
        self.process = multiprocessing.get_context("fork").Process(
            target=work, args=(other, all_tasks), daemon=True)
        self.process.start()
        other.close()
        self.task = None
        self.op = None
        self.since = time.time()

    def give(self, task, seen, skipped):
        self.task, self.op, self.since = task, None, time.time()
        self.pipe.send((task, seen, skipped))

    def stop(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Measurement:
    def __init__(self, all_tasks, arguments):
        self.tasks = all_tasks
        self.queue = collections.deque(
            i for i, (name, _) in enumerate(all_tasks) if arguments.only in name)
        self.total = len(self.queue)
        self.jobs = max(1, arguments.jobs)
        self.limit = arguments.op_limit
        self.rows = {}        # (op, operands, part) -> {mode: outcomes}
        self.seen = {}        # (op, operands) -> ranks
        self.skipped = set()  # (op, operands, part) that killed or held up a child
        self.notes = []
        self.done = 0

    def run(self):
        children = []
        try:
            while self.queue or children:
                while self.queue and len(children) < self.jobs:
                    children.append(self.start(Child(self.tasks)))
                ready = multiprocessing.connection.wait([c.pipe for c in children], timeout=1.0)
                for child in list(children):
                    if child.pipe in ready:
                        alive = self.hear(child)
                    else:
                        alive = self.is_in_time(child)
                    if not alive:
                        children.remove(child)
        finally:
            for child in children:
                child.stop()

    def start(self, child):
        child.give(self.queue.popleft(), self.seen, self.skipped)
        return child

    def hear(self, child):
        try:
            kind, content = child.pipe.recv()
        except (EOFError, ConnectionResetError):
            child.process.join()
            return self.lost(child, "ended with status %s" % child.process.exitcode)
        child.since = time.time()
        if kind == "unusable":
            fail("%s: a child process cannot use %s: %s" % (sys.executable, replay.DEVICE, content))
        if kind == "op":
            child.op = content
        elif kind == "row":
            self.keep(*content)
        elif kind == "note":
            self.notes.append("%s: %s" % (self.tasks[child.task][0], content))
        else:
            self.done += 1
            self.show(child)
            if not self.queue:
                child.stop()
                return False
            self.start(child)
        return True

    def is_in_time(self, child):
        if time.time() - child.since <= self.limit:
            return True
        return self.lost(child, "took more than %g s" % self.limit)

    def lost(self, child, reason):
        """The op that was under way is passed over, and its task taken up again without it."""
        child.stop()
        name = self.tasks[child.task][0]
        op = child.op if isinstance(child.op, tuple) else None
        note = "%s: %s: %s" % (name, " ".join(op) if op else "recording", reason)
        self.notes.append(note)
        self.say(note)
        if op and op not in self.skipped:
            self.skipped.add(op)
            self.queue.appendleft(child.task)
        else:
            self.done += 1
        return False

    def keep(self, name, ranks, modes):
        self.seen.setdefault(name[:2], set()).add(ranks)
        row = self.rows.get(name)
        if row is None:
            self.rows[name] = modes
            return
        merged = {mode: replay.agreed(in_mode(row, mode), in_mode(modes, mode))
                  for mode in sorted(set(row) | set(modes))}
        self.rows[name] = {m: o for m, o in merged.items()
                           if m in ("plain", "backward", "index") or differs(o, merged["plain"])}

    def say(self, text):
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K" + text[:78])
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def show(self, child):
        text = "%d of %d, %d ops, %d s: %s" % (self.done, self.total, len(self.seen),
                                              time.time() - START, self.tasks[child.task][0])
        if sys.stderr.isatty() or self.done % 50 == 0 or self.done == self.total:
            self.say(text)


def differs(outcomes, plain):
    return any(outcome != plain[c] for c, outcome in outcomes.items())


def in_mode(row, mode):
    """A mode without outcomes of its own is as the plain one; gradients come through."""
    if mode in row:
        return row[mode]
    return {c: "." for c in row["plain"]} if mode == "backward" else row["plain"]


def capability():
    if replay.DEVICE == "cuda":
        return "sm_%d%d" % torch.cuda.get_device_capability()
    if hasattr(torch.backends, "cpu") and hasattr(torch.backends.cpu, "get_cpu_capability"):
        return torch.backends.cpu.get_cpu_capability()
    for line in torch.__config__.show().split("\n"):
        if "CPU capability usage" in line:
            return line.split(":")[1].strip()
    return "unknown"


def runtime():
    version = torch.__version__.split("+")[0]
    autocasts = "".join(",autocast:" + name for name, _ in replay.autocast_dtypes())
    gpu = " gpu=pretended" if replay.IS_PRETENDED else ""
    return ("%s %s measured %s capability=%s%s build=%s python=%s dtypes=%s modes=plain,grad,backward%s"
            % (replay.DEVICE, version, datetime.date.today().isoformat(), capability(), gpu, torch.__version__,
               sys.version.split()[0], replay.measured_letters(), autocasts))


def load_tasks():
    is_available = torch.cuda.is_available
    torch.cuda.is_available = lambda: False
    sys.modules["numba"] = None
    try:
        return tasks.all_tasks()
    except ImportError as error:
        fail("%s: %s; torch's operator database needs it: %s -m pip install pyyaml "
             "packaging 'numpy<2'" % (sys.executable, error, sys.executable))
    finally:
        torch.cuda.is_available = is_available
        del sys.modules["numba"]


def open_part(path):
    """Beside the file: what is not whole does not take its place."""
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return open(path + ".part", "w")
    except OSError as error:
        fail("%s: cannot be written: %s" % (path, error.strerror))


def contracts_of(measurement):
    contracts = contract_file.Contracts()
    contracts.runtimes.append(runtime())
    for (op, operands, part), first in measurement.rows.items():
        if part != "first":
            continue
        others = measurement.rows.get((op, operands, "others"), {})
        for mode in set(first) | set(others):
            known = dict(in_mode(first, mode)) if mode != "index" else {}
            known.update(in_mode(others, mode) if others else {})
            outcomes = {c: known.get(c, "?") for c in contract_file.measured_combinations(
                operands, mode, replay.measured_letters())}
            is_said = mode != "backward" or any(not isinstance(o, str) for o in outcomes.values())
            if is_said:
                contracts.add(op, operands, mode, 0, outcomes)
    return contracts


def measure_into(out):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    measurement = Measurement(load_tasks(), ARGUMENTS)
    measurement.run()
    if not measurement.rows:
        fail("no op could be measured on %s: %s" % (
            replay.DEVICE, "; ".join(measurement.notes[:3]) or "no task has %r in its name" % ARGUMENTS.only))
    contracts_of(measurement).write(out)
    out.close()
    os.replace(out.name, ARGUMENTS.out)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    for note in measurement.notes:
        sys.stderr.write("left out: %s\n" % note)
    sys.stderr.write("%d ops of torch %s in %d s\n" % (
        len(measurement.seen), torch.__version__, time.time() - START))


def main():
    out = open_part(ARGUMENTS.out)
    try:
        measure_into(out)
    except KeyboardInterrupt:
        fail("interrupted; nothing was written to %s" % ARGUMENTS.out)
    except OSError as error:
        fail("%s: cannot be written: %s" % (ARGUMENTS.out, error.strerror))
    finally:
        if os.path.exists(out.name):
            os.remove(out.name)


if __name__ == "__main__":
    main()
