"""Threads that run the same op calls at once: each call is counted, each signature is there once, and no two threads race.

many_threads_test.py DTYPECHECK PROGRAM; in the TSAN build the program and the tracer are watched.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

THREADS, STEPS = 4, 30
DTYPECHECK, PROGRAM = sys.argv[1:3]

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402


def races_of_ours(log):
    """The reports in which either thread is in the tracer or in what it called: of LibTorch's own code TSAN sees too little,
    and it takes the C library for a racer that frees the thread-locals of a thread which has ended.
    """
    ours = []
    for report in re.findall(r"WARNING: ThreadSanitizer: data race.*?(?:={18}|\Z)", log, re.DOTALL):
        tops = re.findall(r"^    #[01] .*$", report, re.MULTILINE)
        if any("dtypecheck::" in frame or "/tracer/" in frame
               for frame in tops) and "_dl_deallocate_tls" not in report:
            ours.append(report)
    return ours


class ManyThreads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        environment = clean_environment()
        environment["TSAN_OPTIONS"] = f"exitcode=0:report_thread_leaks=0:log_path={cls.folder / 'tsan'}"
        report = cls.folder / "report.json"
        command = [DTYPECHECK, "trace", "--out", cls.folder / "run", "--format", "json", "-o",
                   report, "--", PROGRAM]
        cls.done = subprocess.run(command, cwd=cls.folder, env=environment, capture_output=True,
                                  text=True)
        cls.report = json.loads(report.read_text())
        dump = subprocess.run([DTYPECHECK, "dump", "--format", "jsonl", cls.folder / "run"],
                              capture_output=True, text=True)
        cls.lines = [json.loads(line) for line in dump.stdout.splitlines()]

    def calls(self, op):
        return [line for line in self.lines if line.get("op") == op]

    def test_runs_as_always(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertTrue(self.report["complete"])

    def test_each_call_is_counted(self):
        for op, a_step in {"aten::addmm": 2, "aten::native_layer_norm": 1, "aten::mean": 1,
                           "aten::addcdiv_": 6}.items():
            counts = [call["count"] for call in self.calls(op) if "parent_id" not in call]
            self.assertEqual(sum(counts), a_step * THREADS * STEPS, op)
        (refusal,) = [f for f in self.report["findings"] if f["rule"] == "mixed-operands"]
        self.assertEqual(refusal["count"], 3 * THREADS)

    def test_each_result_is_there_once(self):
        for call in self.calls("aten::addmm") + self.calls("aten::native_layer_norm"):
            results = [result["dtype"] for result in call["results"]]
            self.assertEqual(results, ["Float"] * (1 if call["op"] == "aten::addmm" else 3), call)

    def test_no_race(self):
        log = "".join(path.read_text() for path in self.folder.glob("tsan.*"))
        self.assertEqual(races_of_ours(log), [])

    def test_what_is_no_race_of_ours(self):
        ours = "WARNING: ThreadSanitizer: data race (pid=1)\n  Read of size 4\n    #0 dtypecheck::tracer::answer looking.cpp:1\n"
        theirs = "WARNING: ThreadSanitizer: data race (pid=1)\n  Read of size 4\n    #0 free\n    #1 at::native::add\n    #2 dtypecheck::x\n"
        self.assertEqual(len(races_of_ours(ours + "=" * 18 + theirs + "=" * 18)), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
