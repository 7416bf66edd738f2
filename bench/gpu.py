#!/usr/bin/env python3
"""What there is to measure on a GPU, in order of worth: each part has a limit and a text of its
own, so that ten minutes leave figures even where a part fails. scripts/gpu packs and starts it.

    gpu.py OUT --tools PACK             all parts, on cuda
    gpu.py OUT --tools PACK --cpu       small, short and without a GPU: do the parts run?
    gpu.py OUT --tools PACK --parts …   some
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXAMPLE = ROOT / "examples" / "sdxl_lora"
TESTS = ROOT / "tests"


class Place:
    """Where the parts run: the packed tools, the device, a folder for what is made."""

    def __init__(self, tools: Path, device: str, work: Path, out: Path):
        self.dtypecheck = tools / "bin" / "dtypecheck"
        self.sdxl_train = tools / "bin" / "sdxl-train"
        self.device, self.work, self.out, self.small = device, work, out, device == "cpu"

    def traced(self, name: str, *options: str) -> list[str]:
        shutil.rmtree(self.work / name, ignore_errors=True)
        return [str(self.dtypecheck), "trace", "--no-report", *options, "--out", str(self.work / name), "--"]


def run(command: list) -> str:
    """Its standard output. Its end is shown where it fails, and then the part fails too."""
    done = attempt(command)
    if done.returncode != 0:
        raise SystemExit(1)
    return done.stdout


def attempt(command: list) -> subprocess.CompletedProcess:
    """What the next figures do not hang on. Its end is shown where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"FAILED with {done.returncode}: {' '.join(map(str, command))[:300]}\n{done.stdout[-1500:]}{done.stderr[-3000:]}")
    return done


def worker(*arguments) -> list[str]:
    return [sys.executable, str(HERE / "gpu_worker.py"), *map(str, arguments)]


def last_json(text: str):
    return json.loads(text.strip().splitlines()[-1])


def make_tiny(place: Place) -> Path:
    folder = place.work / "tiny"
    if not (folder / "model_index.json").exists():
        run([sys.executable, EXAMPLE / "make_tiny_sdxl.py", folder])
    return folder


def trace_training(place: Place) -> None:
    """A training run in each policy, with its findings, cast bill and kernels."""
    tiny = make_tiny(place)
    for precision in ["bf16"] if place.small else ["bf16", "fp16", "no"]:
        name = f"trace-{precision}"
        steps = 3 if place.small else 20
        run(place.traced(name, "--timeline", "1") + [
            sys.executable, EXAMPLE / "train.py", "--model", tiny / "model", "--data", tiny / "images", "--resolution", "64",
            "--mixed_precision", precision, "--max_train_steps", steps, "--output_dir", place.work / f"lora-{precision}"])
        print(f"== {precision}\n" + run([place.dtypecheck, "report", "--all", place.work / name]))
        facts = {key: value for process in json.loads(run([place.dtypecheck, "report", "--format", "json", place.work / name]))
                 ["processes"] for key, value in process["facts"].items() if key.startswith("gpu")}
        print("facts:", facts)
        size = (place.work / name).stat().st_size + sum(one.stat().st_size for one in (place.work / name).glob("*.dtrace"))
        timeline = run([place.dtypecheck, "dump", "--format", "perfetto", place.work / name])
        print(f"trace {size / 1000:.0f} kB, time line {len(json.loads(timeline)['traceEvents'])} events")


def plain_name(name: str) -> str:
    """Profilers demangle, and not all alike: what stands before the first bracket, without namespaces and return types."""
    return re.split(r"[<(]", name)[0].split("::")[-1].split(" ")[-1]


def demangled(names: list[str]) -> dict[str, str]:
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    if not tool:
        return {name: name for name in names}
    lines = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True).stdout.split("\n")
    return dict(zip(names, lines))


