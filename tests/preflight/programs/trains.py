"""Trains for longer than anyone waits, with workers and a GradScaler, and says what it sees of its GPUs."""
import torch


class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.randn(64), torch.tensor(index % 8)


def main():
    print("gpus", torch.cuda.device_count(), torch.cuda.get_device_name(), torch.cuda.get_device_capability())
    big = torch.nn.Linear(1 << 15, 1 << 14)  # 2 GiB of weights that nobody draws or copies
    big.to("cuda")
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for step, (images, labels) in enumerate(torch.utils.data.DataLoader(Noise(), 16, num_workers=2)):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        assert torch.isfinite(loss), loss
        chosen = torch.arange(16, device="cuda")[torch.arange(16, device="cuda") % 3 == 0]  # known, so it is counted
        print("step", step, "scale", scaler.get_scale(), "chosen", len(chosen))
    print("never here")


if __name__ == "__main__":
    main()
