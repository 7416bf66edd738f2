#!/usr/bin/env python3
"""What `dtypecheck preflight` takes for a model of 7 B parameters that is trained by LoRA in BFloat16.

    preflight.py --dtypecheck build/bin/dtypecheck --python .venv/bin/python [--work DIR]

The weights are files with holes: 13.5 GB each, a few kB on the disk; once as safetensors, once by torch.save. CPU seconds and the
largest resident memory are those of the largest process of the command; pages of mapped files count as resident where they
were touched. Python needs torch, transformers, peft and safetensors.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

LLAMA = dict(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32, vocab_size=32000)
MAKE = """
import json, pathlib, struct, sys, torch, transformers
folder, sizes = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
config = transformers.LlamaConfig(**sizes, architectures=["LlamaForCausalLM"])
config.save_pretrained(folder)
with torch.device("meta"):
    shapes = {name: list(tensor.shape) for name, tensor in transformers.LlamaForCausalLM(config).state_dict().items()}
header, end = {"__metadata__": {"format": "pt"}}, 0
for name, shape in shapes.items():
    begin, end = end, end + 2 * torch.Size(shape).numel()
    header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [begin, end]}
text = json.dumps(header).encode()
with open(folder / "model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.truncate(8 + len(text) + end)
with torch.serialization.skip_data():
    torch.save({name: torch.empty(shape, dtype=torch.half) for name, shape in shapes.items()}, folder / "model.pt")
"""
TRAIN = """
import sys, peft, torch, transformers
folder, reads = sys.argv[1:]
if reads == "safetensors":
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
else:
    model = transformers.LlamaForCausalLM(transformers.AutoConfig.from_pretrained(folder))
    model.load_state_dict(torch.load(folder + "/model.pt"))
    model = model.to(torch.bfloat16)
model = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")).to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(5):
    tokens = torch.randint(0, 32000, (2, 1024), device="cuda")
    model(input_ids=tokens, labels=tokens).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(arguments, folder, reads):
    """In a process of its own, since the kernel keeps the largest of all children."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    environment = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    command = [arguments.dtypecheck, "preflight", "--out", folder / f"run-{reads}", "--", arguments.python, "-c", TRAIN, folder, reads]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
    cpu_s, mib = children()
    said = next((line for line in done.stderr.splitlines() if line.startswith("on a pretended")), done.stderr[-500:])
    print(f"{reads:12} {cpu_s:6.1f} CPU s {mib:7.0f} MiB   {said}", flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypecheck", required=True, type=os.path.abspath)
    parser.add_argument("--python", default=sys.executable, type=os.path.abspath)
    parser.add_argument("--work", help="where the files with holes go; default: a temporary folder")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir=arguments.work))
    try:
        subprocess.run([arguments.python, "-c", MAKE, folder, json.dumps(LLAMA)], check=True)
        for reads in ("safetensors", "torch.load"):
            measure(arguments, folder, reads)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
