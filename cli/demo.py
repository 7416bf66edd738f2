"""What `dtypecheck demo` shows: trainings that are broken, what is found in each, and the same fixed.

    demo.py DTYPECHECK TRAINER SOURCES OUT FAILURE [--keep-broken]

TRAINER is sdxl-train, whose FAILURE, or each of them, is shown. It is "" where there is none: then that is a first one in Python,
train.py beside this. `sdxl-lora` is one of diffusers, from SOURCES. OUT is a folder that keeps what is made, or "".
"""

import contextlib
import difflib
import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

LORA = "--resolution 64 --rank 2 --steps 3 --seed 1 --out lora.safetensors"

# What sdxl-train is told beside --policy, in a folder with two models of `sdxl-train tiny`: tiny, and inpainting whose UNet has
# nine channels. `broken` is a policy (docs/runtime.md), `fixed` a named one. `says` is LibTorch 2.11's, and that of 1.13; what
# fails without a word has `damage`. `rules` are those of all findings. tests/runtime/demo_test.py holds each to it.
FAILURES = [
    {"name": "cpu-half-norm",
     "title": "float16 asked for, and no GPU there",
     "reported": "huggingface/autotrain-advanced issue 501, DreamBooth of SDXL",
     "story": "mixed precision fp16 moves the text encoders to Half; without a GPU their layer norms run on the CPU, which had no "
              "kernel for them before LibTorch 2.3",
     "run": "lora --model tiny/model --images tiny/images " + LORA,
     "broken": '{"base": "fp16-mixed", "text_encoders": {"norm": "float16"}}',
     "fixed": "bf16-mixed",
     "says": ["\"LayerNormKernelImpl\" not implemented for 'Half'"],
     "damage": "none in this LibTorch, which has the kernel; 1.13 raised \"LayerNormKernelImpl\" not implemented for 'Half'",
     "rules": ["cpu-half-norm"],
     "cure": "norms in float32, whatever the rest computes in; BFloat16 for what runs on a CPU"},
    {"name": "t5-fused-rmsnorm",
     "title": "a fused RMS norm that trusts its weight's dtype",
     "reported": "xdit-project/xDiT issues 101 and 226, PixArt-alpha with Apex",
     "story": "T5 keeps its last feed-forward layer in Float even in a Half model, so the states are Float from the second block on; "
              "the fused norm reads its Half weight as Float",
     "run": "t5 --model tiny/t5 --tokens 100,3,35,120,1",
     "broken": '{"base": "fp16-mixed",\n "t5": {"norm": "float16", "casts": false, "rms_norm": "fused"}}',
     "fixed": "bf16-mixed",
     "says": ["expected scalar type Float but found Half"],
     "rules": ["mixed-operands", "silent-promotion"],
     "cure": "the states in float32 between blocks, norm weights in float32, and a cast before each layer"},
    {"name": "text-encoder-half",
     "title": "a Float token table in a Half text encoder",
     "reported": "Nerogar/OneTrainer issue 752, SDXL with an output embedding",
     "story": "the token table is Float because a new token is to be learned; the sum with the Half positions is Float, and the Half "
              "layer norm behind it refuses",
     "run": "lora --model tiny/model --images tiny/images " + LORA,
     "broken": '{"base": "fp16-mixed",\n "text_encoders": {"norm": "float16", "table": "float32", "casts": false}}',
     "fixed": "bf16-mixed",
     "says": ["mixed dtype (CPU): expect parameter to have scalar type of Float", "expected scalar type Float but found Half"],
     "rules": ["mixed-operands", "silent-promotion"],
     "cure": "a cast between the embeddings and the first layer; autocast would not do it, since it casts no norm on the CPU"},
    {"name": "float16-weights",
     "title": "a Float mask beside Half latents",
     "reported": "Nerogar/OneTrainer issue 402, inpainting with float16 weights",
     "story": "the mask comes from an image and is Float; the concatenation promotes all nine channels, and the first Half layer "
              "behind it refuses",
     "run": "lora --model inpainting/model --images inpainting/images " + LORA,
     "broken": '{"base": "fp16-mixed", "unet": {"norm": "float16", "casts": false}}',
     "fixed": "bf16-mixed",
     "says": ["mat1 and mat2 must have the same dtype, but got Float and Half"],
     "rules": ["mixed-operands", "silent-promotion"],
     "cure": "everything that is concatenated is cast first"},
    {"name": "unscale-fp16-grads",
     "title": "a LoRA that takes the dtype of a Half UNet",
     "reported": "huggingface/diffusers issues 6086, 6363, 6442 and 6552, SDXL LoRA with clipping",
     "story": "the LoRA is Half, and so are its gradients; dividing them by the loss scale in Half makes the small ones 0, and steps "
              "are below what Half can add",
     "run": "lora --model tiny/model --images tiny/images " + LORA,
     "broken": '{"base": "fp16-mixed",\n "trained": {"stored": "float16", "saved": "float16", "unscaled": "float16"}}',
     "fixed": "fp16-mixed",
     "says": [],
     "damage": "gradients and steps that become 0, without a word; PyTorch's GradScaler, which LibTorch has not, says: Attempting to "
               "unscale FP16 gradients.",
     "rules": ["fp16-trainable", "lost-update"],
     "cure": "trained weights in float32, or with float32 masters; gradients unscaled in float32"},
]

