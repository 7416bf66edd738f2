"""Seeded faults, each in a step of its own; what must be found stands behind the line that it is found at."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
HALF, BF16 = torch.half, torch.bfloat16


def noise(*sizes, dtype=torch.float):
    return torch.randn(*sizes, device=DEVICE, dtype=dtype)


def linear_half_weight():
    layer = nn.Linear(64, 8).to(DEVICE).half()
    return layer(noise(4, 64))  # EXPECT mixed-operands


def conv_bf16_weight():
    layer = nn.Conv2d(3, 8, 3).to(DEVICE, BF16)
    return layer(noise(4, 3, 32, 32))  # EXPECT mixed-operands


def layer_norm_float_weight():  # a CPU takes it
    norm = nn.LayerNorm(64).to(DEVICE)
    return norm(noise(4, 64, dtype=HALF))  # EXPECT mixed-operands


def group_norm_float_weight():  # a CPU takes it
    norm = nn.GroupNorm(2, 8).to(DEVICE)
    return norm(noise(4, 8, 16, dtype=BF16))  # EXPECT mixed-operands


def attention_float_mask():  # a CPU takes it
    query = noise(2, 4, 16, 16, dtype=HALF)
    mask = torch.zeros(16, 16, device=DEVICE)
    return F.scaled_dot_product_attention(query, query, query, attn_mask=mask)  # EXPECT mixed-operands


def integer_product():  # a CPU takes it
    table = torch.arange(64, device=DEVICE).view(8, 8)
    return F.one_hot(torch.tensor([1, 2], device=DEVICE), 8) @ table  # EXPECT refused-dtype


def histogram_of_half():  # a CPU takes it
    return torch.histc(noise(64, dtype=HALF))  # EXPECT refused-dtype


def assigned_half():
    layer = nn.Linear(64, 8).to(DEVICE)
    rows = torch.zeros(4, 8, device=DEVICE)
    with torch.autocast(DEVICE, dtype=HALF):
        out = layer(noise(4, 64))
    rows[torch.tensor([0, 1, 2, 3], device=DEVICE)] = out  # EXPECT mixed-operands
    return rows


def scatter_half():
    rows = torch.zeros(4, device=DEVICE)
    return rows.scatter_add(0, torch.zeros(2, device=DEVICE, dtype=torch.long), noise(2, dtype=HALF))  # EXPECT mixed-operands


def product_with_float_table():
    layer = nn.Linear(64, 64).to(DEVICE, BF16)
    return layer(noise(4, 64, dtype=BF16)) @ noise(64, 8)  # EXPECT mixed-operands


def float_labels():
    return F.cross_entropy(noise(4, 8), torch.ones(4, device=DEVICE))  # EXPECT mixed-operands


def half_inverse():
    return torch.linalg.inv(torch.eye(4, device=DEVICE, dtype=HALF))  # EXPECT half-not-implemented


def time_steps_in_bfloat16():
    steps = torch.randint(0, 1000, (64,), device=DEVICE)
    return steps.to(BF16)  # EXPECT low-precision-index


def loss_under_autocast():
    with torch.autocast(DEVICE, dtype=HALF):
        probability = torch.sigmoid(noise(4, 1) @ noise(1, 4))
        return F.binary_cross_entropy(probability, torch.ones(4, 4, device=DEVICE))  # EXPECT refused-dtype


def pool_of_int8():  # a CPU takes it
    return F.max_pool3d(torch.ones(1, 1, 4, 4, 4, device=DEVICE, dtype=torch.int8), 2)  # EXPECT refused-dtype


def batch_of_integer_products():  # a CPU takes it
    counts = torch.ones(2, 4, 4, device=DEVICE, dtype=torch.long)
    return torch.einsum("bij,bjk->bik", counts, counts)  # EXPECT refused-dtype


def float_positions_added():
    hidden = nn.Linear(64, 64).to(DEVICE, HALF)(noise(4, 64, dtype=HALF))
    hidden = hidden + noise(4, 64)  # EXPECT silent-promotion
    return F.gelu(hidden) @ hidden.t()


def schedule_in_double():
    schedule = torch.linspace(0, 1, 1000, dtype=torch.double, device=DEVICE)
    return schedule[torch.tensor([3, 5], device=DEVICE)].view(2, 1) * noise(2, 64)  # EXPECT silent-promotion


def epsilon_in_half():
    norm = noise(4, 64, dtype=HALF).norm(dim=1, keepdim=True)
    return noise(4, 64, dtype=HALF) / (norm + 1e-8)  # EXPECT eps-underflow


def clean():
    layers = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 8)).to(DEVICE)
    with torch.autocast(DEVICE, dtype=BF16):
        layers(noise(4, 64)).float().pow(2).mean().backward()


for fault in (linear_half_weight, conv_bf16_weight, layer_norm_float_weight, group_norm_float_weight, attention_float_mask,
              integer_product, histogram_of_half, assigned_half, scatter_half, product_with_float_table,
              float_labels, half_inverse, time_steps_in_bfloat16, loss_under_autocast, pool_of_int8, batch_of_integer_products,
              float_positions_added, schedule_in_double, epsilon_in_half, clean):
    try:
        fault()
    except (RuntimeError, NotImplementedError) as error:
        print(fault.__name__, "raised", str(error).splitlines()[0])
    else:
        print(fault.__name__, "passed")