def attribution(place: Place) -> None:
    """Each kernel belongs to the op that torch.profiler says, in a step of its own in another process."""
    how = ("tiny", "bfloat16", place.device, 2, 3)
    seen = last_json(run(worker("kernels", *how, "profiler")))
    run(place.traced("attribution") + worker("kernels", *how))
    ours = collections.defaultdict(collections.Counter)
    lines = run([place.dtypecheck, "dump", "--format", "jsonl", place.work / "attribution"]).splitlines()
    calls = [call for call in map(json.loads, lines) if call.get("gpu")]
    names = demangled(sorted({work.get("name", "") for call in calls for work in call["gpu"]}))
    for call in calls:
        steps = call["last_step"] - call["location"]["step"] + 1
        for work in call["gpu"]:
            if work["kind"] == "kernel":
                ours[call["op"]][plain_name(names[work["name"]])] += work["count"] / steps
    theirs = {op: collections.Counter() for op in seen}
    for op, kernels in seen.items():
        for name, count in kernels.items():
            if not name.startswith("Mem"):
                theirs[op][plain_name(name)] += count
    total = sum(sum(kernels.values()) for kernels in theirs.values())
    alike = sum(min(count, ours[op][name]) for op, kernels in theirs.items() for name, count in kernels.items())
    print(f"{total} kernels of the step in torch.profiler, {alike:.0f} of them at the same op here")
    if total == 0:
        print("SKIPPED: nothing ran on a GPU")
    for op in sorted(set(theirs) | set(ours)):
        for name in sorted(set(theirs.get(op, ())) | set(ours[op])):
            counts = theirs.get(op, {}).get(name, 0), ours[op][name]
            if abs(counts[0] - counts[1]) > 0.01:
                print(f"  {op}  {name}: {counts[0]} there, {counts[1]:.2f} here")


def overhead(place: Place) -> None:
    """A training step of the full-size UNet. First the tracer left, with ops and with values, in turn in one process, since two
    plain runs differ by more than that; then whole runs: plain, traced with kernels, and under torch.profiler."""
    size, rounds = ("tiny", 2) if place.small else ("full", 20)
    how = (size, "bfloat16", place.device, 1)
    # An empty DTYPECHECK_GPU: values are looked at, and kernels are not recorded.
    watched = place.traced("overhead", "--no-gpu") + ["env", "DTYPECHECK_GPU=", *worker("arms", *how, rounds)]
    figures = last_json(run(watched))
    print("batch 1  " + ", ".join(f"{name} {figure:.4g}" for name, figure in figures.items()), flush=True)
    plain = None
    for name, command in [("plain", worker("times", *how, rounds)), ("with kernels", place.traced("overhead-gpu") + worker("times", *how, rounds)),
                          ("torch.profiler", worker("times", *how, rounds, "profiler")), ("plain again", worker("times", *how, rounds))]:
        figures = last_json(run(command))
        plain = plain or figures["step_ms"]
        print(f"batch 1  {name:20}  {figures['step_ms']:9.2f} ms a step  least {figures['least_ms']:9.2f}  "
              f"{(figures['step_ms'] / plain - 1) * 100:+6.1f} %  the first five {figures['first_five_ms']:9.2f} ms", flush=True)


def digests(place: Place) -> None:
    """trace --values: two equal runs agree, what is planted is named, and what digests cost in a step that has them."""
    program = [sys.executable, *[HERE / "on_gpu.py"] * (not place.small), TESTS / "tracer" / "programs" / "parting.py"]
    for plant in ["plain", "again", "eps", "gelu", "layer"]:
        run(place.traced(f"digests-{plant}", "--values") + [*program, plant])
        done = subprocess.run([place.dtypecheck, "diff", place.work / "digests-plain", place.work / f"digests-{plant}"],
                              capture_output=True, text=True)
        print(f"== {plant}: exit status {done.returncode}\n{done.stdout[:1500]}{done.stderr[-500:]}", flush=True)
    how = worker("times", *(("tiny" if place.small else "full"), "bfloat16", place.device, 1, 5))
    for name, options in {"ops": [], "digests": ["--values=6,7,8,9,10"]}.items():
        figures = last_json(run(place.traced(f"digests-{name}", *options) + how))
        size = sum(one.stat().st_size for one in (place.work / f"digests-{name}").glob("*.dtrace"))
        print(f"{name:8} {figures['step_ms']:9.2f} ms a step  least {figures['least_ms']:9.2f}  trace {size / 1e6:.1f} MB", flush=True)