say = functools.partial(print, flush=True)  # before what a program that is run here says


class Trouble(Exception):
    pass


def bold(text):
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def last_words(lines):
    """The last step or the error; what the tracer adds begins with its name."""
    last = ""
    for line in filter(None, lines):
        is_more = last.startswith("step ") and not line.startswith("sdxl-train: ")
        if not line.startswith("dtypecheck: ") and (line.startswith("step ") or not is_more):
            last = line
    return last


def run(words, log):
    """Its status and its lines, which go to a file."""
    with open(log, "w") as file:
        status = subprocess.run(words, stdout=file, stderr=file).returncode
    return status, pathlib.Path(log).read_text(errors="replace").splitlines()


def fail(what, status, lines):
    raise Trouble(f"{what}: ended with {status}{'; its last line: ' + lines[-1] if lines else ''}")


class Demo:
    def __init__(self, dtypecheck, trainer, sources, python):
        self.dtypecheck, self.trainer, self.sources, self.python = dtypecheck, trainer, sources, python

    def trace(self, folder, words, shown, status=None):
        """Runs it under the tracer; `shown` stands for the program in the line that says so."""
        say("$ dtypecheck trace --", shown, *words[1:])
        ended, lines = run([self.dtypecheck, "trace", "--no-report", "--out", folder, "--", *words], f"{folder}.log")
        if status not in (None, ended):
            fail(folder, ended, lines)
        return ended, lines

    def report(self, folder, expected, base="."):
        """Prints what was found in a run, with paths below `base` shortened."""
        command = [self.dtypecheck, "report", "--fail-on", "never", os.path.abspath(folder)]
        done = subprocess.run([*command, "--format", "json"], stdout=subprocess.PIPE)
        if done.returncode:
            raise Trouble(f"{folder}: nothing was recorded; see dtypecheck doctor")
        found = sorted({finding["rule"] for finding in json.loads(done.stdout)["findings"]})
        if found:
            subprocess.run(command, cwd=base)
        else:
            say("findings: none")
        if found != expected:
            raise Trouble(f"{folder}: expected findings of {', '.join(expected) or 'none'}, got {', '.join(found) or 'none'}; "
                          "--out DIR keeps the run and its whole report")

    def make_models(self):
        for name, channels in (("tiny", "4"), ("inpainting", "9")):
            status, lines = run([self.trainer, "tiny", name, "--unet-channels", channels], f"{name}.log")
            if status:
                fail("sdxl-train tiny", status, lines)
        say(f"{os.getcwd()}: a tiny SDXL, every layer of the real one, small widths, random weights")

    def show(self, failure, keeps_broken):
        name, words = failure["name"], [self.trainer, *failure["run"].split()]
        say("\n" + bold(f"==== {name}: {failure['title']}"), f"\n  reported: {failure['reported']}")
        say(textwrap.fill(failure["story"], 98, initial_indent="  ", subsequent_indent="  "))
        policy = f"{name}/broken.json"
        os.mkdir(name)
        pathlib.Path(policy).write_text(failure["broken"] + "\n")
        say(f"\n{bold('broken')}\n$ cat {policy}\n{failure['broken']}")
        status, lines = self.trace(f"{name}/broken", [*words, "--policy", policy, "--keep-broken"], "sdxl-train")
        said = last_words(lines)
        say(said)
        is_as_expected = any(text in said for text in failure["says"]) if status else "damage" in failure
        if not is_as_expected:  # which LibTorch it is, the demo does not ask
            fail(f"{name}, broken", status, lines)
        self.report(f"{name}/broken", failure["rules"], self.sources)
        if not status:
            say(textwrap.fill(f"damage: {failure['damage']}", 98))
        if keeps_broken:
            return
        say(f"\n{bold('fixed')}  {failure['cure']}")
        _, lines = self.trace(f"{name}/fixed", [*words, "--policy", failure["fixed"]], "sdxl-train", status=0)
        say(last_words(lines))
        self.report(f"{name}/fixed", [], self.sources)

    def show_first(self):
        """Where torch is all that is there: a few lines of training that die of a Float mask among BFloat16 latents."""
        program = pathlib.Path("train.py")
        program.write_bytes(pathlib.Path(__file__).with_name("train.py").read_bytes())
        say("A small denoiser is trained for three steps, its frozen layers in bfloat16.")
        say("\n" + bold("1. A Float mask among BFloat16 latents"))
        _, lines = self.trace("broken", [self.python, program], "python", status=1)
        say(f"{last_words(lines)}\n\n{bold('What dtypecheck says of it')}")
        self.report("broken", ["mixed-operands", "silent-promotion"])
        say("\n" + bold("2. The mask is cast where it is made"))
        _, lines = self.trace("cured", [self.python, program, "--cast-mask"], "python", status=0)
        say(last_words(lines))
        self.report("cured", [])
        say("\nYour own program: dtypecheck trace -- python train.py")

    def show_lora(self):
        """diffusers' SDXL, as it should be and with a mistake that people really make."""
        os.environ.update({"HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"})
        for name, value in (("OMP_NUM_THREADS", "1"), ("OMP_WAIT_POLICY", "passive")):
            os.environ.setdefault(name, value)  # the model is tiny: a second thread would wait for the first, and spin at it
        folder = os.path.join(self.sources, "examples/sdxl_lora")
        say("\n" + bold("A tiny SDXL: the real diffusers and transformers classes, small widths, random weights."))
        subprocess.run([self.python, f"{folder}/make_tiny_sdxl.py", "tiny_sdxl"], check=True)
        train = [self.python, f"{folder}/train.py", "--model", "tiny_sdxl/model", "--data", "tiny_sdxl/images", "--output_dir", "lora",
                 "--resolution", "64", "--max_train_steps", "3", "--seed", "0"]
        say("\n" + bold("1. A LoRA, trained in bfloat16 as it should be: three steps, and nothing to find."))
        _, lines = self.trace("clean", [*train, "--mixed_precision", "bf16"], "python", status=0)
        say(*(line for line in lines if line.startswith("step")), sep="\n")
        self.report("clean", [], self.sources)
        say("\n" + bold("2. The same, but the UNet is loaded in float16 to save memory, and mixed precision was forgotten."))
        _, lines = self.trace("float16", [*train, "--unet_dtype", "float16"], "python", status=1)
        say(f"… and all that PyTorch says, after {sum(line.startswith('  File') for line in lines)} stack frames:")
        say([line for line in lines if "Error:" in line][-1])
        say("\n" + bold("What dtypecheck says:"))
        self.report("float16", ["mixed-operands"], self.sources)
        say("\n" + bold("3. What cures it, tried with the program itself:"))
        say("$ dtypecheck cure float16")
        if subprocess.run([self.dtypecheck, "cure", os.path.abspath("float16")], cwd=self.sources).returncode:
            raise Trouble("no cure was proven")


