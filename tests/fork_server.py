"""Programs that need torch without an import of it for each: one Python imports it, and a child of that runs each program.

Not for programs under `dtypecheck trace`: their tracer is there before Python is.
"""
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile


class ForkServer:
    def __init__(self, python=sys.executable):
        self.process = subprocess.Popen([python, "-B", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def close(self):
        self.process.communicate()

    def run(self, arguments, cwd, env):
        """As subprocess.run([sys.executable, *arguments], text=True, capture_output=True) answers."""
        with tempfile.TemporaryDirectory(prefix="dtypecheck-test-") as folder:
            out, err = (pathlib.Path(folder, name) for name in ("out", "err"))
            words = {"arguments": [*map(str, arguments)], "cwd": str(cwd), "env": dict(env), "out": str(out), "err": str(err)}
            print(json.dumps(words), file=self.process.stdin, flush=True)
            status = int(self.process.stdout.readline())
            return subprocess.CompletedProcess(arguments, status, out.read_text(), err.read_text())


def become(arguments, cwd, env, out, err):
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for path, number in (("/dev/null", 0), (out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), number)
    if arguments[0] == "-m":
        sys.path[0] = cwd
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(pathlib.Path(arguments[0]).parent)
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def serve():
    import torch  # noqa: F401

    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            become(**json.loads(line))
            break
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
