"""What of CUDA can be held to without a GPU: that its operators are there, what they refuse while their kernels are not
loaded, what fake tensors become, and how build-hook has the kernels compiled, by an nvcc that plays the compiler."""

import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dtypecheck import kernels

LIBTORCH = pathlib.Path(torch.__file__).resolve().parent / "lib/libtorch_cpu.so"
NVCC = """#!/bin/sh
echo "$@" >>"$SAID"
while [ "$1" != -o ]; do shift; done
%s
"""


class Operators(unittest.TestCase):
    def test_are_registered(self):
        for name in ("native_norm", "native_norm_backward", "native_matmul", "native_conv2d"):
            self.assertTrue(torch._C._dispatch_has_kernel_for_dispatch_key(f"dtypecheck::{name}", "CUDA"), name)
        for name in ("linear", "matmul", "conv2d"):
            self.assertTrue(torch._C._dispatch_has_kernel_for_dispatch_key(f"dtypecheck::{name}", "AutocastCUDA"), name)

    def test_refuse_while_their_kernels_are_not_loaded(self):
        if torch.ops.dtypecheck.has_device_kernels():
            self.skipTest("they are loaded here")
        with FakeTensorMode():
            x = torch.empty(4, 8, device="cuda", dtype=torch.half)
            for call in (lambda: kernels.layer_norm(x, (8,)), lambda: kernels.group_norm(x, 2)):
                with self.assertRaisesRegex(NotImplementedError, "to be on the CPU, but got cuda:0, and the kernels for it are "
                                            "not loaded"):
                    call()

    def test_products_are_libtorchs_own(self):
        with FakeTensorMode():
            x, weight = torch.empty(4, 8, device="cuda", dtype=torch.half), torch.empty(5, 8, device="cuda")
            y = kernels.linear(x, weight)
            self.assertEqual((y.device.type, y.dtype, tuple(y.shape)), ("cuda", torch.half, (4, 5)))
            with self.assertRaisesRegex(RuntimeError, "linear: Expected all tensors to be on the same device, but input is on "
                                        "cuda:0 and weight is on cpu"):
                kernels.linear(x, torch.empty(5, 8))


class BuildHook(unittest.TestCase):
    def run_with(self, end):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            nvcc = folder / "cuda/bin/nvcc"
            nvcc.parent.mkdir(parents=True)
            nvcc.write_text(NVCC % end)
            nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
            environment = {**os.environ, "CUDA_HOME": str(folder / "cuda"), "HOME": str(folder), "SAID": str(folder / "said"),
                           "XDG_CACHE_HOME": str(folder / "cache")}
            command = [os.environ["DTYPECHECK"], "build-hook", "--operators", "--cuda", "--libtorch", str(LIBTORCH)]
            done = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
            return done, (folder / "said").read_text().splitlines()

    def setUp(self):
        if (pathlib.Path(os.environ["DTYPECHECK"]).parent.parent / "lib/libdtypecheck_kernels_cuda.so").exists():
            self.skipTest("they were built ahead")

    def test_compiles_them_once(self):
        (first, second), calls = self.run_with('echo >"$2"')
        lines = first.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("libdtypecheck_operators-", lines[0])
        self.assertRegex(lines[1], r"/kernels-cuda-[0-9a-f]{16}\.so$")
        self.assertEqual(second.stdout, first.stdout)
        self.assertEqual(len(calls), 1)
        for word in ("-gencode=arch=compute_75,code=sm_75", "group_norm.cu", "layer_norm.cu", "libdtypecheck_kernels.so"):
            self.assertIn(word, calls[0])

    def test_the_cpu_does_without_what_nvcc_refuses(self):
        (first, second), calls = self.run_with("echo no >&2; exit 1")
        for done in (first, second):
            self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("the kernels for a GPU could not be compiled with", first.stderr)
        self.assertIn("the kernels for a GPU could not be compiled before; see", second.stderr)
        self.assertEqual(len(calls), 1)


if __name__ == "__main__":
    unittest.main()
