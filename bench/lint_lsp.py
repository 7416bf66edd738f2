"""How long an editor waits for diagnostics of a file that it saved, with `dtypecheck lint --lsp` and with clangd.

usage: lint_lsp.py DTYPECHECK TORCH [ROUNDS]

One file of an extension, LibTorch's headers cached by two rounds before; each round changes a line, saves, and waits for what is
published. clangd gets the text as it is typed, so its time is from the change. Both get one compile database.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

SOURCE = """#include <torch/extension.h>
void run(const float* x, const float* w, int64_t n);
template <typename T>
void scale(T* x, const T* w, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= w[i];
}
""" + "".join(f"""
at::Tensor f{i}(at::Tensor x, at::Tensor w) {{
  auto out = at::empty_like(x);
  run(x.data_ptr<float>(), w.data_ptr<float>(), x.numel());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f{i}", [&] {{
    scale(out.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), x.numel());
  }});
  return out;
}}
""" for i in range(8)) + "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"f0\", &f0); }\n"


class Server:
    def __init__(self, command, folder):
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.send("initialize", {"capabilities": {}, "rootUri": folder.as_uri(), "processId": None}, 1)
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
        return json.loads(self.process.stdout.read(length))

    def wait_for_diagnostics(self):
        while self.read().get("method") != "textDocument/publishDiagnostics":
            pass


def measure(command, folder, path, rounds):
    """Milliseconds of each round after the first two."""
    server = Server(command, folder)
    document = {"uri": path.as_uri(), "languageId": "cpp", "version": 1, "text": SOURCE}
    server.send("textDocument/didOpen", {"textDocument": document})
    server.wait_for_diagnostics()
    times = []
    for number in range(rounds + 2):
        text = SOURCE + f"// round {number}\nint round{number}();\n"
        path.write_text(text)
        begin = time.monotonic()
        server.send("textDocument/didChange", {"textDocument": {"uri": path.as_uri(), "version": number + 2},
                                               "contentChanges": [{"text": text}]})
        server.send("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        server.wait_for_diagnostics()
        times.append(1000 * (time.monotonic() - begin))
        time.sleep(0.2)
    server.process.kill()
    server.process.wait()
    return times[2:]


def main(dtypecheck, torch, rounds=10):
    include = pathlib.Path(torch).resolve() / "include"
    flags = ["-std=c++20", "-DTORCH_EXTENSION_NAME=bench", "-isystem", include, "-isystem", include / "torch/csrc/api/include",
             "-isystem", sysconfig.get_paths()["include"]]
    with tempfile.TemporaryDirectory(prefix="dtypecheck-bench-") as name:
        folder = pathlib.Path(name)
        path = folder / "ops.cpp"
        path.write_text(SOURCE)
        entry = {"directory": name, "file": str(path), "arguments": ["c++", *map(str, flags), "-c", str(path)]}
        (folder / "compile_commands.json").write_text(json.dumps([entry]))
        ours = measure([str(pathlib.Path(dtypecheck).resolve()), "lint", "--lsp", "-p", ".", "--torch", torch], folder, path, int(rounds))
        print(f"dtypecheck lint --lsp: median {statistics.median(ours):.0f} ms, slowest {max(ours):.0f} ms")
        clangd = shutil.which("clangd-19") or shutil.which("clangd")
        if clangd is None:
            print("clangd: left out, it is not installed")
            return
        peer = measure([clangd, "--log=error", "--background-index=false"], folder, path, int(rounds))
        print(f"clangd:                median {statistics.median(peer):.0f} ms, slowest {max(peer):.0f} ms")
        print(f"ours of clangd's: {statistics.median(ours) / statistics.median(peer):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