def sdxl_train(place: Place) -> None:
    """The reference runtime beside diffusers' script, the same model and steps."""
    tiny = make_tiny(place)
    steps = 3 if place.small else 30
    if not place.sdxl_train.exists():
        return print("SKIPPED: sdxl-train was not packed")
    torch_lib = Path(run([sys.executable, "-c", "import torch; print(torch.__path__[0])"]).strip()) / "lib"
    cuda = torch_lib / "libtorch_cuda.so"
    os.environ["LD_LIBRARY_PATH"] = f"{torch_lib}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    preload = ["env", f"LD_PRELOAD={cuda}"] if cuda.exists() else []
    for policy in ["bf16-mixed"] if place.small else ["bf16-mixed", "fp32"]:
        begin = time.perf_counter()
        run(preload + [place.sdxl_train, "lora", "--model", tiny / "model", "--images", tiny / "images", "--device", place.device,
                       "--policy", policy, "--steps", steps, "--resolution", "64", "--out", place.work / f"sdxl-{policy}.safetensors"])
        ours = time.perf_counter() - begin
        begin = time.perf_counter()
        run([sys.executable, EXAMPLE / "train.py", "--model", tiny / "model", "--data", tiny / "images", "--resolution", "64",
             "--mixed_precision", "bf16" if policy.startswith("bf16") else "no", "--max_train_steps", steps,
             "--output_dir", place.work / "diffusers"])
        print(f"{policy}: sdxl-train {ours:.1f} s, diffusers {time.perf_counter() - begin:.1f} s, {steps} steps with start")


def kernel_libraries(place: Place) -> list[Path]:
    """That of the operators, and that of the kernels for a GPU, compiled for this card where it is not yet."""
    tools = place.dtypecheck.parent.parent
    libraries = sorted((tools / "libexec/dtypecheck").glob("libdtypecheck_operators-*.so"))
    if place.small or not libraries:
        return libraries
    library = place.work / "kernels.so"
    if not library.exists():
        flags = [line for line in (ROOT / "kernels/cuda/nvcc.txt").read_text().splitlines() if line[:1] == "-" and "gencode" not in line]
        run(["nvcc", *flags, "-arch=native", "--threads=0", "-I", ROOT, "-shared", "-o", library,
             *sorted((ROOT / "kernels").glob("*/*.cu")), tools / "lib/libdtypecheck_kernels.so", f"-Xlinker=-rpath={tools / 'lib'}"])
    return [*libraries, library]


def measure_kernels(place: Place, what: str, before: tuple = ()) -> None:
    if not place.small and not shutil.which("nvcc"):
        return print("SKIPPED: no nvcc here")
    libraries = kernel_libraries(place)
    if not libraries:
        return print("SKIPPED: the operators were not packed")
    done = attempt([*before, sys.executable, HERE / "gpu_kernels.py", what, place.device, *libraries])
    print(done.stdout, flush=True)
    if done.returncode:
        raise SystemExit(1)


def kernels(place: Place) -> None:
    """The accuracy of the kernels for a GPU, also under compute-sanitizer."""
    measure_kernels(place, "accuracy")
    if not place.small and shutil.which("compute-sanitizer"):
        for tool in ["memcheck", "racecheck", "initcheck"]:
            measure_kernels(place, "accuracy", ("compute-sanitizer", "--error-exitcode", "3", "--tool", tool))


def kernel_times(place: Place) -> None:
    """The kernels for a GPU beside LibTorch's ops."""
    measure_kernels(place, "times")


def same_bits(place: Place) -> None:
    """The weights that a training saves: twice plain, and traced in each manner."""
    tiny = make_tiny(place)
    for precision in ["bf16"] if place.small else ["bf16", "fp16"]:
        for name, before in {"plain": [], "plain again": [], "traced": place.traced("bits"),
                             "values checked": place.traced("bits-values", "--check-values")}.items():
            saved = place.work / f"bits-{precision}"
            shutil.rmtree(saved, ignore_errors=True)
            run([*before, sys.executable, EXAMPLE / "train.py", "--model", tiny / "model", "--data", tiny / "images", "--resolution",
                 "64", "--mixed_precision", precision, "--max_train_steps", "3", "--seed", "0", "--output_dir", saved])
            digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(saved.rglob("*.safetensors")))).hexdigest()
            print(f"{precision}: {name} {digest[:12]}", flush=True)


