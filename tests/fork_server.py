"""Programs that need torch without an import of it for each: one Python imports it, and a child of that runs each program.

    subprocess.run([python(), "program.py"])
    subprocess.run([DTYPECHECK, "trace", "--", python(), "program.py"])

With DTYPECHECK_TEST_FORKED in the environment python() is a file that stands in for Python. It asks a Python that has imported
torch to fork; the child takes over its arguments, folder, environment, namespaces and standard streams, and it ends as that child ends. What is preloaded cannot be
taken over, so there is such a Python for each LD_PRELOAD that was asked for. It was started outside of any run, and no op runs
in it: a child loads its tracer at its own first op, for the run that its environment names.

Other than a program that is started: a traced process has another number than the one that `dtypecheck trace` started, below
its main program there are frames of this file, which count as a library's, and Python is not taken down object by object when
it ends, which takes longer than most of the programs. -c, -m and a script are understood; for other options the stand-in
becomes Python itself.

Under ctest the tests share one: the fixture forked_python starts `fork_server.py --share FILE MODULES`, which ends with ctest. FILE is a
link to its stand-in for Python, and stands in DTYPECHECK_TEST_FORKED_PYTHON.
"""
import array
import atexit
import ctypes
import functools
import importlib
import marshal
import os
import pathlib
import random
import runpy
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types

STAND_IN = '''#!{python} -IS
import _signal, _socket, marshal, os, sys

def told(name, message, files=()):
    asked = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    asked.connect(name)
    fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in files)
    asked.sendmsg([marshal.dumps(message)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)] if fds else [])
    return asked

words = sys.argv[1:]
while words and words[0] in ("-B", "-u"):
    if words.pop(0) == "-u":
        os.environ["PYTHONUNBUFFERED"] = "1"
if not words or words[0] not in ("-c", "-m") and words[0].startswith("-"):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
environment = dict(os.environ)
asked = told({name!r}, environment)
server = marshal.loads(asked.recv(1 << 16))
asked = told(server, {{"words": words, "folder": os.getcwd(), "environment": environment, "process": os.getpid()}}, (0, 1, 2))
child = int(asked.recv(64))
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGUSR1, _signal.SIGUSR2):
    if _signal.getsignal(number) is not _signal.SIG_IGN:
        _signal.signal(number, lambda number, _: os.kill(child, number))
status = asked.recv(64)
status = int(status) if status else 1
if status < 0:
    _signal.signal(-status, _signal.SIG_DFL) if -status not in (_signal.SIGKILL, _signal.SIGSTOP) else None
    os.kill(os.getpid(), -status)
os._exit(status)
'''
LARGEST = 1 << 20  # bytes of a request: mostly the environment
ARGUMENTS = 1 << 13  # room for the words of a program, in what /proc tells of this one


