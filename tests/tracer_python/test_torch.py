"""Module paths, parameters and refusals with the real torch, diffusers, peft and accelerate. Run by run.py."""
import atexit
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import driver  # noqa: E402

STARTED = driver.start()


def new_folder():
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    return folder


def as_torch(source):
    """Runs `source` as if it lay in torch's own folder."""
    module = type(sys)("torch._test")
    exec(compile(source, os.path.join(os.path.dirname(torch.__file__), "_test.py"), "exec"),
         module.__dict__)
    return module


with open(os.path.join(HERE, "driver.py")) as file:
    bindings = as_torch(file.read())
watching = as_torch("""
sites = []
def watch(functional, name, site):
    original = getattr(functional, name)
    def call(*args, **kwargs):
        sites.append(site())
        return original(*args, **kwargs)
    setattr(functional, name, call)
""")
for op in ("linear", "conv2d", "layer_norm", "group_norm", "mse_loss"):
    watching.watch(functional, op, bindings.site)


def sites_of(call):
    watching.sites.clear()
    call()
    return list(watching.sites)


def parameter(tensor):
    return bindings.released.ask("dc_parameter", tensor._cdata)


def tiny_unet():
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=8, block_out_channels=(32, 64), layers_per_block=1, in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), attention_head_dim=(2, 4),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32)


def run_unet(unet):
    return unet(torch.randn(1, 4, 8, 8), 1, torch.randn(1, 7, 32)).sample


class ModelTest(unittest.TestCase):
    def tearDown(self):
        """A model in a cycle (accelerate's forward holds its model) keeps its name until it is collected."""
        gc.collect()


