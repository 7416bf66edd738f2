"""The operators as PyTorch's compiler and its checks of custom operators see them."""

import unittest

import torch
import torch.nn.functional as F

from dtypecheck import kernels

ops = torch.ops.dtypecheck


def leaf(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype).requires_grad_()


half = torch.float16
CALLS = {
    "layer_norm": (leaf(4, 6, 8, dtype=half), (8,), leaf(8), leaf(8)),
    "rms_norm": (leaf(4, 6, 8, dtype=half), (8,), leaf(8)),
    "group_norm": (leaf(2, 4, 6, 6, dtype=half), 2, leaf(4), leaf(4), 1e-5, True),
    "linear": (leaf(4, 6, 8, dtype=half), leaf(5, 8), leaf(5)),
    "matmul": (leaf(2, 6, 8, dtype=half), leaf(2, 8, 3)),
    "conv2d": (leaf(2, 4, 6, 6, dtype=half), leaf(6, 2, 3, 3), leaf(6), [1, 1], [1, 1], [1, 1], 2),
    "global_norm": ([torch.randn(3).half(), torch.randn(2, 2)], 0.5),
    "unscale": ([torch.randn(3).half(), torch.randn(2, 2)], 0.5),
    "native_norm": (leaf(6, 8, dtype=half), leaf(8), None, 0, 1, 1e-5, False),
    "native_matmul": (leaf(6, 8, dtype=half), leaf(8, 5), None, half, False),
    "native_conv2d": (leaf(2, 4, 6, 6, dtype=half), leaf(6, 4, 3, 3), None, [1, 1], [1, 1], [1, 1], 1, False),
    "adamw_": ([torch.randn(3).half()], [torch.randn(3).half()], [torch.zeros(3)], [torch.zeros(3)], [torch.randn(3)], 1),
}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 8))
        self.kernel = torch.nn.Parameter(torch.randn(4, 2, 3, 3))
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = kernels.layer_norm(kernels.linear(x, self.weight), (8,), self.weight[0])
        y = kernels.conv2d(y.unflatten(1, (2, -1)).transpose(1, 2)[:, :2].contiguous(), self.kernel, padding=1)
        return kernels.group_norm(y, 2, self.scale, silu=True).float().square().mean()


@unittest.skipUnless(hasattr(torch.library, "opcheck"), "this torch has no opcheck")
class OpCheck(unittest.TestCase):
    def test_schema_autograd_and_fake(self):
        for name, arguments in CALLS.items():
            with self.subTest(name):
                torch.library.opcheck(getattr(ops, name).default, arguments)


class Compiled(unittest.TestCase):
    def check(self, dynamic):
        torch.manual_seed(1)
        model = Model()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        for rows in (6, 8, 10):
            x = torch.randn(2, rows, 8).half().requires_grad_()
            wanted = torch.autograd.grad(model(x), [x, *model.parameters()])
            got = torch.autograd.grad(compiled(x), [x, *model.parameters()])
            for a, b in zip(got, wanted):
                self.assertTrue(torch.equal(a, b))

    def test_one_graph_with_its_gradients(self):
        self.check(dynamic=False)

    def test_sizes_may_be_symbols(self):
        self.check(dynamic=True)

    def test_fake_tensors_lie_as_real_ones(self):
        from torch._subclasses import FakeTensorMode
        x = torch.randn(2, 4, 5, 5).half().to(memory_format=torch.channels_last)
        w = torch.randn(6, 4, 3, 3)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            for call in (lambda t, v: kernels.conv2d(t, v), lambda t, v: kernels.group_norm(t, 2)):
                fake, real = call(mode.from_tensor(x), mode.from_tensor(w)), None
                mode.__exit__(None, None, None)
                real = call(x, w)
                mode.__enter__()
                self.assertEqual((fake.shape, fake.stride(), fake.dtype), (real.shape, real.stride(), real.dtype))


class Threads(unittest.TestCase):
    def test_the_same_bits_on_any_number(self):
        x, w = torch.randn(600, 320).half(), torch.randn(320, 320)
        def all_bits():
            return [kernels.linear(x, w), kernels.layer_norm(x, (320,), w[0]), kernels.global_norm([x, w])]
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(1)
            one = all_bits()
            torch.set_num_threads(2)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(one, all_bits())))
        finally:
            torch.set_num_threads(before)

    def test_bfloat16_products_are_near(self):
        x, w = torch.randn(64, 320).half(), torch.randn(32, 320).half()
        y = kernels.linear(x, w, compute=torch.bfloat16)
        exact = F.linear(x.double(), w.double())
        self.assertLess((y.double() - exact).abs().max().item(), 2**-7 * exact.abs().max().item())


if __name__ == "__main__":
    unittest.main()
