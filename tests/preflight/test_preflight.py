"""dtypecheck preflight: programs on a pretended GPU, by LibTorch's own CUDA code."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DTYPECHECK = os.environ["DTYPECHECK"]
OVERLAYS = subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode == 0
PROGRAMS = pathlib.Path(__file__).parent / "programs"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import clean_environment  # noqa: E402
from fork_server import python  # noqa: E402


class Preflight(unittest.TestCase):
    interpreter = python()
    environment = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def preflight(self, *program, options=()):
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        command = [DTYPECHECK, "preflight", "--out", "run", *([] if OVERLAYS else ["--let-write"]), *options, "--", self.interpreter,
                   *program]
        environment = clean_environment("CUDA_VISIBLE_DEVICES") | self.environment
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True)
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        return done.returncode

    def program(self, text):
        path = self.folder / "program.py"
        path.write_text(text)
        return path

    def report(self):
        import json
        done = subprocess.run([DTYPECHECK, "report", "--format", "json", self.folder / "run"], capture_output=True)
        return json.loads(done.stdout)


class Faults(Preflight):
    """Each is named at its line, and nothing else is found."""

    def check(self, name, status, *launcher, options=()):
        path = PROGRAMS / name
        self.assertEqual(self.preflight(*launcher, path, options=options), status, self.err)
        expected = {(number, rule) for number, line in enumerate(path.read_text().splitlines(), 1) if "# EXPECT " in line
                    for rule in line.split("# EXPECT ")[1].split(", ")}
        found = {(finding["location"]["line"], finding["rule"]) for finding in self.report()["findings"]}
        self.assertEqual(found, expected)

    def test_of_ops(self):
        self.check("faults.py", 1)  # it catches what is raised
        self.assertIn("clean passed", self.out)

    def test_of_values(self):
        self.check("values.py", 1)
        samples = self.report()["processes"][0]["facts"]["gpu.samples"]
        self.assertRegex(samples, r"^looked=[1-9]\d+ left_out=0 captured=0$")

    def test_of_a_loss(self):
        for divisor, rules in [("0", ["non-finite-loss"]), ("2", [])]:
            self.preflight(self.program(f"""
import torch
loss = torch.ones(3, device="cuda", requires_grad=True).log().sum() / {divisor}
loss.backward()
"""))
            self.assertEqual([finding["rule"] for finding in self.report()["findings"]], rules)

    def test_of_half_weights(self):
        self.check("faults_half.py", 1)

    def test_of_bfloat16_weights(self):
        self.check("faults_bfloat16.py", 1)

    def test_of_a_scaler_without_autocast(self):
        self.check("faults_scaler.py", 1)

    def test_of_ranks(self):
        self.check("faults_ranks.py", 1, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
                   options=["--gpus", "2"])

    def test_are_none_where_it_is_done_right(self):
        for kind in ("fp16", "bf16", "masters"):
            self.assertEqual(self.preflight(PROGRAMS / "clean.py", kind), 0, self.err)
            self.assertIn("on a pretended sm_80 (A100), 3 steps: no findings", self.err)


class Refusals(Preflight):
    def test_are_in_the_words_of_libtorch(self):
        self.preflight(PROGRAMS / "refusals.py")
        self.assertEqual(self.out, (PROGRAMS / "refusals.txt").read_text())


class Training(Preflight):
    def test_ends_after_the_steps(self):
        self.assertEqual(self.preflight(PROGRAMS / "trains.py", options=["--gpu", "v100", "--gpus", "2", "--steps", "2"]), 0,
                         self.err)
        self.assertIn("gpus 2 Tesla V100-SXM2-16GB (7, 0)\n", self.out)
        self.assertEqual(re.findall(r"step \d scale \S+ chosen \d+", self.out),
                         ["step 0 scale 65536.0 chosen 6"])
        self.assertNotIn("never here", self.out)
        self.assertIn("on a pretended sm_70 (V100), 2 steps: no findings; peak 2.0 GiB reserved", self.err)
        self.assertIn("not known without a GPU", self.err)


class Kernels(Preflight):
    def test_of_a_gpu_that_is_older_than_the_code(self):
        """CUB asks which code is there; the backward of an index sorts by it."""
        self.assertEqual(self.preflight(self.program("""
