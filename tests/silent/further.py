"""Damage as public issues of further repositories report it: `further.py damaged|clean|float [NAME ...]`.

Written after the rule far-from-float, and scored once before anything was changed for it: docs/silent.md has the score. Where Float
itself is what damages, what is right is computed in Double.
"""

import torch

import values
import reported as parts
from values import MODE, in_mode

OWN = {}


def reported(rule, of):
    return parts.reported(rule, of, OWN)


UNTOLD = {"timesteps_that_fall_together"}  # damaged, and silent: whole numbers are asked for


@reported("far-from-float", "open-mmlab/mmdetection3d#296")
def timestamps_of_sweeps():
    """Microseconds since 1970: frames a tenth of a second apart have one time in Float."""
    stamps = torch.arange(40, dtype=torch.int64) * 100000 + 1550083467346370
    times = stamps.to(torch.float32) if MODE == "damaged" else stamps
    return (times[1:] - times[:-1]).double().div(1e6).std() + (times[1:] != times[:-1]).sum() / 10


@reported("far-from-float", "CMBSciPol/furax#145")
def sample_rate_of_an_observation():
    """(N - 1) / (last - first), of seconds since 1970."""
    seconds = 1.7e9 + torch.arange(64, dtype=torch.float64) * 0.02
    seconds = seconds.float() if MODE == "damaged" else (seconds - seconds[0]).float()
    return (63 / (seconds.max() - seconds.min())).clamp(max=1e6)


@reported("far-from-float", "chanzuckerberg/cellxgene-census#554")
def identities_above_16777216():
    identities = torch.arange(60, dtype=torch.int64) * 1001 + 40000001
    if MODE == "damaged":
        identities = identities.to(torch.float32).to(torch.int32)
    return (identities % 10).float().sum()


@reported("first-non-finite", "Lightning-AI/torchmetrics#1380")
def manhattan_distance():
    a, b = torch.zeros(2, 4096), torch.full((3, 4096), 30.0)
    a, b = (x.to(in_mode(torch.float16, torch.float32)) for x in (a, b))
    return (a[:, None] - b[None]).abs().sum(-1).float().clamp(max=1e6).mean()


@reported("far-from-float", "fastino-ai/GLiNER2#155")
def survival_of_saturated_probabilities():
    """1 - 1e-6 is 1 in BFloat16: the clamp does nothing, and the gradient is NaN where the mask has 0."""
    logits = torch.tensor([12.0, 9.5, 0.3, -1.0] * 4, requires_grad=True)
    probabilities = torch.sigmoid(logits).to(in_mode(torch.bfloat16, torch.float32))
    survival = torch.log1p(-probabilities.clamp(max=1 - 1e-6))
    mask = torch.tensor([0.0, 1.0, 1.0, 1.0] * 4, dtype=survival.dtype)
    (1 - torch.exp((survival * mask).sum())).backward()
    return logits.grad.nan_to_num(9.0).abs().sum()


@reported("far-from-float", "lightonai/pylate#239")
def scores_of_a_distillation():
    """Scores that are all equal: 0 / 1e-8."""
    scores = torch.tensor([[3.0, 3.0, 3.0], [1.0, 2.0, 4.0]], dtype=in_mode(torch.float16, torch.float32))
    low, high = scores.amin(1, keepdim=True), scores.amax(1, keepdim=True)
    return ((scores - low) / (high - low + 1e-8)).float().nan_to_num(9.0).sum()


@reported("far-from-float", "pytorch/vision#9029")
def grid_of_a_rotation():
    """The places of a sampling grid, of an image of 900 columns."""
    width = 900
    dtype = in_mode(torch.bfloat16, torch.float32)
    columns = torch.linspace(-width * 0.5 + 0.5, width * 0.5 - 0.5, steps=width, dtype=dtype)
    grid = (columns / (0.5 * width)).float()
    image = torch.arange(width).float().remainder(2).view(1, 1, 1, width)
    places = torch.stack([grid, torch.zeros_like(grid)], -1).view(1, 1, width, 2)
    sampled = torch.nn.functional.grid_sample(image, places, mode="nearest", align_corners=False)
    return (sampled == image).float().mean()


@reported("far-from-float", "kornia/kornia#4030")
def pixels_of_a_meshgrid():
    """Pixel coordinates up to 699 in Half's brother: every fourth pixel, twice."""
    xs = torch.linspace(0, 699, 700, dtype=in_mode(torch.bfloat16, torch.float32))
    image = torch.arange(701).float().remainder(4)
    return (image[xs.round().long()] - image[:700]).abs().mean() + 1


@reported("far-from-float", "ultralytics/ultralytics#15782")
def intersection_of_masks():
    masks = torch.ones(2, 900, dtype=torch.uint8)
    masks[1, 600:] = 0
    if MODE != "damaged":
        masks = masks.float()
    intersection = torch.matmul(masks, masks.T).clamp_(0)
    union = (masks.sum(1)[:, None] + masks.sum(1)[None]) - intersection
    return (intersection / (union + 1e-7)).mean()


@reported("far-from-float", "nilearn/nilearn#6447")
def labels_of_an_atlas():
    labels = torch.tensor([0, 100, 150, 200, 256, 300, 400, 12] * 8)
    atlas = labels.to(in_mode(torch.int8, torch.int32))
    return torch.unique(atlas).numel() + (atlas > 0).sum()


@reported("far-from-float", "facebookresearch/maskrcnn-benchmark#796")
def size_of_a_gathered_tensor():
    """50000 images of 2000 boxes of 6 numbers, times 4 bytes."""
    sizes = torch.tensor([50000, 2000, 6, 4], dtype=in_mode(torch.int32, torch.int64))
    if MODE == "float":
        sizes = sizes.double()
    return (sizes[0] * sizes[1] * sizes[2] * sizes[3]).double() / 1e9


@reported("far-from-float", "urvashik/knnlm#6")
def tokens_of_a_datastore():
    tokens = torch.arange(60) * 4001 + 11
    stored = tokens.to(in_mode(torch.int16, torch.int32))
    return (stored.float() / 1e5).sum()


@reported("far-from-float", "intel/auto-round#207")
def scale_of_a_small_group():
    """15 steps over a range of 4e-7."""
    weight = torch.linspace(-2e-7, 2e-7, 32) * torch.tensor([[1.0], [1e4]])
    scale = (weight.amax(1, keepdim=True) - weight.amin(1, keepdim=True)) / 15
    scale = scale.to(in_mode(torch.float16, torch.float32)).float()
    rounded = (weight / scale).round() * scale
    return rounded.nan_to_num(1e-3, 1e-3, 1e-3).abs()[0].sum() * 1e6


@reported("far-from-float", "casper-hansen/AutoAWQ#532")
def weights_times_their_scales():
    weight = torch.full((8, 16), 90.0, dtype=in_mode(torch.float16, torch.float32))
    scales = torch.linspace(1.0, 900.0, 16, dtype=weight.dtype)
    scaled = weight * scales
    return (scaled / scales).float().nan_to_num(0.0, 0.0, 0.0).clamp(max=1e4).mean()