def chosen(name):
    names = [failure["name"] for failure in FAILURES]
    if name and name not in names:
        near = difflib.get_close_matches(name, names, 1)
        raise Trouble(f"unknown failure {name}; " + (f"did you mean '{near[0]}'?" if near else f"expected one of {', '.join(names)}"))
    return [failure for failure in FAILURES if name in ("", failure["name"])]


@contextlib.contextmanager
def folder_of(named):
    """Works in it. One of the user's naming stays; else it goes with the demo."""
    if named and os.path.isdir(named) and os.listdir(named):
        raise Trouble(f"{named}: is not an empty folder; name a new one")
    if named:
        os.makedirs(named, mode=0o700, exist_ok=True)
    with contextlib.nullcontext(named) if named else tempfile.TemporaryDirectory(prefix="dtypecheck-demo.") as folder:
        os.chdir(folder)
        yield
        os.chdir("/")


def main():
    keeps_broken = sys.argv[-1] == "--keep-broken"
    dtypecheck, trainer, sources, out, name = (sys.argv[:-1] if keeps_broken else sys.argv)[1:]
    is_in_python = name == "sdxl-lora" or not (trainer or name or keeps_broken)
    demo = Demo(dtypecheck, trainer, sources, sys.executable)
    failures = [] if is_in_python else chosen(name)
    if is_in_python and not importlib.util.find_spec("torch"):
        raise Trouble(f"{sys.executable}: has no torch, and the demo trains with it; install it there, or name the Python that has it "
                      "with --python")
    if not (is_in_python or trainer):
        raise Trouble("the demo trains with sdxl-train, which is not beside dtypecheck; build it with its reference runtime "
                      "(-DDTYPECHECK_RUNTIME=ON, after scripts/setup)")
    with folder_of(out):
        if is_in_python:
            demo.show_lora() if name else demo.show_first()
            return
        demo.make_models()
        for failure in failures:
            demo.show(failure, keeps_broken)


if __name__ == "__main__":
    try:
        main()
    except (Trouble, OSError, subprocess.CalledProcessError) as trouble:
        print(f"dtypecheck: {trouble}", file=sys.stderr)
        sys.exit(2)
