#!/usr/bin/env python3
"""Holds each part of the runtime against diffusers, transformers and peft on the tiny SDXL, same weights, same inputs.

    parity.py --driver BIN --train BIN --tiny FOLDER
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import (
    AutoencoderKL, DDPMScheduler, EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel)
from diffusers.training_utils import compute_snr
from peft import LoraConfig
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer, T5Config, T5EncoderModel

from full_size import make_full_size

TOLERANCE = 1e-5  # largest difference in Float, beside values of about 1
# A product of BFloat16 numbers is rounded to 1 part in 256, and errors of some forty layers add up as their root.
BFLOAT16_TOLERANCE = 0.05
TEXTS = [
    "a photo of a red disc",
    "",
    "A PHOTO, of;  a\tRed   square!!! 1234",
    "it's we'll they've I'M don't 's",
    "naïve Äpfel ÉCOLE cafe\u0301 İstanbul",  # İ becomes two characters, e and its accent one
    "日本語のテキスト 🙂🙂 x²½ Ⅷ",
    "<|endoftext|> between <|startoftext|>words",
    "<|END|> < | > 'sunny 'read",
    "word " * 100,
    "supercalifragilistic" * 30,
    "zero\u200bwidth no\u00a0break \u3000wide \u0085next",
]
args = None  # of the command line


def drive(part: str, folder: Path, inputs: dict[str, torch.Tensor], policy: str = "fp32") -> dict[str, torch.Tensor]:
    with tempfile.TemporaryDirectory() as work:
        save_file({name: t.contiguous() for name, t in inputs.items()}, Path(work, "in.safetensors"))
        subprocess.run([args.driver, part, folder, policy, Path(work, "in.safetensors"), Path(work, "out.safetensors")],
                       check=True)
        return load_file(Path(work, "out.safetensors"))


def unet_inputs(unet: UNet2DConditionModel, height: int = 16, width: int = 12) -> dict[str, torch.Tensor]:
    config, random = unet.config, torch.Generator().manual_seed(1)
    pooled = config.projection_class_embeddings_input_dim - 6 * config.addition_time_embed_dim
    return {
        "latents": torch.randn(2, config.in_channels, height, width, generator=random),
        "noise": torch.randn(2, config.out_channels, height, width, generator=random),
        "timesteps": torch.tensor([3, 801]),
        "text": torch.randn(2, 77, config.cross_attention_dim, generator=random),
        "pooled": torch.randn(2, pooled, generator=random),
        "size_ids": torch.tensor([[1365, 1025, 0, 7, 1024, 1024], [96, 80, 8, 0, 64, 64]], dtype=torch.float32),
    }


def predict(unet: UNet2DConditionModel, x: dict[str, torch.Tensor], noisy: torch.Tensor) -> torch.Tensor:
    added = {"text_embeds": x["pooled"], "time_ids": x["size_ids"]}
    return unet(noisy, x["timesteps"], x["text"], added_cond_kwargs=added).sample


class ParityTest(unittest.TestCase):
    def setUp(self) -> None:
        self.model = args.tiny / "model"
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = Path(work.name)

    def assert_near(self, got: torch.Tensor, expected: torch.Tensor, tolerance: float = TOLERANCE) -> None:
        self.assertEqual(got.shape, expected.shape)
        self.assertGreater(float(expected.detach().abs().max()), 0.0)
        difference = float((got.double() - expected.detach().double()).abs().max())
        scale = max(1.0, float(expected.detach().abs().max()))
        self.assertLessEqual(difference, tolerance * scale)

    # ---- text

    def check_tokenizer(self, folder: Path) -> None:
        expected = CLIPTokenizer.from_pretrained(folder)(TEXTS, padding="max_length", truncation=True).input_ids
        lines = subprocess.run([args.driver, "tokenize", folder], input="\n".join(TEXTS) + "\n", text=True, check=True,
                               capture_output=True, encoding="utf-8").stdout.splitlines()
        for text, line, want in zip(TEXTS, lines, expected, strict=True):
            self.assertEqual([int(id) for id in line.split()], want, text)

    def test_tokenizer_of_vocabulary_and_merges(self) -> None:
        folder = shutil.copytree(self.model / "tokenizer", self.work / "tokenizer")
        (folder / "tokenizer.json").unlink()
        self.check_tokenizer(folder)

    def test_tokenizer_of_one_file(self) -> None:
        self.assertFalse((self.model / "tokenizer_2" / "vocab.json").exists())
        self.check_tokenizer(self.model / "tokenizer_2")

    def tokens(self) -> torch.Tensor:
        tokenizer = CLIPTokenizer.from_pretrained(self.model / "tokenizer")
        return tokenizer(TEXTS[:6], padding="max_length", truncation=True, return_tensors="pt").input_ids

    def check_encoder(self, kind, name: str, folder: Path, policy="fp32", tolerance=TOLERANCE) -> None:
        tokens = self.tokens()
        with torch.no_grad():
            expected = kind.from_pretrained(folder)(tokens, output_hidden_states=True)
        got = drive(name, folder, {"tokens": tokens}, policy)
        self.assert_near(got["states"], expected.hidden_states[-2], tolerance)
        if "pooled" in got:
            self.assert_near(got["pooled"], expected.text_embeds, tolerance)

    def test_text_encoder(self) -> None:
        self.check_encoder(CLIPTextModel, "text_encoder", self.model / "text_encoder")

    def test_text_encoder_2(self) -> None:
        self.check_encoder(CLIPTextModelWithProjection, "text_encoder_2", self.model / "text_encoder_2")

    def test_text_encoder_in_bfloat16(self) -> None:
        self.check_encoder(CLIPTextModelWithProjection, "text_encoder_2", self.model / "text_encoder_2", "bf16",
                           BFLOAT16_TOLERANCE)

    def test_text_encoder_of_older_files(self) -> None:
        """With the published files' prefix, position ids, activation, and end token."""
        for name, kind in (("text_encoder", CLIPTextModel), ("text_encoder_2", CLIPTextModelWithProjection)):
            folder = shutil.copytree(self.model / name, self.work / name)
            config = json.loads((folder / "config.json").read_text())
            config |= {"hidden_act": "quick_gelu", "eos_token_id": 2}
            (folder / "config.json").write_text(json.dumps(config))
            weights = load_file(folder / "model.safetensors")
            weights = {k if k.startswith(("text_model.", "text_projection")) else "text_model." + k: v
                       for k, v in weights.items()}
            weights["text_model.embeddings.position_ids"] = torch.arange(77).unsqueeze(0)
            save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
            self.check_encoder(kind, name, folder)

    def check_t5(self, policy: str, tolerance: float, **config) -> None:
        torch.manual_seed(5)
        model = T5EncoderModel(T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=3, num_heads=4, **config)).eval()
        model.save_pretrained(self.work)
        tokens = torch.randint(0, 64, (2, 150))  # farther apart than the farthest distance
        with torch.no_grad():
            expected = model(tokens).last_hidden_state
        self.assert_near(drive("t5", self.work, {"tokens": tokens}, policy)["states"], expected, tolerance)

    def test_t5(self) -> None:
        self.check_t5("fp32", TOLERANCE, feed_forward_proj="gated-gelu")
        self.check_t5("bf16", BFLOAT16_TOLERANCE, feed_forward_proj="gated-gelu")
        self.check_t5("fp32", TOLERANCE, feed_forward_proj="relu")

    def test_fused_attention_and_norm(self) -> None:
        """The other kernels that a policy may ask for."""
        policy = self.work / "policy.json"
        fused = {"attention": "fused", "rms_norm": "fused"}
        policy.write_text(json.dumps({"unet": fused, "vae": fused, "text_encoders": fused, "t5": fused}))
        self.check_unet(self.model / "unet", str(policy))
        self.check_encoder(CLIPTextModel, "text_encoder", self.model / "text_encoder", str(policy))
        self.check_t5(str(policy), TOLERANCE)

    def test_made_model_loads_into_diffusers(self) -> None:
        """What `sdxl-train tiny` makes is a model for others too, and means the same to them."""
        subprocess.run([args.train, "tiny", self.work / "tiny"], check=True)
        self.model = self.work / "tiny" / "model"
        pipeline = StableDiffusionXLPipeline.from_pretrained(self.model)
        self.assertEqual(pipeline.unet.config.in_channels, 4)
        self.check_encoder(CLIPTextModelWithProjection, "text_encoder_2", self.model / "text_encoder_2")
        self.check_unet(self.model / "unet")
        self.check_tokenizer(self.model / "tokenizer")

    # ---- VAE, UNet, schedule

    def test_vae(self) -> None:
        random = torch.Generator().manual_seed(2)
        x = {"pixels": torch.rand(2, 3, 48, 64, generator=random) * 2 - 1,
             "latents": torch.randn(2, 4, 12, 16, generator=random)}
        vae = AutoencoderKL.from_pretrained(self.model / "vae")
        with torch.no_grad():
            posterior = vae.encode(x["pixels"]).latent_dist
            pixels = vae.decode(x["latents"]).sample
        for policy, tolerance in (("fp32", TOLERANCE), ("bf16", BFLOAT16_TOLERANCE)):
            got = drive("vae", self.model / "vae", x, policy)
            self.assert_near(got["mean"], posterior.mean, tolerance)
            self.assert_near(got["logvar"], posterior.logvar, tolerance)
            self.assert_near(got["pixels"], pixels, tolerance)

    def check_unet(self, folder: Path, policy="fp32", tolerance=TOLERANCE, **size) -> None:
        unet = UNet2DConditionModel.from_pretrained(folder)
        x = unet_inputs(unet, **size)
        with torch.no_grad():
            expected = predict(unet, x, x["latents"])
        self.assert_near(drive("unet", folder, x, policy)["prediction"], expected, tolerance)

    def test_unet(self) -> None:
        self.check_unet(self.model / "unet")

    def test_unet_of_odd_size(self) -> None:
        self.check_unet(self.model / "unet", height=13, width=9)

    def test_unet_in_bfloat16(self) -> None:
        self.check_unet(self.model / "unet", "bf16-mixed", BFLOAT16_TOLERANCE)

    def test_unet_of_three_levels_and_nine_channels(self) -> None:
        """SDXL's own shape but for the widths, and an inpainting input; in shards."""
        torch.manual_seed(3)
        unet = UNet2DConditionModel(
            in_channels=9, block_out_channels=(32, 32, 64), layers_per_block=2, norm_num_groups=16,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 3), attention_head_dim=(2, 2, 4), use_linear_projection=True,
            cross_attention_dim=24, addition_embed_type="text_time", addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=48 + 20)
        unet.save_pretrained(self.work / "unet", max_shard_size="1MB")
        self.assertGreater(len(list((self.work / "unet").glob("*.safetensors"))), 1)
        self.check_unet(self.work / "unet")

    def check_schedule(self, **change) -> None:
        schedule = DDPMScheduler.from_pretrained(self.model / "scheduler", **change)
        schedule.save_pretrained(self.work)
        random = torch.Generator().manual_seed(4)
        x = {"latents": torch.randn(4, 4, 5, 6, generator=random), "noise": torch.randn(4, 4, 5, 6, generator=random),
             "timesteps": torch.tensor([0, 1, 500, 999])}
        got = drive("schedule", self.work, x)
        inputs = (x["latents"], x["noise"], x["timesteps"])
        is_velocity = schedule.config.prediction_type == "v_prediction"
        self.assert_near(got["signal_shares"], schedule.alphas_cumprod)
        self.assert_near(got["noisy"], schedule.add_noise(*inputs))
        self.assert_near(got["target"], schedule.get_velocity(*inputs) if is_velocity else x["noise"])
        snr = compute_snr(schedule, x["timesteps"])
        self.assert_near(got["weights"], snr.clamp(max=5) / (snr + 1 if is_velocity else snr))
        euler = EulerDiscreteScheduler.from_pretrained(self.model / "scheduler", **change)
        euler.set_timesteps(7)
        sample = x["latents"]
        for timestep in euler.timesteps:
            euler.scale_model_input(sample, timestep)
            sample = euler.step(x["noise"], timestep, sample).prev_sample
        self.assert_near(got["euler"], sample)

    def test_schedule(self) -> None:
        self.check_schedule()

    def test_schedule_with_velocity(self) -> None:
        self.check_schedule(prediction_type="v_prediction")

    # ---- SDXL's own size

    def test_full_size_names(self) -> None:
        """All of SDXL base 1.0 is read, from files with nothing but a hole behind their headers."""
        make_full_size(self.work / "full", is_random=False)
        # Half is kept as it is mapped: nothing is read but norms, and the VAE, which is kept in Float.
        got = drive("load", self.work / "full", {"none": torch.zeros(1)}, "fp16-mixed")
        self.assertEqual(int(got["projections"]), 560)

    # ---- images

    def test_crop(self) -> None:
        """As torchvision resizes a PIL image and crops it; PIL rounds to whole numbers in between, twice."""
        random = np.random.default_rng(5)
        for name, size, mode in (("a.png", (50, 37), "RGB"), ("b.jpg", (97, 160), "RGB"), ("c.png", (40, 64), "L"),
                                 ("d.png", (41, 40), "RGBA"), ("e.png", (64, 64), "P")):
            small = random.integers(0, 255, (9, 7, 4), dtype=np.uint8)
            image = Image.fromarray(small, "RGBA").resize(size, Image.BILINEAR).convert("RGB").convert(mode)
            image.save(self.work / name)
            image, side = Image.open(self.work / name).convert("RGB"), 32
            width, height = image.size
            short = min(width, height)
            resized = image.resize((width * side // short, height * side // short), Image.BILINEAR)
            top, left = (round((n - side) / 2) for n in (resized.height, resized.width))
            pixels = torch.from_numpy(np.array(resized.crop((left, top, left + side, top + side)), dtype=np.float32))
            got = drive("crop", self.work / name, {"side": torch.tensor(side)})
            self.assertEqual(got["size_ids"].tolist(), [height, width, top, left, side, side])
            self.assert_near(got["pixels"], pixels.permute(2, 0, 1) / 127.5 - 1, 1.01 / 127.5)

    # ---- training

    def training_inputs(self, unet: UNet2DConditionModel, rank: int) -> dict[str, torch.Tensor]:
        """LoRA layers whose both halves are non-zero, so that every gradient says something."""
        unet.requires_grad_(False)
        unet.add_adapter(LoraConfig(r=rank, lora_alpha=rank, target_modules=["to_q", "to_k", "to_v", "to_out.0"]))
        random = torch.Generator().manual_seed(6)
        x = unet_inputs(unet, 8, 8) | {"rank": torch.tensor(rank), "steps": torch.tensor(5)}
        for name, parameter in lora_parameters(unet).items():
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=random) * 0.1)
            x[name] = parameter.detach().clone()
        return x

    def test_training(self) -> None:
        unet = UNet2DConditionModel.from_pretrained(self.model / "unet")
        x = self.training_inputs(unet, rank=3)
        schedule = DDPMScheduler.from_pretrained(self.model / "scheduler")
        noisy = schedule.add_noise(x["latents"], x["noise"], x["timesteps"])
        parameters = lora_parameters(unet)
        optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3)
        got = drive("training", self.model, x)
        for step in range(5):
            loss = F.mse_loss(predict(unet, x, noisy), x["noise"])
            loss.backward()
            if step == 0:
                for name, parameter in parameters.items():
                    self.assert_near(got["gradient." + name], parameter.grad, 1e-6)
            self.assertAlmostEqual(float(got["losses"][step]), loss.item(), delta=1e-5)
            torch.nn.utils.clip_grad_norm_(parameters.values(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
        for name, parameter in parameters.items():
            self.assert_near(got[name], parameter, 1e-4)

    def test_training_in_low_precision(self) -> None:
        """The loss falls as in Float, to what the dtype can tell."""
        x = self.training_inputs(UNet2DConditionModel.from_pretrained(self.model / "unet"), rank=2)
        expected = drive("training", self.model, x)["losses"]
        self.assertLess(expected[-1], expected[0])
        for policy in ("bf16", "bf16-mixed", "fp16-mixed"):
            got = drive("training", self.model, x, policy)
            self.assert_near(got["losses"], expected, 0.02)
            self.assertEqual(got["unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_q.lora.down.weight"].dtype,
                             torch.float32, "what the optimizer steps")

    def train(self, kind: str, out: Path, *options: str) -> np.ndarray:
        """Trains, and gives back the image that is made in the end."""
        command = [args.train, kind, "--model", self.model, "--images", args.tiny / "images", "--steps", "2",
                   "--resolution", "64", "--seed", "7", "--out", out, "--validation-prompt", "a photo of a red disc",
                   "--validation-steps", "4", *options]
        subprocess.run(command, check=True)
        return np.array(Image.open(f"{out}.png")).astype(int)

    def picture(self, pipeline: StableDiffusionXLPipeline) -> np.ndarray:
        noise = torch.randn(1, 4, 32, 32, generator=torch.Generator().manual_seed(7))
        pipeline.set_progress_bar_config(disable=True)
        image = pipeline("a photo of a red disc", latents=noise, num_inference_steps=4, guidance_scale=5.0, height=64,
                         width=64).images[0]
        return np.array(image).astype(int)

    def test_image_with_lora(self) -> None:
        """A LoRA makes the same image here and in diffusers, under both ways to name its tensors. A rate at which it shows;
        far above, attention saturates and the image hangs on the last bit."""
        plain = self.picture(StableDiffusionXLPipeline.from_pretrained(self.model))
        for names in ([], ["--kohya-names"]):
            out = self.work / "lora.safetensors"
            ours = self.train("lora", out, "--rank", "4", "--learning-rate", "0.03", *names)
            pipeline = StableDiffusionXLPipeline.from_pretrained(self.model)
            pipeline.load_lora_weights(self.work, weight_name=out.name)
            self.assertLessEqual(np.abs(ours - self.picture(pipeline)).max(), 1)
            self.assertGreater(np.abs(ours - plain).max(), 8, "the LoRA is in the image")

    def test_image_with_full_model(self) -> None:
        """The folder is a model for diffusers, and only its UNet has changed."""
        plain = StableDiffusionXLPipeline.from_pretrained(self.model)
        for name, options in (("fp32", []), ("average", ["--ema-decay", "0.5"]), ("bf16", ["--policy", "bf16"])):
            out = self.work / name
            ours = self.train("full", out, "--learning-rate", "1e-2", *options)
            pipeline = StableDiffusionXLPipeline.from_pretrained(out)
            self.assertTrue(all(not torch.equal(a, b) for a, b in zip(
                plain.unet.state_dict().values(), pipeline.unet.state_dict().values(), strict=True)))
            for part in ("vae", "text_encoder", "text_encoder_2"):
                same = zip(getattr(plain, part).parameters(), getattr(pipeline, part).parameters(), strict=True)
                self.assertTrue(all(torch.equal(a, b) for a, b in same), part)
            if name == "fp32":
                self.assertLessEqual(np.abs(ours - self.picture(pipeline)).max(), 1)
                self.assertGreater(np.abs(ours - self.picture(plain)).max(), 8, "the training is in the image")

    def test_lora_loads_into_diffusers(self) -> None:
        out = self.work / "lora.safetensors"
        command = [args.train, "lora", "--model", self.model, "--images", args.tiny / "images", "--steps", "2", "--rank",
                   "2", "--resolution", "64", "--learning-rate", "1e-2", "--seed", "7", "--out", out]
        subprocess.run(command, check=True)
        saved = load_file(out)
        pipeline = StableDiffusionXLPipeline.from_pretrained(self.model)
        pipeline.load_lora_weights(self.work, weight_name=out.name)
        loaded = lora_parameters(pipeline.unet, adapter="default_0")
        self.assertEqual(sorted(loaded), sorted(saved))
        for name, parameter in loaded.items():
            self.assertTrue(torch.equal(parameter, saved[name]), name)
        self.assertTrue(all(bool(t.abs().max() > 0) for t in saved.values()), "both halves were trained")


def lora_parameters(unet: UNet2DConditionModel, adapter: str = "default") -> dict[str, torch.nn.Parameter]:
    """By the names that the runtime gives them in a file."""
    halves = {f".lora_A.{adapter}.weight": ".lora.down.weight", f".lora_B.{adapter}.weight": ".lora.up.weight"}
    found = {}
    for name, parameter in unet.named_parameters():
        for ours, theirs in halves.items():
            if name.endswith(ours):
                found["unet." + name.removesuffix(ours) + theirs] = parameter
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("--tiny", type=Path, required=True)
    args, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
