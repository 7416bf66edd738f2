"""Speaks the language server protocol to `dtypecheck lint --lsp` as an editor does."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.parse

DTYPECHECK = os.environ["DTYPECHECK"]
GOOD = ("#include <torch/extension.h>\n"
        "void run(const float* x);\n"
        "void f(at::Tensor x) {\n"
        "  TORCH_CHECK(x.scalar_type() == at::kFloat);\n"
        "  run(x.data_ptr<float>());\n"
        "}\n"
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"f\", &f); }\n")
BAD = GOOD.replace("  TORCH_CHECK(x.scalar_type() == at::kFloat);\n", "")


def processes_that_name(text):
    """Their command lines by their ids."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in words:
            found[int(process.name)] = words.replace("\0", " ")
    return found


class Client:
    def __init__(self, folder, *options, cache):
        environment = dict(os.environ, XDG_CACHE_HOME=cache)
        self.server = subprocess.Popen([DTYPECHECK, "lint", "--lsp", "--torch", "bundled", *options], cwd=folder,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.ids = 0
        self.request("initialize", {"capabilities": {}, "rootUri": folder.as_uri(), "processId": None})
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.server.stdin.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def read(self):
        length = 0
        while line := self.server.stdout.readline().strip():
            length = int(line.split(b":")[1])
        return json.loads(self.server.stdout.read(length))

    def request(self, method, params):
        self.ids += 1
        self.send({"id": self.ids, "method": method, "params": params})
        while (message := self.read()).get("id") != self.ids:
            pass
        return message.get("result", message.get("error"))

    def published(self):
        while (message := self.read()).get("method") != "textDocument/publishDiagnostics":
            pass
        return message["params"]

    def open(self, path):
        text = path.read_text()
        self.notify("textDocument/didOpen", {"textDocument": {"uri": path.as_uri(), "languageId": "cpp", "version": 1,
                                                              "text": text}})
        return self.published()

    def save(self, path, text):
        path.write_text(text)
        self.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        return self.published()

    def change(self, path, first, last, text):
        where = {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}
        self.notify("textDocument/didChange", {"textDocument": {"uri": path.as_uri(), "version": 2},
                                               "contentChanges": [{"range": where, "text": text}]})

    def end(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        self.server.stdin.close()
        self.server.stdout.close()
        return self.server.wait(60)


class Lsp(unittest.TestCase):
    """They share the parse of the headers; the files of each lie in a folder of its own."""

    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="dtypecheck-test-")
        cls.addClassCleanup(shutil.rmtree, cls.cache)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.client = None
        self.addCleanup(lambda: self.client and self.client.server.poll() is None and self.client.server.kill())

    def start(self, *options):
        self.client = Client(self.folder, *options, cache=self.cache)
        return self.client

    def file(self, text, name="ops.cpp"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def test_open_edit_save_cure_hover(self):
        client, path = self.start(), self.file(BAD, "mit Leerzeichen/größe.cpp")
        params = client.open(path)
        self.assertEqual(urllib.parse.unquote(params["uri"]), "file://" + str(path))
        [found] = params["diagnostics"]
        self.assertEqual((found["code"], found["severity"], found["range"]["start"]["line"]), ("unchecked-data-ptr", 2, 3))
        document = {"textDocument": {"uri": path.as_uri()}}
        hover = client.request("textDocument/hover", {**document, "position": {"line": 3, "character": 6}})
        self.assertIn("`x`: any dtype, nothing compares it; a parameter; read as `float`", hover["contents"]["value"])
        self.assertIsNone(client.request("textDocument/hover", {**document, "position": {"line": 0, "character": 0}}))
        # Lines above move it; its own line takes it away.
        client.change(path, 0, 0, "// a\n// b\n")
        here = {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 9}}
        [action] = client.request("textDocument/codeAction", {**document, "range": here, "context": {"diagnostics": []}})
        self.assertEqual(action["diagnostics"][0]["range"]["start"]["line"], 5)
        [edit] = action["edit"]["changes"][path.as_uri()]
        self.assertEqual(edit["range"]["start"], {"line": 5, "character": 2})
        self.assertIn("TORCH_CHECK(x.scalar_type() == at::kFloat", edit["newText"])
        client.change(path, 5, 6, "\n")
        self.assertEqual(client.published()["diagnostics"], [])
        self.assertEqual(client.save(path, GOOD)["diagnostics"], [])
        self.assertEqual(len(client.save(path, BAD)["diagnostics"]), 1)
        client.notify("textDocument/didClose", document)
        self.assertEqual(client.published()["diagnostics"], [])
        self.assertEqual(client.end(), 0)

    def test_half_a_file_and_many_edits(self):
        client, path = self.start(), self.file(BAD)
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        client.save(path, BAD[:70])
        self.assertEqual(len(client.save(path, BAD)["diagnostics"]), 1)
        for _ in range(10_000):
            client.change(path, 0, 0, "\n")
        here = {"start": {"line": 10_003, "character": 0}, "end": {"line": 10_003, "character": 1}}
        actions = client.request("textDocument/codeAction", {"textDocument": {"uri": path.as_uri()}, "range": here})
        self.assertEqual(len(actions), 1)
        self.assertEqual(client.end(), 0)

    def test_what_the_comments_accept_is_not_shown(self):
        client = self.start()
        path = self.file(BAD.replace("<float>());", "<float>());  // dtypecheck: allow(unchecked-data-ptr): the binding casts"))
        self.assertEqual(client.open(path)["diagnostics"], [])
        self.assertEqual(client.end(), 0)

    def test_a_client_that_dies_ends_the_server(self):
        client, path = self.start(), self.file(BAD)
        client.notify("textDocument/didOpen", {"textDocument": {"uri": path.as_uri(), "text": BAD}})
        client.server.stdin.close()
        self.assertEqual(client.server.wait(60), 1)
        client.server.stdout.close()

    def test_a_client_that_dies_leaves_no_process(self):
        """It dies while a file is parsed: neither the server nor its parser lives on."""
        client, path = self.start(), self.file(BAD)
        client.notify("textDocument/didOpen", {"textDocument": {"uri": path.as_uri(), "text": BAD}})
        pid = client.server.pid
        client.server.stdin.close()
        client.server.stdout.close()
        client.server.wait(60)
        self.assertEqual(processes_that_name(str(path)), {})
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())

    def standing(self, path):
        """The parser that waits for the next save of a file; it is started beside an answer."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = [pid for pid, words in processes_that_name(str(path)).items() if "--stand-by" in words]
            if len(found) == 1:  # and not the first parse of one, which has its words
                return found[0]
            time.sleep(0.05)
        self.fail("no parser stands by")

    def test_a_standing_parser_that_ends_is_replaced(self):
        client, path = self.start(), self.file(BAD)
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        first = self.standing(path)
        self.assertEqual(client.save(path, GOOD)["diagnostics"], [])
        self.assertEqual(self.standing(path), first)
        os.kill(first, signal.SIGKILL)
        self.assertEqual(len(client.save(path, BAD + "// again\n")["diagnostics"]), 1)
        self.assertNotEqual(self.standing(path), first)
        self.assertEqual(client.save(path, GOOD + "// again\n")["diagnostics"], [])
        self.assertEqual(client.end(), 0)

    def test_a_standing_parser_reads_what_the_file_includes_now(self):
        """Headers that change, come to exist, or come to be found in a folder that was not there."""
        text = BAD.replace("void run", '#include "checks.h"\nvoid run').replace("  run(", "  CHECK(x);\n  run(")
        path = self.file(text)
        self.database(path, "-Iinclude")
        client = self.start("-p", "build")
        counts = []
        for folder, check in ((None, ""), (".", ""), (".", "TORCH_CHECK(x.scalar_type() == at::kFloat)"), (None, ""),
                              ("include", "")):
            (self.folder / "checks.h").unlink(missing_ok=True)
            if folder:
                self.file(f"#define CHECK(x) {check}\n", f"{folder}/checks.h")
            saved = client.save(path, f"{text}// {len(counts)}\n") if counts else client.open(path)
            counts.append(len(saved["diagnostics"]))
            self.standing(path)
        self.assertEqual(counts, [0, 1, 0, 0, 1])
        self.assertEqual(client.end(), 0)

    def test_a_file_that_is_known_already(self):
        """Its facts are read from the cache, and a parser stands by for when it is saved."""
        path = self.file(BAD)
        client = self.start()
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        self.assertEqual(client.end(), 0)
        client = self.start()
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        self.standing(path)
        self.assertEqual(client.save(path, GOOD)["diagnostics"], [])
        self.assertEqual(client.end(), 0)

    def test_files_in_turns(self):
        client = self.start()
        paths = [self.file(BAD, f"ops_{n}.cpp") for n in range(5)]
        for path in paths:
            self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        for turn in range(2):
            for path in paths:
                self.assertEqual(client.save(path, f"{GOOD}// {turn}\n")["diagnostics"], [])
        self.assertLessEqual(sum("--stand-by" in words for words in processes_that_name(str(self.folder)).values()), 6)
        self.end_without_processes(client)

    def test_a_client_that_dies_leaves_no_standing_parser(self):
        client, path = self.start(), self.file(BAD)
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        self.standing(path)
        path.write_text(GOOD)
        client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        self.end_without_processes(client)

    def end_without_processes(self, client):
        client.server.kill()
        client.server.wait(60)
        client.server.stdin.close()
        client.server.stdout.close()
        deadline = time.monotonic() + 10
        while processes_that_name(str(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(processes_that_name(str(self.folder)), {})

    def test_a_file_that_is_closed_has_nothing_left(self):
        client, path = self.start(), self.file(BAD)
        document = {"textDocument": {"uri": path.as_uri()}}
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        client.notify("textDocument/didClose", document)
        self.assertEqual(client.published()["diagnostics"], [])
        here = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 9}}
        self.assertFalse(client.request("textDocument/codeAction", {**document, "range": here}))
        self.assertEqual(client.end(), 0)

    def test_saved_faster_than_judged(self):
        """The last answer is about the last text, however many are behind it."""
        client, path = self.start(), self.file(BAD)
        client.open(path)
        for text in (GOOD, BAD, GOOD, BAD, GOOD):
            path.write_text(text)
            client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        other = self.file(GOOD, "other.cpp")
        client.notify("textDocument/didOpen", {"textDocument": {"uri": other.as_uri(), "text": GOOD}})
        last = None
        while (published := client.published())["uri"] != other.as_uri():
            last = published
        self.assertEqual(last["diagnostics"], [])
        self.assertEqual(client.end(), 0)

    def test_a_compile_database_that_changes(self):
        """It is read anew for each file: a macro of the build decides what is there."""
        path = self.file(BAD.replace("void f(", "#ifdef WITH_OPS\nvoid f(").replace("PYBIND", "#endif\nvoid f(at::Tensor);\nPYBIND"))
        self.database(path, "-DWITH_OPS")
        client = self.start("-p", "build")
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        self.database(path)
        self.assertEqual(client.save(path, path.read_text())["diagnostics"], [])
        (self.folder / "build/compile_commands.json").write_text("[{")  # while a build writes it
        client.save(path, path.read_text())
        self.database(path, "-DWITH_OPS")
        self.assertEqual(len(client.save(path, path.read_text())["diagnostics"]), 1)
        self.assertEqual(client.end(), 0)

    def database(self, path, *options):
        (self.folder / "build").mkdir(exist_ok=True)
        entry = {"directory": str(self.folder), "file": str(path), "arguments": ["c++", *options, "-c", str(path)]}
        (self.folder / "build/compile_commands.json").write_text(json.dumps([entry]))

    def test_two_editors_of_one_file(self):
        """Each has a server of its own, and both use one cache."""
        path = self.file(BAD)
        first, second = Client(self.folder, cache=self.cache), self.start()
        self.assertEqual(len(first.open(path)["diagnostics"]), 1)
        self.assertEqual(len(second.open(path)["diagnostics"]), 1)
        path.write_text(GOOD)
        for client in (first, second):
            client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
        self.assertEqual([client.published()["diagnostics"] for client in (first, second)], [[], []])
        self.assertEqual((first.end(), second.end()), (0, 0))

    def test_nonsense_is_answered_and_survived(self):
        client, path = self.start(), self.file(BAD)
        self.assertEqual(client.request("textDocument/rename", {})["code"], -32601)
        self.assertEqual(client.request("textDocument/hover", {"textDocument": 3})["code"], -32602)
        client.notify("textDocument/didOpen", {"textDocument": {"uri": "untitled:one"}})
        client.notify("textDocument/didChange", {"textDocument": {"uri": path.as_uri()}, "contentChanges": [{"text": ""}]})
        self.assertEqual(len(client.open(path)["diagnostics"]), 1)
        self.assertEqual(client.end(), 0)


if __name__ == "__main__":
    unittest.main()