@reported("far-from-float", "OpenRLHF/OpenRLHF#634")
def divergence_of_two_policies():
    """exp(r) - 1 - r, of log probabilities that differ by a hundredth."""
    torch.manual_seed(1)
    logits = torch.randn(64, 50) * 3
    other = logits + torch.randn(64, 50) * 0.01
    dtype = in_mode(torch.bfloat16, torch.float32)
    a, b = (torch.log_softmax(x.to(dtype), -1)[:, 0] for x in (logits, other))
    ratio = b - a
    return (torch.exp(ratio) - 1 - ratio).float().mean() * 1e5


@reported("far-from-float", "k2-fsa/sherpa-onnx#3857")
def variance_of_a_feature():
    """E[x^2] - E[x]^2 in Float, of a feature that stays near -15.94."""
    features = torch.full((40,), -15.9424)
    features[7] = -15.9374
    features = features.double() if MODE == "float" else features
    if MODE == "damaged":
        variance = (features**2).mean() - features.mean() ** 2
    else:
        variance = ((features - features.mean()) ** 2).mean()
    return variance * 1e7


@reported("far-from-float", "tenstorrent/tt-metal#45968")
def variance_of_a_batch():
    torch.manual_seed(2)
    x = (torch.randn(64, 8) * 0.1 + 5).to(in_mode(torch.bfloat16, torch.float32))
    mean = x.mean(0)
    variance = (x * x).mean(0) - mean * mean
    return ((x - mean) * torch.rsqrt(variance.clamp(min=0) + 1e-5)).float().square().mean()


@reported("far-from-float", "spotify/annoy#314")
def distance_of_near_points():
    """p.p + q.q - 2 p.q in Float."""
    p, q = torch.full((3, 8), 0.7125930), torch.full((3, 8), 0.7123166)
    p, q = (x.double() if MODE == "float" else x for x in (p, q))
    if MODE == "damaged":
        return ((p * p).sum(1) + (q * q).sum(1) - 2 * (p * q).sum(1)).clamp(min=0).sqrt().mean() * 1e3
    return (p - q).norm(dim=1).mean() * 1e3


@reported("far-from-float", "chelsea0x3b/dfdx#748")
def mean_by_a_count():
    """A count above 65504 is infinite, and what is divided by it 0."""
    losses = torch.full((300, 300), 0.5, dtype=in_mode(torch.float16, torch.float32))
    total = losses.sum(1)
    count = torch.tensor(float(losses.numel())).to(losses.dtype)
    return (total / count).sum().float()


@reported("far-from-float", "open-edge-platform/datumaro#317")
def colours_to_indices():
    image = (torch.arange(3 * 256) % 251).to(torch.uint8).view(256, 3)
    image = image if MODE == "damaged" else image.to(torch.int32)
    index = image[:, 0] + image[:, 1] * 2 + image[:, 2] * 4
    return index.float().mean()


@reported("far-from-float", "THUDM/slime#245")
def metric_of_rollouts():
    """The mean difference of log probabilities, those of the rollout kept in BFloat16."""
    trained = -torch.linspace(0.6, 9.0, 200)
    rollout = trained + 2e-4
    rollout = rollout.to(in_mode(torch.bfloat16, torch.float32))
    return (trained - rollout).abs().float().mean() * 1e3


@reported("far-from-float", "keras-team/keras#21238")
def decay_of_second_moments():
    """0.999 is 1 in BFloat16: nothing is left to divide by."""
    beta = torch.tensor(0.999).to(in_mode(torch.bfloat16, torch.float32))
    moment = torch.full((8,), 1e-4)
    corrected = moment * 0.001 / (1 - beta**3).float().clamp(min=1e-12)
    return corrected.sqrt().mean() * 1e3


@reported("lost-increment", "pytorch/ao#4915")
def step_under_a_default_dtype():
    torch.set_default_dtype(in_mode(torch.bfloat16, torch.float32))
    step = torch.tensor(0.0)
    torch.set_default_dtype(torch.float32)
    for _ in range(500):
        step += 1
    return 1 - 0.999 ** step.float()


@reported("far-from-float", "wfondrie/depthcharge#82")
def encoding_of_masses():
    """m/z to four digits, by wavelengths down to a thousandth."""
    masses = torch.linspace(300.0, 420.0, 48).to(in_mode(torch.bfloat16, torch.float32))
    wavelengths = 0.001 * 10000 ** (torch.arange(0, 12).float() / 11)
    angles = masses.float()[:, None] / wavelengths * 6.2831853
    return torch.sin(angles)[::5, 6:].sum()


@reported("far-from-float", "electronmicroscopy/quantem#280")
def coordinates_of_a_volume():
    """2048 places between -1 and 1, and how far each is from the next."""
    places = torch.linspace(-1, 1, 2048).to(in_mode(torch.bfloat16, torch.float32))
    steps = places[1:] - places[:-1]
    return (steps.float() > 0).float().mean()


@reported("far-from-float", "NVIDIA/TensorRT-Model-Connect#667")
def bias_of_far_positions():
    """ALiBi: slopes times positions in BFloat16; neighbours at 4000 get one bias."""
    dtype = in_mode(torch.bfloat16, torch.float32)
    positions = torch.arange(4000, 4032).to(dtype)
    bias = positions * torch.tensor(0.7, dtype=dtype)
    return torch.softmax(bias.float(), -1)[-1]


@reported("far-from-float", "MultimediaTechLab/YOLO#234")
def boxes_shifted_by_class():
    """Boxes of each class and image are moved apart by the largest coordinate; Half rounds them together."""
    boxes = torch.tensor([[10.0, 10.0, 18.0, 18.0], [11.0, 11.0, 19.0, 19.0]]).to(in_mode(torch.float16, torch.float32))
    shifted = boxes + torch.tensor([[12.0], [12.0]], dtype=boxes.dtype) * 3501
    a, b = shifted
    side = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0)
    inter = side.prod()
    area = lambda box: (box[2:] - box[:2]).prod()
    return (inter / (area(a) + area(b) - inter)).float().nan_to_num(9.0)


@reported("far-from-float", "pytorch/vision#3371")
def areas_of_large_boxes():
    """1000 by 900 is beyond Half."""
    boxes = torch.tensor([[0.0, 0.0, 1000.0, 900.0], [10.0, 10.0, 1000.0, 900.0]])
    boxes = boxes.to(in_mode(torch.float16, torch.float32))
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    inter = (boxes[:, 2].amin() - boxes[:, 0].amax()) * (boxes[:, 3].amin() - boxes[:, 1].amax())
    return (inter / (area.sum() - inter)).float().nan_to_num(9.0)


@reported("far-from-float", "roboflow/supervision#2514")
def area_in_whole_numbers():
    boxes = torch.tensor([[0, 0, 50000, 50000], [0, 0, 30, 30]], dtype=in_mode(torch.int32, torch.int64))
    boxes = boxes.double() if MODE == "float" else boxes
    return ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).double().sum() / 1e9


