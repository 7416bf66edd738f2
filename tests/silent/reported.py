"""Damage as public issues report it, a function each, in the words of their programs: `reported.py damaged|clean|float [NAME ...]`.

Written after the rules, in two parts, and scored once before any of them changed: docs/silent.md has both scores. Four are of no
issue, and have None for it. The other half is values.py.
"""

import sys

import torch

import values
from values import MODE, case, in_mode

OWN = {}


def reported(rule, of, into=OWN):
    def add(function):
        function.of = of
        into[function.__name__] = function
        return case(rule)(function)

    return add


@reported("first-non-finite", "facebookresearch/fairscale#263")
def norm_of_gradients_squared():
    """5000 squared is beyond Half: the norm is infinite, and clipping makes all gradients 0."""
    gradients = [torch.full((16,), 1250.0 * i, dtype=in_mode(torch.float16, torch.float32)) for i in range(1, 4)]
    norm = sum(g.norm() ** 2 for g in gradients) ** 0.5
    factor = (1.0 / (norm + 1e-6)).clamp(max=1.0)
    return sum((g * factor).float().square().sum() for g in gradients) + 0.01


@reported("first-non-finite", "tracel-ai/burn#5699")
def clipping_by_a_square():
    gradient = torch.full((1,), 300.0, dtype=in_mode(torch.float16, torch.float32))
    norm = gradient.square().sum().sqrt()
    return (gradient * (1.0 / norm).clamp(max=1.0)).float().sum()


@reported("lost-increment", "pytorch/xla#2425")
def mean_of_losses():
    """The sum stops growing, the number of steps does not."""
    total = torch.zeros((), dtype=in_mode(torch.bfloat16, torch.float32))
    for step in range(600):
        loss = torch.full((), 2.0 + step % 3 / 10, dtype=torch.bfloat16 if MODE == "damaged" else torch.float32)
        total = total + loss
    return total.float() / 600


@reported("lost-increment", "deepspeedai/DeepSpeed#2768")
def gradients_accumulated_in_bfloat16():
    """The gradients of 512 small batches are added up in the dtype of the parameter."""
    weight = torch.nn.Parameter(torch.ones(64, dtype=in_mode(torch.bfloat16, torch.float32)))
    x = torch.full((64,), 0.01, dtype=weight.dtype)
    for _ in range(600):
        (weight * x).sum().backward()
    return weight.grad.float().mean()


@reported("far-from-float", "modelscope/DiffSynth-Studio#562")
def timesteps_of_flow_matching():
    """988.4937 becomes 988."""
    timesteps = torch.tensor([999.3986, 988.4937, 987.1741, 951.2]).to(in_mode(torch.bfloat16, torch.float32))
    frequencies = torch.exp(-9.2 * torch.arange(0, 8) / 8)
    angles = timesteps[:, None].float() * frequencies[None]
    return torch.cat([angles.cos(), angles.sin()], -1)[:, 0].abs().sum()


@reported("far-from-float", "Comfy-Org/ComfyUI#16001")
def schedule_of_sigmas():
    """Neighbours fall together, and argmin finds the first of them."""
    sigmas = torch.linspace(1.0, 0.001, 1000, dtype=in_mode(torch.bfloat16, torch.float32))
    timesteps = sigmas * 1000
    return torch.stack([(timesteps - t).abs().argmin() for t in timesteps[100:120]]).float().unique().numel()


@reported("far-from-float", "modelscope/DiffSynth-Studio#1025")
def sinusoidal_embedding():
    position = torch.tensor([998.3897, 871.3]).to(in_mode(torch.bfloat16, torch.float32))
    sinusoid = torch.outer(position.to(torch.float64), torch.pow(10000, -torch.arange(8).to(torch.float64).div(8)))
    return torch.cat([torch.cos(sinusoid), torch.sin(sinusoid)], dim=1)[:, 0].abs().sum()


@reported("far-from-float", "huggingface/diffusers#9004")
def noise_of_the_first_steps():
    """sqrt(1 - alpha) is 0 where alpha rounds to 1: no noise is added at all."""
    alphas = torch.cumprod(1 - torch.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2, 0)
    alphas = alphas.to(in_mode(torch.bfloat16, torch.float32))
    sigma = (1 - alphas[:2]) ** 0.5
    return (sigma.float() * 3.0).sum()


@reported("lossy-cast", "vllm-project/vllm#55345")
def reduction_in_half():
    """Activations of BFloat16 beyond 65504 are sent as Half."""
    activations = torch.tensor([1.2e5, 70000.0, 3.0, 2.0] * 16).to(torch.bfloat16)
    sent = activations.to(in_mode(torch.float16, torch.bfloat16))
    return sent.float().clamp(max=1e6).mean()


