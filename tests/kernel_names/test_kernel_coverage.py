"""The names of matrix products and convolutions in the CUDA libraries that come with torch, and of what torch itself registers
those that multiply and sum up: how many of them rules/kernel_names/kernel_names.txt decides, which is in what is multiplied and summed up."""

import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

LEAST_DECIDED = 0.95
LEAST_DECIDED_OF_TORCH = 0.85
OF_TORCH = re.compile(r"flash_(fwd|bwd)|fmha_|cutlass|soft_?max|norm|moments|gammabeta|internalgradients|welford|meanops|sumops"
                      r"|sum_functor|reductionaddop|conv_depthwise|avg_pool|adaptive_?average|upsample_(linear|bi|tri|gen)"
                      r"|_cell_(forward|backward)|nll_loss\w*_forward|scan_\w+_dim<.*plus|DeviceScanKernel.*plus|gemm|pack_mm", re.I)
NO_ARITHMETIC = re.compile(r"gemm_(data|args)|kernel_args|normal|normOp.*Zero|lpnorm_cleanup|elementwise|no_reduce|renorm|multi_tensor"
                           r"|conv_depthwise2d|distribution", re.I)

KINDS = re.compile(r"gemm|gemv|fprop|dgrad|wgrad|[cC]onv|cudnn_|cudnn\d|nvjet")
OTHERS = re.compile(r"trmm|syrk|syherk|syhemm|symm|hemm|herk|pooling|batchnorm|bn_stats|bn_fw|bn_bw|softmax|reduce_tensor"
                    r"|cudnn::(ops|bn)_?|convertTensor|nchwTo|nhwcTo")
PLAIN = re.compile(r"(sm\d+_xmma_|cutlass3x_|cutlass_(\d+_)?(wmma_)?(tensorop|simt)_|nvjet_\w+_\d+x"
                   r"|(_5x_cudnn_)?(ampere|volta|turing|maxwell|pascal|hopper)_(\w+_)?[a-z]{1,2}\d*(gemm|cudnn))")
BODY = re.compile(r"[kK]ernel|gemm|conv|engine|alg\d")


def libraries(torch):
    """Those beside torch, in the wheels that it depends on; one of each."""
    found = {}
    for name in ("libcublas.so.*", "libcublasLt.so.*", "libcudnn_engines_precompiled.so.*"):
        for path in glob.glob(os.path.join(os.path.dirname(os.path.realpath(torch)), "nvidia", "*", "lib", name)):
            found[name] = path
    return list(found.values())


def names_in(library):
    text = subprocess.run(["strings", "-a", "-n", "8", library], capture_output=True, check=True).stdout
    identifiers = [line for line in text.decode("latin-1").splitlines() if re.fullmatch(r"[A-Za-z_]\w*", line)]
    wanted = [name for name in identifiers if KINDS.search(name)]
    mangled = [name for name in wanted if name.startswith("_Z")]
    demangled = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout
    yield from (name for name in wanted if PLAIN.match(name) and re.search(r"\d+x\d+", name) and not OTHERS.search(name))
    # A kernel is a template that returns nothing; the host's functions are no kernels.
    yield from (name for name in demangled.splitlines()
                if name.startswith(("void ", "std::enable_if")) and BODY.search(name) and not OTHERS.search(name))


def registered(library):
    with tempfile.NamedTemporaryFile("r") as file:
        subprocess.run([sys.executable, "-c", "import torch"], check=True,
                       env=os.environ | {"LD_PRELOAD": library, "REGISTERED_KERNELS": file.name})
        mangled = sorted({line.rstrip("\n") for line in file})
    plain = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name, text in zip(mangled, plain, strict=True) if OF_TORCH.search(text) and not NO_ARITHMETIC.search(text)]


def main():
    dtypecheck, torch, library = sys.argv[1:]
    found = libraries(torch)
    if not found:
        print("skipped: no CUDA libraries came with this torch")
        return 77
    measure(dtypecheck, registered(library), "what torch registers", LEAST_DECIDED_OF_TORCH)
    measure(dtypecheck, sorted({name for library in found for name in names_in(library)}),
            " ".join(os.path.basename(path) for path in found), LEAST_DECIDED)
    return 0


def measure(dtypecheck, names, where, least):
    done = subprocess.run([dtypecheck, "explain", "--kernel", "--json", "-"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout
    answers = [json.loads(line) for line in done.splitlines()]
    assert len(answers) == len(names), (len(answers), len(names))
    decided = [answer for answer in answers if "math" in answer and "sum" in answer]
    share = len(decided) / len(names)
    print(f"{len(decided):,} of {len(names):,} names decided: {share:.1%}, in {where}")
    families = collections.Counter(answer["family"] for answer in decided)
    for family, count in families.most_common():
        print(f"  {count:6,}  {family}")
    unknown = collections.Counter(re.sub(r"\d+", "#", answer["name"])[:80] for answer in answers if "family" not in answer)
    print("not decided, the commonest:")
    for name, count in unknown.most_common(15):
        print(f"  {count:6,}  {name}")
    assert share >= least, share


if __name__ == "__main__":
    sys.exit(main())
