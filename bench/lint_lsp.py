#!/usr/bin/env python3
"""How long an editor waits for the diagnostics of a file that it saved: ours and clangd's, in turns.

    .venv/bin/python bench/lint_lsp.py                  two minutes
    .venv/bin/python bench/lint_lsp.py --rounds 3 --torch bundled

Each round writes one more function into the file, in which both find something (a read that nothing
checks; a variable that nothing uses). The answer is the first publishDiagnostics with that many of
them: what an edit takes back, and what is about an older text, have fewer. Ours is timed from
didSave, and clangd, which does not wait for one, from the didChange with the same text. Both have
the same compile database, and have answered three times before the first round that counts, so the
headers are cached. LibTorch is that of .venv.
"""

import argparse
import json
import os
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
TIMEOUT_S = 300


class Server:
    def __init__(self, name, command, folder, marker):
        self.name, self.marker, self.times = name, marker, []
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

    def read(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length"):
                length = int(line.split(b":")[1])
        if length == 0:
            sys.exit(f"bench/lint_lsp.py: {self.name} is gone")
        return json.loads(self.process.stdout.read(length))

    def wait_for(self, count):
        """Until as many of the faults are reported as there are."""
        begin = time.monotonic()
        while True:
            message = self.read()
            if message.get("method") != "textDocument/publishDiagnostics":
                continue
            found = sum(self.marker in str(one["message"]) for one in message["params"]["diagnostics"])
            if found == count:
                return
            if time.monotonic() - begin > TIMEOUT_S:
                sys.exit(f"bench/lint_lsp.py: {self.name} told {found} faults of {count}")

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
        for server, command, marker in (("dtypecheck", ours, "nothing says that it is Float"),
                                        ("clangd", [clangd, "--log=error", "--background-index=false"], "unused_")):
            if command[0] is None:
                print("clangd: left out, it is not installed")
                continue
            write_project(folder / server, torch.resolve())
            servers.append(Server(server, command, folder, marker))
        print("load before", *os.getloadavg())
        for number in range(1, WARM_UP + options.rounds + 1):
            for server in servers:
                server.times.append(server.round(number))
        for server in servers:
            server.end()
            first, counted = server.times[0], server.times[WARM_UP:]
            print(f"{server.name:<12} least {min(counted):6.0f} ms, median {statistics.median(counted):6.0f} ms, "
                  f"slowest {max(counted):6.0f} ms; opening it the first time {first:6.0f} ms")
        if len(servers) == 2:
            medians = [statistics.median(server.times[WARM_UP:]) for server in servers]
            print(f"ours of clangd's: {medians[0] / medians[1]:.2f}")
        print("load after", *os.getloadavg())


if __name__ == "__main__":
    main()
