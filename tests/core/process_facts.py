"""core/process_facts.inc for the tests: which facts of a process there are, and what they may be."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "core" / "process_facts.inc"
LINE = re.compile(r'^FACT\((\w+), "([^"]*)", "([^"]*)", "([^"]*)", (?:""|R"\((.*?)\)"), R"\((.*?)\)"\)', re.MULTILINE)
Fact = collections.namedtuple("Fact", "name key writer recorded rest value")
FACTS = [Fact(*fields) for fields in LINE.findall(LIST.read_text(encoding="utf-8"))]
LAUNCHERS = set(re.findall(r'"(\w+)"', (ROOT / "core" / "launch.h").read_text(encoding="utf-8")))


def fact_of(name):
    """The line of the list that a fact has, by its name in a trace; None where there is none."""
    for fact in FACTS:
        if name.startswith(fact.key) and re.fullmatch(fact.rest, name[len(fact.key):]):
            is_kept = fact.name != "kEnv" or name[4:] in LAUNCHERS or re.search("PRECISION|DTYPE", name)
            return fact if is_kept else None
    return None


def faults(facts):
    """What is wrong with the facts of a process, {name: value}: sentences."""
    found = []
    for name, value in facts.items():
        fact = fact_of(name)
        if fact is None:
            found.append(f"{name}: core/process_facts.inc has no such key; nobody writes it")
        elif not re.fullmatch(fact.value, value):
            found.append(f"{name}: {value!r} is not what {fact.writer} writes: {fact.value}")
    return found
