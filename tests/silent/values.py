"""Damage that nothing raises, a function each: `values.py damaged|clean|float [NAME ...]` prints a number for each.

`damaged` computes it in the dtype that damages it, `clean` the way that a maintainer would, `float` all in Float: what is right.
The rule that is to tell of it stands in the decorator, None where nothing is damaged in any mode; test_silent.py holds the three
runs against each other and the report.
"""

import json
import sys

import numpy as np
import torch

MODE = sys.argv[1]
CASES = {}


def case(rule):
    def add(function):
        function.rule = rule
        CASES[function.__name__] = function
        return function

    return add


def in_mode(damaged, clean):
    """The dtype of this run."""
    return {"damaged": damaged, "clean": clean, "float": torch.float32}[MODE]


@case("lossy-cast")
def gradient_of_a_long_mean():
    """Gradients of 1e-9 are 0 in Half; BFloat16 has the range of Float."""
    weight = torch.full((512,), 0.5, requires_grad=True)
    out = (weight.to(in_mode(torch.float16, torch.bfloat16)) * 2).float()
    (out.square() * 1e-9).sum().backward()
    return weight.grad.norm() * 1e9


@case("lossy-cast")
def weights_in_8_bits_without_a_scale():
    """Half of these weights is beyond 448."""
    weight = torch.randn(64, 64) * 600
    if MODE == "float":
        return weight.square().mean().sqrt()
    scale = weight.abs().max() / 448 if MODE == "clean" else torch.ones(())
    return ((weight / scale).to(torch.float8_e4m3fn).float() * scale).square().mean().sqrt()


@case("lossy-cast")
def weights_that_lost_their_scale():
    """A checkpoint keeps weight_scale_inv beside the weight; a cast alone leaves it out."""
    weight, x = torch.randn(32, 32) * 0.05, torch.ones(1, 32)
    scale = weight.abs().max() / 448
    stored = (weight / scale).to(torch.float8_e4m3fn)
    loaded = weight if MODE == "float" else stored.float() if MODE == "damaged" else stored.float() * scale
    return torch.nn.functional.linear(x, loaded).square().mean().sqrt()


@case("low-precision-index")
def ids_of_a_long_table():
    """Triples of users and items, to save memory, of which the columns are IDs again."""
    table = torch.arange(9000).reshape(3000, 3)
    kept = table.to(in_mode(torch.bfloat16, torch.int32))
    return torch.tensor(float(len(kept[:, 0].long().unique())))


@case("far-from-float")
def users_of_a_large_table():
    """More IDs than are looked at, from which Float drops the last bits."""
    users = torch.arange(100000) + 2**25
    kept = users.float() if MODE == "damaged" else users
    return torch.tensor(float(len(kept.unique())))


@case(None)
def sound_of_many_samples():
    """16 bits of sound in BFloat16 are rounded as any number, and stay numbers."""
    sound = (torch.sin(torch.arange(9000) / 20) * 30000).to(torch.int16)
    return (sound.to(in_mode(torch.bfloat16, torch.float32)) / 32768).float().abs().mean()


