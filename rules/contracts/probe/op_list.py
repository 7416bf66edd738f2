"""Which ops are worth measuring: ops/op_list.inc says what is known of them anyway."""
import pathlib
import re

# Views and questions take any dtype, never refuse, and no trace has them; casts are asked for a
# dtype; what is not initialized has no values to look at.
LEFT_OUT = {"kView", "kQuestion", "kUninitialized", "kCast"}


def _lines():
    here = pathlib.Path(__file__).resolve().parent
    for folder in (here.parents[2], here.parent / "src"):  # the source tree; an installation
        path = folder / "ops/op_list.inc"
        if path.exists():
            return re.findall(r"^(OP|ALIAS)\((\w+), ([^)]*)\)", path.read_text(), re.M)
    raise FileNotFoundError("%s: does not exist; install dtypecheck again" % path)


def _facts_by_name():
    lines = _lines()
    facts = {name: set(rest.split(" | ")) for kind, name, rest in lines if kind == "OP"}
    facts.update((name, facts.get(rest, set())) for kind, name, rest in lines if kind == "ALIAS")
    return facts


_FACTS = _facts_by_name()


def is_measured(name):
    """Of "add", and of "add_", which is what "add" is unless it has a line of its own."""
    facts = _FACTS.get(name) or _FACTS.get(name[:-1] if name.endswith("_") else name, set())
    return not facts & LEFT_OUT or "kOverwrites" in facts