@reported("far-from-float", "autowarefoundation/autoware_universe#3090")
def points_in_world_coordinates():
    """UTM: a point cloud 4000 km north of the equator, of which differences are taken."""
    torch.manual_seed(3)
    local = torch.rand(64, 2, dtype=torch.float64)
    world = local * 0.2 + torch.tensor([388096.0, 3948996.0], dtype=torch.float64)
    points = world.float() if MODE == "damaged" else world
    return (points[1:] - points[:-1]).norm(dim=1).double().mean()


@reported("far-from-float", "claritychallenge/clarity#312")
def loud_audio():
    wave = torch.sin(torch.arange(4000) / 9.0) * 1.2
    wave = wave.clamp(-1, 1) if MODE != "damaged" else wave
    return (wave * 32767).to(torch.int16).float().square().mean().sqrt() / 32767


# The second part, written after the rule had learnt from the first.


@reported("far-from-float", "flashinfer-ai/flashinfer#4105")
def similarity_against_a_threshold():
    """0.9702 is 0.96875 in BFloat16, and not above 0.97."""
    similarity = torch.linspace(0.9701, 0.9719, 20).to(in_mode(torch.bfloat16, torch.float32))
    return (similarity > 0.97).float().mean()


@reported("far-from-float", "AUTOMATIC1111/stable-diffusion-webui#14071")
def sigmas_of_a_halved_model():
    """alphas_cumprod went with the model: the last sigma of a zero terminal schedule is infinite."""
    alphas = torch.linspace(0.999, 0.05, 30).square()
    alphas[-1] = 2e-8
    alphas = alphas.to(in_mode(torch.float16, torch.float32)).float()
    sigmas = ((1 - alphas) / alphas).sqrt()
    return sigmas[-1].clamp(max=1e5)


@reported("far-from-float", "huggingface/lerobot#4704")
def deviation_around_a_large_mean():
    values_ = torch.tensor([10000.0, 10001.0, 10002.0] * 8)
    values_ = values_.double() if MODE != "damaged" else values_
    return ((values_**2).mean() - values_.mean() ** 2).clamp(min=0).sqrt()


@reported("far-from-float", "microsoft/aici#19")
def logits_by_a_small_temperature():
    logits = torch.tensor([21.0, 20.5, 3.0, -100.0], dtype=in_mode(torch.float16, torch.float32))
    return torch.softmax(logits / 0.0003, -1).float().nan_to_num(9.0)[0]


@reported("eps-underflow", "kornia/kornia#4627")
def gradient_of_an_untaken_branch():
    """1e-8 is 0 in Half: the root that where() leaves out has an infinite gradient, and 0 times that is NaN."""
    matrix = torch.eye(3, dtype=in_mode(torch.float16, torch.float32), requires_grad=True)
    trace = matrix.diagonal().sum()
    other = 1.0 + matrix[0, 0] - matrix[1, 1] - matrix[2, 2]
    root = torch.where(trace > 0, torch.sqrt(trace + 1.0 + 1e-8), torch.sqrt(other + 1e-8))
    root.backward()
    return matrix.grad.float().nan_to_num(9.0).sum()


@reported("far-from-float", "ros-perception/image_transport_plugins#43")
def inverse_depth():
    depth = torch.linspace(0.2, 6.0, 400)
    inverse = 16000.0 / depth
    return inverse.to(in_mode(torch.int16, torch.int32)).float().mean() / 1e3


@reported("far-from-float", "MetaSLAM/360FusionNeRF#4")
def depth_saved_as_bytes():
    """What lies between 0 and 1 is 0 as a byte."""
    depth = torch.linspace(0.05, 0.95, 300)
    if MODE == "float":
        return depth.mean()
    return depth.to(torch.uint8).float().mean() if MODE == "damaged" else (depth * 255).to(torch.uint8).float().mean() / 255


@reported("far-from-float", "huggingface/diffusers#13239")
def timesteps_that_fall_together():
    """998.9 and 998.8 are 998 as whole numbers, and are looked up."""
    timesteps = torch.tensor([999.0, 998.903, 998.802, 998.696, 998.583, 998.464, 998.338, 998.203, 998.059, 997.9, 990.0])
    timesteps = timesteps.to(torch.int64) if MODE == "damaged" else timesteps
    return sum((timesteps == t).nonzero()[-1, 0].float() for t in timesteps)


@reported("far-from-float", "huggingface/trl#6626")
def advantages_by_powers_of_gamma():
    """0.9 to the 1100th is 0 in Float: 0 / 0."""
    dtype = torch.float32 if MODE == "damaged" else torch.float64
    powers = 0.9 ** torch.arange(1100, dtype=dtype)
    rewards = torch.ones(1100, dtype=dtype)
    returns = (powers * rewards).flip(0).cumsum(0).flip(0) / powers
    return returns.nan_to_num(0.0)[-60:].mean()


@reported("lost-increment", "jax-ml/ml_dtypes#63")
def sum_by_hand():
    terms = torch.full((4000,), 0.25, dtype=in_mode(torch.bfloat16, torch.float32))
    total = torch.zeros((), dtype=terms.dtype)
    for term in terms:
        total = total + term
    return total.float()


@reported("first-non-finite", "zhuchen03/FreeLB#8")
def norm_of_a_perturbation():
    gradient = torch.full((2, 384 * 128), 310.0, dtype=in_mode(torch.float16, torch.float32))
    norm = torch.norm(gradient, dim=1, keepdim=True)
    return (gradient / norm * 100).float().mean()


@reported("far-from-float", "jax-ml/jax#39899")
def norm_from_its_squares():
    """The squares sum up to 90000, their root is 300."""
    x = torch.full((3, 3), 100.0, dtype=in_mode(torch.float16, torch.float32))
    return (x / (x * x).sum().sqrt()).float().sum()


@reported("far-from-float", "LIHANG-HONG/birdclef2023-2nd-place-solution#2")
def power_of_a_spectrum():
    wave = torch.sin(torch.arange(2048) / 5.0) * 3
    spectrum = torch.fft.rfft(wave.view(8, 256)).abs().to(in_mode(torch.float16, torch.float32))
    return torch.log10(spectrum.pow(2).clamp(min=1e-4)).float().clamp(max=30).amax(1).mean()


@reported("far-from-float", "corrscope/corrscope#63")
def mean_of_two_channels():
    left = (torch.sin(torch.arange(2000) / 7.0) * 30000).to(torch.int16)
    right = left.clone()
    left, right = (left, right) if MODE == "damaged" else (left.float(), right.float())
    return ((left + right) / 2).float().square().mean().sqrt() / 32768


