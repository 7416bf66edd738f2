"""Runs scripts, each in a child that is forked once the libraries are imported: that takes longer than most of them do.

    forked.py STATUSES SCRIPT… -- ARGS…

A line "PROCESS STATUS SCRIPT" goes into the file STATUSES for each. The server of fork_server.py cannot do it: these imports call
ops, and it would have a tracer from then on. This program is the traced one.
"""
import os
import pathlib
import sys

import diffusers.training_utils  # noqa: F401
from diffusers import AutoencoderKL, UNet2DConditionModel  # noqa: F401
from peft import LoraConfig  # noqa: F401
import torch._dynamo  # noqa: F401
from transformers import CLIPTextModel, CLIPTokenizer, T5EncoderModel  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fork_server  # noqa: E402

end = sys.argv.index("--")
scripts, arguments = sys.argv[2:end], sys.argv[end + 1:]
with open(sys.argv[1], "w", encoding="utf-8") as statuses:
    for script in scripts:
        child = os.fork()
        if child == 0:
            fork_server.end(fork_server.status_of([script, *arguments]))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(child, status, script, file=statuses, flush=True)
