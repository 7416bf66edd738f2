"""Trains with autocast, a GradScaler and AdamW what asks the most of NVIDIA's libraries, on any torch since 2.0."""
import torch
from torch import nn

GradScaler = torch.amp.GradScaler if hasattr(torch.amp, "GradScaler") else lambda device: torch.cuda.amp.GradScaler()
properties = torch.cuda.get_device_properties(1)
print(torch.cuda.get_device_name(), properties.total_memory >> 30, properties.multi_processor_count, properties.major, properties.minor)

embedding = nn.Embedding(100, 32).cuda()
recurrent = nn.LSTM(32, 16, num_layers=2, bidirectional=True, batch_first=True, proj_size=8).cuda()
gated = nn.GRU(16, 64, batch_first=True).cuda()
convolution = nn.Sequential(nn.Conv1d(64, 64, 3, padding=1), nn.BatchNorm1d(64), nn.GELU()).cuda()
attention = nn.MultiheadAttention(64, 4, batch_first=True).cuda()
head = nn.Sequential(nn.LayerNorm(64), nn.Dropout(0.1), nn.Linear(64, 100)).cuda()
parts = nn.ModuleList([embedding, recurrent, gated, convolution, attention, head])
optimizer = torch.optim.AdamW(parts.parameters())
scaler = GradScaler("cuda")
for step in range(10):
    tokens = torch.arange(4 * 12, device="cuda").view(4, 12)
    with torch.autocast("cuda", dtype=torch.float16):
        x = gated(recurrent(embedding(tokens))[0])[0]
        x = convolution(x.transpose(1, 2)).transpose(1, 2)
        x = x + attention(x, x, x, need_weights=False)[0]
        loss = nn.functional.cross_entropy(head(x).flatten(0, 1), tokens.flatten())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(parts.parameters(), 1.0)
    print("step", step, "scale", scaler.get_scale(), x.dtype, torch.fft.rfft(x.float()).shape[-1], torch.linalg.qr(x[0].float())[0].dtype)
    graph, still = torch.cuda.CUDAGraph(), torch.ones(3, device="cuda")
    with torch.cuda.graph(graph):
        still + 1
    graph.replay()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