@reported("far-from-float", "microsoft/VibeVoice#383")
def full_scale_audio():
    """1.0 times 32768 is one more than int16 has."""
    wave = (torch.sin(torch.arange(2000) / 7.0) * 1.5).clamp(-1, 1)
    scale = 32768.0 if MODE == "damaged" else 32767.0
    return (wave * scale).to(torch.int16).float().clamp(min=0).mean() / 32768


@reported("far-from-float", "facebookresearch/habitat-lab#578")
def update_of_a_running_variance():
    dtype = in_mode(torch.float16, torch.float32)
    mean, var, count = torch.full((4,), 0.5, dtype=dtype), torch.full((4,), 0.2, dtype=dtype), torch.tensor(60000.0, dtype=dtype)
    new_mean, new_var, new_count = torch.full((4,), 0.7, dtype=dtype), torch.full((4,), 0.3, dtype=dtype), torch.tensor(9000.0, dtype=dtype)
    m2 = var * count + new_var * new_count + (new_mean - mean).pow(2) * count * new_count / (count + new_count)
    return (m2 / (count + new_count)).float().nan_to_num(9.0).mean()


@reported("far-from-float", "idiap/fast-transformers#32")
def normalizer_of_linear_attention():
    keys = torch.full((1, 4096, 8), 20.0, dtype=in_mode(torch.float16, torch.float32))
    features = torch.nn.functional.elu(keys) + 1
    normalizer = 1 / (features.sum(1) + 1e-4)
    return normalizer.float().mean() * 1e5


@reported("far-from-float", "src-d/wmd-relax#21")
def hashes_of_words():
    """Hashes of 60 bits as numbers of Double, which has 53."""
    hashes = torch.arange(64, dtype=torch.int64) * 16 + 886050111519832510
    hashes = hashes.double() if MODE == "damaged" else hashes
    return torch.unique(torch.cat([hashes, hashes[:8]])).numel()


@reported("far-from-float", "wkentaro/pytorch-fcn#9")
def pixels_of_a_mask():
    mask = torch.ones(30, 40, dtype=torch.uint8)
    count = mask.sum(dtype=in_mode(torch.uint8, torch.int64))
    return 1000 / count.float()


@reported("far-from-float", "numpy/numpy#24443")
def sums_of_segments():
    """By the differences of a running sum in Half."""
    torch.manual_seed(4)
    values_ = (torch.rand(20000) * 2).to(in_mode(torch.float16, torch.float32))
    sums = torch.cumsum(values_, 0)
    segments = sums[4:] - sums[:-4]
    return segments.float().std()


# The third part, written after the rule had learnt from the second.


@reported("first-non-finite", "qubvel-org/segmentation_models.pytorch#463")
def dice_of_a_large_mask():
    output = torch.ones(262144, dtype=in_mode(torch.float16, torch.float32))
    target = torch.ones_like(output)
    intersection = torch.sum(output * target)
    return ((2 * intersection) / (torch.sum(output + target))).float().nan_to_num(9.0)