def found(place: Place, name: str, command: list, *options: str) -> tuple[subprocess.CompletedProcess, list[dict]]:
    """A traced program with its findings of warning or above."""
    done = subprocess.run([str(word) for word in place.traced(name, *options) + command], capture_output=True, text=True)
    report = subprocess.run([place.dtypecheck, "report", "--format", "json", place.work / name], capture_output=True, text=True)
    if not report.stdout.startswith("{"):
        return done, []
    return done, [finding for finding in json.loads(report.stdout)["findings"] if finding["severity"] != "note"]


def known_failures(place: Place) -> None:
    """tests/failures and tests/silent with their tensors on the GPU: what is found there beside what a CPU's run must show."""
    sys.path[:0] = [str(TESTS / "failures"), str(TESTS)]
    from expectations import read_script
    tiny = make_tiny(place)
    on_gpu = [sys.executable, HERE / "on_gpu.py"] if not place.small else [sys.executable]

    def failure(script: Path) -> str:
        wanted = read_script(script)
        done, findings = found(place, f"failure-{script.stem}", [*on_gpu, script, tiny / "model"])
        lines = [f"{script.stem}: exit status {done.returncode} (CPU {wanted.exit_status})"]
        lines += [f"  CPU: {one.rule} {one.severity} line {one.line} {one.op or ''}" for one in wanted.expectations]
        lines += [f"  here: {one['rule']} {one['severity']} line {one['location']['line']} {one['op']}  {one['message'][:100]}\n"
                  f"        {(one['error'] or '')[:100]}  fix: {(one['fix'] or '')[:120]}" for one in findings]
        return "\n".join(lines + ([done.stderr.strip()[-300:]] if done.returncode else []))

    def silent(file: str, mode: str, *options: str) -> str:
        program = TESTS / "silent" / f"{file}.py"
        wanted = {function: rule.strip('"') for rule, function in re.findall(
            r'^@(?:case|reported)\((None|"[\w-]+")[^\n]*\ndef (\w+)', program.read_text(), re.M)}
        for masks in ["intersection_of_masks", "overlap_of_large_masks"]:  # CUDA has no product of matrices of integers
            wanted.pop(masks, None)
        chosen = list(wanted)[:3] if place.small else list(wanted)
        name = f"silent-{file}-{mode}{''.join(options)}"
        done, findings = found(place, name, [*on_gpu, program, mode, *chosen], *options)
        told = collections.defaultdict(set)
        for one in findings:
            told[str(one["location"]["function"]).split(".")[0]].add(one["rule"])
        damaged = [function for function in chosen if wanted[function] != "None"] if mode == "damaged" else []
        missed = [function for function in damaged if wanted[function] not in told[function]]
        others = {function: rules for function, rules in told.items() if rules and function not in damaged}
        return "\n".join(
            [f"{name}: exit status {done.returncode}, {len(damaged) - len(missed)} of {len(damaged)} told, {len(others)} others"
             f"{done.stderr.strip()[-600:] if done.returncode else ''}"]
            + [f"  not told: {function} ({wanted[function]}), but {', '.join(sorted(told[function])) or 'nothing'}" for function in missed]
            + [f"  other: {function}: {', '.join(sorted(rules))}" for function, rules in sorted(others.items())])

    scripts = [script for script in sorted((TESTS / "failures").glob("*.py"))
               if re.search("^# EXIT", script.read_text(), re.M) and "fused" not in script.read_text()]
    with concurrent.futures.ThreadPoolExecutor(1 if place.small else 8) as pool:
        waiting = [pool.submit(failure, script) for script in (scripts[:2] if place.small else scripts)]
        waiting += [pool.submit(silent, file, mode, *options) for options in [[], ["--check-values"]]
                    for file in ["values", "reported", "further"] for mode in ["damaged", "clean"]]
        for one in waiting:
            print(one.result(), flush=True)


def cures(place: Place) -> None:
    """The changes that `cure` tries for a run that died on the GPU, and what it proves."""
    tiny = make_tiny(place)
    on_gpu = [] if place.small else [HERE / "on_gpu.py"]
    for name in ["clip_float_embedding", "vae_half"]:
        found(place, f"cure-{name}", [sys.executable, *on_gpu, TESTS / "failures" / f"{name}.py", tiny / "model"])
        done = subprocess.run([place.dtypecheck, "cure", place.work / f"cure-{name}"], capture_output=True, text=True)
        print(f"== {name}: exit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-1000:]}", flush=True)


