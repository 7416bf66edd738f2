"""The kernel that digests a tensor on a GPU: NVRTC takes its source for each architecture, and one thread of it, compiled for the
processor, sums up what torch sums up."""

import ctypes
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

import torch

HEADER = pathlib.Path(__file__).resolve().parents[2] / "tracer" / "hook" / "digest_kernel.h"
SOURCE = re.search(r'R"cuda\((.*)\)cuda"', HEADER.read_text(), re.S)[1]
# The numbers of core/dtype.h.
DTYPES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6,
          torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}
# A launch of one block with one thread, and what CUDA has and C++ has not.
ON_PROCESSOR = """
#include <cstdio>
#include <cstring>
#include <vector>
#define __device__
#define __global__
#define __shared__ static
static void __syncthreads() {}
static float __uint_as_float(unsigned bits) { float out; memcpy(&out, &bits, 4); return out; }
struct { int x; } threadIdx = {0}, blockIdx = {0}, blockDim = {1}, gridDim = {1};
%s
int main(int, char** arguments) {
  Arguments all{};
  long long elements;
  FILE* in = fopen(arguments[1], "rb");
  if (fread(&all.dtype, 4, 1, in) + fread(&all.dims, 4, 1, in) + fread(&all.count, 8, 1, in) + fread(&elements, 8, 1, in) != 4) return 1;
  if (fread(all.sizes, 8, 8, in) + fread(all.strides, 8, 8, in) != 16) return 1;
  std::vector<char> data(elements * 8);
  if (fread(data.data(), 1, data.size(), in) == 0) return 1;
  std::vector<double> out(21);
  all.data = data.data(), all.out = out.data();
  all.places = all.count < 16 ? all.count : 16;
  digest(all);
  for (double number : out) printf("%%a ", number);
}
"""


class DigestKernel(unittest.TestCase):
    def test_nvrtc_compiles_it(self):
        libraries = sorted(pathlib.Path(torch.__path__[0]).parent.glob("nvidia/*/lib/libnvrtc.so.*"))
        if not libraries:
            self.skipTest("this torch brings no NVRTC")
        nvrtc = ctypes.CDLL(str(libraries[0]))
        for architecture in (b"sm_75", b"sm_80", b"sm_90", b"sm_100"):
            with self.subTest(architecture):
                program, size = ctypes.c_void_p(), ctypes.c_size_t()
                nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"digest.cu", 0, None, None)
                options = (ctypes.c_char_p * 2)(b"--gpu-architecture=" + architecture, b"--fmad=false")
                status = nvrtc.nvrtcCompileProgram(program, 2, options)
                log = ctypes.create_string_buffer(10000)
                nvrtc.nvrtcGetProgramLog(program, log)
                self.assertEqual(status, 0, log.value.decode())
                nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
                self.assertGreater(size.value, 1000)

    def test_it_sums_up_what_torch_does(self):
        with tempfile.TemporaryDirectory() as folder:
            program, file = pathlib.Path(folder, "digest"), pathlib.Path(folder, "in")
            subprocess.run(["g++", "-O1", "-x", "c++", "-", "-o", program], input=ON_PROCESSOR % SOURCE, text=True, check=True)
            torch.manual_seed(0)
            for dtype in DTYPES:
                for view in (lambda x: x, lambda x: x.t(), lambda x: x[::2, 1:4], lambda x: x[0].expand(3, -1), lambda x: x[:1, :3]):
                    with self.subTest(dtype=dtype):
                        whole = (torch.randn(12, 7) * 50).to(dtype)
                        if dtype.is_floating_point:
                            whole[1, 2], whole[3, 3], whole[5, 1] = float("nan"), float("-inf"), 1e-7
                        self.check(program, file, view(whole), whole)

    def check(self, program, file, x, whole):
        dims = 0 if x.is_contiguous() else x.dim()
        begin = x.storage_offset() * x.element_size()
        data = whole.contiguous().view(torch.uint8).numpy().tobytes()[begin:]
        padded = list(x.shape) + [0] * (8 - x.dim()), list(x.stride()) + [0] * (8 - x.dim())
        file.write_bytes(struct.pack("iiqq", DTYPES[x.dtype], dims, x.numel(), whole.numel()) + struct.pack("8q8q", *padded[0], *padded[1])
                         + data + bytes(whole.numel() * 8 - len(data)))
        numbers = [float.fromhex(word) for word in subprocess.run([program, file], capture_output=True, text=True, check=True)
                   .stdout.split()]
        exact = x.double().flatten()
        finite = exact[exact.isfinite()]
        self.assertEqual(numbers[0], finite.numel())
        self.assertAlmostEqual(numbers[1], finite.sum().item(), delta=1e-9 * finite.abs().sum().item())
        self.assertAlmostEqual(numbers[2], finite.square().sum().item(), delta=1e-9 * finite.square().sum().item())
        self.assertEqual(numbers[3], (exact == 0).sum().item())
        self.assertEqual(numbers[4], finite.abs().max().item())
        count = min(x.numel(), 16)
        places = exact[[int(x.numel() / count * i) for i in range(count)]]
        for is_there, should in zip(numbers[5:], places.tolist()):
            self.assertTrue(is_there == should or is_there != is_there and should != should, (numbers, places))


if __name__ == "__main__":
    unittest.main()
