#!/usr/bin/env python3
"""How long an editor waits for the diagnostics of a file that it saved: ours and clangd's, in turns.

    .venv/bin/python bench/lint_lsp.py                  two minutes
    .venv/bin/python bench/lint_lsp.py --rounds 3 --torch bundled

Each round writes one more function into the file, in which both find something (a read that nothing
checks; a variable that nothing uses). The answer is the first publishDiagnostics with that many of
them: what an edit takes back, and what is about an older text, have fewer. Ours is timed from
didSave, and clangd, which does not wait for one, from the didChange with the same text. Both have
the same compile database, and have answered three times before the first round that counts, so the
headers are cached. After each answer both have PAUSE_S for what they do beside; the processor time is
that of a round with it. LibTorch is that of .venv.
"""

import argparse
import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """#include <torch/extension.h>
void run(const float* x, const float* w, int64_t n);
template <typename T>
void scale(T* x, const T* w, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= w[i];
}
""" + "".join(f"""
at::Tensor op_{n}(at::Tensor x, at::Tensor w) {{
  TORCH_CHECK(x.scalar_type() == w.scalar_type(), "op_{n}: x and w differ");
  auto out = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "op_{n}", [&] {{
    scale(out.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), x.numel());
  }});
  return out;
}}
""" for n in range(10)) + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("op_0", &op_0); }\n'
FAULT = """
static void fault_{n}(at::Tensor x) {{
  int unused_{n} = 0;
  run(x.data_ptr<float>(), nullptr, x.numel());
}}
void bound_{n}(at::Tensor x) {{ fault_{n}(x); }}
"""
WARM_UP = 3
TIMEOUT_S = 120  # for one answer
PAUSE_S = 1
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(root):
    """Of a process and of all that it has started."""
    ticks, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))

    def is_below(pid):
        while pid != root and pid in parents:
            pid = parents[pid]
        return pid == root

    return sum(ticks[pid] for pid in ticks if is_below(pid)) / TICKS


class Server:
    def __init__(self, name, command, folder, code):
        self.name, self.code, self.times, self.processor_times = name, code, [], []
        self.buffer, self.deadline = b"", time.monotonic() + TIMEOUT_S
        self.file = folder / name / "ops.cpp"
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        self.process = subprocess.Popen(command, cwd=self.file.parent, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.send("initialize", {"capabilities": {}, "rootUri": self.file.parent.as_uri(), "processId": None}, 1)
        while self.read().get("id") != 1:
            pass
        self.send("initialized", {})

    def send(self, method, params, number=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def fill(self):
        output = self.process.stdout.fileno()
        left = self.deadline - time.monotonic()
        if left <= 0 or not select.select([output], [], [], left)[0]:
            sys.exit(f"bench/lint_lsp.py: {self.name} has not told what it was asked within {TIMEOUT_S} s")
        more = os.read(output, 1 << 16)
        if not more:
            sys.exit(f"bench/lint_lsp.py: {self.name} is gone")
        self.buffer += more

    def read(self):
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length"))
        while len(self.buffer) < length:
            self.fill()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return json.loads(body)

    def wait_for(self, count):
        """Until as many of the faults are reported as there are."""
        self.deadline = time.monotonic() + TIMEOUT_S
        while True:
            message = self.read()
            if message.get("method") != "textDocument/publishDiagnostics":
                continue
            if sum(one.get("code") == self.code for one in message["params"]["diagnostics"]) == count:
                return

    def round(self, number):
        """Milliseconds until the text with `number` faults is answered."""
        text = HEAD + "".join(FAULT.format(n=n) for n in range(number))
        document = {"uri": self.file.as_uri(), "version": number}
        self.file.write_text(text)
        change = {"textDocument": document, "contentChanges": [{"text": text}]}
        save = {"textDocument": {"uri": document["uri"]}}
        if number == 1:
            begin = time.monotonic()
            self.send("textDocument/didOpen", {"textDocument": {**document, "languageId": "cpp", "text": text}})
        elif self.name == "clangd":
            begin = time.monotonic()
            self.send("textDocument/didChange", change)
            self.send("textDocument/didSave", save)
        else:
            self.send("textDocument/didChange", change)
            begin = time.monotonic()
            self.send("textDocument/didSave", save)
        self.wait_for(number)
        return 1000 * (time.monotonic() - begin)

    def timed_round(self, number):
        before = processor_seconds(self.process.pid)
        self.times.append(self.round(number))
        time.sleep(PAUSE_S)
        self.processor_times.append(processor_seconds(self.process.pid) - before)

    def end(self):
        self.process.kill()
        self.process.wait()


def write_project(folder, torch):
    folder.mkdir()
    flags = ["-std=c++20", "-Wunused-variable", "-DTORCH_EXTENSION_NAME=bench", "-isystem", sysconfig.get_paths()["include"],
             "-isystem", torch / "include", "-isystem", torch / "include/torch/csrc/api/include"]
    entry = {"directory": str(folder), "file": str(folder / "ops.cpp"),
             "arguments": ["c++", *map(str, flags), "-c", str(folder / "ops.cpp")]}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", type=Path, default=ROOT / "build/bin/dtypecheck")
    parser.add_argument("--torch", default="", help="what dtypecheck parses against; default: what the database names")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    torch = next(iter((ROOT / ".venv/lib").glob("python3*/site-packages/torch")), None)
    if torch is None:
        sys.exit("bench/lint_lsp.py: no torch in .venv; scripts/setup puts it there")
    ours = [options.dtypecheck.resolve(), "lint", "--lsp", "-p", ".", *(["--torch", options.torch] if options.torch else [])]
    clangd = shutil.which("clangd-19") or shutil.which("clangd")
    with tempfile.TemporaryDirectory(prefix="dtypecheck-bench-") as name:
        folder = Path(name)
        servers = []
        for server, command, code in (("dtypecheck", ours, "unchecked-data-ptr"),
                                      ("clangd", [clangd, "--log=error", "--background-index=false"], "-Wunused-variable")):
            if command[0] is None:
                print("clangd: left out, it is not installed")
                continue
            write_project(folder / server, torch.resolve())
            servers.append(Server(server, command, folder, code))
        print("load before", *os.getloadavg())
        for number in range(1, WARM_UP + options.rounds + 1):
            for server in servers:
                server.timed_round(number)
        for server in servers:
            server.end()
            first, counted = server.times[0], server.times[WARM_UP:]
            print(f"{server.name:<12} least {min(counted):6.0f} ms, median {statistics.median(counted):6.0f} ms, "
                  f"slowest {max(counted):6.0f} ms, processor {1000 * statistics.median(server.processor_times[WARM_UP:]):6.0f} ms a round; "
                  f"opening it the first time {first:6.0f} ms")
        if len(servers) == 2:
            medians = [statistics.median(server.times[WARM_UP:]) for server in servers]
            print(f"ours of clangd's: {medians[0] / medians[1]:.2f}")
        print("load after", *os.getloadavg())


if __name__ == "__main__":
    main()
