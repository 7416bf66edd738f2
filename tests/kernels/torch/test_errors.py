"""What does not fit is refused in LibTorch's way: the operator, the argument, what was expected and what came."""

import unittest

import torch

from dtypecheck import kernels

x = torch.randn(4, 6, 8).half()
w = torch.randn(5, 8)
image = torch.randn(2, 3, 6, 6).half()
kernel = torch.randn(4, 3, 3, 3)
state = [torch.zeros(5, 8)]


def adamw(weights=(w,), gradients=(w,), means=state, squares=state, masters=(), **more):
    return kernels.adamw_(weights, gradients, means, squares, masters, **{"step": 1, **more})


# what is called, and what it says
REFUSED = [
    (lambda: kernels.layer_norm(None, (8,)), "layer_norm: Expected input, but got None"),
    (lambda: kernels.layer_norm(x, (7,)),
     "layer_norm: Expected input to end in normalized_shape [7], but got input of size [4, 6, 8]"),
    (lambda: kernels.layer_norm(x, ()), "layer_norm: Expected normalized_shape to have at least one dimension, but got []"),
    (lambda: kernels.layer_norm(x[..., :0], (0,)), "layer_norm: Expected normalized_shape to hold no 0, but got [0]"),
    (lambda: kernels.layer_norm(x, (8,), w[0], w[:, 0]), "layer_norm: Expected bias to be of size [8], but got size [5]"),
    (lambda: kernels.layer_norm(x, (8,), eps=0), "layer_norm: Expected eps to be greater than 0, but got 0"),
    (lambda: kernels.layer_norm(x, (8,), eps=float("nan")), "layer_norm: Expected eps to be greater than 0, but got nan"),
    (lambda: kernels.layer_norm(x.int(), (8,)),
     "layer_norm: Expected input to be Float, Half, BFloat16 or Double, but got Int"),
    (lambda: kernels.rms_norm(x, (8,), w[0].to(torch.complex64)),
     "rms_norm: Expected weight to be Float, Half, BFloat16 or Double, but got ComplexFloat"),
    (lambda: kernels.group_norm(x, 4),
     "group_norm: Expected num_groups to divide the number of channels, but got num_groups 4 and input of size [4, 6, 8]"),
    (lambda: kernels.group_norm(x, 0), "group_norm: Expected num_groups to divide the number of channels, but got num_groups 0"),
    (lambda: kernels.group_norm(x[0, 0], 1), "group_norm: Expected input to have at least 2 dimensions, but got 1"),
    (lambda: kernels.linear(x, w[:, :7]),
     "linear: Expected input to end in the weight's 7 columns, but got input of size [4, 6, 8]"),
    (lambda: kernels.linear(x, w[0]), "linear: Expected weight to be a matrix, but got size [8]"),
    (lambda: kernels.linear(x, w, w[0]), "linear: Expected bias to be of size [5], but got size [8]"),
    (lambda: kernels.linear(x, w.to("meta")),
     "linear: Expected all tensors to be on the same device, but input is on cpu and weight is on meta"),
    (lambda: kernels.linear(x, w.to_sparse()), "linear: Expected weight to be a dense tensor, but got layout Sparse"),
    (lambda: kernels.linear(x, w, compute=torch.float16), "linear: Expected compute to be Float or BFloat16, but got Half"),
    (lambda: kernels.matmul(x, w),
     "matmul: Expected the columns of input to be the rows of other, but got sizes [4, 6, 8] and [5, 8]"),
    (lambda: kernels.matmul(x, torch.ones(3, 8, 2)), "matmul: Expected batches that broadcast, but got sizes [4, 6, 8] and [3, 8, 2]"),
    (lambda: kernels.matmul(x, torch.tensor(1.0)), "matmul: Expected both factors to have at least one dimension, but got 3 and 0"),
    (lambda: kernels.conv2d(image, kernel[:, :2]),
     "conv2d: Expected input with 2 channels for each of 1 groups that divide the 4 channels of the result, "
     "but got input of size [2, 3, 6, 6]"),
    (lambda: kernels.conv2d(image, torch.ones(4, 3, 9, 9)), "conv2d: Expected a kernel no larger than the padded input"),
    (lambda: kernels.conv2d(image, kernel, stride=0), "conv2d: Expected stride to be two numbers of at least 1, but got [0, 0]"),
    (lambda: kernels.conv2d(image, kernel, padding=-1), "conv2d: Expected padding to be two numbers of at least 0, but got [-1, -1]"),
    (lambda: kernels.conv2d(image[0, 0], kernel), "conv2d: Expected input to have 3 or 4 dimensions, but got size [6, 6]"),
    (lambda: kernels.global_norm([w, torch.eye(2).to_sparse()]),
     "global_norm: Expected gradients[1] to be a dense tensor, but got layout Sparse"),
    (lambda: kernels.unscale([torch.eye(2).to_sparse()], 1.0),
     "unscale: Expected gradients[0] to be a dense tensor, but got layout Sparse"),
    (lambda: kernels.global_norm([w, w.long()]), "global_norm: Expected gradients[1] to be Float, Half, BFloat16 or Double, but got Long"),
    (lambda: adamw(gradients=()), "adamw_: Expected gradients to be as many as weights, 1, but got 0"),
    (lambda: adamw(gradients=[w[:2]]), "adamw_: Expected gradients[0] to be of size [5, 8], but got size [2, 8]"),
    (lambda: adamw(gradients=[w.to_sparse()]), "adamw_: Expected gradients[0] to be a dense tensor, but got layout Sparse"),
    (lambda: adamw(means=[w.half()]), "adamw_: Expected means[0] to be Float, but got Half"),
    (lambda: adamw(masters=[w, w]), "adamw_: Expected masters to be as many as weights, 1, but got 2"),
    (lambda: adamw(step=0), "adamw_: Expected step to be at least 1, but got 0"),
    (lambda: adamw(eps=-1.0), "adamw_: Expected eps to be greater than 0, but got -1"),
    (lambda: adamw(betas=(1.0, 0.9)), "adamw_: Expected beta1 and beta2 to be in [0, 1), but got 1 and 0.9"),
    (lambda: adamw(seed=3), "adamw_: Expected BFloat16 weights without masters for stochastic rounding"),
]


class Errors(unittest.TestCase):
    def test_each_names_what_is_wrong(self):
        for call, words in REFUSED:
            with self.subTest(words), self.assertRaises((RuntimeError, IndexError)) as caught:
                call()
            self.assertTrue(str(caught.exception).startswith(words), str(caught.exception).splitlines()[0])


if __name__ == "__main__":
    unittest.main()
