"""Runs a script of sd-scripts with its SDXL U-Net made narrow, by two constants. usage: narrow.py SCRIPT ARGUMENTS..."""

import os
import runpy
import sys

sys.path.insert(0, os.getcwd())
import library.sdxl_original_unet as unet  # noqa: E402

unet.MODEL_CHANNELS, unet.TIME_EMBED_DIM = 64, 256
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