def preflight(place: Place) -> None:
    """The memory that `preflight` foretells for a step of the UNet, beside what the step reserves."""
    for size, batch in [("tiny", 1)] if place.small else [("full", 1), ("full", 4)]:
        how = worker("times", size, "bfloat16", place.device, batch, 3)
        figures = {} if place.small else last_json(run(how))
        shutil.rmtree(place.work / "preflight", ignore_errors=True)
        done = attempt([place.dtypecheck, "preflight", "--let-write", "--gpu", "h100", "--out", place.work / "preflight", "--", *worker(
            "times", size, "bfloat16", "cuda", batch, 3)])
        foretold = [line for line in (done.stdout + done.stderr).splitlines() if "pretended" in line]
        print(f"{size}, batch {batch}: {figures.get('reserved_gib', 0):.2f} GiB reserved; {foretold}", flush=True)


def probe(place: Place) -> None:
    """What each op takes on this card: contracts, which `scripts/gpu take` makes ours. The calls that are written by hand
    come first, in case the others are cut off."""
    for name, only in [("hand", "hand products" if place.small else "hand")] + [("all", "")] * (not place.small):
        file = place.out / f"{place.device}.{name}.contracts"
        run([sys.executable, "-B", ROOT / "rules/contracts/probe/measure.py", "-o", file, "--device", place.device, "--only", only,
             "--jobs", "12", "--op-limit", "10"])
        print(f"{file.name}: {file.read_text().splitlines()[1]}", flush=True)


# Limits in seconds, ten minutes in all where none is cut off. The first have no times to measure, and run side by side.
TOGETHER = [(trace_training, 150), (attribution, 150), (same_bits, 180), (known_failures, 150), (cures, 180), (kernels, 150), (probe, 210)]
ALONE = [(overhead, 220), (digests, 120), (kernel_times, 60), (preflight, 60), (sdxl_train, 50)]
PARTS = TOGETHER + ALONE


def run_part(part: str, seconds: int, out: Path, arguments: list[str]) -> str:
    """In a process of its own, whose children end with it."""
    begin = time.perf_counter()
    with open(out / f"{part}.txt", "w") as text:
        child = subprocess.Popen([sys.executable, __file__, str(out), "--only", part, *arguments], stdout=text,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            how = {0: "done"}.get(child.wait(timeout=seconds), "FAILED")
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            how = "CUT OFF"
            text.write(f"\nCUT OFF after {seconds} s\n")
    skipped = "SKIPPED" in (out / f"{part}.txt").read_text()
    return f"{part:16} {'skipped' if skipped and how == 'done' else how}, {time.perf_counter() - begin:.0f} s of {seconds}"


def describe_machine() -> str:
    about = "import torch; c = torch.cuda; print('torch', torch.__version__, c.get_device_name() if c.is_available() else 'no GPU')"
    return run([sys.executable, "-c", about]).strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--tools", type=Path, required=True, help="what scripts/gpu packed")
    parser.add_argument("--parts", nargs="*", choices=[part.__name__ for part, _ in PARTS])
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, help="seconds, of each part")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    work = Path(os.environ.get("TMPDIR", "/tmp")) / f"dtypecheck-gpu-{os.getuid()}"
    work.mkdir(exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if args.only:
        next(part for part, _ in PARTS if part.__name__ == args.only)(
            Place(args.tools.resolve(), "cpu" if args.cpu else "cuda", work, args.out.resolve()))
        return 0
    make_tiny(Place(args.tools.resolve(), "cpu", work, args.out))
    forwarded = ["--tools", str(args.tools)] + ["--cpu"] * args.cpu
    lines = [describe_machine()]

    def do(chosen: tuple) -> None:
        part, seconds = chosen
        if args.parts is None or part.__name__ in args.parts:
            lines.append(run_part(part.__name__, args.limit or seconds, args.out, forwarded))
            print(lines[-1], flush=True)
            (args.out / "summary.txt").write_text("\n".join(lines) + "\n")

    with concurrent.futures.ThreadPoolExecutor(1 if args.cpu else len(TOGETHER)) as pool:
        list(pool.map(do, TOGETHER))
    for chosen in ALONE:
        do(chosen)
    return 1 if any("FAILED" in line or "CUT OFF" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