@reported("far-from-float", "lucidrains/vector-quantize-pytorch#114")
def indices_of_finite_scalars():
    """Codes of 8, 5, 5 and 5 levels, as one number below 1000."""
    levels = torch.tensor([8, 5, 5, 5])
    basis = torch.tensor([1, 8, 40, 200])
    codes = (torch.arange(1000)[:, None] // basis) % levels
    codes = codes.to(in_mode(torch.bfloat16, torch.float32))
    return (codes * basis).sum(-1).to(torch.int32).unique().numel()


@reported("far-from-float", "hexgrad/kokoro#353")
def phase_of_a_harmonic():
    """The ninth harmonic of 200 Hz, of which the phase is a running sum."""
    frequency = torch.full((24000,), 9 * 200.0 / 24000, dtype=in_mode(torch.float16, torch.float32))
    phase = torch.cumsum(frequency, 0) * 6.2831853
    wave, right = torch.sin(phase).float(), torch.sin(torch.arange(1, 24001) * (9 * 200.0 / 24000) * 6.2831853)
    return (wave * right).mean()


@reported("far-from-float", "zylo117/Yet-Another-EfficientDet-Pytorch#502")
def focal_loss_of_a_sure_answer():
    """1 - 1e-4 is 1 in Half."""
    probability = torch.tensor([0.99995, 0.9, 0.2] * 6, dtype=in_mode(torch.float16, torch.float32))
    probability = torch.clamp(probability, 1e-4, 1.0 - 1e-4)
    return -torch.log(1.0 - probability).float().clamp(max=100).mean()


@reported("far-from-float", "facebookresearch/dinov2#583")
def teacher_with_a_small_temperature():
    """exp(100) is beyond Float."""
    logits = torch.tensor([[4.0, 3.9, 1.0], [3.7, 0.2, 1.0]])
    logits = logits.double() if MODE == "float" else logits
    scaled = logits / 0.04
    scaled = scaled - scaled.amax(1, keepdim=True) if MODE == "clean" else scaled
    q = torch.exp(scaled)
    return (q / q.sum(1, keepdim=True)).nan_to_num(9.0)[0].sum()


@reported("far-from-float", "facebookresearch/metaseq#247")
def logits_divided_in_place():
    logits = torch.tensor([[7000.0, 6990.0, 12.0]], dtype=in_mode(torch.float16, torch.float32))
    logits.div_(0.1)
    return torch.log_softmax(logits.float(), -1).nan_to_num(9.0)[0, 0] + 1


@reported("far-from-float", "viser-project/viser#427")
def points_far_from_the_origin():
    torch.manual_seed(5)
    points = (torch.rand(300, 3) * 0.5 + 300).to(in_mode(torch.float16, torch.float32))
    return (points - points.mean(0)).float().norm(dim=1).mean() + torch.unique(points, dim=0).shape[0] / 100


@reported("far-from-float", "openvdb/fvdb-core#725")
def voxels_of_points():
    torch.manual_seed(6)
    points = torch.randn(2000, 3) * 30
    voxels = ((points.to(in_mode(torch.float16, torch.float32)) - 0.37) / 0.013).round().long()
    right = ((points - 0.37) / 0.013).round().long()
    return (voxels == right).all(-1).float().mean()


@reported("far-from-float", "tensorflow/tensorflow#30230")
def correction_of_bessel():
    """n / (n - 1), of 70000 numbers."""
    n = torch.tensor(70000.0).to(in_mode(torch.float16, torch.float32))
    variance = torch.full((8,), 0.25, dtype=n.dtype)
    return (variance * (n / (n - 1))).float().nan_to_num(9.0).mean()


@reported("far-from-float", "MinishLab/model2vec#369")
def norm_of_small_vectors():
    """The square of 1e-4 is 0 in Half."""
    vectors = torch.full((4, 16), 1e-4, dtype=in_mode(torch.float16, torch.float32))
    norms = (vectors * vectors).sum(1, keepdim=True).sqrt()
    return (vectors / (norms + 1e-6)).float().clamp(max=1e3).mean()


@reported("far-from-float", "Samsung/ONE#6970")
def bias_by_a_tiny_scale():
    bias, scale = torch.linspace(-1.2, 1.5, 24), 7.6e-12
    if MODE == "float":
        return bias.abs().mean()
    scale = 1e-8 if MODE == "clean" else scale
    return ((bias / scale).to(torch.int32).double() * scale).abs().mean()


@reported("far-from-float", "sovrasov/flops-counter.pytorch#113")
def operations_of_a_layer():
    shape = torch.tensor([1024, 512, 3, 3, 112, 112], dtype=in_mode(torch.int32, torch.int64))
    return shape.prod(dtype=shape.dtype).double() / 1e9


@reported("lost-increment", "whitecircle/halo#30")
def second_moment_by_hand():
    """A thousandth of each new square is added."""
    moment = torch.full((32,), 1e-4, dtype=in_mode(torch.bfloat16, torch.float32))
    gradient = torch.full((32,), 0.02, dtype=moment.dtype)
    for _ in range(1500):
        moment = moment * 0.999 + gradient * gradient * 0.001
    return moment.float().mean() * 1e4


@reported("far-from-float", "isl-org/Open3D#3811")
def millimetres_as_bytes():
    depth = torch.arange(400, 2000, 4, dtype=torch.int32)
    if MODE == "float":
        return depth.float().mean()
    return depth.to(torch.uint8).float().mean() if MODE == "damaged" else (depth // 8).to(torch.uint8).float().mean() * 8


# The fourth part, written after the rule had learnt from the third. Half of its kinds have been here before.


@reported("far-from-float", "facebookresearch/polymetis#3")
def steps_of_a_robot():
    """Seconds since 1970 and a thousandth of one, as one number of Float."""
    stamps = torch.tensor([1624900000.0 + i * 0.001 for i in range(50)], dtype=torch.float64)
    stamps = stamps.float() if MODE == "damaged" else stamps
    return (stamps[1:] - stamps[:-1]).double().clamp(min=1e-6).reciprocal().mean()


@reported("far-from-float", "PorkShoulderHolder/python-libmf#13")
def users_of_a_table():
    users = torch.arange(200, dtype=torch.int64) + 20_000_000
    users = users.float() if MODE == "damaged" else users
    return torch.unique(users).numel()


@reported("far-from-float", "tenstorrent/tt-xla#5332")
def excitation_of_a_vocoder():
    frequency = torch.full((1, 9000), 220.0 / 24000) * torch.arange(1, 10)[:, None]
    phase = torch.cumsum(frequency, 1).to(in_mode(torch.bfloat16, torch.float32)) * 6.2831853
    right = torch.sin(torch.cumsum(frequency.double(), 1) * 6.2831853).float()
    return (torch.sin(phase).float() * right).mean()


@reported("far-from-float", "huggingface/sentence-transformers#2774")
def contrast_with_a_small_temperature():
    similarity = torch.eye(8) * 0.9 + 0.05
    similarity = similarity.double() if MODE == "float" else similarity
    scores = similarity / 0.01
    scores = scores - scores.amax(1, keepdim=True) if MODE == "clean" else scores
    return (torch.exp(scores).diag() / torch.exp(scores).sum(1)).nan_to_num(9.0).mean()


@reported("lost-increment", "google/CommonLoopUtils#380")
def overview_of_parameters():
    """The mean of a scale that is 1.0 everywhere, by a running sum."""
    scale = torch.ones(768, dtype=in_mode(torch.bfloat16, torch.float32))
    total = torch.zeros((), dtype=scale.dtype)
    for value in scale:
        total += value
    return (total / 768).float()


@reported("first-non-finite", "huggingface/transformers#25938")
def cost_of_a_matcher():
    """Losses of 121445 places, summed up by a product with the labels."""
    inputs = torch.full((4, 12144), -8.0, dtype=in_mode(torch.float16, torch.float32))
    labels = torch.ones(2, 12144, dtype=inputs.dtype)
    losses = torch.nn.functional.softplus(-inputs)
    return (losses @ labels.t() / 12144).float().clamp(max=1e4).mean()


@reported("far-from-float", "facebookresearch/fvcore#113")
def generalized_overlap():
    boxes = torch.tensor([[0.0, 0.0, 620.0, 410.0], [300.0, 200.0, 900.0, 700.0]] * 4)
    boxes = boxes.to(in_mode(torch.float16, torch.float32))
    a, b = boxes[::2], boxes[1::2]
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    hull = torch.cat([torch.minimum(a[:, :2], b[:, :2]), torch.maximum(a[:, 2:], b[:, 2:])], 1)
    union = area(a) + area(b)
    return (1 - (area(hull) - union) / area(hull)).float().nan_to_num(9.0).mean()


@reported("far-from-float", "HabanaAI/vllm-fork#503")
def bias_of_a_long_prompt():
    distance = torch.arange(2048, 2112, dtype=in_mode(torch.bfloat16, torch.float32))
    bias = (distance[None] * torch.tensor([[0.5], [0.25]], dtype=distance.dtype)).float()
    return (bias[:, 1:] - bias[:, :-1] > 0).float().mean()


@reported("far-from-float", "huggingface/datatrove#118")
def tokens_of_a_large_vocabulary():
    tokens = torch.arange(0, 128000, 1000)
    stored = tokens.to(torch.uint16) if MODE == "damaged" else tokens
    return stored.long().float().mean()


@reported("far-from-float", "ayanc/fdscs#7")
def disparities_times_256():
    disparity = torch.linspace(1.0, 400.0, 500)
    if MODE == "float":
        return disparity.mean()
    scale = 256 if MODE == "damaged" else 64
    return (disparity * scale).to(torch.int16).float().mean() / scale


@reported("far-from-float", "NVIDIA/Model-Optimizer#1350")
def scales_of_a_graph():
    scales = torch.tensor([3e-9, 2e-2, 1e-8, 5e-3])
    x = torch.full((4, 8), 1.0) * scales[:, None] * 40
    scales = scales.to(in_mode(torch.float16, torch.float32)).float()
    return (x / scales[:, None]).round().clamp(-128, 127).mean()


@reported("far-from-float", "PaddlePaddle/Paddle#43088")
def fake_quantization():
    """127 / scale is beyond Half."""
    x = torch.linspace(-1e-3, 1e-3, 64).to(in_mode(torch.float16, torch.float32))
    inverse = 127 / x.abs().max()
    quantized = (x * inverse).round()
    return (quantized * (x.abs().max() / 127)).float().nan_to_num(9.0).abs().mean() * 1e3


@reported("far-from-float", "ubarsc/pylidar#3")
def scan_in_world_coordinates():
    angle = torch.linspace(0, 6.28, 90, dtype=torch.float64)
    scan = torch.stack([angle.cos(), angle.sin()], 1) * 0.15
    world = scan + torch.tensor([512345.0, 6123456.0], dtype=torch.float64)
    world = world.float() if MODE == "damaged" else world
    return (world - world.mean(0)).norm(dim=1).double().mean()


@reported("far-from-float", "open-mmlab/mmdetection#4889")
def overlaps_of_anchors():
    anchors = torch.tensor([[0.0, 0.0, 512.0, 512.0], [64.0, 32.0, 544.0, 500.0], [5.0, 5.0, 20.0, 30.0]])
    anchors = anchors.to(in_mode(torch.float16, torch.float32))
    area = (anchors[:, 2] - anchors[:, 0]) * (anchors[:, 3] - anchors[:, 1])
    low = torch.max(anchors[:, None, :2], anchors[None, :, :2])
    high = torch.min(anchors[:, None, 2:], anchors[None, :, 2:])
    inter = (high - low).clamp(min=0).prod(-1)
    return (inter / (area[:, None] + area[None] - inter)).float().nan_to_num(9.0).mean()


@reported("far-from-float", "modelscope/DiffSynth-Studio#562")
def time_steps_in_front_of_attention():
    """Angles of rounded time steps go through attention and a product of more than 16,384 numbers."""
    torch.manual_seed(6)
    steps = (torch.rand(32) * 1000).to(in_mode(torch.bfloat16, torch.float32)).double()
    angles = torch.outer(steps, torch.logspace(0, -4, 24, dtype=torch.float64))
    codes = torch.cat([angles.cos(), angles.sin()], 1).to(in_mode(torch.bfloat16, torch.float32))
    weight = torch.randn(144, 48).to(codes.dtype)
    rows = codes[:, None, None] * torch.arange(1, 7, dtype=codes.dtype)[:, None]
    out = torch.nn.functional.scaled_dot_product_attention(rows, rows, rows)
    wide = torch.nn.functional.linear(out[:, 0], weight)
    return torch.nn.functional.linear(wide, weight.T)[:, 0, 0].float().clamp(min=0).mean()


@reported("far-from-float", "chanzuckerberg/cellxgene-census#554")
def identities_among_other_columns():
    """Int in 32 bits; beside an identity in a row stands no other one."""
    count = torch.arange(24, dtype=torch.int32)
    rows = torch.stack([count * 1001 + 40000001, count % 3], 1)
    if MODE == "damaged":
        rows = rows.to(torch.float32).to(torch.int32)
    return 1 + (rows[:, 0] - 40000001 == count * 1001).double().mean()


@reported("far-from-float", "dingo-actual/om#8")
def angles_of_a_later_segment():
    """Positions beyond 256 in BFloat16; what is not turned, and is put behind, is empty."""
    dtype = in_mode(torch.bfloat16, torch.float32)
    frequencies = torch.logspace(0, -1, 8, dtype=torch.float64).to(dtype)
    angles = torch.arange(321, 385, dtype=dtype)[:, None] * frequencies
    x = torch.ones(64, 8, dtype=dtype)
    turned = torch.cat([angles.cos() * x, x[:, 8:]], dim=-1)
    right = (torch.arange(321, 385)[:, None] * torch.logspace(0, -1, 8, dtype=torch.float64)).cos()
    return 1 + (turned.double() - right).norm() / right.norm()


@reported("far-from-float", "vllm-project/speculators#788")
def divergence_of_a_draft():
    """No op is far off: what is left of two logarithms is a fifth off on the whole, and so is the loss."""
    torch.manual_seed(0)
    target = torch.randn(256, 27) * 0.8
    draft = (target + torch.randn(256, 27) * 0.05).requires_grad_()
    p, q = (x.to(in_mode(torch.bfloat16, torch.float32)) for x in (target, draft))
    loss = (p.softmax(-1) * (p.log_softmax(-1) - q.log_softmax(-1))).sum(-1).mean()
    loss.backward()
    return loss.float() * 1e3


@reported("far-from-float", "vllm-project/speculators#788, its gradient")
def gradient_of_a_draft():
    """The value may be right: the gradient is p - q, two numbers that BFloat16 has rounded."""
    torch.manual_seed(1)
    target = torch.randn(64, 512)
    draft = (target + torch.randn(64, 512) * 0.05).requires_grad_()
    p, q = (x.to(in_mode(torch.bfloat16, torch.float32)) for x in (target, draft))
    loss = -(p.softmax(-1) * q.log_softmax(-1)).sum(-1).mean()
    loss.backward()
    right = draft.detach().softmax(-1) - target.softmax(-1)
    return 1 + (draft.grad.float() * 64 - right).norm() / right.norm()


@reported("far-from-float", "huggingface/blog#2110")
def ratio_of_two_sequences():
    """A sum of 64 logarithms in BFloat16 is known to 2; the difference of two is the logarithm of a ratio."""
    torch.manual_seed(2)
    logits, tokens = torch.randn(64, 4, 128) * 2, torch.randint(0, 128, (64, 4, 1))

    def score(logits):
        steps = [row.to(in_mode(torch.bfloat16, torch.float32)).log_softmax(-1).gather(1, token) for row, token in zip(logits, tokens)]
        return torch.cat(steps, 1).sum(1)

    return (score(logits / 1.01) - score(logits)).exp().float().norm()


@reported("far-from-float", "w86763777/pytorch-ddpm, the distance of two sets of images")
def root_of_a_covariance():
    """The inverse one, by the iteration of Newton and Schulz, in Float, of a matrix that is nearly singular: the error doubles with each turn."""
    torch.manual_seed(0)
    dtype = torch.float32 if MODE == "damaged" else torch.float64
    sets = [(torch.randn(300, 64, dtype=torch.float64) * torch.logspace(0, -5, 64, dtype=torch.float64)).to(dtype) for _ in range(2)]
    y = (sets[0].T @ sets[0] / 300) @ (sets[1].T @ sets[1] / 300)
    scale, one, z = y.norm(), torch.eye(64, dtype=dtype), torch.eye(64, dtype=dtype)
    y = y / scale
    for _ in range(50):
        turn = 0.5 * (3 * one - z @ y)
        y, z = y @ turn, turn @ z
    return z.norm() * 1e-8


@reported("far-from-float", "squares of the pictures of a dataset")
def deviation_of_many_bytes():
    """More numbers than are looked at, in the order of channels."""
    pictures = (torch.arange(3 * 40 * 40 * 20) * 37 % 251).to(torch.uint8).view(20, 40, 40, 3).permute(0, 3, 1, 2)
    wide = pictures if MODE == "damaged" else pictures.long()
    mean = pictures.double().mean((0, 2, 3))
    return ((wide**2).double().mean((0, 2, 3)) - mean**2).abs().sqrt().sum()


@reported("far-from-float", "descriptinc/descript-audio-codec, one number of several codes")
def number_of_four_codes():
    """Each term is a number of Float, their sum is not."""
    codes, place = torch.arange(256).view(64, 4) * 91 % 256, 256 ** torch.arange(4)
    codes, place = (x.float() if MODE == "damaged" else x for x in (codes, place))
    joint = (codes * place.flip(0)).sum(1).long()
    return 1 + (joint % 256 == torch.arange(256).view(64, 4)[:, 3] * 91 % 256).double().mean()


@reported("far-from-float", "a series with a level, normalized in BFloat16")
def level_of_a_large_batch():
    """More numbers than are looked at, of which each row is normalized alone; then dropout, which leaves a part out."""
    torch.manual_seed(4)
    series = torch.randn(512, 48, 7) + 200
    rows = series.to(in_mode(torch.bfloat16, torch.float32))
    rows = (rows - rows.mean(1, keepdim=True)).float()
    return torch.nn.functional.dropout(rows, 0.2, training=True).abs().mean() + rows.frac().abs().mean()


@reported("far-from-float", "the same in a small batch, behind dropout")
def level_behind_dropout():
    torch.manual_seed(5)
    series = torch.randn(16, 48, 7) + 500
    rows = series.to(in_mode(torch.bfloat16, torch.float32))
    rows = (rows - rows.mean(1, keepdim=True)).float()
    return torch.nn.functional.dropout(rows, 0.1, training=True).square().mean()


@reported(None, "norms over all dimensions but one, of more numbers than are looked at")
def norms_over_all_but_one():
    torch.manual_seed(6)
    v = (torch.randn(128, 16, 64) * 0.01).to(in_mode(torch.bfloat16, torch.float32))
    g = v.square().sum((0, 1), keepdim=True).sqrt()
    weight = torch._weight_norm(v, g, 2).float().square().sum()
    return weight + torch.renorm(v, 2, 1, 1.0).float().square().sum() + torch.renorm(v, 2, 2, 1.0).float().square().sum()


@reported("far-from-float", "a histogram of codes")
def histogram_of_bytes():
    codes = torch.arange(640) % 2
    counts = torch.zeros(2, dtype=torch.uint8 if MODE == "damaged" else torch.int64)
    counts.index_add_(0, codes, torch.ones_like(codes, dtype=counts.dtype))
    return counts.double().sum()


@reported(None, "a policy's loss")
def loss_that_is_nearly_nothing():
    """The mean of advantages is 0, and any error of it is large; its gradient is right."""
    torch.manual_seed(3)
    advantages = torch.randn(64)
    advantages = ((advantages - advantages.mean()) / advantages.std()).to(in_mode(torch.bfloat16, torch.float32))
    logits = torch.zeros(64, requires_grad=True)
    ratio = (logits * 1.0).to(advantages.dtype).exp()
    loss = -(ratio * advantages).mean()
    loss.backward()
    return 1 + loss.item() + logits.grad.norm()


@reported("far-from-float", "a counter in 16 bits that wraps in one call of many")
def counter_that_wraps_late():
    seen = torch.tensor(32600, dtype=torch.int16 if MODE == "damaged" else torch.int64)
    for _ in range(200):
        seen += 1
    return seen.double()


@reported("far-from-float", "rapidsai/cuvs, neighbours by distances of rounded points")
def neighbours_of_rounded_points():
    torch.manual_seed(6)
    points = torch.rand(64, 3) + 2
    rounded = points.to(in_mode(torch.bfloat16, torch.float32))
    inner = rounded @ rounded.t()
    square = (rounded**2).sum(-1, keepdim=True)
    nearest = (square - 2 * inner + square.t()).topk(6, largest=False)[1]
    return torch.cdist(points, points).gather(1, nearest).mean()


@reported("far-from-float", "ranks of scores that 16 bits make equal")
def ranks_of_saturated_scores():
    torch.manual_seed(7)
    logits = torch.randn(8, 64) + 9
    scores = torch.sigmoid(logits).to(in_mode(torch.float16, torch.float32))
    ranked = torch.argsort(scores, dim=1, descending=True)
    return logits.gather(1, ranked)[:, :8].mean()


@reported("far-from-float", "the five best of twenty scores that 16 bits make equal")
def best_of_saturated_scores():
    torch.manual_seed(10)
    logits = torch.randn(20) * 0.02 + 3
    scores = torch.sigmoid(logits).to(in_mode(torch.bfloat16, torch.float32))
    return (logits[scores.topk(5)[1]].mean() - 3) * 100


@reported("far-from-float", "AntixK/PyTorch-VAE, a distance of two distributions in BFloat16")
def distance_of_two_distributions():
    torch.manual_seed(12)
    one, other = (x.to(in_mode(torch.bfloat16, torch.float32)) for x in (torch.randn(32, 16), torch.randn(32, 16) * 1.2))
    one.requires_grad_()

    def kernel(x, y):
        near = 2 / (2 + ((x[:, None] - y[None]) ** 2).sum(-1))
        return near.sum() - near.diag().sum()

    distance = kernel(one, one) + kernel(other, other) - 2 * kernel(one, other)
    loss = 0.2 + distance.float().abs()
    loss.backward()
    return loss.item()


@reported(None, "experts and an order of numbers that rounding leaves near each other")
def experts_of_rounded_scores():
    torch.manual_seed(8)
    scores = torch.randn(64, 8)
    rounded = scores.to(in_mode(torch.bfloat16, torch.float32))
    chosen = rounded.topk(2, dim=-1)[1]
    return 1 + scores.gather(1, chosen).mean() + scores.gather(1, rounded.sort(dim=-1)[1])[:, -1].mean()


@reported(None, "facebookresearch/DiT, a likelihood that no step of these needs")
def likelihood_of_another_step():
    """What is far off is read by a line that is called too often to be looked at each time, and thrown away."""
    def mean(x):
        return x.mean(1)

    total = torch.zeros(())
    at = torch.linspace(-3, 3, 64).view(4, 16).to(in_mode(torch.bfloat16, torch.float32))
    for step in range(60):
        width = torch.ones((), dtype=at.dtype) / 256
        likelihood = mean(torch.log((torch.tanh(at + width) - torch.tanh(at - width)).clamp(min=1e-12)))
        divergence, error = mean(at * at), mean(at.abs())
        total = total + torch.where(torch.tensor(step < 0), likelihood.float(), (divergence + error).float()).mean()
    return total


@reported(None, "a likelihood that is left out, beside numbers that are nearly right")
def nearly_right_beside_what_is_left_out():
    at = torch.linspace(-3, 3, 64).to(in_mode(torch.bfloat16, torch.float32))
    width = torch.ones((), dtype=at.dtype) / 256
    likelihood = torch.log((torch.tanh(at + width) - torch.tanh(at - width)).clamp(min=1e-12))
    near = torch.exp(torch.linspace(8.1, 9.9, 64).to(at.dtype))
    return torch.where(torch.tensor(False), likelihood, near).float().mean()


def trained_on(normalize):
    """The loss of the last step, of what is normalized in each but the first."""
    torch.manual_seed(11)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(4):
        seen = torch.randn(64, 4, dtype=torch.float64)
        seen = normalize(seen) if step > 0 else seen.float()
        loss = (net(seen) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def level_of(seen):
    return seen.to(torch.float32 if MODE == "damaged" else torch.float64) * 0.01 + 300


@reported("far-from-float", "facebookresearch/mbrl-lib, a variance as E[x²] - E[x]² in Float, inside of a training")
def variance_inside_of_a_training():
    def normalize(seen):
        level = level_of(seen)
        variance = (level * level).mean(0) - level.mean(0) ** 2
        return ((level - level.mean(0)) / (variance.clamp(min=1e-12) + 1e-8).sqrt()).float().clamp(-10, 10)

    return trained_on(normalize)


@reported(None, "the same variance, which no loss needs")
def variance_that_is_only_kept():
    kept = []

    def normalize(seen):
        level = level_of(seen)
        kept.append((level * level).mean(0) - level.mean(0) ** 2)
        return seen.float()

    return trained_on(normalize)


FREQUENCIES = torch.exp(torch.arange(32) * (-9.2 / 32))


def read_by_a_layer(features):
    """Behind which nothing of them is seen yet, as behind one that begins with zeros."""
    return 1 + 1e-6 * torch.nn.Linear(64, 8)(features).mean().detach()


@reported("far-from-float", "bghira/SimpleTuner#2037 and kohya-ss/musubi-tuner#729")
def time_steps_of_a_model():
    """In BFloat16 numbers near 1000 are 4 apart, and the model reads them in Float."""
    torch.manual_seed(5)
    steps = (torch.rand(1000) * 1000).to(in_mode(torch.bfloat16, torch.float32))
    angles = steps.float()[:, None] * FREQUENCIES
    return read_by_a_layer(torch.cat([angles.cos(), angles.sin()], dim=-1)) * len(set(steps.tolist()))


@reported("far-from-float", "kohya-ss/musubi-tuner#729, behind a training in Float")
def time_steps_behind_a_training():
    def angles_of(steps):
        angles = steps.float()[:, None] * FREQUENCIES
        return torch.cat([angles.cos(), angles.sin()], dim=-1)

    for seed in range(200):
        torch.manual_seed(seed)
        angles_of(torch.rand(1000) * 1000)
    steps = (torch.rand(1000) * 1000).to(in_mode(torch.bfloat16, torch.float32))
    return read_by_a_layer(angles_of(steps)) * len(set(steps.tolist()))


@reported(None, "angles of what weights made, which a model lowers by its authors' wish")
def angles_of_activations():
    torch.manual_seed(5)
    hidden = torch.nn.Linear(4, 1)(torch.rand(1000, 4))[:, 0] * 1000
    angles = hidden.to(in_mode(torch.bfloat16, torch.float32)).float()[:, None] * FREQUENCIES
    return read_by_a_layer(torch.cat([angles.cos(), angles.sin()], dim=-1))


@reported("low-precision-index", "RosettaCommons/foundry#236")
def atoms_of_a_neighbourhood():
    """Expanded, so that no storage has as many numbers as the tensor."""
    atoms = torch.arange(300).expand(300, 300)
    none = torch.tensor(float("inf"), dtype=in_mode(torch.bfloat16, torch.float32))
    nearest = torch.where((atoms - atoms.T).abs() < 4, atoms, none).sort(dim=1)[0][:, :4].long()
    return (nearest[:, 1:] == nearest[:, :-1]).sum() + 1


@reported("lost-increment", "allenai/OLMo-core#370")
def gradient_of_many_chunks():
    torch.manual_seed(8)
    total = torch.zeros(16, 16, dtype=in_mode(torch.bfloat16, torch.float32))
    for chunk in torch.rand(2048, 16, 16) / 512:
        total += chunk.to(total.dtype)
    return total.float().norm()


@reported("far-from-float", "thibmonsel/torchdde#33")
def states_of_a_solver():
    torch.manual_seed(9)
    states = torch.empty(25, 4, dtype=None if MODE == "damaged" else torch.float64)
    right = torch.rand(25, 4, dtype=torch.float64)
    for i, state in enumerate(right):
        states[i] = state + 1e-10
    return (states - right).abs().max()


def padded_field():
    return torch.zeros(8, 8, dtype=None if MODE == "damaged" else torch.complex128)


@reported("lossy-cast", "MagriLab/KolSol#30")
def waves_in_a_padded_field():
    torch.manual_seed(6)
    padded = padded_field()
    padded[2:6, 2:6] = torch.fft.fft2(torch.rand(4, 4, dtype=torch.float64) - 0.5)
    return padded.abs().square().sum().double()


@reported("far-from-float", "fkodom/yet-another-retnet#24")
def decays_of_an_attention():
    """0.998 is 1 in BFloat16, and 1 to the power of infinity is no mask."""
    torch.manual_seed(10)
    layer = torch.nn.Linear(8, 24)
    query, key, value = layer(torch.randn(2, 32, 8)).chunk(3, dim=-1)
    decays = 1 - torch.exp(torch.linspace(-3.5, -6.25, 4, dtype=in_mode(torch.bfloat16, torch.float32)))
    places = torch.arange(32, dtype=decays.dtype)
    distance = (places[:, None] - places[None]).masked_fill(torch.ones(32, 32, dtype=torch.bool).triu(1), float("inf"))
    mask = (decays[:, None, None] ** distance).float()
    scores = (query @ key.transpose(1, 2))[:, None] * mask
    return (scores @ value[:, None]).detach().norm()


@reported("far-from-float", "kohya-ss/musubi-tuner 3ebd1df")
def length_that_a_mask_counts():
    """BFloat16 has no odd number beyond 256: the last of 301 tokens is left out."""
    torch.manual_seed(11)
    mask = (torch.arange(512) < 301).long()[None].to(in_mode(torch.bfloat16, torch.int64))
    states = torch.randn(1, 512, 4)
    return states[0, : mask.sum(dim=1).to(torch.int64).tolist()[0]][-1].norm()


@reported(None, "the mean of what a mask leaves: its count is rounded as any number")
def mean_over_a_mask():
    torch.manual_seed(12)
    mask = (torch.arange(512) < 301)[None, :, None].to(in_mode(torch.bfloat16, torch.float32))
    return ((torch.rand(1, 512, 4).to(mask.dtype) * mask).sum(1) / mask.sum(1)).float().mean()


@reported(None, "what is rounded, beside the same that another library rounded")
def difference_from_another_library():
    torch.manual_seed(7)
    seen = (torch.rand(32, 32) * 4000).to(in_mode(torch.bfloat16, torch.float32))
    others = torch.frombuffer(bytearray(seen.view(torch.uint8).numpy().tobytes()), dtype=seen.dtype).view(32, 32)
    return (seen - others).float().norm() + 1


@reported(None, "what two transforms of real numbers leave as an imaginary part")
def real_field_behind_two_transforms():
    torch.manual_seed(6)
    padded = padded_field()
    padded[2:6, 2:6] = torch.fft.ifft2(torch.fft.fft2(torch.rand(4, 4, dtype=torch.float64) - 0.5))
    return padded.abs().square().sum().double()


if __name__ == "__main__":
    values.CASES = OWN
    values.main()
