"""One file for each process that ran an op, none for the others, and how each of them ended."""

import os
import signal
import sys
import unittest

from traced import TracedTest, line_of

ENDS = ["os_exit", "sys_exit", "exception", "exec", "exec_torch", "failed_exec", "grandchild"]
SIGNALS = ["SIGKILL", "SIGABRT", "SIGSEGV", "SIGTERM"]


class Family(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced("family.py", *ENDS, *SIGNALS)
        cls.run_ = cls.done.run
        cls.children = {name: (int(words[0]), int(words[1]))
                        for name, words in cls.done.printed().items() if len(words) == 2}

    def process(self, name):
        return self.run_.processes[self.children[name][0]]

    def exit_status(self, name):
        return os.waitstatus_to_exitcode(self.children[name][1])

    def test_program_ran(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        self.assertEqual(self.run_.others, [])

    def test_children_end_as_they_meant_to(self):
        wanted = {"os_exit": 4, "sys_exit": 3, "exception": 1, "exec": 0, "exec_torch": 0,
                  "failed_exec": 0, "grandchild": 0}
        wanted |= {name: -getattr(signal, name) for name in SIGNALS}
        self.assertEqual({name: self.exit_status(name) for name in wanted}, wanted)

    def test_one_file_for_each_process_that_ran_an_op(self):
        named = {self.children[name][0] for name in [*ENDS, *SIGNALS, "grandchild's", "spawned"]
                 if name in self.children}
        main = int(self.done.printed()["main"][0])
        workers = {call["pid"] for call in self.run_.calls(line=line_of("family.py", "row"))}
        self.assertEqual(len(workers), 2)
        self.assertEqual({call["pid"] for call in self.run_.calls()}, {main, *named, *workers})
        self.assertEqual(set(self.run_.processes), {main, *named, *workers})

    def test_child_without_op_leaves_no_file(self):
        self.assertNotIn(self.children["idle"][0], self.run_.processes)

    def test_other_programs_never_map_libtorch(self):
        self.assertEqual(self.done.printed()["libtorch_in_sh"], ["0"])

    def test_ends(self):
        for name in ["os_exit", "sys_exit", "exception", "failed_exec", "grandchild", "spawned"]:
            self.assertEqual(self.process(name)["end"], "exited", name)
        for name in SIGNALS:
            self.assertEqual(self.process(name)["end"], "running", name)
        self.assertEqual(self.process("exec")["end"], "replaced")

    def test_what_killed_children_recorded_is_whole(self):
        for name in SIGNALS:
            self.assertTrue(self.process(name)["complete"], name)
            ops = [call["op"] for call in self.run_.calls(pid=self.children[name][0])]
            self.assertEqual(ops, ["aten::ones", "aten::add"], name)

    def test_failed_exec_goes_on(self):
        ops = [call["op"] for call in self.run_.calls(pid=self.children["failed_exec"][0])]
        self.assertEqual(ops, ["aten::ones", "aten::add", "aten::ones", "aten::_to_copy"])

    def test_image_after_exec_has_a_file_of_its_own(self):
        pid = self.children["exec_torch"][0]
        files = [path for path in self.run_.files if f".{pid}." in path.name]
        self.assertEqual(len(files), 2)
        ends = sorted(p["end"] for p in self.run_.report["processes"] if p["pid"] == pid)
        self.assertEqual(ends, ["exited", "replaced"])
        self.assertIn("aten::_to_copy", [call["op"] for call in self.run_.calls(pid=pid)])

    def test_children_know_their_parents(self):
        main = int(self.done.printed()["main"][0])
        self.assertEqual(self.process("os_exit")["parent_pid"], main)
        self.assertEqual(self.process("grandchild's")["parent_pid"], self.children["grandchild"][0])

    def test_threads(self):
        """Main called the line once, three threads did too: one signature, four calls."""
        main = int(self.done.printed()["main"][0])
        (call,) = self.run_.calls(pid=main, op="aten::ones", line=line_of("family.py", "op"))
        self.assertEqual(call["count"], 4)

    def test_workers_of_a_data_loader(self):
        calls = self.run_.calls(line=line_of("family.py", "row"), op="aten::_to_copy")
        self.assertEqual(sum(call["count"] for call in calls), 4)
        self.assertEqual({call["phase"] for call in calls}, {"data"})
        for call in calls:
            self.assertEqual(self.run_.processes[call["pid"]]["end"], "exited")

    def test_worker_that_left_by_os_exit_is_not_called_killed(self):
        self.assertNotIn(str(self.children["os_exit"][0]), self.run_.text())

    def test_killed_children_are_missed(self):
        self.assertFalse(self.run_.report["complete"])
        self.assertIn("no end was recorded of", self.run_.text())


class Ended(TracedTest):
    def test_a_child_that_its_parent_ends_is_not_missed(self):
        program = """import multiprocessing, time, torch
def wait(ready):
    torch.ones(1)
    ready.set()
    time.sleep(600)
torch.ones(2)
context = multiprocessing.get_context("fork")
ready = context.Event()
child = context.Process(target=wait, args=(ready,))
child.start()
ready.wait()
child.terminate()
child.join()
print("child", child.pid)
"""
        done = self.traced_command([sys.executable, "-c", program])
        self.assertEqual(done.status, 0, done.err)
        child = int(done.printed()["child"][0])
        self.assertEqual(done.run.processes[child]["end"], "running")
        self.assertTrue(done.run.report["complete"])

    def test_a_child_does_not_tell_what_its_parent_computed(self):
        program = """import os, torch
rest = 1 - torch.linspace(0.999, 0.9999, 64).bfloat16()
child = os.fork()
if child == 0:
    torch.ones(3).half().sum()
    del rest
    os._exit(0)
os.waitpid(child, 0)
print("sum", rest.sum().item())
"""
        done = self.traced_command([sys.executable, "-c", program])
        self.assertTrue(done.run.report["complete"], done.run.text())
        self.assertEqual([finding["rule"] for finding in done.run.report["findings"]], ["far-from-float"])


class Shell(TracedTest):
    def test_two_programs_of_one_shell(self):
        first = "import os, torch; torch.ones(1); print('a', os.getpid())"
        second = "import os, torch; torch.ones(2).half(); print('b', os.getpid())"
        script = f'"$0" -c "{first}" && gcc --version > gcc.txt && "$0" -c "{second}"; exit 5'
        done = self.traced_command(["bash", "-c", script, sys.executable])
        self.assertEqual(done.status, 5, done.err)
        pids = {int(words[0]) for words in done.printed().values()}
        self.assertEqual(set(done.run.processes), pids)
        self.assertEqual({p["end"] for p in done.run.processes.values()}, {"exited"})


if __name__ == "__main__":
    unittest.main()
