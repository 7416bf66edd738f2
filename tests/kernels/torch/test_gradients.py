"""Gradients: the formulas in double by finite differences, the kernels beside LibTorch's own ops in Float and in Double."""

import itertools
import unittest

import torch
import torch.nn.functional as F

from dtypecheck import kernels

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# Of one rounding to the dtype of a number of about the largest; sums are in Float.
ROUNDING = {torch.float32: 1e-5, torch.float16: 2**-10, torch.bfloat16: 2**-7}


def theirs_matmul(x, other, bias=None):
    y = torch.matmul(x, other)
    return y if bias is None else y + bias


def theirs_group_norm(x, weight, bias):
    return F.silu(F.group_norm(x, 2, weight, bias))


# name: shapes of the operands, ours, LibTorch's
CASES = {
    "layer_norm": (((5, 3, 8), (8,), (8,)), lambda x, w, b: kernels.layer_norm(x, (8,), w, b),
                   lambda x, w, b: F.layer_norm(x, (8,), w, b)),
    "layer_norm of two dimensions": (((5, 3, 8), (3, 8)), lambda x, w: kernels.layer_norm(x, (3, 8), w),
                                     lambda x, w: F.layer_norm(x, (3, 8), w)),
    "layer_norm without weights": (((5, 8),), lambda x: kernels.layer_norm(x, (8,)), lambda x: F.layer_norm(x, (8,))),
    "rms_norm": (((5, 3, 8), (8,)), lambda x, w: kernels.rms_norm(x, (8,), w, 1e-3),
                 lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-3).rsqrt() * w),
    "group_norm": (((2, 4, 5, 3), (4,), (4,)), lambda x, w, b: kernels.group_norm(x, 2, w, b),
                   lambda x, w, b: F.group_norm(x, 2, w, b)),
    "group_norm, silu": (((2, 4, 5, 3), (4,), (4,)), lambda x, w, b: kernels.group_norm(x, 2, w, b, silu=True),
                         theirs_group_norm),
    "group_norm of rows": (((3, 6), (6,), (6,)), lambda x, w, b: kernels.group_norm(x, 3, w, b),
                           lambda x, w, b: F.group_norm(x, 3, w, b)),
    "linear": (((4, 3, 8), (5, 8), (5,)), kernels.linear, F.linear),
    "linear without bias": (((3, 8), (5, 8)), kernels.linear, F.linear),
    "linear of a vector": (((8,), (5, 8), (5,)), kernels.linear, F.linear),
    "matmul": (((4, 8), (8, 3)), kernels.matmul, theirs_matmul),
    "matmul with bias": (((2, 4, 8), (8, 3), (3,)), kernels.matmul, theirs_matmul),
    "matmul of batches": (((2, 1, 4, 8), (3, 8, 5)), kernels.matmul, theirs_matmul),
    "matmul of a vector": (((8,), (2, 8, 5)), kernels.matmul, theirs_matmul),
    "matmul by a vector": (((2, 4, 8), (8,)), kernels.matmul, theirs_matmul),
    "conv2d": (((2, 3, 6, 5), (4, 3, 3, 3), (4,)), lambda x, w, b: kernels.conv2d(x, w, b, 2, 1),
               lambda x, w, b: F.conv2d(x, w, b, 2, 1)),
    "conv2d in groups": (((2, 4, 6, 7), (6, 2, 3, 2)), lambda x, w: kernels.conv2d(x, w, None, 1, (1, 0), (1, 2), 2),
                         lambda x, w: F.conv2d(x, w, None, 1, (1, 0), (1, 2), 2)),
    "conv2d of one image": (((3, 6, 5), (4, 3, 1, 1)), kernels.conv2d, F.conv2d),
}
# Where a case's operands may lie otherwise.
CHANNELS_LAST = ("group_norm", "group_norm, silu", "conv2d", "conv2d in groups")


def operands(shapes, dtypes, channels_last=False):
    torch.manual_seed(3)
    made = [torch.randn(shape, dtype=torch.float64).to(dtype) for shape, dtype in zip(shapes, itertools.cycle(dtypes))]
    if channels_last:
        made = [t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in made]
    return [t.requires_grad_() for t in made]


def results(function, leaves, dy):
    y = function(*leaves)
    y.backward(dy.to(y.dtype))
    return [y.detach()] + [leaf.grad for leaf in leaves]


