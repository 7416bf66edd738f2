"""From timed rounds (overhead_worker.py) to what an observer adds. All times in ns of thread CPU
time for one step.

A machine that does other things makes a step slower, never faster: the minimum is the step itself,
the median what one gets. Whatever is added is told from the plain steps of the same process,
between which the watched ones were run; ours and the plain ones are pairs of neighbours, which tell
small differences best.
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
    }


def of_pairs(results: dict, name: str) -> dict:
    pairs = list(zip(step_times(results[name]), step_times(results[PLAIN])))
    return {
        "added_median": median(watched - plain for watched, plain in pairs),
        "ratio_median": median(watched / plain for watched, plain in pairs),
    }


def over_processes(processes: list[dict], name: str, paired: bool = False) -> dict:
    """The median of each figure over the processes that ran `name`."""
    figures = [in_one_process(one, name) | (of_pairs(one, name) if paired else {})
               for one in processes]
    return {key: median(one[key] for one in figures) for key in figures[0]}


def of_workload(traced: list[dict], peers: list[dict]) -> dict:
    """Figures of every observer of one workload, per step and per event; `cheaper`: how many times
    cheaper ours is.
    """
    events = peers[0]["events"]
    observers = {"dtypecheck": over_processes(traced, "dtypecheck", paired=True)}
    for name in peers[0]:
        if name not in (PLAIN, "events"):
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
        "first_steps_ms": median(sum(one["first"]["steps"]) for one in traced) / 1e6,
    }


STEADY_PERIOD = 16  # --steady looks at one step in so many once nothing new appears


def of_steady(processes: list[dict]) -> dict:
    away = median(of_pairs(one, "looking away")["ratio_median"] for one in processes)
    looks = [look for one in processes for look in one["looking"]]
    looking, after = (median(look[key] / median(look["beside"]) for look in looks)
                      for key in ("step", "after"))
    whole = away * (STEADY_PERIOD - 2 + looking + after) / STEADY_PERIOD
    return {"away": away, "looking": looking, "after": after, "ratio": whole}


def of_launches(processes: list[dict], peers: list[dict]) -> dict:
    """Of each observer the ratios of a step to a plain one; --steady traces one step in so many."""
    observers = {name: over_processes(processes, name, paired=True)
                 for name in processes[0] if name != PLAIN}
    away, looking = (observers[name]["ratio_median"] for name in ("looking away", "dtypecheck"))
    for name in peers[0]:
        if name not in (PLAIN, "events"):
            observers[name] = over_processes(peers, name)
    return {"events": peers[0]["events"], "observers": observers,
            "steady": (away * (STEADY_PERIOD - 1) + looking) / STEADY_PERIOD}
