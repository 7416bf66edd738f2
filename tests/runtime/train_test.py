#!/usr/bin/env python3
"""Runs sdxl-train as its users do: trains, interrupts it, gives it what it cannot use, traces it.

    train_test.py --train BIN --dtypecheck BIN --tiny FOLDER
"""

import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

args = None  # of the command line


def read_header(path: Path) -> tuple[dict, bytes]:
    """Header and data of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write_file(path: Path, header: dict, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class TrainTest(unittest.TestCase):
    def setUp(self) -> None:
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = Path(work.name)
        self.out = self.work / "lora.safetensors"

    def command(self, **change) -> list[str]:
        options = {"model": args.tiny / "model", "images": args.tiny / "images", "resolution": 64, "steps": 3,
                   "rank": 2, "seed": 1, "out": self.out}
        options |= change
        kind = options.pop("kind", "lora")
        pairs = [("--" + name.replace("_", "-"), str(value)) for name, value in options.items() if value is not None]
        pairs = [(name, value) if value else (name,) for name, value in pairs]
        return [args.train, kind, *(word for pair in pairs for word in pair)]

    def run_train(self, **change) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(**change), check=False, capture_output=True, text=True, timeout=900)

    def refuse(self, *expected: str, **change) -> None:
        """Exit status 2, one line on stderr with what is expected in it, and nothing written."""
        result = self.run_train(**change)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for text in expected:
            self.assertIn(text, result.stderr)
        self.assertFalse(self.out.exists())

    # ---- what works

    def test_threads(self) -> None:
        """A tiny model takes one thread, unless the user has said how many. OpenMP itself names those that it starts."""
        for threads, many in ((None, False), ("2", True)):
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
            environment |= {"OMP_DISPLAY_AFFINITY": "TRUE"} | ({"OMP_NUM_THREADS": threads} if threads else {})
            result = subprocess.run(self.command(steps=1), check=False, capture_output=True, text=True, timeout=900,
                                    env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            started = set(re.findall(r"thread (?:0x)?(\w+)", result.stderr))
            self.assertEqual(len(started) > 1, many, result.stderr)

    def test_progress_and_seed(self) -> None:
        """The same seed gives the same file, another seed another."""
        contents = []
        for seed in (1, 1, 2):
            result = self.run_train(seed=seed)
            self.assertEqual(result.returncode, 0, result.stderr)
            losses = re.findall(r"^step (\d)/3  loss (\d\.\d+)", result.stderr, re.MULTILINE)
            self.assertEqual([step for step, loss in losses], ["1", "2", "3"], result.stderr)
            self.assertIn("LoRA of rank 2 after 3 steps", result.stdout)
            contents.append(self.out.read_bytes())
        self.assertEqual(contents[0], contents[1])
        self.assertNotEqual(contents[0], contents[2])

    def test_policies_and_saved_dtypes(self) -> None:
        for policy, dtype in (("bf16", "BF16"), ("bf16-mixed", "F32"), ("fp16-mixed", "F32")):
            result = self.run_train(policy=policy, batch_size=2)
            self.assertEqual(result.returncode, 0, result.stderr)
            header, _ = read_header(self.out)
            self.assertEqual({t["dtype"] for name, t in header.items() if name != "__metadata__"}, {dtype}, policy)

    def test_prompt_and_captions(self) -> None:
        images = self.work / "images"
        images.mkdir()
        shutil.copy(args.tiny / "images" / "000_red_disc.png", images / "a.PNG")
        self.refuse("a.PNG: has no caption; give --prompt", images=images)
        (images / "a.txt").write_text("a photo of a red disc\n")
        self.assertEqual(self.run_train(images=images, steps=1).returncode, 0)
        from_text = self.out.read_bytes()
        self.assertEqual(self.run_train(images=images, steps=1, prompt="a photo of a red disc").returncode, 0)
        self.assertEqual(from_text, self.out.read_bytes())

    def test_interrupt(self) -> None:
        process = subprocess.Popen(self.command(steps=100000), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if line.startswith("step 2/"):
                break
        process.send_signal(signal.SIGINT)
        last = process.stderr.read().splitlines()
        self.assertEqual(process.wait(timeout=900), 130, last)
        header, _ = read_header(self.out)
        self.assertGreater(len(header), 10)
        checkpoint = self.out.with_name("lora.safetensors.checkpoint")
        self.assertEqual(sorted(self.work.iterdir()), [self.out, checkpoint])
        step = int(read_header(checkpoint)[0]["__metadata__"]["step"])
        self.assertGreaterEqual(step, 2)
        self.assertEqual(self.run_train(steps=step + 1, resume=checkpoint).returncode, 0)

    def test_resume_is_bit_identical(self) -> None:
        """Seven steps in one go, and in three: the same file, and the same losses on the way."""
        stochastic = self.write_policy(base="bf16", trained={"master": None, "rounding": "stochastic"})
        for options in ({"policy": "fp16-mixed", "batch_size": 3}, {"policy": stochastic, "ema_decay": 0.9},
                        {"policy": "bf16", "kind": "full", "rank": None}):
            outs, losses = [], []
            for name, stops in (("whole", [7]), ("parts", [2, 3, 7])):
                out = self.work / f"{name}{len(options)}{options.get('kind', '')}"
                resume, seen = None, []
                for i, stop in enumerate(stops):
                    part = Path(f"{out}.{i}")
                    result = self.run_train(**options, steps=stop, out=part, checkpoint_every=stop, resume=resume)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    resume = f"{part}.checkpoint"
                    seen += re.findall(r"^step (\d)/\d  loss (\S+)", result.stderr, re.MULTILINE)
                outs.append(part / "unet" / "diffusion_pytorch_model.safetensors" if part.is_dir() else part)
                losses.append(seen)
            self.assertEqual(losses[0], losses[1])
            self.assertEqual(len(losses[0]), 7)
            self.assertEqual(outs[0].read_bytes(), outs[1].read_bytes(), options)

    def test_gradient_checkpointing(self) -> None:
        """The same losses, but for the order in which gradients are summed; they depend on the gradients."""
        def losses(**options) -> list[float]:
            result = self.run_train(**options, out=self.work / f"{len(list(self.work.iterdir()))}", steps=4)
            self.assertEqual(result.returncode, 0, result.stderr)
            return [float(loss) for loss in re.findall(r"^step \d/4  loss (\S+)", result.stderr, re.MULTILINE)]

        for kind, rate in (({"kind": "lora"}, 3e-2), ({"kind": "full", "rank": None}, 1e-3)):
            kept = losses(**kind, learning_rate=rate)
            recomputed = losses(**kind, learning_rate=rate, gradient_checkpointing="")
            untrained = losses(**kind, learning_rate=1e-12)
            self.assertEqual(kept[0], recomputed[0])
            self.assertLess(max(abs(a - b) for a, b in zip(kept, recomputed, strict=True)), 1e-4, kind)
            self.assertGreater(abs(kept[-1] - untrained[-1]), 2e-3, kind)

    def test_checkpoints(self) -> None:
        """What is no checkpoint, or one of another run, is refused by name."""
        self.assertEqual(self.run_train(checkpoint_every=1, steps=2).returncode, 0)
        checkpoint = self.work / "lora.safetensors.checkpoint"
        lora, self.out = self.out, self.work / "next.safetensors"
        self.refuse("not a checkpoint of this sdxl-train", resume=lora)
        self.refuse("nowhere: No such file", resume=self.work / "nowhere")
        self.refuse('the run was begun with rank "2", now it is "3"', resume=checkpoint, rank=3)
        self.refuse('the run was begun with policy "fp32", now it is "bf16"', resume=checkpoint, policy="bf16")
        self.refuse("is of step 2, beyond the 1 that are asked for", resume=checkpoint, steps=1)
        images = shutil.copytree(args.tiny / "images", self.work / "images")
        (images / "metadata.jsonl").unlink()
        for path in sorted(images.iterdir())[1:]:
            path.unlink()
        self.refuse("is of other images than these 1", resume=checkpoint, images=images, prompt="x")
        header, data = read_header(checkpoint)
        for change, expected in (
            ({"step": "-1"}, 'step: expected a number, got "-1"'),
            ({"scale": "x" * 500}, 'scale: expected a number, got "xxx'),
        ):
            write_file(checkpoint, header | {"__metadata__": header["__metadata__"] | change}, data)
            self.refuse(expected, resume=checkpoint)
        name = next(name for name in header if name.startswith("mean."))
        write_file(checkpoint, {("mean" if k == name else k): v for k, v in header.items()}, data)
        self.refuse(f"{name} is missing", resume=checkpoint)
        write_file(checkpoint, header | {name: header[name] | {"dtype": "I32"}}, data)
        self.refuse(f"{name} is Int", "expected Float", resume=checkpoint)

    def test_full_folder_that_is_there(self) -> None:
        self.out.mkdir()
        result = self.run_train(kind="full", rank=None)
        self.assertEqual(result.returncode, 2)
        self.assertIn("is there already; name a folder that is not", result.stderr)

    def test_tracing_finds_nothing(self) -> None:
        rounded = self.write_policy(base="bf16", trained={"master": None, "rounding": "stochastic"})
        for policy in ("fp32", "bf16", "bf16-mixed", "fp16-mixed", rounded):
            report = self.work / "report.json"
            command = [args.dtypecheck, "trace", "--out", self.work / Path(policy).stem, "--format", "json", "-o", report, "--",
                       *self.command(policy=policy)]
            subprocess.run(command, check=True)
            found = json.loads(report.read_text())
            self.assertGreater(found["summary"]["op_calls"], 1000, "the run was traced")
            self.assertEqual([(f["rule"], f["message"]) for f in found["findings"]], [], policy)

    # ---- what does not

    def test_options(self) -> None:
        self.refuse("--model is required", model=None)
        self.refuse("unknown policy fp8; expected one of fp32, bf16, bf16-mixed, fp16-mixed, or a .json file", policy="fp8")
        self.refuse("--rank", rank=0)
        self.refuse("a resolution of 65: this VAE needs a multiple of 2", resolution=65)
        self.refuse("nowhere: No such file or directory", images=self.work / "nowhere")
        self.refuse("nowhere: cannot be written to", out=self.work / "nowhere" / "lora.safetensors")
        self.refuse("is a folder", out=self.work)

    def write_policy(self, **policy) -> Path:
        path = self.work / "policy.json"
        path.write_text(json.dumps(policy))
        self.addCleanup(path.unlink, missing_ok=True)
        return path

    def test_devices(self) -> None:
        for name in ("gpu", "cuda:", "cuda:x"):
            self.refuse(f"--device {name}: expected cpu, cuda, or cuda:1", device=name)
        if not Path("/dev/nvidiactl").exists():
            self.refuse("--device cuda: ", "CUDA", device="cuda")
            return
        losses = {}
        for device in ("cpu", "cuda"):
            result = self.run_train(device=device)
            self.assertEqual(result.returncode, 0, result.stderr)
            losses[device] = [float(loss) for loss in re.findall(r"  loss (\S+)", result.stderr)]
        for cpu, cuda in zip(losses["cpu"], losses["cuda"], strict=True):
            self.assertAlmostEqual(cpu, cuda, delta=1e-3 * cpu)

    def test_policy_files(self) -> None:
        for policy, expected in (
            ({"base": "fp8"}, "unknown policy fp8"),
            ({"base": "other.json"}, "policy.json: base: expected a named policy, not another file"),
            ({"vea": {}}, 'policy.json: unknown key "vea"; expected some of base, text_encoders, vae'),
            ({"unet": {"stored": "float8"}}, 'policy.json: unet: stored: expected float32, bfloat16 or float16, got "float8"'),
            ({"unet": {"stored": 16}}, "policy.json: unet: stored: expected a text, got 16"),
            ({"unet": "float16"}, 'policy.json: unet: expected an object, got "float16"'),
            ({"unet": {"attention": "flash"}}, 'policy.json: unet: attention: expected plain or fused, got "flash"'),
        ):
            self.refuse(expected, policy=self.write_policy(**policy))
        (self.work / "policy.json").write_text("{")
        self.refuse("policy.json: expected a JSON object", policy=self.work / "policy.json")
        self.refuse("nowhere.json: No such file or directory", policy=self.work / "nowhere.json")

    def test_broken_policies(self) -> None:
        """What cannot work is refused with the reason, what is beside it runs."""
        half = "float16"
        for policy, expected in (
            ({"trained": {"stored": half}}, "trained weights in float16 without masters"),
            ({"trained": {"stored": "bfloat16"}}, "trained weights in bfloat16 without masters"),
            ({"trained": {"stored": half, "master": half}}, "masters in float16"),
            ({"trained": {"unscaled": half}}, "gradients unscaled in float16"),
            ({"trained": {"state": half}}, "AdamW's state in float16: its eps of 1e-08 is 0 there"),
            ({"trained": {"rounding": "stochastic"}}, "rounding stochastic: is for weights in bfloat16"),
            ({"vae": {"compute": half}}, "vae in float16: SDXL's activations are beyond its range"),
            ({"unet": {"stored": half, "casts": False}}, "unet with casts false: it is kept in float16"),
        ):
            self.refuse("policy.json cannot work: ", expected, "--keep-broken runs it all the same",
                        policy=self.write_policy(**policy))
        for policy in ({"trained": {"stored": half, "master": "float32"}}, {"vae": {"stored": half}},
                       {"unet": {"casts": False}}, {"unet": {"attention": "fused"}}):
            result = self.run_train(policy=self.write_policy(**policy), steps=1)
            self.assertEqual(result.returncode, 0, result.stderr)
        policy = self.write_policy(trained={"state": half})
        self.assertEqual(self.run_train(policy=policy, adam_eps="1e-4", steps=1).returncode, 0)

    def test_inpainting(self) -> None:
        tiny = self.work / "tiny"
        command = [args.train, "tiny", tiny, "--unet-channels", "9"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for policy in ("fp32", "bf16-mixed"):
            result = self.run_train(model=tiny / "model", images=tiny / "images", policy=policy)
            self.assertEqual(result.returncode, 0, result.stderr)
        again = subprocess.run(command, check=False, capture_output=True, text=True)
        self.assertEqual(again.returncode, 2)
        self.assertIn("tiny: is not an empty folder; name a new one", again.stderr)

    def test_t5(self) -> None:
        tiny = self.work / "tiny"
        subprocess.run([args.train, "tiny", tiny], check=True, stdout=subprocess.DEVNULL)
        def encode(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([args.train, "t5", "--model", tiny / "t5", *words], check=False, capture_output=True, text=True)
        self.assertIn("3 tokens, 32 states each", encode("--tokens", "3,4,5").stdout)
        self.assertIn("expected tokens from 0 to 258, got 259", encode("--tokens", "259").stderr)
        self.assertEqual(encode("--tokens", "-1").returncode, 2)
        policy = self.write_policy(t5={"norm": "float16", "casts": False})
        refused = encode("--tokens", "3", "--policy", str(policy))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("t5 with casts false", refused.stderr)

    def test_images(self) -> None:
        images = self.work / "images"
        images.mkdir()
        self.refuse("has no images", images=images, prompt="x")
        good = (args.tiny / "images" / "000_red_disc.png").read_bytes()
        for content, expected in ((b"", "is neither a JPEG nor a PNG"), (good[:60], "a PNG that cannot be read"),
                                  (b"\xff\xd8\xff" + b"\0" * 90, "a JPEG that cannot be read")):
            (images / "a.png").write_bytes(content)
            self.refuse("a.png: " + expected, images=images, prompt="x")
        (images / "metadata.jsonl").write_text('{"file_name": "b.png"}\n')
        self.refuse("metadata.jsonl:1: expected an object with a text text", images=images)
        shutil.copy(args.tiny / "images" / "000_red_disc.png", images / "a.png")
        rows = [json.dumps({"file_name": name, "text": "x"}) + "\n" for name in ["a.png"] * 9 + ["b.png"]]
        (images / "metadata.jsonl").write_text("".join(rows))
        self.refuse("metadata.jsonl:10: ", "b.png is not there", images=images, steps=1)

    def copy_model(self) -> Path:
        model = shutil.copytree(args.tiny / "model", self.work / "model")
        self.addCleanup(shutil.rmtree, model, ignore_errors=True)
        return model

    def test_folders(self) -> None:
        self.refuse("not a diffusers folder", model=self.work)
        model = self.copy_model()
        (model / "unet" / "diffusion_pytorch_model.safetensors").unlink()
        self.refuse("diffusion_pytorch_model.safetensors: is not there", model=model)
        index = {"weight_map": {"conv_in.bias": "a.safetensors"}}
        (model / "unet" / "diffusion_pytorch_model.safetensors.index.json").write_text(json.dumps(index))
        self.refuse("unet/a.safetensors: No such file or directory", model=model)
        shutil.rmtree(model / "unet")
        self.refuse("unet/config.json: No such file or directory", model=model)
        (model / "tokenizer_2" / "tokenizer.json").unlink()
        self.refuse("tokenizer_2: has neither vocab.json nor tokenizer.json", model=model)

    def test_configs(self) -> None:
        model = self.copy_model()
        path = model / "unet" / "config.json"
        good = json.loads(path.read_text())
        for change, expected in (
            ({"down_block_types": ["DownBlock2D", "KDownBlock2D"]}, "down_block_types: expected DownBlock2D or "
             "CrossAttnDownBlock2D, got KDownBlock2D"),
            ({"block_out_channels": [32, "x"]}, 'block_out_channels: expected a whole number from 1 to 65536, got "x"'),
            ({"attention_head_dim": [2, 3]}, "attention_head_dim: 3 does not divide the width 64"),
            ({"in_channels": None}, "in_channels: is missing"),
            ({"act_fn": "mish"}, 'act_fn: this runtime knows "silu", got "mish"'),
            ({"cross_attention_dim": 63}, "to_k.weight has shape [64, 64], its config asks for [64, 63]"),
        ):
            path.write_text(json.dumps(good | change))
            self.refuse(expected, model=model)
        path.write_text("{")
        self.refuse("unet/config.json: expected a JSON object", model=model)

    def test_weights(self) -> None:
        model = self.copy_model()
        path = model / "unet" / "diffusion_pytorch_model.safetensors"
        header, data = read_header(path)
        name = "conv_in.bias"
        without = {k: v for k, v in header.items() if k != name}
        write_file(path, header | {"stray.weight": {"dtype": "F32", "shape": [1], "data_offsets": [len(data)] * 2}}, data)
        self.refuse("stray.weight: shape and dtype make 4 bytes, data_offsets span 0", model=model)
        end = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
        write_file(path, header | {"stray.weight": end}, data + bytes(4))
        self.refuse("stray.weight belongs to no layer that its config asks for", model=model)
        renamed = without | {"conv_in.bia": header[name]}
        write_file(path, renamed, data)
        self.refuse("conv_in.bias is missing, expected with shape [32]", model=model)
        write_file(path, header | {name: header[name] | {"dtype": "I32"}}, data)
        self.refuse("conv_in.bias is Int, expected a floating dtype", model=model)
        begin, _ = header[name]["data_offsets"]
        poisoned = data[:begin] + struct.pack("<f", float("nan")) + data[begin + 4 :]
        write_file(path, header, poisoned)
        self.refuse("step 1: the loss is nan; the part is: unet; nothing was saved", model=model)

    def test_nan_in_what_encodes(self) -> None:
        for file, name, part in (("vae/diffusion_pytorch_model.safetensors", "encoder.conv_in.bias", "vae"),
                                 ("text_encoder_2/model.safetensors", "0.layer_norm1.weight", "text encoder")):
            model = self.copy_model()
            header, data = read_header(model / file)
            begin, _ = next(t for n, t in header.items() if n.endswith(name))["data_offsets"]
            write_file(model / file, header, data[:begin] + struct.pack("<f", float("nan")) + data[begin + 4 :])
            self.refuse(f".png: the {part} gives NaN or inf for it", model=model)
            shutil.rmtree(model)

    def test_nan_in_the_run(self) -> None:
        """A rate that no weight survives: the last good state stays."""
        result = self.run_train(learning_rate=10, adam_eps=0, steps=50, checkpoint_every=1, policy="fp16-mixed",
                                max_gradient_norm=1e9, keep_broken="")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"step \d+: .*; the last good state is in .*lora.safetensors.checkpoint")
        self.assertFalse(self.out.exists())

    def test_full_disk(self) -> None:
        """The old file stays, and what was begun beside it is removed."""
        self.out.write_text("old")
        command = " ".join(map(str, self.command(steps=1)))
        result = subprocess.run(["bash", "-c", f"ulimit -f 8; trap '' XFSZ; exec {command}"], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("lora.safetensors: cannot be written: File too large", result.stderr)
        self.assertEqual(self.out.read_text(), "old")
        self.assertEqual(list(self.work.iterdir()), [self.out])
        command = " ".join(map(str, self.command(steps=1, kind="full", rank=None, out=self.work / "full")))
        result = subprocess.run(["bash", "-c", f"ulimit -f 2000; trap '' XFSZ; exec {command}"], check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("full.part/", result.stderr)
        self.assertEqual(list(self.work.iterdir()), [self.out], "what was begun is removed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--dtypecheck", required=True)
    parser.add_argument("--tiny", type=Path, required=True)
    args, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
