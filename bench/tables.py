"""The figures of overhead.py for people: what was measured side by side, and whether it keeps the
budgets.
"""

STACKS = "torch.profiler, shapes and stacks"


def percent(ratio: float) -> float:
    return (ratio - 1) * 100


def mib(kib: float) -> float:
    return kib / 1024


def ours(results: dict, workload: str) -> dict:
    return results["workloads"][workload]["observers"]["dtypecheck"]


def cheaper(results: dict, workload: str) -> float:
    return results["workloads"][workload]["observers"][STACKS]["cheaper"]


AT_MOST, AT_LEAST = "<=", ">="


def launch_budgets(name: str) -> list[tuple]:
    def added(r: dict) -> float:
        return percent(r["launches"][name]["observers"]["dtypecheck"]["ratio_median"])

    return [(f"added to a step, {name}", added, AT_MOST, 8, "%"),
            (f"added by --steady, {name}", lambda r: percent(r["launches"][name]["steady"]), AT_MOST,
             1, "%")]


BUDGETS = [
    ("added per event, transformer", lambda r: ours(r, "transformer")["per_event"], AT_MOST, 250,
     "ns"),
    ("added per event, tiny-sdxl", lambda r: ours(r, "tiny-sdxl")["per_event"], AT_MOST, 250, "ns"),
    ("added to a step, tiny-sdxl", lambda r: percent(ours(r, "tiny-sdxl")["ratio"]), AT_MOST, 20,
     "%"),
    ("added to a step, mid-sdxl", lambda r: percent(ours(r, "mid-sdxl")["ratio_median"]), AT_MOST,
     1, "%"),
    ("added to a step, mid-sdxl-bf16", lambda r: percent(ours(r, "mid-sdxl-bf16")["ratio_median"]),
     AT_MOST, 1, "%"),
    (f"cheaper than {STACKS}, transformer", lambda r: cheaper(r, "transformer"), AT_LEAST, 25, "x"),
    (f"cheaper than {STACKS}, tiny-sdxl", lambda r: cheaper(r, "tiny-sdxl"), AT_LEAST, 25, "x"),
    ("added by --steady, tiny-sdxl", lambda r: percent(r["steady"]["ratio"]), AT_MOST, 1, "%"),
    *[budget for name in ("tiny-sdxl-launches", "full-sdxl-launches") for budget in launch_budgets(name)],
    ("trace of 1000 steps", lambda r: r["long_run"]["trace_bytes"] / 1e6, AT_MOST, 1, "MB"),
    ("extra resident memory", lambda r: r["memory"]["extra_kib"] * 1024 / 1e6, AT_MOST, 64, "MB"),
    ("report on that trace", lambda r: r["long_run"]["report_s"], AT_MOST, 1, "s"),
]


def print_workload(name: str, workload: dict) -> None:
    events, observers = workload["events"], workload["observers"]
    plain = observers["dtypecheck"]["plain"]
    print(f"\n{name}: {events:,} events a step; plain {plain / 1e6:.3f} ms, {plain / events:,.0f} ns an event")
    head = ("observer", "step, ms", "x plain", "(median)", "+ns/event", "(median)", "to stop",
            "ours is")
    print("  {:34} {:>9} {:>8} {:>8} {:>10} {:>8} {:>9}  {}".format(*head))
    for observer, f in observers.items():
        cheaper = "" if observer == "dtypecheck" else f"{f['cheaper']:.0f} x cheaper"
        print(
            f"  {observer:34} {f['step'] / 1e6:9.3f} {f['ratio']:8.3f} {f['ratio_median']:8.3f} {f['per_event']:10,.0f}"
            f" {f['per_event_median']:8,.0f} {f['per_event_start_to_stop']:9,.0f}  {cheaper}"
        )


def print_launches(name: str, launches: dict) -> None:
    plain = launches["observers"]["dtypecheck"]["plain"]
    print(f"\n{name}: {launches['events']:,} events a step; plain {plain / 1e6:.1f} ms of processor time")
    print("  {:34} {:>9} {:>8} {:>8}".format("observer", "step, ms", "x plain", "(median)"))
    for observer, f in launches["observers"].items():
        print(f"  {observer:34} {f['step'] / 1e6:9.1f} {f['ratio']:8.3f} {f['ratio_median']:8.3f}")
    print(f"  --steady, tracing one step in 16: {percent(launches['steady']):+.2f} %")


def print_steady(steady: dict) -> None:
    away, looking, after, whole = (percent(steady[key])
                                   for key in ("away", "looking", "after", "ratio"))
    print("\n--steady on tiny-sdxl, against steps without it")
    print(f"  looking away {away:+.2f} %, a step that it traces {looking:+.1f} %, the one after {after:+.1f} %")
    print(f"  all of it, tracing one step in 16: {whole:+.2f} %")


def print_runs(results: dict) -> None:
    run, memory = results["long_run"], results["memory"]
    cpu, peak = run["cpu_s"], run["peak_kib"]
    added = percent(cpu["traced"] / cpu["untraced"])
    print(f"\n{run['steps']} steps of examples/sdxl_lora/train.py, bf16")
    print(f"  trace {run['trace_bytes']:,} bytes; of {run['steps'] // 10} steps {run['trace_bytes_of_a_tenth']:,}")
    print(f"  CPU time {cpu['untraced']:.1f} s untraced, {cpu['traced']:.1f} s traced: {added:+.1f} %")
    extra = peak["traced"] - peak["untraced"]
    print(f"  peak memory {mib(peak['untraced']):.0f} MiB untraced, {mib(extra):+.1f} MiB traced")
    print(f"  dtypecheck report {run['report_s'] * 1000:.0f} ms")
    each = " ".join(f"{mib(extra):+.1f}" for extra in memory["extra_kib_of_each"])
    print(f"{memory['steps']} steps of it, peak memory")
    print(f"  {mib(memory['untraced_kib']):.0f} MiB untraced, {mib(memory['extra_kib']):+.1f} MiB traced (of {each})")
    print("\nwall time of a whole program, ms")
    for name, f in results["start_up"].items():
        added = f["traced_ms"] - f["untraced_ms"]
        print(f"  {name:18} {f['untraced_ms']:9.2f} untraced {f['traced_ms']:9.2f} traced {added:+9.2f}")


def print_health(health: dict) -> None:
    cpu = health["cpu_s"]
    print(f"\n{health['steps']} steps of examples/sdxl_lora/train.py, bf16, traced, with --health=1")
    print(f"  CPU time {cpu['without']:.1f} s without, {cpu['with']:.1f} s with: {health['added_ms_a_look']:+.1f} ms for each look")
    print(f"  trace {health['bytes']:+,} bytes")


def print_budgets(results: dict) -> None:
    print("\nbudgets")
    for name, figure, relation, limit, unit in BUDGETS:
        try:
            value = figure(results)
        except KeyError:  # its part was not asked for
            continue
        kept = value <= limit if relation == AT_MOST else value >= limit
        print(f"  {name:62} {value:9.2f} {unit:3} {relation} {limit:g}  {'kept' if kept else 'MISSED'}")


def print_results(results: dict) -> None:
    machine = results["machine"]
    print(", ".join(f"{name} {value}" for name, value in machine.items()),
          f"date {results['date']}", sep=", ")
    for name, workload in results["workloads"].items():
        print_workload(name, workload)
    for name, launches in results.get("launches", {}).items():
        print_launches(name, launches)
    if "steady" in results:
        print_steady(results["steady"])
    if "long_run" in results:
        print_runs(results)
    if "health" in results:
        print_health(results["health"])
    print_budgets(results)