import torch
x = torch.randn(4, 4, device="cuda", requires_grad=True)
x[torch.arange(4, device="cuda") > 1].sum().backward()
print(len(torch.nonzero(x.detach())))
"""), options=["--gpu", "v100"]), 0, self.err)
        self.assertEqual(self.out, "16\n")


class Graphs(Preflight):
    def test_no_sample_is_copied_into_one(self):
        self.assertEqual(self.preflight(self.program("""
import torch
ones = torch.ones(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    small = (ones * 1e-9).half()
graph.replay()
(ones * 1e-3).half()
""")), 0, self.err)
        samples = self.report()["processes"][0]["facts"]["gpu.samples"]
        self.assertRegex(samples, r"^looked=[1-9]\d* left_out=0 captured=[1-9]\d*$")
        self.assertEqual([finding["rule"] for finding in self.report()["findings"]], [])


class Ranks(Preflight):
    def test_of_data_parallel_training(self):
        ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        self.assertEqual(self.preflight(*ranks, PROGRAMS / "parallel.py", options=["--gpus", "2"]), 0, self.err)
        self.assertEqual(re.findall(r"gathered [\[\], \d]+", self.out), ["gathered [[3, 4], [3, 4]]"] * 2)
        self.assertIn("on a pretended sm_80 (A100), 3 steps: no findings", self.err)


class Memory(Preflight):
    def test_runs_out_at_its_size(self):
        self.assertEqual(self.preflight(PROGRAMS / "limits.py", options=["--memory", "4G"]), 1)
        self.assertEqual(self.out.splitlines(), ["device: CUDA error: invalid device ordinal", "total 4096", "reserved 3"])
        self.assertIn("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 4.00 GiB",
                      self.err)
        self.assertIn("dtypecheck: out of memory on the pretended GPU: ", self.err)


    def test_of_entries_that_no_one_can_count(self):
        """An op that reads their number back from the GPU has left-over memory there: all but one are kept."""
        self.assertEqual(self.preflight(self.program("""
import torch
for _ in range(3):
    left = torch.full((1 << 22,), 7, dtype=torch.long, device="cuda"); del left
    graph = torch.sparse_coo_tensor(torch.randint(0, 400, (2, 20000)), torch.rand(20000), (400, 400), check_invariants=True).cuda()
    weight = torch.rand(400, 16, device="cuda", requires_grad=True)
    torch.sparse.mm(graph, weight).sum().backward()
    known = torch.tensor([5, 0, 7], device="cuda")
    print(graph.coalesce()._nnz(), known.max().item(), known.nonzero().numel(), (weight > 2).any().item())
print("below", torch.cuda.max_memory_reserved() < 1 << 26)
""")), 0, self.err)
        self.assertEqual(self.out, "19999 7 2 False\n" * 3 + "below True\n")


UNKNOWN = """
import torch
unknown = torch.ones(1 << 21, device="cuda").sum().expand(4).contiguous()
"""


class Values(Preflight):
    def test_of_no_operand_that_is_asked_for_its_shape_or_dtype(self):
        self.assertEqual(self.preflight(self.program(UNKNOWN + """
print(torch.zeros_like(unknown).tolist(), torch.full_like(unknown, 7).tolist(), unknown.new_full((2,), 9).tolist())
print(torch.arange(5, 7, device="cuda").type_as(unknown).tolist(), (unknown * 5).tolist())
""")), 0, self.err)
        self.assertEqual(self.out, "[0.0, 0.0, 0.0, 0.0] [7.0, 7.0, 7.0, 7.0] [9.0, 9.0]\n[5.0, 6.0] [1.0, 1.0, 1.0, 1.0]\n")

    def test_that_an_op_asks_for_amid_its_work(self):
        """Left-over numbers were its answers: a factorization had failed, a maximum was below its minimum."""
        self.assertEqual(self.preflight(self.program(UNKNOWN + """
left = torch.full((1 << 18,), 7, dtype=torch.int32, device="cuda"); del left
print(torch.linalg.solve(torch.eye(3, device="cuda") * 2, torch.ones(3, device="cuda")).tolist())
torch.linalg.cholesky(torch.diag(unknown)), torch.histc(unknown), torch.distributions.Categorical(logits=unknown)
try:
    torch.linalg.inv(torch.zeros(3, 3, device="cuda"))
except RuntimeError as error:  # of known values
    print(str(error).split(":")[0], "singular" in str(error))
""")), 0, self.err)
        self.assertEqual(self.out, "[0.5, 0.5, 0.5]\nlinalg.inv True\n")


class Weights(Preflight):
    def test_of_which_nobody_looks_at_any_stay_on_the_disk(self):
        self.assertEqual(self.preflight(PROGRAMS / "weights.py"), 0, self.err)
        self.assertEqual(self.out, "resident for 5 GiB: little\ncomputed 12345.0 12345.0 7.0 0.0 0.0\n")


@unittest.skipUnless(OVERLAYS, "no user namespace here, so no overlay")
class Files(Preflight):
    def test_are_left_as_they_were(self):
        os.makedirs(self.folder / "out/sub")
        kept = [self.folder / name for name in ("out/model.txt", "out/sub/kept", "program.txt")]
        for path in kept:
            path.write_text("precious")
        self.assertEqual(self.preflight(PROGRAMS / "writes.py"), 0, self.err)
        self.assertIn("all as it was written\n", self.out)
        self.assertEqual([path.read_text() for path in kept], ["precious"] * 3)
        there = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())
        self.assertEqual([path for path in there if not path.startswith("run/")],
                         ["out/model.txt", "out/sub/kept", "program.txt"])

    def test_what_nothing_names_is_read_only(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as other:
            name = pathlib.Path(other, "file")
            write = f"name = {str(name)!r}\ntry:\n    open(name, 'w').write('spoiled')\n    print(open(name).read())\n" \
                    "except OSError as error:\n    print(error.strerror)\n"
            name.write_text("precious")
            for arguments, said in ((), "Read-only file system\n"), (("--out", other), "spoiled\n"):
                self.preflight(self.program(write), *arguments)
                self.assertEqual((self.out, name.read_text()), (said, "precious"), self.err)
            self.preflight(self.program(write), options=["--let-write"])
            self.assertEqual((self.out, name.read_text()), ("spoiled\n", "spoiled"))

    def test_where_there_is_no_user_namespace(self):
        outer = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
        program = self.program("print(1)\n")
        for options, ended in (([], (2, "")), (["--let-write"], (2, "1\n"))):
            done = subprocess.run([*outer, DTYPECHECK, "preflight", "--out", "run", *options, "--", self.interpreter, program],
                                  cwd=self.folder, env=clean_environment("CUDA_VISIBLE_DEVICES"), capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), ended, done.stderr)
            if not options:
                self.assertIn("this system grants no user namespace", done.stderr)
                self.assertIn("nothing was run, for what the program writes would stay; --let-write lets it\n", done.stderr)

    def test_a_library_renames_by_a_system_call_of_its_own(self):
        os.makedirs(self.folder / "out")
        (self.folder / "out/model.safetensors").write_text("precious")
        self.assertEqual(self.preflight(PROGRAMS / "saves.py"), 0, self.err)
        self.assertEqual(self.out, "saved\n")
        self.assertEqual((self.folder / "out/model.safetensors").read_text(), "precious")


class Cures(Preflight):
    def test_are_proven_on_the_pretended_gpu(self):
        program = self.folder / "unscale.py"
        program.write_text((PROGRAMS / "unscale.py").read_text())
        self.assertEqual(self.preflight(program, options=["--steps", "2"]), 1)
        self.assertIn("[fp16-trainable]", self.err)
        done = subprocess.run([DTYPECHECK, "cure", "run"], cwd=self.folder, env=clean_environment("CUDA_VISIBLE_DEVICES"),
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("proven: 2 steps to its end, no errors, no warnings", done.stdout.decode())

    def test_all_that_is_refused_is_shown_by_one_run(self):
        program = self.program("import torch\nlayer = torch.nn.Linear(4, 4).cuda().half()\nlayer(torch.ones(2, 4).cuda())\n"
                               "layer(torch.ones(2, 4).cuda().bfloat16())\nprint('went on')\n")
        self.assertEqual(self.preflight(program, options=["--keep-going"]), 1)
        self.assertEqual(self.out, "went on\n")
        self.assertIn("program.py:3", self.err)
        self.assertIn("program.py:4", self.err)


class Ends(Preflight):
    def test_a_fault_is_found(self):
        program = self.program("import torch\nlayer = torch.nn.Linear(4, 4).cuda().half()\nlayer(torch.ones(2, 4).cuda())\n")
        self.assertEqual(self.preflight(program, options=["--format", "sarif", "-o", "found.sarif"]), 1)
        self.assertIn("mixed-operands", (self.folder / "found.sarif").read_text())  # of ours, which is not thrown away
        self.assertEqual(self.preflight(program), 1)
        self.assertIn("program.py:3", self.err)
        self.assertNotIn("could not go on", self.err)

    def test_another_error_is_not_judged(self):
        program = self.program("import torch\ntorch.ones(1, device='cuda')\nraise KeyError('config')\n")
        self.assertEqual(self.preflight(program), 2)
        self.assertIn("dtypecheck: the dry run could not go on here: KeyError: config", self.err)

    def test_a_thread_wants_the_lock_of_an_interpreter_that_is_gone(self):
        self.assertEqual(self.preflight(PROGRAMS / "ends.py"), 0, self.err)

    def test_the_time_is_over(self):
        program = self.program("import time, torch\ntorch.ones(1, device='cuda')\ntime.sleep(3600)\n")
        self.assertEqual(self.preflight(program, options=["--timeout", "20"]), 2)
        self.assertIn("dtypecheck: ended after 20 s, with 0 of 3 steps done", self.err)

    def test_weights_that_are_not_there(self):
        program = self.program("import safetensors.torch, torch\ntorch.ones(1, device='cuda')\n"
                               "safetensors.torch.load_file('model/unet.safetensors')\n")
        self.assertEqual(self.preflight(program), 2)
        self.assertIn('the dry run could not go on here: FileNotFoundError: No such file or directory: model/unet.safetensors',
                      self.err)

    def test_a_gpu_that_is_not_pretended(self):
        program = self.program("import torch\ntorch.ones(1, device='cuda')\ntorch.cuda.set_device(7)\n")
        self.assertEqual(self.preflight(program), 2)
        self.assertIn("dtypecheck: the program wants GPU 7, but only 1 is pretended; run it with --gpus 8", self.err)
        self.assertIn("the dry run could not go on here: AcceleratorError: CUDA error: invalid device ordinal", self.err)

    def test_another_driver_is_loaded_before(self):
        self.environment = {"LD_PRELOAD": "/opt/real/libcuda.so.1"}
        self.assertEqual(self.preflight("x.py"), 2)
        self.assertIn("LD_PRELOAD: /opt/real/libcuda.so.1 would answer before the pretended GPU; leave it out", self.err)

    def test_a_library_has_a_cuda_runtime_of_its_own(self):
        program = self.program("import ctypes, glob, torch\ntorch.ones(1, device='cuda')\n"
                               "name, = glob.glob(torch.__path__[0] + '/../nvidia/*/lib/libnccl.so.2')\n"
                               "communicator = ctypes.c_void_p()\n"
                               "print('refused', ctypes.CDLL(name).ncclCommInitAll(ctypes.byref(communicator), 1, None) != 0)\n")
        self.assertEqual(self.preflight(program), 0, self.err)
        self.assertEqual(self.out, "refused True\n")
        self.assertIn("libnccl.so.2 contains a CUDA runtime of its own, which preflight cannot replace", self.err)

    def test_processes_of_all_kinds(self):
        self.assertEqual(self.preflight(PROGRAMS / "processes.py"), 0, self.err)
        self.assertEqual(self.out, "forked 2.0\nspawned 2.0\nrun 2.0\nexecuted 2.0\n")

    def test_an_interrupt(self):
        program = self.program("import os, signal, time, torch\ntorch.ones(1, device='cuda')\n"
                               "os.killpg(0, signal.SIGINT)\ntime.sleep(60)\n")
        command = [DTYPECHECK, "preflight", "--out", "run", "--", sys.executable, program]
        done = subprocess.run(command, cwd=self.folder, env=clean_environment("CUDA_VISIBLE_DEVICES"), capture_output=True,
                              start_new_session=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("dtypecheck: interrupted, with 0 of 3 steps done", done.stderr.decode())

    def test_bad_options(self):
        for options, message in ((["--memory", "much"], "--memory much: not a size; for example --memory 24G"),
                                 (["--gpu", "a99"], "--gpu"), (["--gpus", "0"], "--gpus")):
            self.assertEqual(self.preflight("x.py", options=options), 2)
            self.assertIn(message, self.err)


if __name__ == "__main__":
    unittest.main()
