"""Runs scripts, each in a child that is forked once the libraries are imported: that takes longer than most of them do.

    forked.py STATUSES SCRIPT… -- ARGS…

A line "PROCESS STATUS SCRIPT" goes into the file STATUSES for each. A child ends as Python itself does.
"""
import os
import runpy
import sys

import diffusers.training_utils  # noqa: F401
from diffusers import AutoencoderKL, UNet2DConditionModel  # noqa: F401
from peft import LoraConfig  # noqa: F401
from transformers import CLIPTextModel, CLIPTokenizer, T5EncoderModel  # noqa: F401

end = sys.argv.index("--")
scripts, arguments = sys.argv[2:end], sys.argv[end + 1:]
with open(sys.argv[1], "w", encoding="utf-8") as statuses:
    for script in scripts:
        child = os.fork()
        if child == 0:
            sys.argv = [script, *arguments]
            runpy.run_path(script, run_name="__main__")
            break
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(child, status, script, file=statuses, flush=True)
