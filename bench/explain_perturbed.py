"""What people paste around a message, and how it is mangled on the way: copies of a report that must get the same answer.

`PERTURBATIONS` maps a name to a function from a text to a text. bench/explain.py scores with them, bench/fit_explain.py trains with
them. The environment blocks are ours, in the form that the tools print.
"""

import re

VERSION_LINE = "Triton: 3.3.1"

COLLECT_ENV = """Collecting environment information...
PyTorch version: 2.5.1+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.5 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version: Could not collect
CMake version: version 3.31.0
Libc version: glibc-2.35

Python version: 3.10.12 (main, Nov  6 2024, 20:22:13) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-6.8.0-45-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.4.131
CUDA_MODULE_LOADING set to: LAZY
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB
Nvidia driver version: 550.90.07
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0
/usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9.1.0
HIP runtime version: N/A
MIOpen runtime version: N/A
Is XNNPACK available: True

CPU:
Architecture:                         x86_64
CPU op-mode(s):                       32-bit, 64-bit
Model name:                           AMD EPYC 7763 64-Core Processor
Flags:                                fpu vme de pse avx avx2 fma avx512_bf16
Vulnerability Spectre v2:             Mitigation; Retpolines

Versions of relevant libraries:
[pip3] bitsandbytes==0.44.1
[pip3] flash-attn==2.6.3
[pip3] numpy==1.26.4
[pip3] onnxruntime==1.19.2
[pip3] torch==2.5.1
[pip3] torchvision==0.20.1
[pip3] triton==3.1.0
[conda] magma-cuda124             2.6.1                         1    pytorch
"""

TRANSFORMERS_ENV = """- `transformers` version: 4.46.2
- Platform: Linux-6.8.0-45-generic-x86_64-with-glibc2.35
- Python version: 3.10.12
- Huggingface_hub version: 0.26.2
- Safetensors version: 0.4.5
- Accelerate version: 1.1.1
- Accelerate config:    not found
- DeepSpeed version: 0.15.4
- PyTorch version (GPU?): 2.5.1+cu124 (True)
- Tensorflow version (GPU?): not installed (NA)
- Using distributed or parallel set-up in script?: no
- Using GPU in script?: yes
- GPU type: NVIDIA A100-SXM4-80GB
"""

PIP_FREEZE = """apex==0.1
bitsandbytes==0.44.1
deepspeed==0.15.4
flash-attn==2.6.3
onnx==1.17.0
torch==2.5.1
torchao==0.6.1
triton==3.1.0
vllm==0.6.3
xformers==0.0.28.post3
"""

NVIDIA_SMI = """+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  Tesla T4                       On  |   00000000:00:04.0 Off |                    0 |
| N/A   42C    P8              9W /   70W |       1MiB /  15360MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""

SECTION = """### Environment

- OS: Windows 11
- GPU: RTX 3090
- Python: 3.10
- xformers 0.0.28
- CUDA 12.1
"""

OTHER_LANGUAGE_BEFORE = "你好,请问这个问题怎么解决?谢谢!\n\n"
OTHER_LANGUAGE_AFTER = "\n\nBitte um Hilfe, danke im Voraus.\n"


def each_line(before):
    return lambda text: "\n".join(before + line for line in text.split("\n"))


def boxed(text):
    width = max(len(line) for line in text.split("\n")) + 2
    rows = ("│ " + line.ljust(width) + "│" for line in text.split("\n"))
    return "\n".join(("╭" + "─" * (width + 1) + "╮", *rows, "╰" + "─" * (width + 1) + "╯"))


PRINTED = re.compile(r"\w(?:Error|Exception)\b|not implemented for|Warning:")


def cut(text):
    """A paste that begins and ends within a line: of what stands before its last message half is left, as of what follows."""
    printed = [line for line in re.finditer(r"[^\n]+", text) if PRINTED.search(line.group())]
    if not printed:
        return text
    return text[printed[-1].start() // 2:(printed[-1].end() + len(text)) // 2]


def coloured(text):
    return re.sub(r"(?m)^(\w*(?:Error|Exception))", "\x1b[31m\\1\x1b[0m", "\x1b[0m" + text)


PERTURBATIONS = {
    "version line": lambda text: f"{text}\n{VERSION_LINE}\n",
    "collect_env": lambda text: f"{text}\n\n{COLLECT_ENV}",
    "collect_env before": lambda text: f"{COLLECT_ENV}\n{text}",
    "transformers env": lambda text: f"### System Info\n\n{TRANSFORMERS_ENV}\n### Reproduction\n\n{text}",
    "pip freeze": lambda text: f"{text}\n\n{PIP_FREEZE}",
    "nvidia-smi": lambda text: f"{text}\n\n{NVIDIA_SMI}",
    "section": lambda text: f"{text}\n\n{SECTION}",
    "time stamps": each_line("2026-05-01 12:00:00,123 - INFO - "),
    "ranks": each_line("[rank3]: "),
    "box": boxed,
    "colour": coloured,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "cut at either end": cut,
    "another language": lambda text: OTHER_LANGUAGE_BEFORE + text + OTHER_LANGUAGE_AFTER,
}
