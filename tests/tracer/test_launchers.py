"""Launchers start processes of their own: each rank has its file, and a report is about all of them."""

import json
import pathlib
import shutil
import sys
import unittest

from traced import PROGRAMS, TracedTest, line_of, python, tool


def torchrun(ranks):
    return [python(), "-m", "torch.distributed.run", "--nproc-per-node", str(ranks),
            "--master-addr", "127.0.0.1", "--master-port", "0", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", "127.0.0.1:0"]


class Torchrun(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced_command([*torchrun(2), PROGRAMS / "rank.py"])
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

    def test_merged_it_says_the_same(self):
        """One file for both ranks, beside which theirs count no second time."""
        merged = self.done.run.folder / "all.dtrace"
        for _ in range(2):  # the second time the file lies in the folder that is merged
            done = tool("merge", self.done.run.folder, "-o", merged, statuses=[0])
            self.assertIn(b"2 processes", done.stderr)
        # The same run once more, under another name: no process counts twice.
        copy = self.folder / "copy-of-run"
        shutil.copytree(self.done.run.folder, copy)
        for twice in ((self.done.run.folder, copy), (copy, merged), (self.done.run.files[0], copy)):
            done = tool("merge", *twice, "-o", self.folder / "twice.dtrace", statuses=[0])
            self.assertIn(b"2 processes", done.stderr)
            self.assertIn(b"were read already and count once", done.stderr)
        (copy / "bad.dtrace").write_bytes(b"x")
        done = tool("merge", copy, "-o", self.folder / "partial.dtrace", statuses=[2])
        self.assertIn(b"not a dtypecheck trace", done.stderr)
        text = tool("report", self.folder / "partial.dtrace", "--fail-on", "error").stdout.decode()
        self.assertRegex(text, r"partial: \S*bad\.dtrace: not a dtypecheck trace")
        alone, beside = (json.loads(tool("report", path, "--format", "json").stdout)
                         for path in (merged, self.done.run.folder))
        before = self.done.run.report
        for report in (alone, beside):
            self.assertEqual(report["summary"]["op_calls"], before["summary"]["op_calls"])
            self.assertEqual(report["summary"]["processes"], 2)
            self.assertEqual(report["complete"], True)
        self.assertLess(alone["summary"]["signatures"], before["summary"]["signatures"])
        self.assertEqual({finding["id"] for finding in alone["findings"]},
                         {finding["id"] for finding in before["findings"]})
        calls = [json.loads(line) for line in
                 tool("dump", merged, "--format", "jsonl").stdout.splitlines()]
        linear = [call for call in calls if call["op"] == "aten::linear"]
        self.assertEqual({(makers["first"], makers["last"]) for call in linear
                          for makers in call["made_by"]}, {(0, 1)})
        tool("diff", merged, self.done.run.folder, statuses=[0])
        kept = json.loads((self.done.run.folder / "all.dtrace.sources.json").read_text())["files"]
        self.assertIn("rank.py", {pathlib.Path(file["path"]).name for file in kept})
        merged.unlink()

    def test_a_rank_is_missing(self):
        copy = self.folder / "one-rank"
        shutil.copytree(self.done.run.folder, copy)
        (gone,) = copy.glob("*.r1.dtrace")
        gone.unlink()
        for inputs in ([copy], copy.glob("*.dtrace")):
            done = tool("report", *inputs, statuses=[2])
            self.assertIn(b"rank 1 of 2 left no trace", done.stdout + done.stderr)
        tool("merge", copy, "-o", self.folder / "one-rank.dtrace", statuses=[2])
        done = tool("report", self.folder / "one-rank.dtrace", statuses=[2])
        self.assertIn(b"rank 1 of 2 left no trace", done.stdout + done.stderr)
        tool("diff", *self.done.run.files, statuses=[0, 1])  # one process of each side is meant

    def test_collectives(self):
        calls = self.done.run.calls(line=line_of("rank.py", "all_reduce"), op="c10d::allreduce_")
        self.assertEqual({call["pid"] for call in calls}, set(self.pids.values()))

    def test_module_path_has_no_wrapper_in_it(self):
        (process,) = {self.pids[0]}
        modules = {call.get("module") for call in self.done.run.calls(pid=process,
                                                                      op="aten::linear")}
        self.assertEqual(modules, {"model"})


class Spawned(TracedTest):
    """Of ranks that a program starts itself torch.distributed says how many there are."""

    def test_all_are_there_or_missed(self):
        done = self.traced("spawned.py")
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(sorted(str(process["rank"]) for process in done.run.processes.values()), ["0", "1", "None"])
        self.assertTrue(done.run.report["complete"], done.run.report)
        ranks = {process["rank"]: pid for pid, process in done.run.processes.items()}
        kept = [path for path in done.run.files if f".{ranks[1]}." not in path.name]
        gone = tool("report", *kept, statuses=[2])
        self.assertIn(b"rank 1 of 2 left no trace", gone.stdout + gone.stderr)


class RanksDisagree(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced_command([*torchrun(2), PROGRAMS / "ranks_disagree.py"])

    def test_the_collective_and_the_module(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        found = {finding["severity"]: finding for finding in self.done.run.report["findings"]
                 if finding["rule"] == "rank-disagreement"}
        self.assertEqual(set(found), {"error", "warning"}, self.done.run.report["findings"])
        self.assertEqual(found["error"]["location"]["line"], line_of("ranks_disagree.py", "all_reduce"))
        ranks = ("BFloat16 on rank 1", "Float on rank 0")  # in the order of their process numbers
        self.assertRegex(found["error"]["message"], f"{ranks[0]}, {ranks[1]}|{ranks[1]}, {ranks[0]}")
        self.assertEqual(found["warning"]["location"]["line"], line_of("ranks_disagree.py", "model"))


class Groups(TracedTest):
    """Each collective is compared within its process group."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced_command([*torchrun(4), PROGRAMS / "rank_groups.py"])

    def groups(self, place, **wanted):
        calls = self.done.run.calls(line=line_of("rank_groups.py", place), **wanted)
        return sorted((self.done.run.processes[call["pid"]]["rank"], call["group"])
                      for call in calls)

    def test_ranks_of_the_groups(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        self.assertEqual(self.groups("agree", op="c10d::allreduce_"),
                         [(0, "0-2"), (1, "0-2"), (2, "0-2"), (3, "3")])
        self.assertEqual(self.groups("by name", op="_c10d_functional::all_reduce"),
                         [(0, "0-2"), (1, "0-2"), (2, "0-2")])

    def test_one_line_reduces_over_two_groups(self):
        self.assertEqual(self.groups("two groups", op="c10d::allreduce_"),
                         [(0, "0-2"), (0, "0-3"), (1, "0-2"), (1, "0-3"), (2, "0-2"), (2, "0-3"),
                          (3, "0-3")])

    def test_only_the_group_that_disagrees_is_reported(self):
        found = [finding for finding in self.done.run.report["findings"]
                 if finding["rule"] == "rank-disagreement"]
        self.assertEqual({finding["location"]["line"] for finding in found},
                         {line_of("rank_groups.py", "by name")}, found)
        for finding in found:
            self.assertIn("BFloat16 on rank 2, Float on ranks 0, 1", finding["message"])


class OtherLaunchers(TracedTest):
    """What SLURM and MPI say of a process is its rank, where torchrun says nothing."""

    def test_ranks(self):
        for variables, rank in (({"SLURM_PROCID": "5", "SLURM_JOB_ID": "77"}, 5),
                                ({"OMPI_COMM_WORLD_RANK": "3"}, 3), ({"PMI_RANK": "2"}, 2),
                                ({"RANK": "1", "SLURM_PROCID": "0"}, 1)):
            done = self.traced_command([self.interpreter, "-c", "import torch; torch.ones(2).half()"],
                                       env=self.environment | variables)
            (process,) = done.run.processes.values()
            self.assertEqual(process["rank"], rank, variables)
            for name, value in variables.items():
                self.assertEqual(process["facts"][f"env.{name}"], value)


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