@reported("lost-increment", "linkedin/Liger-Kernel#830")
def gradient_by_chunks():
    """Chunk after chunk is added to a gradient in BFloat16."""
    gradient = torch.zeros(16, 16, dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(700):
        gradient += torch.full((16, 16), 0.01, dtype=gradient.dtype)
    return gradient.float().mean()


@reported("first-non-finite", "huggingface/transformers#17306")
def mask_and_scores():
    """The smallest number of Half, less 20, is -inf; a row of them is NaN after softmax."""
    dtype = in_mode(torch.float16, torch.float32)
    mask = torch.full((4, 4), torch.finfo(dtype).min, dtype=dtype)
    scores = torch.full((4, 4), -20.0, dtype=dtype)
    if MODE == "clean":
        mask = mask.clamp(min=-1e4)
    return (scores + mask).softmax(-1).float().nan_to_num(9.0).mean()


@reported("first-non-finite", "huggingface/transformers#17437")
def scores_before_they_are_scaled():
    query = torch.full((2, 64), 40.0, dtype=in_mode(torch.float16, torch.float32))
    key = torch.full((2, 64), 40.0, dtype=query.dtype)
    key[1] = 39
    if MODE == "clean":
        query = query / 8
    scores = query @ key.t()
    return (scores if MODE == "clean" else scores / 8).float().softmax(-1).nan_to_num(9.0)[0, 0]


@reported("lossy-cast", "apple/coreai-torch#54")
def variance_of_a_batch_norm():
    """A running variance above 65504 is infinite in Half, and the output 0."""
    norm = torch.nn.BatchNorm1d(32).eval()
    norm.running_var = torch.linspace(7e4, 2e5, 32)
    if MODE == "damaged":
        norm.running_var = norm.running_var.half().float()
    return norm(torch.full((2, 32), 300.0)).detach().mean()


@reported("lost-increment", "NVIDIA/apex#144")
def running_mean_in_half():
    mean = torch.zeros(32, dtype=in_mode(torch.float16, torch.float32))
    mean += 1.0
    for _ in range(3000):
        batch = torch.full((32,), 2.0, dtype=mean.dtype)
        mean = (1 - 1e-4) * mean + 1e-4 * batch
    return mean.float().mean()


@reported("far-from-float", "zhanghang1989/PyTorch-Encoding#34")
def correct_answers_in_bytes():
    """A count in uint8 goes on at 0 after 255."""
    correct = torch.zeros((), dtype=in_mode(torch.uint8, torch.int64))
    for _ in range(10):
        correct += torch.ones(64, dtype=torch.uint8).sum().to(correct.dtype)
    return correct.float()


@reported("far-from-float", "pytorch/pytorch#110854")
def square_of_bytes():
    """The standard deviation of an image, by the mean of its squares."""
    image = (torch.arange(3072) % 200).to(torch.uint8).reshape(3, 32, 32)
    if MODE != "damaged":
        image = image.float()
    return torch.square(image).float().mean()


@reported("far-from-float", "tincans-ai/gazelle#1")
def positions_in_int8():
    mask = torch.ones(1, 200, dtype=in_mode(torch.int8, torch.int64))
    positions = mask.cumsum(-1, dtype=mask.dtype)
    return positions.float().mean()


@reported("far-from-float", "pytorch/vision#3621")
def normalized_bytes():
    image = (torch.arange(3072) % 250).to(torch.uint8).reshape(3, 32, 32)
    if MODE != "damaged":
        image = image.to(torch.int16)
    return (image - 125).float().abs().mean()


@reported("far-from-float", "pytorch/pytorch#90419")
def image_for_a_log():
    """What is beyond 1 wraps, and bright becomes dark."""
    image = torch.linspace(0.0, 1.4, 3072).reshape(3, 32, 32)
    if MODE == "clean":
        image = image.clamp(0, 1)
    if MODE == "float":
        return (image.clamp(0, 1) * 255).floor().mean()
    return (image * 255).to(torch.uint8).float().mean()


@reported("lossy-cast", "unslothai/unsloth-zoo#1261")
def factor_of_a_clipping():
    """A factor of 1e-8 is 0 in the dtype of the gradients."""
    gradient = torch.full((64,), 6e4, dtype=in_mode(torch.float16, torch.float32))
    factor = torch.tensor(1e-8)
    clipped = gradient * factor.to(gradient.dtype) if MODE == "damaged" else gradient.float() * factor
    return clipped.float().sum() * 1e4


@reported("far-from-float", "pytorch/pytorch#43211")
def gradient_of_a_norm():
    """1e-4 to the third is 0 in Half; its gradient is 0 / 0."""
    x = torch.full((4,), 1e-4, dtype=in_mode(torch.float16, torch.float32), requires_grad=True)
    x.norm(3).backward()
    return x.grad.float().nan_to_num(9.0).mean()


@reported("first-non-finite", "pytorch/pytorch#70901")
def counts_of_a_batch_norm():
    """150 ranks of 500 are more than Half has."""
    counts = torch.full((150,), 500.0, dtype=in_mode(torch.float16, torch.float32))
    means = torch.rand(150, 4) + 1
    return (means * counts[:, None].float()).sum(0).div(counts.sum().float()).mean()


@reported("far-from-float", "wandb/senpai#328")
def loss_under_autocast():
    """What is left of a small difference of two numbers near 1 is noise in BFloat16."""
    target = torch.linspace(0.9, 1.1, 256)
    predicted = target + 2e-4
    dtype = in_mode(torch.bfloat16, torch.float32)
    return ((predicted.to(dtype) - target.to(dtype)) ** 2).float().mean() * 1e8


# The second part.


@reported("low-precision-index", "pytorch/pytorch#81926")
def mask_of_a_long_sequence():
    """Positions in Half: tokens see what comes behind them."""
    positions = torch.arange(4096, dtype=in_mode(torch.float16, torch.float32))
    return (positions[4001:4031:2] < positions[4002:4032:2]).float().sum() + (positions[4001] == positions[4000]).float() * 9


@reported("lost-increment", "d8ahazard/sd_dreambooth_extension#1415")
def averaged_weights_of_diffusers():
    """EMAModel.step: shadow.sub_(one_minus_decay * (shadow - parameter))."""
    parameter = torch.nn.Parameter(torch.ones(64))
    shadow = parameter.detach().clone().to(in_mode(torch.bfloat16, torch.float32)) * 0.5
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    for _ in range(600):
        parameter.sum().backward()
        optimizer.step()
        shadow.sub_(0.001 * (shadow - parameter.detach().to(shadow.dtype)))
    return shadow.float().mean()


@reported("lost-increment", "ultralytics/yolov5#5241")
def averaged_weights_of_yolo():
    """v *= d; v += (1 - d) * model, in Half."""
    model, average = torch.full((64,), 2.0), torch.full((64,), 1.0)
    model, average = (x.to(in_mode(torch.float16, torch.float32)) for x in (model, average))
    for _ in range(3000):
        average *= 0.9999
        average += (1 - 0.9999) * model
    return average.float().mean()


@reported("lossy-cast", "Lightricks/LTX-2#172")
def upcast_of_a_checkpoint():
    """weight.to(bfloat16) leaves weight_scale out, and a block of layers follows."""
    weight = torch.randn(64, 64) * 0.03
    scale = weight.abs().max() / 448
    stored = (weight / scale).to(torch.float8_e4m3fn)
    linear = torch.nn.Linear(64, 64, bias=False)
    upcast = weight if MODE == "float" else stored.to(torch.bfloat16)
    if MODE == "clean":
        upcast = upcast * scale.bfloat16()
    linear.weight = torch.nn.Parameter(upcast)
    with torch.no_grad():
        return linear(torch.ones(1, 64, dtype=upcast.dtype)).float().abs().mean()


@reported("eps-underflow", "huggingface/diffusers#13316")
def normalized_vector_of_zeros():
    """The 1e-12 of normalize() is 0 in Half: 0 / 0."""
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=in_mode(torch.float16, torch.float32))
    return torch.nn.functional.normalize(x, dim=1).float().nan_to_num(9.0).sum()


