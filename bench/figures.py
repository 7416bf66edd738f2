"""From timed rounds (overhead_worker.py) to what an observer adds. All times in ns of thread CPU time for one step.

A machine that does other things makes a step slower, never faster: the minimum is the step itself, the median what one
gets. Whatever is added is told from the plain rounds of the same process, between which the watched ones were run.
"""

from statistics import median

PLAIN = "plain"


def step_times(rounds: list[dict]) -> list[int]:
    return [time for one in rounds for time in one["steps"]]


def whole_times(rounds: list[dict]) -> list[float]:
    """A step's share of its round, from the observer's start to the end of its stop."""
    return [(one["start"] + sum(one["steps"]) + one["stop"]) / len(one["steps"]) for one in rounds]


def in_one_process(results: dict, name: str) -> dict:
    plain, watched = step_times(results[PLAIN]), step_times(results[name])
    return {
        "plain": min(plain),
        "step": min(watched),
        "added": min(watched) - min(plain),
        "added_median": median(watched) - median(plain),
        "added_start_to_stop": min(whole_times(results[name])) - min(whole_times(results[PLAIN])),
        "ratio": min(watched) / min(plain),
        "ratio_median": median(watched) / median(plain),
        "ratio_round_mean": median(a / b for a, b in zip(whole_times(results[name]), whole_times(results[PLAIN]))),
    }


def over_processes(processes: list[dict], name: str) -> dict:
    """The median of each figure over the processes that ran `name`."""
    figures = [in_one_process(results, name) for results in processes]
    return {key: median(one[key] for one in figures) for key in figures[0]}


def against_alone(watched: list[dict], alone: list[dict], name: str) -> dict:
    """Steps of whole processes compared: what the interleaved rounds cannot see, as the library being there at all."""
    steps = [step_times(results[name]) for results in watched]
    bare = [step_times(results["alone"]) for results in alone]
    return {
        "ratio": median(map(min, steps)) / median(map(min, bare)),
        "ratio_median": median(map(median, steps)) / median(map(median, bare)),
    }


def of_workload(traced: list[dict], peers: list[dict]) -> dict:
    """Figures of every observer of one workload, per step and per event; `cheaper`: how many times cheaper ours is."""
    events = peers[0]["events"]
    observers = {"dtypecheck": over_processes(traced, "dtypecheck")}
    for name in peers[0]:
        if name not in (PLAIN, "alone", "events"):
            observers[name] = over_processes(peers, name)
    ours = observers["dtypecheck"]["added_start_to_stop"]
    for figures in observers.values():
        figures["per_event"] = figures["added"] / events
        figures["per_event_median"] = figures["added_median"] / events
        figures["per_event_start_to_stop"] = figures["added_start_to_stop"] / events
        figures["cheaper"] = figures["added_start_to_stop"] / ours if ours > 0 else float("inf")
    return {
        "events": events,
        "observers": observers,
        "traced_to_alone": against_alone(traced, peers, "dtypecheck"),
        "paused_to_alone": against_alone(traced, peers, PLAIN),
        "first_steps_ms": median(sum(one["first"]["steps"]) for one in traced) / 1e6,
    }


def of_steady(steady: list[dict], alone: list[dict]) -> dict:
    return over_processes(steady, "dtypecheck --steady") | {
        "to_alone": against_alone(steady, alone, "dtypecheck --steady"),
        "paused_to_alone": against_alone(steady, alone, PLAIN),
    }