class ModulePathTest(ModelTest):
    def assert_paths(self, sites, root, prefix):
        """Each path is the prefix and what named_modules() says of that very module."""
        names = {id(module): name for name, module in root.named_modules()}
        self.assertGreater(len(sites), 0)
        for site in sites:
            name = names[site["module_address"]]
            self.assertEqual(site["module"], prefix + ("." + name if name else ""))

    def test_starts(self):
        self.assertEqual((STARTED["started"], STARTED["why_not"]), (True, ""))

    def test_sequential(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)))
        sites = sites_of(lambda: model(torch.ones(1, 2)))
        self.assertEqual([s["module"] for s in sites], ["model.0", "model.1.0", "model.1.1"])
        self.assertEqual([s["class"] for s in sites], ["Linear", "Linear", "LayerNorm"])

    def test_unet(self):
        unet = tiny_unet()
        sites = sites_of(lambda: run_unet(unet))
        self.assert_paths(sites, unet, "unet")
        self.assertIn("unet.down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_q",
                      [s["module"] for s in sites])
        lines = {(s["line"]["file"], s["line"]["function"]) for s in sites}
        self.assertEqual(lines, {(os.path.abspath(__file__), "run_unet")})
        self.assertTrue(any("/diffusers/models/resnet.py" in s["inner"]["file"] for s in sites))

    def test_unet_with_lora(self):
        from peft import LoraConfig

        unet = tiny_unet()
        unet.add_adapter(LoraConfig(r=2, target_modules=["to_q"], init_lora_weights="gaussian"))
        sites = sites_of(lambda: run_unet(unet))
        self.assert_paths(sites, unet, "unet")
        self.assertTrue(any(s["module"].endswith("attn1.to_q.lora_A.default") for s in sites))

    def test_peft_model(self):
        from peft import LoraConfig, get_peft_model

        inner = nn.Sequential(nn.Linear(2, 2))
        model = get_peft_model(inner, LoraConfig(r=2, target_modules=["0"]))
        del inner
        sites = sites_of(lambda: model(torch.ones(1, 2)))
        self.assertEqual({s["module"] for s in sites},
                         {"model.0.base_layer", "model.0.lora_A.default", "model.0.lora_B.default"})

    def test_checkpointing_in_the_backward_pass(self):
        unet = tiny_unet()
        unet.enable_gradient_checkpointing()
        unet.train()
        out = {}
        forward = sites_of(lambda: out.update(loss=run_unet(unet).sum()))
        backward = sites_of(lambda: out["loss"].backward())
        self.assert_paths(forward, unet, "unet")
        self.assert_paths(backward, unet, "unet")

    def test_accelerate(self):
        from accelerate import Accelerator

        accelerator = Accelerator(cpu=True, mixed_precision="bf16")
        unet = accelerator.prepare(tiny_unet())
        self.assert_paths(sites_of(lambda: run_unet(unet)), unet, "unet")
        facts = bindings.released.ask("dc_facts")
        self.assertEqual((facts["accelerate.mixed_precision"], facts["accelerate.distributed_type"]), ("bf16", "NO"))

    def test_data_parallel(self):
        unet = nn.DataParallel(nn.Sequential(nn.Linear(2, 2)))
        self.assertEqual([s["module"] for s in sites_of(lambda: unet(torch.ones(1, 2)))],
                         ["unet.0"])

    def test_compiled_module(self):
        model = torch.compile(nn.Sequential(nn.Linear(2, 2)), backend="eager")
        original = as_torch("def call(model, x):\n    return model._orig_mod(x)\n")
        sites = sites_of(lambda: original.call(model, torch.ones(1, 2)))
        self.assertEqual([s["module"] for s in sites], ["model.0"])

    def test_vae_encoder(self):
        from diffusers import AutoencoderKL

        vae = AutoencoderKL(block_out_channels=(32,), latent_channels=4)
        sites = sites_of(lambda: vae.encode(torch.randn(1, 3, 8, 8)))
        self.assert_paths(sites, vae, "vae")

    def test_text_encoders_in_a_loop(self):
        from transformers import CLIPTextConfig, CLIPTextModel

        config = CLIPTextConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                num_attention_heads=2, vocab_size=16, max_position_embeddings=8)
        text_encoder_one, text_encoder_two = CLIPTextModel(config), CLIPTextModel(config)

        def encode_prompt(text_encoders):
            for text_encoder in text_encoders:
                text_encoder(torch.ones(1, 4, dtype=torch.long))

        sites = sites_of(lambda: encode_prompt([text_encoder_one, text_encoder_two]))
        half = len(sites) // 2
        self.assert_paths(sites[:half], text_encoder_one, "text_encoder_one")
        self.assert_paths(sites[half:], text_encoder_two, "text_encoder_two")

    def test_outside_of_modules(self):
        (site,) = sites_of(lambda: functional.mse_loss(torch.ones(1), torch.ones(1)))
        self.assertEqual((site["module"], site["class"]), ("", ""))


