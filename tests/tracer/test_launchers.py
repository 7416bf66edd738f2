"""Launchers start processes of their own: each rank has its file, and a report is about all of them."""

import sys
import unittest

from traced import PROGRAMS, TracedTest, line_of


class Torchrun(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
                    "--master-addr", "127.0.0.1",
                    "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                    "127.0.0.1:0"]
        cls.done = cls.traced_command([*launcher, PROGRAMS / "rank.py"])
        cls.pids = {rank: int(cls.done.printed()[f"rank{rank}"][0]) for rank in (0, 1)}

    def test_program_ran(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        for rank in (0, 1):
            self.assertEqual(self.done.printed()[f"rank{rank}"][1], "3.0")

    def test_each_rank_has_its_file(self):
        files = {path.name for path in self.done.run.files}
        for rank, pid in self.pids.items():
            self.assertTrue(any(name.endswith(f".{pid}.r{rank}.dtrace") for name in files), files)
            process = self.done.run.processes[pid]
            self.assertEqual((process["rank"], process["steps"], process["end"]),
                             (rank, 2, "exited"))

    def test_report_is_about_all(self):
        calls = self.done.run.calls(line=line_of("rank.py", "model"), op="aten::linear")
        self.assertEqual({call["pid"] for call in calls}, set(self.pids.values()))
        self.assertEqual({call["pid"] for call in self.done.run.calls(line=line_of("rank.py",
                                                                                   "only rank 1"))},
                                                                                   {self.pids[1]})
        self.assertTrue(self.done.run.report["complete"])

    def test_collectives(self):
        calls = self.done.run.calls(line=line_of("rank.py", "all_reduce"), op="c10d::allreduce_")
        self.assertEqual({call["pid"] for call in calls}, set(self.pids.values()))

    def test_module_path_has_no_wrapper_in_it(self):
        (process,) = {self.pids[0]}
        modules = {call.get("module") for call in self.done.run.calls(pid=process,
                                                                      op="aten::linear")}
        self.assertEqual(modules, {"model"})


class Accelerate(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        launcher = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes",
                    "1", "--num_machines", "1",
                    "--mixed_precision", "bf16", "--dynamo_backend", "no"]
        cls.done = cls.traced_command([*launcher, PROGRAMS / "accelerated.py"])

    def test_the_launched_process_is_traced(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        pid = int(self.done.printed()["main"][0])
        process = self.done.run.processes[pid]
        self.assertEqual(process["facts"]["accelerate.mixed_precision"], "bf16")
        (outer, inner) = self.done.run.calls(pid=pid, op="aten::linear",
                                             line=line_of("accelerated.py", "model"))
        self.assertEqual(outer["autocast"], {"cpu": "BFloat16"})
        self.assertEqual(inner["autocast_call"], "inner")


if __name__ == "__main__":
    unittest.main()