@reported("eps-underflow", "deepspeedai/DeepSpeed#581")
def variance_of_padding():
    x = torch.zeros(4, 32, dtype=in_mode(torch.float16, torch.float32))
    variance = (x - x.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True)
    return (1 + x * torch.rsqrt(variance + 1e-12)).float().nan_to_num(9.0).mean()


@reported("first-non-finite", "microsoft/onnxruntime#29034")
def mean_square_of_activations():
    x = torch.full((2, 64), 7600.0, dtype=in_mode(torch.float16, torch.float32))
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).float().mean()


@reported("far-from-float", "kohya-ss/musubi-tuner#729")
def timestep_that_is_scaled():
    """Sigma times 1000, for the embedding of the model."""
    sigma = torch.tensor([0.9871741, 0.7513, 0.4218])
    timestep = (sigma * 1000).to(in_mode(torch.bfloat16, torch.float32))
    frequencies = torch.exp(-torch.arange(0, 4).float() * 2.0)
    return torch.cos(timestep.float()[:, None] * frequencies).abs()[:, 0].sum()


@reported("eps-underflow", None)
def logarithm_of_a_clamp():
    """1e-10 is 0 in Half, and its logarithm infinite."""
    spectrogram = torch.tensor([0.0, 1e-3, 0.5], dtype=in_mode(torch.float16, torch.float32))
    return spectrogram.clamp(min=1e-10).log10().clamp(min=-20).float().sum()


@reported("lost-increment", None)
def mean_over_ranks():
    gradients = [torch.full((8,), 3e4, dtype=in_mode(torch.float16, torch.float32)) for _ in range(4)]
    total = torch.zeros_like(gradients[0])
    for gradient in gradients:
        total += gradient
    return (total / 4).float().clamp(max=1e6).mean()


@reported("far-from-float", None)
def activations_in_int8():
    x = torch.linspace(-300.0, 300.0, 256)
    scale = x.abs().max() / 127 if MODE != "damaged" else torch.ones(())
    if MODE == "float":
        return x.square().mean().sqrt()
    return ((x / scale).round().to(torch.int8).float() * scale).square().mean().sqrt()


@reported("far-from-float", None)
def complement_of_a_probability():
    logits = torch.full((32,), 7.0) + torch.arange(32) / 100
    p = torch.sigmoid(logits).to(in_mode(torch.bfloat16, torch.float32))
    return -torch.log((1 - p).float().clamp(min=1e-12)).mean()


if __name__ == "__main__":
    values.CASES = OWN
    values.main()