class ParameterTest(ModelTest):
    def test_all_of_a_model(self):
        unet = tiny_unet()
        run_unet(unet)
        for name, value in unet.named_parameters():
            self.assertEqual(parameter(value), "unet." + name)

    def test_buffers(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        model(torch.ones(2, 2))
        self.assertEqual(parameter(model[1].running_mean), "model.1.running_mean")

    def test_wrapped(self):
        ddp = nn.DataParallel(nn.Sequential(nn.Linear(2, 2)))
        ddp(torch.ones(1, 2))
        self.assertEqual(parameter(ddp.module[0].weight), "ddp.0.weight")

    def test_what_is_no_parameter(self):
        model = nn.Linear(2, 2)
        model(torch.ones(1, 2))
        self.assertEqual(parameter(torch.ones(1)), "")
        self.assertEqual(bindings.released.ask("dc_parameter", 0), "")
        self.assertEqual(bindings.released.ask("dc_parameter", 12345), "")

    def test_half_keeps_the_name(self):
        model = nn.Linear(2, 2)
        model(torch.ones(1, 2))
        model.half()
        self.assertEqual(parameter(model.weight), "model.weight")

    def test_replaced_parameter(self):
        model = nn.Linear(2, 2)
        model(torch.ones(1, 2))
        old = model.weight
        self.assertEqual(parameter(old), "model.weight")
        model.weight = nn.Parameter(torch.ones(2, 2))
        self.assertEqual(parameter(old), "")

    def test_dead_model(self):
        model = nn.Linear(2, 2)
        model(torch.ones(1, 2))
        weight = model.weight
        self.assertEqual(parameter(weight), "model.weight")
        del model
        self.assertEqual(parameter(weight), "")

    def test_under_a_function_mode(self):
        """`with torch.device(...)` is Python code that sees attributes being read: none may be."""
        seen = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        model = nn.Linear(2, 2)
        model(torch.ones(1, 2))
        address = model.weight._cdata
        with Mode():
            seen.clear()
            name = bindings.released.ask("dc_parameter", address)
            self.assertEqual(seen, [])
        self.assertIn(name, ("model.weight", ""))
        self.assertEqual(parameter(model.weight), "model.weight")


class RefusalTest(unittest.TestCase):
    def test_call_that_is_no_op(self):
        """As a C++ extension that is called straight from Python and throws."""

        def rms_norm(x, weight):
            return bindings.held.ask("dc_describe")

        lib = as_torch("def call(describe, x, weight):\n    return describe(x, weight)\n")
        refusal = lib.call(rms_norm, torch.ones(2, 3),
                           torch.ones(3, dtype=torch.half, requires_grad=True))
        tensors = {t["name"]: t for t in refusal["tensors"]}
        self.assertTrue(refusal["function"].endswith("rms_norm"))
        self.assertEqual(tensors["x"]["dtype"], "float32")
        self.assertEqual(tensors["x"]["shape"], [2, 3])
        self.assertEqual((tensors["weight"]["dtype"], tensors["weight"]["device"]),
                         ("float16", "cpu"))
        self.assertTrue(tensors["weight"]["requires_grad"] and tensors["weight"]["is_leaf"])

    def test_without_the_gil_nothing_is_said(self):
        self.assertIsNone(bindings.released.ask("dc_describe"))

    def test_lists_of_tensors(self):
        def group(grads):
            return bindings.held.ask("dc_describe")

        refusal = group([torch.ones(1), torch.ones(1), torch.ones(1).half(), torch.ones(1).half()])
        self.assertEqual([(t["name"], t["dtype"]) for t in refusal["tensors"]],
                         [("grads[0]", "float32"), ("grads[2]", "float16")])

    def test_subclass_is_only_named(self):
        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise AssertionError("the program's code ran")

        def call(x):
            return bindings.held.ask("dc_describe")

        (tensor,) = call(torch.Tensor._make_subclass(Mine, torch.ones(1)))["tensors"]
        self.assertEqual((tensor["name"], tensor["dtype"], tensor["shape"]), ("x", "", []))

    def test_grad_scaler(self):
        folder = new_folder()
        path = os.path.join(folder, "train.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent("""\
                import sys
                sys.path.insert(0, %r)
                import torch, driver
                torch.ones(1)
                driver.start()
                driver.released._library.dc_watch_uncaught(b"refusals.json")
                model = torch.nn.Linear(2, 2).half()
                def forward(module, args):
                    driver.site()
                model.register_forward_pre_hook(forward)
                loss = model(torch.ones(1, 2).half()).sum()
                scaler = torch.amp.GradScaler("cpu")
                optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                """) % HERE)
        done = subprocess.run([sys.executable, path], cwd=folder, stderr=subprocess.PIPE, text=True)
        self.assertIn("Attempting to unscale FP16 gradients.", done.stderr)
        with open(os.path.join(folder, "refusals.json")) as file:
            (refusal,) = [json.loads(line) for line in file]
        self.assertEqual((refusal["type"], refusal["message"]),
                         ("ValueError", "Attempting to unscale FP16 gradients."))
        self.assertTrue(refusal["function"].endswith("_unscale_grads_"))
        self.assertEqual(refusal["line"], {"file": path, "function": "<module>", "line": 15})
        param = {t["name"]: t for t in refusal["tensors"]}["param"]
        self.assertEqual((param["dtype"], param["grad_dtype"]), ("float16", "float16"))
        self.assertTrue(param["requires_grad"] and param["is_leaf"] and param["grad_impl"])
        self.assertEqual(param["parameter"], "model.weight")


if __name__ == "__main__":
    unittest.main()
