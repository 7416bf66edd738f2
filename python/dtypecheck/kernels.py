"""Operators of PyTorch for operands in Float, Half and BFloat16, each in any of them, with gradients.

    from dtypecheck import kernels
    y = kernels.linear(x, weight)                 # x Half and weight Float, or any other mix
    y = kernels.group_norm(x, 32, weight, bias, silu=True)

Each computes in Float, and rounds once to the dtype of its first operand; gradients have the dtype of what they belong to.
On the CPU, and on CUDA where there is an nvcc to compile their kernels for it. They are torch.ops.dtypecheck's, known to
torch.compile, torch.export and autocast: products take a Float input in autocast's dtype, and weights as they are. The same
functions in C++ are in operators/operators.h.

Importing this loads a library for the PyTorch that is there: one that was built ahead, or one that the compiler of this
machine makes, once. Where there is neither it raises ImportError.
"""

import ctypes
import pathlib
import subprocess

import torch

from dtypecheck._tool import ToolMissing, find_tool

__all__ = ["adamw_", "conv2d", "global_norm", "group_norm", "layer_norm", "linear", "matmul", "rms_norm", "unscale"]


def _find_libraries(libtorch):
    try:
        tool = find_tool()
    except ToolMissing as error:
        raise ImportError(f"dtypecheck.kernels: {error}") from None
    cuda = ["--cuda"] if torch.cuda.is_available() else []
    done = subprocess.run([tool, "build-hook", "--operators", *cuda, "--libtorch", str(libtorch)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"{tool} ended with {done.returncode}"]
        raise ImportError("dtypecheck.kernels: " + said[-1].replace("dtypecheck: ", "", 1))
    return done.stdout.decode().splitlines()


def _load():
    folder = pathlib.Path(torch.__file__).resolve().parent / "lib"
    libraries = _find_libraries(folder / "libtorch_cpu.so")
    # It is linked to no LibTorch, and takes the names of the one that is here.
    for name in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    torch.ops.load_library(libraries[0])
    for library in libraries[1:]:  # the kernels for a GPU, which know no PyTorch
        ctypes.CDLL(library)


# `dtypecheck trace --fix` may have loaded them, or the program itself be built with them.
if not hasattr(torch.ops.dtypecheck, "native_norm"):
    _load()

_ops = torch.ops.dtypecheck


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """torch.nn.functional.layer_norm."""
    return _ops.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, silu=False):
    """torch.nn.functional.group_norm, which may lie channels last; with silu what follows is silu(y), in the same pass."""
    return _ops.group_norm(input, num_groups, weight, bias, eps, silu)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """torch.nn.functional.rms_norm; eps is that of input's dtype where it is not given."""
    return _ops.rms_norm(input, normalized_shape, weight, eps)


def linear(input, weight, bias=None, compute=None):
    """torch.nn.functional.linear.

    compute=torch.bfloat16 rounds both factors to BFloat16 where the processor multiplies that, which is twice as fast.
    """
    return _ops.linear(input, weight, bias, compute)


def matmul(input, other, bias=None, compute=None):
    """torch.matmul, with a bias that is added to each row; compute as linear's."""
    return _ops.matmul(input, other, bias, compute)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, compute=None):
    """torch.nn.functional.conv2d; the result lies as input does; compute as linear's."""
    def pair(numbers):
        return [numbers] * 2 if isinstance(numbers, int) else numbers
    return _ops.conv2d(input, weight, bias, pair(stride), pair(padding), pair(dilation), groups, compute)


def global_norm(gradients, factor=1.0):
    """The norm of factor * gradients as one vector, in Double: it is finite exactly when all of them are."""
    return _ops.global_norm(gradients, factor)


def unscale(gradients, factor):
    """factor * gradients in Float, and their norm as global_norm gives it: one pass over them."""
    return _ops.unscale(gradients, factor)


def adamw_(weights, gradients, means, squares, masters=(), *, step, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
           scale=1.0, seed=None):
    """One step of torch.optim.AdamW, in Float, in place; step counts from 1.

    means, squares and masters are Float; without masters the weights themselves are stepped and rounded. Gradients are
    multiplied by scale. seed: BFloat16 weights without masters are rounded up or down by chance, so that steps too small for
    the dtype are not lost; give another one at each step.
    """
    with torch.no_grad():
        _ops.adamw_(list(weights), list(gradients), list(means), list(squares), list(masters), step, lr, *betas, eps,
                    weight_decay, scale, seed)