class Gradients(unittest.TestCase):
    def test_formulas_are_their_functions_derivatives(self):
        for name, (shapes, ours, _) in CASES.items():
            with self.subTest(name):
                self.assertTrue(torch.autograd.gradcheck(ours, operands(shapes, [torch.float64])))

    def test_second_derivatives(self):
        for name in ("linear", "matmul of batches", "layer_norm", "rms_norm", "group_norm, silu", "conv2d",
                     "conv2d in groups"):
            with self.subTest(name):
                shapes, ours, _ = CASES[name]
                self.assertTrue(torch.autograd.gradgradcheck(ours, operands(shapes, [torch.float64])))

    def check_beside_double(self, name, dtypes, channels_last):
        shapes, ours, theirs = CASES[name]
        leaves = operands(shapes, dtypes, channels_last)
        exact = [t.detach().double().requires_grad_() for t in leaves]
        y = ours(*[t.detach() for t in leaves])
        dy = torch.randn(y.shape).to(y.dtype)  # is exact in Double
        got, wanted = results(ours, leaves, dy), results(theirs, exact, dy)
        self.assertEqual(got[0].dtype, leaves[0].dtype)
        for i, (a, b) in enumerate(zip(got, wanted)):
            self.assertEqual(a.shape, b.shape)
            if i > 0:
                self.assertEqual(a.dtype, leaves[i - 1].dtype)
            bound = ROUNDING[a.dtype] * max(1.0, b.abs().max().item())
            self.assertLess((a.double() - b).abs().max().item(), bound, (name, dtypes, i))
        if channels_last and got[0].dim() == 4:
            self.assertTrue(got[0].is_contiguous(memory_format=torch.channels_last))

    def test_every_mix_is_rounded_once(self):
        for name in CASES:
            for dtypes in itertools.product(DTYPES, repeat=min(3, len(CASES[name][0]))):
                with self.subTest(name, dtypes=dtypes):
                    self.check_beside_double(name, dtypes, False)

    def test_channels_last(self):
        for name in CHANNELS_LAST:
            for dtypes in ((torch.float16, torch.float32, torch.float16), (torch.bfloat16,)):
                with self.subTest(name, dtypes=dtypes):
                    self.check_beside_double(name, dtypes, True)

    def test_what_is_not_contiguous(self):
        x = torch.randn(8, 5, 3).half().transpose(0, 2)
        w = torch.randn(8, 6).t()
        self.assertTrue(torch.equal(kernels.linear(x, w), kernels.linear(x.contiguous(), w.contiguous())))
        self.assertTrue(torch.equal(kernels.layer_norm(x, (8,)), kernels.layer_norm(x.contiguous(), (8,))))
        image = torch.randn(2, 6, 7, 3).half().permute(0, 3, 1, 2)[:, :, ::2]
        kernel = torch.randn(4, 3, 3, 3)
        self.assertTrue(torch.equal(kernels.conv2d(image, kernel).contiguous(),
                                    kernels.conv2d(image.contiguous(), kernel)))

    def test_empty(self):
        for y, size in ((kernels.linear(torch.empty(0, 8).half(), torch.ones(3, 8)), (0, 3)),
                        (kernels.matmul(torch.empty(4, 0), torch.empty(0, 3).half()), (4, 3)),
                        (kernels.layer_norm(torch.empty(0, 8).half(), (8,)), (0, 8)),
                        (kernels.group_norm(torch.empty(0, 8, 2).half(), 2), (0, 8, 2)),
                        (kernels.conv2d(torch.empty(0, 3, 5, 5).half(), torch.ones(2, 3, 3, 3)), (0, 2, 3, 3))):
            self.assertEqual(tuple(y.shape), size)
        self.assertEqual(kernels.matmul(torch.empty(4, 0), torch.empty(0, 3)).abs().sum(), 0)

    def test_a_frozen_weight_costs_nothing_and_gets_nothing(self):
        x = torch.randn(4, 8).half().requires_grad_()
        w = torch.randn(5, 8)
        y = kernels.linear(x, w)
        self.assertEqual([t is None for t in (y.grad_fn, w.grad)], [False, True])
        y.sum().backward()
        self.assertEqual(x.grad.dtype, torch.float16)
        self.assertIsNone(w.grad)

    def test_checkpointed_and_again(self):
        x = torch.randn(4, 8).half().requires_grad_()
        w = torch.randn(8, 8, requires_grad=True)
        def layers(x, w):
            return kernels.rms_norm(kernels.linear(x, w), (8,), w[0])
        wanted = torch.autograd.grad(layers(x, w).float().square().sum(), (x, w))
        y = torch.utils.checkpoint.checkpoint(layers, x, w, use_reentrant=False)
        got = torch.autograd.grad(y.float().square().sum(), (x, w))
        for a, b in zip(got, wanted):
            self.assertTrue(torch.equal(a, b))