class ForkServer:
    def __init__(self, *modules, python=sys.executable):
        """modules: what is imported once; torch, and what its optimizers import, where none is named. It must run no op."""
        self.modules, self.real = modules or ("torch._dynamo",), python
        self.folder = tempfile.mkdtemp(prefix="dtypecheck-test-")
        self.python = os.path.join(self.folder, "python")
        self.name = f"\0{self.folder}"
        pathlib.Path(self.python).write_text(STAND_IN.format(python=python, name=self.name))
        os.chmod(self.python, 0o755)
        self.file = os.path.join(self.folder, "site-packages", "fork_server.py")
        os.mkdir(os.path.dirname(self.file))
        os.symlink(os.path.abspath(__file__), self.file)
        self.servers = {}
        self.socket = listener(self.name)
        threading.Thread(target=self.answer, daemon=True).start()

    def close(self):
        self.socket.close()
        for server, _ in self.servers.values():
            server.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def answer(self):
        """Tells who asks which Python it is that has loaded what it needs."""
        while True:
            try:
                asked, _ = self.socket.accept()
            except OSError:
                return
            with asked:
                environment = marshal.loads(asked.recv(LARGEST))
                loaded = tuple(environment.get(name, "") for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"))
                if loaded not in self.servers:
                    self.servers[loaded] = self.start(environment)
                asked.send(marshal.dumps(self.servers[loaded][1]))

    def start(self, environment):
        name = f"{self.name}/{len(self.servers)}"
        environment = {key: value for key, value in environment.items() if not key.startswith("DTYPECHECK_")}
        command = [self.real, "-B", self.file, name[1:], ",".join(self.modules), "-" * ARGUMENTS]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        server.stdout.readline()  # it has imported
        return server, name


@functools.cache
def python():
    """Python; with DTYPECHECK_TEST_FORKED, which names modules, what stands in for it and has imported them."""
    modules = os.environ.get("DTYPECHECK_TEST_FORKED")
    if not modules:
        return sys.executable
    found = os.path.realpath(os.environ.get("DTYPECHECK_TEST_FORKED_PYTHON", ""))
    if not os.path.isfile(found):  # this test was started by itself
        server = ForkServer(*modules.split(","))
        atexit.register(server.close)
        found = server.python
    os.environ["PYTHON_EXEC"] = found  # torchrun starts its ranks by that
    return found


def run_python(arguments, cwd, env):
    """As subprocess.run([sys.executable, *arguments], text=True, capture_output=True) answers."""
    return subprocess.run([python(), *map(str, arguments)], text=True, capture_output=True, cwd=cwd, env=env)


def share(link, modules):
    """Serves until the process that started this one has ended. What `link` was before is gone."""
    caller, (ready, told) = os.pidfd_open(os.getppid()), os.pipe()
    if os.fork():
        os.close(told)
        os._exit(0 if os.read(ready, 1) else 1)
    os.setsid()
    pathlib.Path(link).unlink(missing_ok=True)
    server = ForkServer(*modules.split(","))
    pathlib.Path(link).symlink_to(server.python)
    os.write(told, b"1")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (*range(3), told):
        os.dup2(nothing, number)
    select.select([caller], [], [])
    server.close()
    pathlib.Path(link).unlink(missing_ok=True)


def listener(name):
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found.bind(name)
    found.listen()
    return found


class LinkMap(ctypes.Structure):
    """<link.h>"""
    _fields_ = [("address", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dynamic", ctypes.POINTER(ctypes.c_size_t))]


def initialize_again(library):
    """Has a library that was preloaded read its environment: its constructors run once more."""
    place = LinkMap.from_address(ctypes.CDLL(library)._handle)
    entries, at = {}, 0
    while place.dynamic[at]:
        entries[place.dynamic[at]] = place.dynamic[at + 1]
        at += 2
    functions, size = entries.get(25), entries.get(27, 0)  # DT_INIT_ARRAY, DT_INIT_ARRAYSZ
    for function in (ctypes.CFUNCTYPE(None) * (size // 8)).from_address(place.address + functions) if functions else ():
        function()


def show_arguments(words):
    """In /proc/self/cmdline, where others look for them."""
    with open("/proc/self/stat", "rb") as file:
        begin, end = map(int, file.read().rpartition(b")")[2].split()[45:47])
    text = b"".join(os.fsencode(word) + b"\0" for word in words)[:end - begin - 1]
    ctypes.memmove(begin, text + bytes(end - begin - len(text)), end - begin)


def enter_namespaces(process):
    """Those of another process, where they are not this one's: `dtypecheck cure` shows programs other folders."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name in ("user", "mnt"):
        if os.stat(f"/proc/{process}/ns/{name}").st_ino == os.stat(f"/proc/self/ns/{name}").st_ino:
            continue
        namespace = os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
        if libc.setns(namespace, 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {name}")


def become(words, folder, environment, process, files):
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    enter_namespaces(process)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # which an import has looked up in another environment
    for library in environment.get("LD_PRELOAD", "").replace(":", " ").split():
        initialize_again(library)
    show_arguments([sys.executable, *words])
    if environment.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(write_through=True)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    # As of a Python that has just started: each program draws other numbers.
    random.seed()
    for name, generator in (("numpy", "random"), ("torch", "default_generator")):
        if name in sys.modules:
            getattr(sys.modules[name], generator).seed()
    sys.path[1:1] = [path for path in environment.get("PYTHONPATH", "").split(":") if path and path not in sys.path]


def run_main(words):
    """Runs it as Python does, in a module of its own that stays until the process ends."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    sys.orig_argv = [sys.executable, *words]
    if words[0] == "-m":
        sys.path[0], sys.argv = os.getcwd(), words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    if words[0] == "-c":
        sys.path[0], sys.argv = "", ["-c", *words[2:]]
        code = compile(words[1], "<string>", "exec", dont_inherit=True)
    else:
        sys.path[0], sys.argv = str(pathlib.Path(words[0]).resolve().parent), words
        main.__file__ = words[0]
        with open(words[0], "rb") as file:
            code = compile(file.read(), words[0], "exec", dont_inherit=True)
    exec(code, main.__dict__)


def status_of(words):
    """Runs it; its exit status. What it raises is told without the frames of this file."""
    try:
        run_main(words)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        while error.__traceback__ and error.__traceback__.tb_frame.f_code.co_filename == __file__:
            error.__traceback__ = error.__traceback__.tb_next
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        told = sys.last_type, sys.last_value, sys.last_traceback
        sys.audit("sys.excepthook", sys.excepthook, *told)
        sys.excepthook(*told)
        return 1
    return 0


def end(status):
    """As Python ends, but that its objects stay as they are."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in sys.stdout, sys.stderr:
        stream.flush()
    ctypes.CDLL(None).exit(status)


def serve(name, modules):
    """Answers until its standard input ends; True in a child, which is to run what `become` has made of it."""
    for module in modules.split(","):
        importlib.import_module(module)
    asking, ready = listener(f"\0{name}"), selectors.DefaultSelector()
    ready.register(asking, selectors.EVENT_READ)
    ready.register(sys.stdin.fileno(), selectors.EVENT_READ)
    os.write(1, b"ready\n")
    while True:
        for event, _ in ready.select():
            if event.fileobj == sys.stdin.fileno():
                return None
            if event.fileobj is asking:
                who, _ = asking.accept()
                message, control, *_ = who.recvmsg(LARGEST, socket.CMSG_SPACE(3 * 4))
                files = array.array("i", control[0][2])
                request = marshal.loads(message)
                child = os.fork()
                if child == 0:
                    ready.close()
                    asking.close()
                    who.close()
                    become(**request, files=files)
                    return request["words"]
                for file in files:
                    os.close(file)
                who.send(str(child).encode())
                ended = os.pidfd_open(child)
                ready.register(ended, selectors.EVENT_READ, (child, who, ended))
                ready.register(who, selectors.EVENT_READ, (child, who, ended))
            elif event.fileobj is event.data[1]:  # who asked has died
                ready.unregister(event.fileobj)
                os.kill(event.data[0], signal.SIGKILL)
            else:
                child, who, ended = event.data
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                ready.unregister(ended)
                if who in ready.get_map():
                    ready.unregister(who)
                try:
                    who.send(str(status).encode())
                except OSError:
                    pass
                who.close()
                os.close(ended)


if __name__ == "__main__" and sys.argv[1] == "--share":
    share(*sys.argv[2:4])
elif __name__ == "__main__":
    words = serve(*sys.argv[1:3])
    if words:
        end(status_of(words))
