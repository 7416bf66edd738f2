#!/usr/bin/env python3
"""Has `sdxl-train check` look at SDXL in its full size, as files of holes: every name and shape, and nothing is read.

    check_test.py --train BIN --tiny FOLDER
"""

import argparse
import json
import math
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from full_size import make_full_size, weights_file, write_hole

args = None  # of the command line


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(work.cleanup)
        cls.full = Path(work.name) / "full"
        cls.shapes = make_full_size(cls.full, is_random=False)

    def check(self, model: Path, *options: str) -> subprocess.CompletedProcess:
        command = [args.train, "check", "--model", model, *options]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)

    def refuse(self, expected: str, model: Path, *options: str) -> None:
        result = self.check(model, *options)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(expected, result.stderr)

    def test_names_and_shapes(self) -> None:
        """As many tensors as the published files have, and as many numbers as the classes."""
        counts = {part: len(shapes) for part, shapes in self.shapes.items()}
        self.assertEqual(counts, {"text_encoder": 196, "text_encoder_2": 517, "vae": 248, "unet": 1680})
        result = self.check(self.full)
        self.assertEqual(result.returncode, 0, result.stderr)
        for part, shapes in self.shapes.items():
            numbers = sum(math.prod(shape) for shape in shapes.values())
            self.assertIn(f"{part}: {len(shapes)} tensors, {numbers} numbers in Half, ", result.stdout)
        self.assertIn("unet: 1680 tensors, 2567463684 numbers in Half, 4897.0 MiB", result.stdout)
        self.assertIn("has every tensor that its configs ask for, in its shape, and no other", result.stdout)

    def change(self, part: str, shapes: dict) -> None:
        """Another file for the part, until the test is over."""
        path = self.full / part / weights_file(part)
        self.addCleanup(write_hole, path, self.shapes[part])
        write_hole(path, shapes)

    def test_a_tensor_too_few(self) -> None:
        for part, name in (("unet", "up_blocks.0.attentions.2.transformer_blocks.9.attn2.to_out.0.bias"),
                           ("vae", "post_quant_conv.bias"), ("text_encoder", next(iter(self.shapes["text_encoder"])))):
            shapes = dict(self.shapes[part])
            shape = shapes.pop(name)
            self.change(part, shapes)
            self.refuse(f"{part}: {name} is missing, expected with shape [{', '.join(map(str, shape))}]", self.full)
            self.change(part, self.shapes[part])

    def test_a_tensor_too_many(self) -> None:
        self.change("text_encoder_2", self.shapes["text_encoder_2"] | {"text_projection.bias": (1280,)})
        self.refuse("text_projection.bias belongs to no layer that its config asks for", self.full)

    def test_another_shape(self) -> None:
        name = "mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight"
        self.change("unet", self.shapes["unet"] | {name: (1280, 2047)})
        self.refuse(f"{name} has shape [1280, 2047], its config asks for [1280, 2048]", self.full)

    def test_parts_of_two_models(self) -> None:
        model = self.full.parent / "mixed"
        shutil.copytree(args.tiny / "model", model)
        self.addCleanup(shutil.rmtree, model)
        shutil.rmtree(model / "text_encoder")
        (model / "text_encoder").symlink_to(self.full / "text_encoder")
        self.refuse("cross_attention_dim", model)

    def test_folders(self) -> None:
        self.refuse("not a diffusers folder of SDXL", self.full / "unet")
        self.refuse("nowhere: not a diffusers folder of SDXL", self.full / "nowhere")

    def test_values(self) -> None:
        """Zeros are finite, so are the tiny model's numbers; with one NaN it is named, and only --values reads it."""
        model = self.full.parent / "tiny"
        shutil.copytree(args.tiny / "model", model)
        self.addCleanup(shutil.rmtree, model)
        result = self.check(model, "--values")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("all numbers are finite", result.stdout)
        path = model / "unet" / weights_file("unet")
        data = bytearray(path.read_bytes())
        (length,) = struct.unpack("<Q", data[:8])
        begin, _ = json.loads(data[8 : 8 + length])["mid_block.resnets.0.conv1.weight"]["data_offsets"]
        struct.pack_into("<f", data, 8 + length + begin + 4 * 5000, math.nan)
        path.write_bytes(data)
        self.refuse("mid_block.resnets.0.conv1.weight has NaN or inf, first in its number 5000", model, "--values")
        self.assertEqual(self.check(model).returncode, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--tiny", type=Path, required=True)
    args, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
