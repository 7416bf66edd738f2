"""dtypecheck.trace() and attach(): a program that is already running is recorded, in turns, and notices nothing."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fork_server import run_python  # noqa: E402

PREAMBLE = """
import json, os, sys, threading
import torch
import dtypecheck

def mix(a=torch.float32, b=torch.float16):
    return torch.ones(2, 2, dtype=a) @ torch.ones(2, 2, dtype=b)

def caught(function):
    try:
        function()
    except RuntimeError as error:
        return str(error)

def say(**values):
    print(json.dumps(values), flush=True)

def rules(run):
    return [(f.rule, f.severity, f.line) for f in run.findings]
"""


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "TMPDIR": str(self.folder)}

    def run_python(self, body, status=0, python=None, **environment):
        script = self.folder / "program.py"
        script.write_text(PREAMBLE + textwrap.dedent(body))
        options = {"cwd": self.folder, "env": {**self.environment, **environment}}
        if python:
            self.done = subprocess.run([*python, script], text=True, capture_output=True, timeout=3000, **options)
        else:
            self.done = run_python([script], **options)
        self.assertEqual(self.done.returncode, status, self.done.stderr)
        return [json.loads(line) for line in self.done.stdout.splitlines()]

    def line_of(self, text):
        lines = (self.folder / "program.py").read_text().splitlines()
        return next(n for n, line in enumerate(lines, 1) if text in line)


class Trace(Program):
    def test_a_refusal_is_found_and_the_exception_is_the_programs(self):
        (said,) = self.run_python("""
            try:
                with dtypecheck.trace() as run:
                    mix()
            except RuntimeError as error:
                text = str(error)
            (finding,) = run.findings
            say(text=text, rule=finding.rule, line=finding.line, shown=str(finding), severity=finding.severity,
                error=finding.error, report=run.report())
            """)
        self.assertIn("expected m1 and m2 to have the same dtype", said["text"])
        self.assertEqual((said["rule"], said["severity"]), ("mixed-operands", "error"))
        self.assertEqual(said["line"], self.line_of("return torch.ones(2, 2, dtype=a) @"))
        self.assertIn(said["text"], said["error"])
        self.assertTrue(said["shown"].endswith("[mixed-operands]"))
        self.assertIn("return torch.ones(2, 2, dtype=a) @", said["report"])

    def test_what_is_caught_inside_is_a_note(self):
        (said,) = self.run_python("""
            with dtypecheck.trace() as run:
                caught(mix)
            say(rules=rules(run), warned=len(run.findings_at("warning")))
            """)
        self.assertEqual([rule[:2] for rule in said["rules"]], [["mixed-operands", "note"]])
        self.assertEqual(said["warned"], 0)

    def test_each_turn_has_its_own_findings(self):
        said = self.run_python("""
            def promote():
                return torch.ones(4, 4, dtype=torch.float16) + torch.ones(4, 4)
            for function in (mix, promote, lambda: torch.ones(2) + 1, mix):
                with dtypecheck.trace() as run:
                    caught(function)
                say(rules=[f.rule for f in run.findings], ops=run.to_json()["summary"]["op_calls"] > 0)
            caught(mix)
            with dtypecheck.trace() as run:
                pass
            say(rules=rules(run), ops=run.to_json()["summary"]["op_calls"] > 0)
            """)
        self.assertEqual([turn["rules"] for turn in said],
                         [["mixed-operands"], ["silent-promotion"], [], ["mixed-operands"], []])
        self.assertEqual([turn["ops"] for turn in said], [True, True, True, True, False])

    def test_nothing_changes(self):
        body = """
            import contextlib, hashlib
            traced = sys.argv[-1] != "plain" and os.environ.get("PLAIN") != "1"
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1))
            optimizer = torch.optim.AdamW(model.parameters())
            for step in range(6):
                with dtypecheck.trace() if traced and step % 2 else contextlib.nullcontext():
                    with torch.autocast("cpu", dtype=torch.bfloat16):
                        loss = model(torch.randn(4, 8)).square().mean()
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
            state = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
            say(hash=hashlib.sha256(state).hexdigest(), random=torch.rand(1).item(), threads=threading.active_count())
            """
        self.assertEqual(self.run_python(body), self.run_python(body, PLAIN="1"))

    def test_modules_and_steps_are_reported(self):
        (said,) = self.run_python("""
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.head = torch.nn.Linear(4, 4).half()
                def forward(self, x):
                    return self.head(x)
            net = Net()
            with dtypecheck.trace() as run:
                caught(lambda: net(torch.ones(1, 4)))
            (finding,) = run.findings
            say(module=finding.location["module"], parameters=[o["parameter"] for o in finding.operands])
            """)
        self.assertTrue(said["module"].endswith("head"), said)
        self.assertTrue(any(name and name.endswith("head.weight") for name in said["parameters"]), said)

    def test_nested_and_second(self):
        (said,) = self.run_python("""
            with dtypecheck.trace() as outer:
                with dtypecheck.trace() as inner:
                    caught(mix)
                caught(mix)
            say(outer=rules(outer), inner=rules(inner), problem=inner.problem, text=inner.report())
            """)
        self.assertEqual(len(said["outer"]), 1)
        self.assertEqual(said["inner"], [])
        self.assertIn("recording goes on already", said["problem"])
        self.assertIn(said["problem"], said["text"])
        self.assertEqual(self.done.stderr.count("recording goes on already"), 1)

    def test_threads(self):
        said = self.run_python("""
            stop = threading.Event()
            def work():
                x = torch.ones(8, 8)
                while not stop.is_set():
                    (x @ x).half().float()
                    stop.wait(0.001)  # who traces needs the interpreter's lock too
            workers = [threading.Thread(target=work, daemon=True) for _ in range(3)]
            for worker in workers: worker.start()
            for turn in range(9):
                with dtypecheck.trace() as run:
                    caught(mix)
                if turn % 3 == 2:
                    say(rules=[f.rule for f in run.findings if f.line == MIX], complete=run.to_json()["complete"])
            stop.set()
            for worker in workers: worker.join()
            """.replace("MIX", str(PREAMBLE.splitlines().index(next(
                line for line in PREAMBLE.splitlines() if "dtype=a" in line)) + 1)))
        for turn in said:
            self.assertEqual(turn, {"rules": ["mixed-operands"], "complete": True})

    def test_what_other_threads_begin_as_a_turn_ends_is_no_loss(self):
        (said,) = self.run_python("""
            stop = threading.Event()
            def train():
                model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                while not stop.is_set():
                    with torch.autocast("cpu", dtype=torch.bfloat16):
                        loss = model(torch.randn(4, 8)).sum()
                    loss.backward()
                    optimizer.step()
                    caught(mix)
                    stop.wait(0.001)
            workers = [threading.Thread(target=train, daemon=True) for _ in range(4)]
            for worker in workers: worker.start()
            incomplete = 0
            for turn in range(300):
                with dtypecheck.trace() as run:
                    torch.ones(3) + 1
                incomplete += turn % 50 == 49 and not run.to_json()["complete"]
            stop.set()
            for worker in workers: worker.join()
            say(incomplete=incomplete)
            """)
        # On a busy machine a thread may be stopped for longer than a turn waits for it; then that turn says so, and the
        # next one is whole.
        self.assertLess(said["incomplete"], 4)

    def test_fork(self):
        said = self.run_python("""
            with dtypecheck.trace() as run:
                pid = os.fork()
                if pid == 0:
                    caught(mix)
                    os._exit(0)
                os.waitpid(pid, 0)
                torch.ones(2) + 1
            say(rules=[f.rule for f in run.findings], processes=len(run.to_json()["processes"]))
            pid = os.fork()
            if pid == 0:
                with dtypecheck.trace() as run:
                    caught(mix)
                say(child=[f.rule for f in run.findings])
                os._exit(0)
            os.waitpid(pid, 0)
            """)
        self.assertEqual(said, [{"rules": ["mixed-operands"], "processes": 2}, {"child": ["mixed-operands"]}])

    def test_a_kept_trace(self):
        (said,) = self.run_python("""
            with dtypecheck.trace(out="kept") as run:
                caught(mix)
            with dtypecheck.trace() as gone:
                torch.ones(1) + 1
            gone.findings
            folder = gone.folder
            del gone
            with dtypecheck.trace(out="kept") as second:
                pass
            say(kept=len(os.listdir("kept")), gone=os.path.exists(folder), problem=second.problem)
            """)
        self.assertEqual((said["kept"], said["gone"]), (1, False))
        self.assertIn("holds the traces of an earlier run", said["problem"])

    def test_values(self):
        (said,) = self.run_python("""
            with dtypecheck.trace(check_values=True) as run:
                torch.ones(2) / torch.zeros(2)
            say(rules=[f.rule for f in run.findings])
            """)
        self.assertEqual(said["rules"], ["first-non-finite"])

    def test_beside_the_profiler(self):
        (said,) = self.run_python("""
            with torch.profiler.profile() as profile:
                with dtypecheck.trace() as run:
                    caught(mix)
                torch.ones(3).sum()
            say(rules=[f.rule for f in run.findings], ops=sorted({e.key for e in profile.key_averages()}))
            """)
        self.assertEqual(said["rules"], ["mixed-operands"])
        self.assertTrue({"aten::matmul", "aten::sum"} <= set(said["ops"]), said)

    def test_while_it_is_traced_from_outside(self):
        (said,) = self.run_python("""
            with dtypecheck.trace() as run:
                caught(mix)
            say(problem=run.problem, rules=rules(run))
            """, python=(os.environ["DTYPECHECK"], "trace", "--", sys.executable))
        self.assertIn("traced by dtypecheck trace already", said["problem"])
        self.assertIn("mixed-operands", self.done.stderr)

    def test_no_tool(self):
        (said,) = self.run_python("""
            with dtypecheck.trace() as run:
                value = (torch.ones(2) + 1).tolist()
            say(problem=run.problem, value=value, findings=len(run.findings))
            """, DTYPECHECK=str(self.folder / "none"))
        self.assertEqual((said["value"], said["findings"]), ([2.0, 2.0], 0))
        self.assertIn(f"{self.folder}/none", said["problem"])
        self.assertEqual(len(self.done.stderr.splitlines()), 1)


class Attach(Program):
    def test_a_python_operator_of_before_is_recorded(self):
        self.run_python("""
            @torch.library.custom_op("tests::product", mutates_args=())
            def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return a.float() @ b

            product(torch.ones(2, 2), torch.ones(2, 2))
            run = dtypecheck.attach("run")
            product(torch.ones(2, 2), torch.ones(2, 2))
            run.stop()
            """)
        dumped = subprocess.run([os.environ["DTYPECHECK"], "dump", "--format", "jsonl", self.folder / "run"], text=True,
                                capture_output=True, check=True).stdout
        ops = [json.loads(line).get("op") for line in dumped.splitlines()]
        self.assertEqual(ops.count("tests::product"), 1)

    def test_the_report_comes_at_the_end(self):
        self.run_python("""
            run = dtypecheck.attach()
            torch.ones(4, dtype=torch.float16) + torch.ones(4)
            mix()
            """, status=1)
        self.assertIn("RuntimeError: expected m1 and m2", self.done.stderr)
        self.assertIn("error: Half operand" if "Half operand" in self.done.stderr else "mixed-operands", self.done.stderr)

    def test_stop(self):
        (said,) = self.run_python("""
            run = dtypecheck.attach()
            caught(mix)
            run.stop()
            say(rules=[f.rule for f in run.findings])
            """)
        self.assertEqual(said["rules"], ["mixed-operands"])
        self.assertEqual(self.done.stderr, "")


if __name__ == "__main__":
    unittest.main()