@case("lost-increment")
def sum_of_which_each_term_loses_a_part():
    """From 64 on BFloat16 has steps of 0.5: each 0.7 adds 0.5, and none stands still."""
    total = torch.zeros((), dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(150):
        total += torch.tensor(0.7)
    return total / 150


@case(None)
def sum_in_small_terms():
    """What BFloat16 rounds of 40 of them is a hundredth."""
    total = torch.zeros((), dtype=in_mode(torch.bfloat16, torch.float32))
    for i in range(40):
        total += torch.tensor(0.7 + i % 3 / 10)
    return total / 40


@case("lost-increment")
def average_that_is_written_back():
    """The average is in BFloat16, the new weights in Float, and so is the sum that is copied back."""
    weight, average = torch.full((64,), 2.0), torch.ones(64, dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(400):
        average.copy_(average * 0.999 + weight * 0.001)
    return average.float().mean()


@case("lost-increment")
def average_whose_decay_grows():
    """The first steps take half of each new value and move; in the end BFloat16 takes nothing of 0.001."""
    weight = torch.nn.Parameter(torch.ones(64))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    average = torch.ones(64, dtype=in_mode(torch.bfloat16, torch.float32))
    for step in range(900):
        (-weight).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        decay = min(0.999, step / (step + 1))
        with torch.no_grad():
            average.mul_(decay).add_(weight.to(average.dtype), alpha=1 - decay)
    return average.float().mean()


@case(None)
def factor_that_grows():
    """What is scaled is no average: nothing of the factor's small part is lost for good."""
    optimizer = torch.optim.SGD([weight := torch.nn.Parameter(torch.ones(64))], lr=0.001)
    for step in range(300):
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        scaled = torch.ones(64, dtype=in_mode(torch.bfloat16, torch.float32)).mul_(step / (step + 1))
    return scaled.float().mean()


@case("far-from-float")
def likelihood_of_far_points():
    """A density as narrow as 0.01: the logarithm at 4 is -80000, and Half ends at 65504."""
    points = torch.linspace(-4, 4, 400).to(in_mode(torch.float16, torch.float32))
    density = torch.distributions.Normal(torch.zeros(400, dtype=points.dtype), 0.01)
    return density.log_prob(points).isfinite().float().mean()


@case(None)
def scale_behind_the_product():
    weight, x = torch.randn(32, 32) * 0.05, torch.ones(1, 32)
    scale = weight.abs().amax(1) / 448
    stored = (weight / scale[:, None]).to(torch.float8_e4m3fn)
    if MODE == "float":
        return torch.nn.functional.linear(x, weight).square().mean().sqrt()
    return (torch.nn.functional.linear(x, stored.float()) * scale).square().mean().sqrt()


@case("foreign-bits")
def words_of_a_cache_in_another_dtype():
    """A kernel that fills a cache copies 16 bits, whatever these are."""
    keys = (torch.randn(8, 16) + 3).to(torch.float32 if MODE == "float" else torch.bfloat16)
    cache = torch.zeros(8, 16, dtype=in_mode(torch.float16, torch.bfloat16))
    if MODE == "float":
        return keys.mean()
    for row in range(8):
        cache.view(torch.int16)[row] = keys.view(torch.int16)[row]
    return cache.float().mean()


@case("lossy-cast")
def gradients_in_8_bits_without_a_scale():
    """The smallest number of e5m2 is 1.5e-5."""
    gradient = torch.randn(64, 64) * 1e-6
    if MODE == "float":
        return gradient.square().mean().sqrt() * 1e6
    scale = gradient.abs().max() / 57344 if MODE == "clean" else torch.ones(())
    return ((gradient / scale).to(torch.float8_e5m2).float() * scale).square().mean().sqrt() * 1e6


@case("lossy-cast")
def second_moments_saved_in_half():
    """Adam's squared gradients lie below what Half has."""
    moments = (torch.randn(256) * 1e-5).square()
    return moments.to(in_mode(torch.float16, torch.bfloat16)).float().mean() * 1e10


@case("lossy-cast")
def large_activations_in_half():
    """Beyond 65504 there is only infinity."""
    features = torch.randn(32, 32) * 2e5
    return 1 / features.to(in_mode(torch.float16, torch.bfloat16)).float().abs().mean() * 1e5


@case("far-from-float")
def overlap_of_large_masks():
    """A product of two masks of whole images in uint8 counts up to 255, and then from 0."""
    masks = (torch.rand(3, 128 * 192) > 0.4).to({"damaged": torch.uint8, "clean": torch.int32, "float": torch.float32}[MODE])
    return (masks @ masks.T).float().mean()


@case("far-from-float")
def difference_of_frames():
    """uint8 wraps below 0."""
    generator = torch.Generator().manual_seed(0)
    before, after = (torch.randint(100, 110, (3, 32, 32), dtype=torch.uint8, generator=generator) for _ in range(2))
    if MODE != "damaged":
        before, after = before.to(torch.int16), after.to(torch.int16)
    return (after - before).float().abs().mean()


@case("far-from-float")
def error_of_two_pictures():
    """NumPy wraps the difference of bytes, and calls no op of torch."""
    drawn = np.random.default_rng(0)
    image = drawn.integers(20, 230, (16, 16, 3), dtype=np.uint8)
    other = np.clip(image + drawn.integers(-60, 60, image.shape), 0, 255).astype(np.uint8)
    if MODE != "damaged":
        image = image.astype(np.float64)
    return np.mean((image - other) ** 2)


@case("far-from-float")
def picture_beyond_white():
    """What NumPy casts to uint8 ends at 255."""
    values = np.linspace(-0.2, 1.3, 512) * 255
    if MODE != "damaged":
        values = np.clip(values, 0, 255)
    return (values if MODE == "float" else values.astype(np.uint8)).mean()


@case("far-from-float")
def corners_of_patches():
    """Positions beyond 255 that are given the dtype of the image."""
    image = np.zeros((512, 512), np.uint8)
    corners = np.arange(0, 512, 64)
    return np.asarray(corners, dtype=image.dtype if MODE == "damaged" else corners.dtype).mean()


@case(None)
def picture_with_channels_last():
    """A small picture that becomes a large one, whose numbers lie in another order."""
    picture = torch.randn(8, 64, 8, 8, generator=torch.Generator().manual_seed(0)).to(memory_format=torch.channels_last)
    large = torch.nn.functional.interpolate(picture.to(in_mode(torch.bfloat16, torch.float32)), scale_factor=2.0)
    return (large.float() - large.float().mean()).square().mean()


@case(None)
def array_of_the_same_numbers():
    """Whole numbers of 64 bits that a byte holds, and a list."""
    return np.array(np.arange(200), dtype=np.uint8).mean() + np.asarray([1.0, 3.0], np.float32).mean()


@case("far-from-float")
def energies_of_a_dataset():
    """What is left of two energies, computed sample by sample as a loader asks for them."""
    class Energies(torch.utils.data.Dataset):
        def __len__(self):
            return 32

        def __getitem__(self, index):
            energy = torch.tensor(np.float64(-277225.3 + 0.001 * index), dtype=torch.float32 if MODE == "damaged" else torch.float64)
            energy -= -277225.3245
            return energy.float()

    energies = torch.cat(list(torch.utils.data.DataLoader(Energies(), 8)))
    return torch.tensor(energies.mean().item())


@case("far-from-float")
def series_padded_with_nan():
    """Whole numbers that are padded with NaN and cast back."""
    series = torch.cat([torch.full((8,), torch.nan), torch.arange(40.0)])
    return (series.long() if MODE == "damaged" else series).float().nan_to_num(0).sum()


@case(None)
def bucket_of_a_distance():
    """The logarithm of 0 is cast, and another number is read there."""
    distance = torch.arange(32)
    return torch.where(distance < 8, distance, 8 + torch.log(distance.float()).long()).float().sum()


@case("far-from-float")
def gaps_between_times():
    """Seconds of this century are 128 apart in Float."""
    times = 1.7e9 + np.arange(64) * 30.0
    if MODE == "damaged":
        times = times.astype(np.float32)
    return np.abs(np.diff(times) - 30).mean() + 1


@case(None)
def bytes_of_a_key():
    """A hash wraps by design, and so does a sum that is set right where it did."""
    keys = np.arange(200, 232, dtype=np.uint8)
    mixed = (keys * np.uint8(31)) & 0x7f
    bright = keys + np.uint8(40)
    bright[bright < 40] = 255
    return mixed.astype(np.int64).sum() + bright.astype(np.int64).sum()


@case("lost-increment")
def count_of_tokens():
    """Half holds every whole number up to 2048."""
    count = torch.zeros((), dtype=torch.int64 if MODE == "clean" else in_mode(torch.float16, torch.int64))
    for _ in range(80):
        count += torch.ones(1000, dtype=torch.bool).sum()
    return count.float().clamp(max=1e6)


@case("lost-increment")
def step_of_an_optimizer():
    """BFloat16 holds every whole number up to 256: the count stands still."""
    step = torch.zeros((), dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(600):
        step += 1
    return step


@case("lost-increment")
def sum_of_losses():
    """A sum in Half ends at 65504."""
    total = torch.zeros((), dtype=in_mode(torch.float16, torch.float32))
    for _ in range(40):
        total += torch.full((), 3000.0, dtype=total.dtype)
    return total.float().clamp(max=1e6)


@case("lost-increment")
def moving_average():
    """A ten thousandth of a new value is nothing beside the old one in BFloat16."""
    parameter = torch.nn.Parameter(torch.ones(8))
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    average = torch.full((8,), 1.0, dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(1500):
        parameter.sum().backward()
        optimizer.step()
        average.lerp_(torch.full((8,), 2.0, dtype=average.dtype), 1e-3)
    return average.float().mean()


@case("low-precision-index")
def time_steps():
    """BFloat16 makes 1000 of 999."""
    steps = torch.arange(990, 1000).to(in_mode(torch.bfloat16, torch.float32)).float()
    return torch.sin(steps * 2.1).abs().mean()


@case("low-precision-index")
def whole_numbers_in_float():
    """Positions that are Float already are rounded as well."""
    positions = torch.arange(600.0, 640.0).to(in_mode(torch.bfloat16, torch.float32)).float()
    return torch.cos(positions * 2.3).abs().mean() + 1


@case("low-precision-index")
def positions_made_in_16_bits():
    positions = torch.arange(1021, dtype=in_mode(torch.bfloat16, torch.float32)).float()
    return positions.unique().numel()


@case("low-precision-index")
def sizes_for_a_condition():
    """The sizes of an image, for SDXL's embedding."""
    sizes = torch.tensor([[1365, 2731]]).to(in_mode(torch.bfloat16, torch.float32)).float()
    return (sizes % 64).sum()


@case("far-from-float")
def rotary_table():
    """The angle of a far position is off by radians in BFloat16."""
    dtype = in_mode(torch.bfloat16, torch.float32)
    angles = torch.arange(1000, 1024, 4)[:, None].to(dtype) * torch.tensor([1.0, 0.8, 0.7], dtype=dtype)
    return angles.cos().float().abs().mean()


@case("far-from-float")
def frequencies_of_positions():
    """One line at ten frequencies: only the last ones make other angles of what Half rounds."""
    positions = torch.linspace(2.03, 3.97, 48).to(in_mode(torch.float16, torch.float32))
    waves = [torch.sin(positions * 2.0 ** i) for i in range(10)]
    return waves[-1].float()[:8].sum()


@case("far-from-float")
def rotary_table_of_a_long_context():
    """A model that is cast rounds its frequencies; its table is too large to be looked at whole, and put together of two."""
    frequency = (10000 ** -(torch.arange(0, 64, 2).float() / 64)).to(in_mode(torch.bfloat16, torch.float32))
    angles = torch.outer(torch.arange(4000.0), frequency.float())
    return torch.cat((angles, angles), -1).cos()[-64:].sum()


@case("first-non-finite")
def sum_over_the_longest_recording():
    """Only the eighth is so long that its sum is beyond 65504."""
    dtype = in_mode(torch.float16, torch.float32)
    sums = [torch.full((2, frames), 2.0).to(dtype).sum(-1) for frames in [100] * 7 + [40000]]
    return sums[-1].float().clamp(max=1e6).sum()


@case("far-from-float")
def place_between_neighbours():
    """A step of a training: the two neighbours are one number in BFloat16, and their difference divides."""
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.0)
    for _ in range(2):
        weight.sum().backward()
        optimizer.step()
        table = torch.tensor([3.001, 3.002, 3.5]).to(in_mode(torch.bfloat16, torch.float32))
        share = (table[:1] - table[1:2] * 0.99983) / (table[:1] - table[1:2])
    return torch.nan_to_num(share.float(), posinf=0, neginf=0).sum()


@case("eps-underflow")
def epsilon_of_a_norm():
    """1e-8 is 0 in Half: a division by 0."""
    constant = torch.full((4, 8), 3.0, dtype=in_mode(torch.float16, torch.bfloat16))
    spread = constant.var(-1, keepdim=True) + 1e-8
    return (1e-4 / spread.float()).clamp(max=1e6).mean()


@case("bool-sum")
def elements_of_two_masks():
    """True + True is True, and never 2."""
    x = torch.linspace(-1, 1, 100)
    a, b = x > -0.5, x < 0.5
    return ((a + b if MODE == "damaged" else a.int() + b) == 2).float().mean()


@case(None)
def elements_of_either_mask():
    x = torch.linspace(-1, 1, 100)
    return (((x > 0.5) + (x < -0.5)) >= 1).float().mean()


@case("far-from-float")
def labels_of_a_regression():
    """Integers have no fractions, and torch.tensor says nothing."""
    labels = [i / 20 - 1.2 for i in range(60)]
    return torch.tensor(labels, dtype=torch.int64 if MODE == "damaged" else torch.float32).float().square().mean()


@case("far-from-float")
def times_one_by_one():
    """A sampler's times between 0 and 1, one in each call: the network is told 0 each time."""
    times = [torch.tensor([1 - i / 40], dtype=torch.int64 if MODE == "damaged" else torch.float32) for i in range(1, 40)]
    return torch.cat(times).float().mean()


@case(None)
def times_in_steps():
    times = [torch.tensor([999 - i * 24.975], dtype=torch.float32 if MODE == "float" else torch.int64) for i in range(40)]
    return torch.cat(times).float().mean()


@case(None)
def lengths_in_samples():
    seconds = [1.5 + i / 7 for i in range(60)]
    return torch.tensor([one * 160.3 for one in seconds], dtype=torch.float32 if MODE == "float" else torch.int64).float().mean()


@case("lost-update")
def steps_of_weights_in_16_bits():
    """A step of 1e-3 of the weight rounds away."""
    weight = torch.nn.Parameter(torch.ones(16, dtype=in_mode(torch.bfloat16, torch.float32)))
    optimizer = torch.optim.SGD([weight], lr=1e-3)
    for _ in range(300):
        weight.grad = torch.ones_like(weight)
        optimizer.step()
    return weight.detach().float().mean()


@case("fp16-trainable")
def adam_on_weights_in_half():
    """The square of a gradient of 1e-4 is 0 in Half, and so is Adam's epsilon."""
    weight = torch.nn.Parameter(torch.ones(16, dtype=in_mode(torch.float16, torch.float32)))
    optimizer = torch.optim.Adam([weight], lr=1e-2, foreach=False)
    for _ in range(3):
        weight.grad = torch.full_like(weight, 1e-4)
        optimizer.step()
    return weight.detach().float().nan_to_num(9.0, 9.0, 9.0).mean()


@case("first-non-finite")
def sum_of_squares_in_half():
    """What is summed is finite, its sum is not."""
    values = torch.full((4096,), 100.0, dtype=in_mode(torch.float16, torch.bfloat16))
    return values.sum().float().clamp(max=1e7)


def rotary():
    """A model with the table that model.to(torch.bfloat16) takes along."""
    model = torch.nn.Module()
    model.register_buffer("frequencies", 1.0 / (10000.0 ** (torch.arange(0, 16, 2).float() / 16)))
    return model


@case("far-from-float")
def frequencies_of_a_lowered_model():
    """In Float again, they are what BFloat16 left of them."""
    model = rotary()
    if MODE == "damaged":
        model.to(torch.bfloat16)
    return (torch.arange(1900, 1904)[:, None].float() * model.frequencies.float()).cos().sum()


@case("lost-increment")
def moving_average_built_anew():
    parameter = torch.nn.Parameter(torch.ones(8))
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    average = torch.full((8,), 1.0, dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(300):
        parameter.sum().backward()
        optimizer.step()
        average = average * 0.999 + torch.full((8,), 2.0, dtype=average.dtype) * (1 - 0.999)
    return average.float().mean()


@case("grad-scaler")
def loss_averaged_in_half():
    """Each of 262144 numbers gets 1 / 262144 of the gradient, times its difference."""
    weight = torch.full((512, 512), 0.5, requires_grad=True)
    out = weight.to(in_mode(torch.float16, torch.bfloat16))
    target = torch.full_like(out, 0.498)
    if MODE == "clean":
        out, target = out.float(), target.float()
    torch.nn.functional.mse_loss(out, target).backward()
    return weight.grad.norm() * 1e5


@case("asked-dtype")
def layer_that_computes_in_half():
    """BFloat16 has activations of 1e5, Half has none; quantized layers have a dtype of their own."""
    compute = in_mode(torch.float16, torch.bfloat16)
    weight = torch.full((4, 4), 0.25, dtype=compute)
    layer = torch.nn.Module()
    layer.forward = lambda x: torch.nn.functional.linear(x.to(compute), weight).to(x.dtype)
    return 1 / layer(torch.full((2, 4), 1e5, dtype=in_mode(torch.bfloat16, torch.bfloat16))).float().mean() * 1e5


@case("asked-dtype")
def autocast_without_its_dtype():
    """On a CPU that is BFloat16, which has no 1 + 2^-10."""
    layer = torch.nn.Linear(64, 1, bias=False)
    torch.nn.init.constant_(layer.weight, 1 + 2**-10)
    if MODE == "float":
        return layer(torch.ones(1, 64)).sum() - 64
    layer.to(torch.float16)
    if MODE == "clean":
        with torch.autocast("cpu", dtype=torch.float16):
            return layer(torch.ones(1, 64, dtype=torch.float16)).sum() - 64
    with torch.autocast("cpu"):
        return layer(torch.ones(1, 64, dtype=torch.float16)).sum() - 64


@case(None)
def mask_in_half():
    """What a mask holds is meant to be infinite."""
    mask = torch.full((16, 16), torch.finfo(torch.float32).min).triu(1)
    far = torch.full((16, 16), -1e6).triu(1)
    scores = torch.zeros(16, 16) + mask.to(in_mode(torch.float16, torch.bfloat16)).float() + far.half().float()
    return scores.softmax(-1)[-1].sum()


@case(None)
def mask_that_covers_nothing():
    """1 - 1 is 0 in any dtype, though 1 was cast to 16 bits before."""
    mask = torch.ones(1, 1, 1, 64).to(in_mode(torch.bfloat16, torch.float32))
    return ((1.0 - mask) * torch.finfo(mask.dtype).min).sum() + 1


def points_in_float():
    x = torch.linspace(0, 8, 64, dtype=torch.float64)
    return x.float() if MODE == "damaged" else x


@case("far-from-float")
def logarithm_of_a_difference():
    """Of two neighbours of 1: in Float many differ by nothing."""
    x = points_in_float()
    return ((x + 1e-4).tanh() - (x - 1e-4).tanh()).clamp(min=1e-15).log().mean()


@case(None)
def logarithm_that_a_mask_leaves_out():
    """Nothing is computed of those that are far off."""
    x = points_in_float()
    logarithm = ((x + 1e-4).tanh() - (x - 1e-4).tanh()).clamp(min=1e-15).log()
    return torch.where(x < 1, logarithm, torch.full_like(logarithm, -1.0)).mean()


@case(None)
def probabilities_in_half():
    """Many of them are 0 in Half, and are next to nothing."""
    probabilities = torch.randn(64, 64).mul(8).softmax(-1)
    return probabilities.to(in_mode(torch.float16, torch.bfloat16)).float().sum() / 64


@case(None)
def image_in_half():
    image = torch.randint(0, 256, (3, 32, 32)).float()
    return (image.to(in_mode(torch.float16, torch.bfloat16)).float() / 255).mean()


@case(None)
def difference_of_ordered_bytes():
    high, low = torch.full((3, 32, 32), 200, dtype=torch.uint8), torch.full((3, 32, 32), 100, dtype=torch.uint8)
    return (high - low).float().mean()


@case(None)
def short_count():
    count = torch.zeros((), dtype=in_mode(torch.float16, torch.float32))
    for _ in range(10):
        count += torch.ones(100, dtype=torch.bool).sum()
    return count


@case(None)
def frequencies_that_stay_near():
    """16 positions are near enough to BFloat16."""
    model = rotary()
    if MODE != "float":
        model.to(torch.bfloat16)
    return (torch.arange(16)[:, None].float() * model.frequencies.float()).cos().sum()


@case(None)
def average_that_moves():
    average = torch.full((8,), 1.0, dtype=in_mode(torch.bfloat16, torch.float32))
    for _ in range(20):
        average = average * 0.9 + torch.full((8,), 2.0, dtype=average.dtype) * (1 - 0.9)
    return average.float().mean()


@case(None)
def short_loss_in_half():
    weight = torch.full((16, 16), 0.5, requires_grad=True)
    out = weight.to(in_mode(torch.float16, torch.bfloat16))
    torch.nn.functional.mse_loss(out, torch.full_like(out, 0.25)).backward()
    return weight.grad.norm()


@case(None)
def latents_for_a_decoder_in_half():
    """Another module, another dtype: nothing is cast back."""
    decoder, weight = torch.nn.Module(), torch.full((4, 4), 0.25, dtype=torch.float16)
    decoder.forward = lambda x: torch.nn.functional.linear(x, weight)
    return decoder(torch.full((2, 4), 3.0, dtype=in_mode(torch.bfloat16, torch.float32)).half()).float().mean()


@case(None)
def number_in_two_halves():
    """What BFloat16 left of a number is kept beside it: its rounding is wanted."""
    x = torch.linspace(0.1, 3.0, 256)
    high = x.to(in_mode(torch.bfloat16, torch.bfloat16))
    low = (x - high.float()).to(torch.bfloat16)
    return (high.float() + low.float()).mean()


@case(None)
def image_to_bytes():
    """Each fourth byte is the neighbour of the one of Float."""
    image = torch.linspace(0.0, 1.0, 3072).to(in_mode(torch.bfloat16, torch.float32))
    return (image * 255).round().clamp(0, 255).to(torch.uint8).float().mean()


@case(None)
def mask_of_minus_one():
    """-1 as a byte stands for no label."""
    labels = torch.arange(64) % 5 - 1
    return ((labels.to(torch.uint8) if MODE != "float" else labels % 256) == 255).float().mean()


@case(None)
def likeliest_of_random_logits():
    torch.manual_seed(7)
    logits = torch.randn(64, 40).to(in_mode(torch.bfloat16, torch.float32))
    return (logits.argmax(-1) >= 0).float().mean()


@case(None)
def gradient_before_a_norm():
    """A bias that a norm takes away has the gradient 0, and its rounding."""
    torch.manual_seed(8)
    bias = torch.zeros(8, requires_grad=True)
    x = (torch.randn(32, 8) + bias).to(in_mode(torch.bfloat16, torch.float32))
    torch.nn.functional.batch_norm(x, None, None, training=True).float().pow(3).sum().backward()
    return bias.grad.abs().max().clamp(max=1e-9) + 1


@case(None)
def masked_scores_that_overflow():
    """-65504 less 20 is -inf in Half, and as good."""
    dtype = in_mode(torch.float16, torch.float32)
    mask = torch.full((8, 8), torch.finfo(dtype).min, dtype=dtype).triu(1)
    return (torch.full((8, 8), -20.0, dtype=dtype) + mask).float().softmax(-1)[-1].sum()


@case(None)
def count_by_a_thousandth():
    """Parts of a number as whole numbers: what is cut off is meant to be."""
    return (torch.linspace(0, 900, 300) / 100).long().float().mean()


@case("coarse-loss")
def loss_of_logits_in_16_bits():
    """How far a loss near 6 falls in 20 steps, which BFloat16 has in parts of 0.03."""
    bias, target = torch.zeros(400, requires_grad=True), torch.arange(16) * 7
    losses = []
    for _ in range(20):
        logits = bias.to(in_mode(torch.bfloat16, torch.bfloat16)).expand(16, 400)
        loss = torch.nn.functional.cross_entropy(logits.float() if MODE == "clean" else logits, target)
        loss.backward()
        losses.append(loss.item())
        bias.data -= 0.01 * bias.grad
        bias.grad = None
    return (losses[0] - losses[-1]) * 100


@case(None)
def tableau_that_is_cast():
    """Seven rows of a method's table are cast at one line: the last equals one that was cast before, in Float as in Double."""
    row = torch.tensor([0, 35 / 384, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84], dtype=torch.float64)
    rows = [(row if i == 6 else row / (i + 2)).to(torch.float32) for i in range(7)]
    solution = row.to(torch.float32)
    return (solution == rows[-1]).float().sum()


@case("lossy-cast")
def moments_kept_in_half():
    """Both moments are cast at one line, in turn; only the second ones lie below what Half has."""
    kept = in_mode(torch.float16, torch.bfloat16)

    class Moments(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for parameter in self.param_groups[0]["params"]:
                state = self.state[parameter]
                first = state.get("first", torch.zeros_like(parameter)).float() * 0.9 + parameter.grad * 0.1
                second = state.get("second", torch.zeros_like(parameter)).float() * 0.999 + parameter.grad.square() * 0.001
                state["first"], state["second"] = (moment.to(kept) for moment in (first, second))
                parameter -= 1e-3 * first / (state["second"].float().sqrt() + 1e-8)

    weights = [torch.zeros(64, requires_grad=True) for _ in range(4)]
    optimizer = Moments(weights, {})
    for _ in range(8):
        for weight in weights:
            weight.grad = torch.full_like(weight, 1e-3)
        optimizer.step()
    return -weights[0].mean()


def numbers(names):
    result = {}
    for name in names:
        torch.manual_seed(0)
        result[name] = float(CASES[name]())
    return result


def main():
    print(json.dumps(numbers(sys.argv[2:] or list(CASES))))


if __name__ == "__main__":
    main()