class Autocast(unittest.TestCase):
    def test_products_take_their_input_in_its_dtype_and_weights_as_they_are(self):
        x, w = torch.randn(4, 8, requires_grad=True), torch.randn(5, 8, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            y = kernels.linear(x, w)
            z = kernels.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
            m = kernels.matmul(x, w.t())
        self.assertEqual({y.dtype, z.dtype, m.dtype}, {torch.bfloat16})
        wanted = F.linear(x.detach().bfloat16().double(), w.detach().double())
        self.assertLess((y.double() - wanted).abs().max().item(), 2**-7 * wanted.abs().max().item())
        y.sum().backward()
        self.assertEqual({x.grad.dtype, w.grad.dtype}, {torch.float32})

    def test_norms_are_left_alone(self):
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(kernels.layer_norm(torch.ones(2, 8), (8,)).dtype, torch.float32)
            self.assertEqual(kernels.layer_norm(torch.ones(2, 8).half(), (8,)).dtype, torch.float16)


class Lists(unittest.TestCase):
    def test_unscale_is_grad_scalers_and_takes_half(self):
        torch.manual_seed(1)
        gradients = [torch.randn(5, 3).half(), torch.randn(70), torch.randn(0), torch.randn(9, 2).bfloat16().t()]
        unscaled, norm = kernels.unscale(gradients, 1 / 1024)
        exact = [g.float() / 1024 for g in gradients]
        for a, b in zip(unscaled, exact):
            self.assertTrue(torch.equal(a, b))
        wanted = torch.cat([g.double().flatten() for g in exact]).norm()
        self.assertAlmostEqual(norm.item() / wanted.item(), 1, places=9)
        self.assertAlmostEqual(kernels.global_norm(gradients, 1 / 1024).item() / norm.item(), 1, places=12)
        self.assertEqual(kernels.global_norm([]).item(), 0)
        for bad in (float("inf"), float("nan")):
            self.assertFalse(torch.isfinite(kernels.global_norm([torch.ones(3), torch.tensor([1.0, bad]).half()])))

    def test_adamw_is_torchs_on_float_masters(self):
        torch.manual_seed(2)
        start = [torch.randn(33), torch.randn(4, 5)]
        for dtype in DTYPES:
            masters = [t.clone() for t in start]
            weights = [t.to(dtype) for t in start]
            means, squares = ([torch.zeros_like(t) for t in start] for _ in range(2))
            peers = [t.clone().requires_grad_() for t in start]
            optimizer = torch.optim.AdamW(peers, lr=1e-2, weight_decay=0.1, eps=1e-6)
            for step in range(1, 6):
                gradients = [torch.randn_like(t).to(dtype) for t in start]
                for peer, g in zip(peers, gradients):
                    peer.grad = g.float() / 8
                optimizer.step()
                kernels.adamw_(weights, gradients, means, squares, masters, step=step, lr=1e-2, weight_decay=0.1, eps=1e-6,
                               scale=1 / 8)
            for master, weight, peer in zip(masters, weights, peers):
                torch.testing.assert_close(master, peer.detach(), rtol=1e-6, atol=1e-6)
                self.assertTrue(torch.equal(weight, master.to(dtype)))

    def test_stochastic_rounding_keeps_steps_that_are_lost_to_the_nearest(self):
        def trained(seed):
            w = [torch.full((4096,), 256.0).bfloat16()]
            state = [torch.zeros(4096)], [torch.zeros(4096)]
            for step in range(1, 41):
                kernels.adamw_(w, [torch.ones(4096).bfloat16()], *state, step=step, lr=0.05, weight_decay=0.0,
                               seed=None if seed is None else seed + step)
            return w[0].float().mean().item()
        self.assertEqual(trained(None), 256)
        self.assertAlmostEqual(trained(7), 254, delta=0.1)


if __name__ == "__main__":
    unittest.main()
