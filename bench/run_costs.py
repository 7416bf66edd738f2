"""What a traced run costs beside its steps: the trace file, memory, the report, starting up."""

from pathlib import Path
from statistics import median

from processes import HERE, Ended, Tools, run

EXAMPLE = HERE.parent / "examples" / "sdxl_lora"


def training(tools: Tools, folder: Path, steps: int) -> list[str]:
    """examples/sdxl_lora/train.py as scripts/demo runs it, for more steps."""
    data = folder / "tiny_sdxl"
    if not data.exists():
        run([tools.python, str(EXAMPLE / "make_tiny_sdxl.py"), str(data)])
    command = [tools.python, str(EXAMPLE / "train.py"), "--model", str(data / "model"), "--data",
               str(data / "images")]
    command += ["--output_dir", str(folder / "lora"), "--resolution", "64", "--mixed_precision",
                "bf16", "--seed", "0"]
    return command + ["--max_train_steps", str(steps)]


def trace_size(run_folder: Path) -> int:
    return sum(file.stat().st_size for file in run_folder.glob("*.dtrace"))


def long_run(tools: Tools, folder: Path, steps: int) -> dict:
    """One training of `steps` and one of a tenth of them: the trace is to grow with what is new,
    not with steps.
    """
    sizes = {}
    for count in (steps // 10, steps):
        run_folder = folder / f"run-{count}"
        ended = run(tools.traced(run_folder) + training(tools, folder, count))
        sizes[count] = trace_size(run_folder)
    untraced = run(training(tools, folder, steps))
    report = [tools.dtypecheck, "report", str(run_folder), "-o", str(folder / "report.txt")]
    return {
        "steps": steps,
        "trace_bytes": sizes[steps],
        "trace_bytes_of_a_tenth": sizes[steps // 10],
        "cpu_s": {"untraced": untraced.cpu_s, "traced": ended.cpu_s},
        "peak_kib": {"untraced": untraced.peak_kib, "traced": ended.peak_kib},
        "report_s": min(run(report, accept=(0, 1)).wall_s for _ in range(5)),
    }


def pairs(tools: Tools, folder: Path, name: str, command: list[str],
          count: int) -> list[tuple[Ended, Ended]]:
    """(untraced, traced) in turns, after one of each that fills the file cache."""
    ended = []
    for turn in range(count + 1):
        ended.append((run(command), run(tools.traced(folder / f"{name}-{turn}") + command)))
    return ended[1:]


def memory(tools: Tools, folder: Path, steps: int, count: int) -> dict:
    ended = pairs(tools, folder, "memory", training(tools, folder, steps), count)
    extra = [traced.peak_kib - untraced.peak_kib for untraced, traced in ended]
    return {
        "steps": steps,
        "untraced_kib": median(untraced.peak_kib for untraced, _ in ended),
        "extra_kib": median(extra),
        "extra_kib_of_each": extra,
    }


def health(tools: Tools, folder: Path, steps: int, count: int) -> dict:
    """--health beside what tracing costs: processor time of what it adds to one step that it looks at,
    by looking at each.
    """
    plain, looking = [], []
    for turn in range(count):
        for ended, options in ((plain, []), (looking, ["--health=1"])):
            run_folder = folder / f"health-{turn}-{len(options)}"
            command = tools.traced(run_folder, *options) + training(tools, folder, steps)
            ended.append((run(command).cpu_s, trace_size(run_folder)))
    (without_s, without_bytes), (with_s, with_bytes) = min(plain), min(looking)
    return {"steps": steps, "cpu_s": {"without": without_s, "with": with_s},
            "added_ms_a_look": (with_s - without_s) / steps * 1000,
            "bytes": with_bytes - without_bytes}


def start_up(tools: Tools, folder: Path, count: int) -> dict:
    """The median wall time in ms. "a child": each of the small programs that a traced shell starts.
    """
    many = 200
    programs = {
        "one op in Python": [tools.python, "-c", "import torch; torch.ones(1)"],
        "/bin/true": ["/bin/true"],
        "a child": ["/bin/sh", "-c",
                    f"i=0; while [ $i -lt {many} ]; do /bin/true; i=$((i+1)); done"],
    }
    result = {}
    for name, command in programs.items():
        ended = pairs(tools, folder, f"start-{command[0].rsplit('/', 1)[1]}", command, count)
        share = many if name == "a child" else 1
        untraced, traced = (median(pair[i].wall_s for pair in ended) * 1000 / share for i in (0, 1))
        result[name] = {"untraced_ms": untraced, "traced_ms": traced}
    return result
