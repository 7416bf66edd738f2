"""Finds the settings of a program that name a dtype, and what they might say instead. Standard library only, run by the
program's own interpreter (3.8 or later).

    settings.py QUESTION ANSWER, both files of JSON

QUESTION: {"command": the words that started it, "folder": where, "environment": {name: value},
           "advice": [{"name", "value", "arguments"}], what the frameworks of the run ask for in place of an option's value,
           "precisions": [[word, dtype, use, families]], the rows of core/precision_words.inc}
ANSWER:   {"settings": [{"text", "command", "environment", "edits": [{"path", "line", "column", "old", "new"}], "dtype"}]}, each one change: a word of
        the command line, a variable, or a line of a configuration file (YAML, JSON, TOML) that the command line names.
        "dtype" is what is asked for instead

What an option takes is read where the program declares it, `add_argument("--precision", choices=[...])`, in the scripts
that the command names and the files beside them. Where that is not found, a setting may say what others of its kind say.
An option that a script declares with a dtype as its default is a setting too where the command line leaves it out, and
so is mixed precision where something else is asked for in 16 bits.
"""

import ast
import glob
import json
import os
import re
import sys

PRECISIONS = []  # as the question has them, and
PRECISION_NAMES = []  # what is in the names of settings that have one (core/precision_words.h)
# What keeps small steps of 16-bit weights: it can be on.
ROUNDING = re.compile(r"stochastic[-_]?round|kahan|master[-_]?weights|fp32[-_]?optim", re.I)
MIXED = re.compile(r"^--?(mixed[-_]?precision|amp|precision)$")  # what a whole program computes in, beside Float weights
LOW = ("Half", "BFloat16")
LINE = re.compile(r"""^(\s*["']?([\w.-]+)["']?\s*[:=]\s*)(["']?)([\w.-]+)(["']?)(\s*,?\s*(?:\#.*)?)$""")
CONFIGURATION = []  # how names of such files end; as the question has them
MAX_BYTES = 1 << 20
MAX_FILES = 200


def named_like(name):
    text = "_" + re.sub("[^a-z0-9]", "_", name.lower()) + "_"
    return any(part in text for part in PRECISION_NAMES)


MIXED_WORDS = ("amp", "mixed")  # beside 16 bits by name: Float weights under autocast, in 16 bits that the program chooses


def row_of(word):
    plain = word.lower()
    plain = plain[len("torch."):] if plain.startswith("torch.") else plain
    return next((row for row in PRECISIONS if row[0] == plain), None)


def dtype_of(word):
    """The dtype that the word names, "" where it names none."""
    row = row_of(word)
    return row[1] if row else ""


def spelled_as(word, other):
    """The other word, with what stood before the one and in its case."""
    other = other.upper() if word.isupper() else other
    return "torch." + other if word.startswith("torch.") else other


def others(word, choices=None):
    """(word, dtype) of what may stand in its place: BFloat16 before Float, and never Half. Nothing for who asked for neither 16-bit
    dtype. 16-bit weights may become Float ones under autocast in the same dtype."""
    _, own, use, families = row_of(word)
    if own not in LOW:
        return []
    wanted = [(own, "compute"), ("BFloat16", "compute")] * (use == "weights") + [("BFloat16", use), ("Float", None)]
    found = [(spelled_as(word, row[0]), dtype) for dtype, needed in wanted for family in families.split(",") for row in PRECISIONS
             if row[1] == dtype and family in row[3].split(",") and needed in (row[2], None)]
    if choices:
        found = [pair for pair in found if pair[0] in choices] + [(choice, own if choice in MIXED_WORDS else dtype_of(choice)) for choice in choices]
    return [(other, dtype) for other, dtype in dict.fromkeys(found)
            if other != word and (dtype in ("BFloat16", "Float") or dtype == "Half" and use == "weights" or other in MIXED_WORDS)]


def is_flag(option):
    """--full_bf16, --no-half, --fp16_backend: a part of the name is a 16-bit dtype."""
    return option.startswith("-") and any(dtype_of(part) in LOW and not part.isdigit() for part in re.split("[-_]", option))


def scripts_of(command, folder):
    """A launcher's script, and the one that it starts."""
    paths = [os.path.join(folder, word) for word in command if word.endswith(".py")]
    return [path for path in paths if os.path.isfile(path)]


def options_of(command, folder):
    """({option: the values that it takes}, {option of a script: its default}, the options of the scripts that take listed
    values, all options) as add_argument and click.option declare them."""
    choices, defaults, own, declared = {}, {}, set(), set()
    scripts = scripts_of(command, folder)
    beside = [sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "**", "*.py"), recursive=True))[:MAX_FILES]
              for path in scripts]
    for file in [*scripts, *(file for files in beside for file in files)]:
        try:
            with open(file, "rb") as source:
                tree = ast.parse(source.read(MAX_BYTES))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                declared.update(note_option(node, choices, defaults if file in scripts else {}, tree))
        own |= set(choices) if file in scripts else set()
    return choices, defaults, own, declared


def note_option(call, choices, defaults, tree):
    names = [a.value for a in call.args if isinstance(a, ast.Constant) and str(a.value).startswith("-")]
    for keyword in call.keywords if names else []:
        if keyword.arg == "default" and isinstance(keyword.value, ast.Constant):
            defaults.setdefault(max(names, key=len), (names, str(keyword.value.value)))
        if keyword.arg in ("choices", "type"):
            listed = keyword.value
            if isinstance(listed, ast.Call) and listed.args:  # click.Choice([...])
                listed = listed.args[0]
            if isinstance(listed, ast.Name):
                bound = [n.value for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == listed.id]
                listed = bound[0] if bound else listed
            if isinstance(listed, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
                elements = listed.keys if isinstance(listed, ast.Dict) else listed.elts
                values = [e.value for e in elements if isinstance(e, ast.Constant)]
                for name in names:
                    choices.setdefault(name, [str(v) for v in values if v is not None])
    return names


def forgotten(command, own):
    """Mixed precision in BFloat16, which the command line does not ask for, beside what it asks for in 16 bits."""
    said = {word.partition("=")[0] for word in command}
    if any(map(MIXED.match, said)):
        return
    asked = [i for i, word in enumerate(command) if i > 0 and dtype_of(value_of(word)) in LOW and
             named_like(word.partition("=")[0] if "=" in word else command[i - 1])]
    for option in filter(MIXED.match, own):
        for choice in own[option]:
            if not asked or dtype_of(choice) != "BFloat16":
                continue
            changed, texts = [*command, option, choice], [f"{option} {choice}"]
            for i in asked:
                name, _, word = command[i].rpartition("=")
                name = name or command[i - 1]
                lower = [other for other, dtype in others(word, own.get(name)) if dtype == "BFloat16"]
                if dtype_of(word) == "BFloat16" or not lower:
                    continue
                changed[i] = command[i][:len(command[i]) - len(word)] + lower[0]
                texts.append(f"{name} {lower[0]}")
            yield change(" ".join(texts), "BFloat16", command=changed)


def in_command(command, folder, options=None):
    choices, defaults, own, _ = options or options_of(command, folder)
    yield from forgotten(command, {option: choices[option] for option in choices if option in own})
    for word in sorted({value_of(word) for word in command[1:]}):
        # A launcher and its script may both be asked for one precision, and each of several models.
        if dtype_of(word) and not word.isdigit() and sum(value_of(other) == word for other in command[1:]) > 1:
            for other, dtype in others(word):
                changed = [w[:len(w) - len(word)] + other if value_of(w) == word else w for w in command[1:]]
                yield change(f"{other} in place of {word} on the command line", dtype, command=[command[0], *changed])
    for i, word in enumerate(command):
        name, sign, value = word.partition("=")
        if i == 0:
            continue
        if sign and ROUNDING.search(name) and value.lower() in ("false", "0"):
            on = {"false": "true", "False": "True", "FALSE": "TRUE", "0": "1"}.get(value, "true")
            yield change(f"{name}={on}", "BFloat16", command=command[:i] + [f"{name}={on}"] + command[i + 1:])
        named = name if sign else command[i - 1]
        if value_of(word).isdigit() and not named_like(named):  # --rank 16
            continue
        if sign and dtype_of(value):  # --precision=fp16, and Hydra's precision=fp16
            for other, dtype in others(value, choices.get(name)):
                yield change(f"{name}={other}", dtype, command=command[:i] + [f"{name}={other}"] + command[i + 1:])
        elif command[i - 1].startswith("-") and "=" not in command[i - 1] and dtype_of(word):
            for other, dtype in others(word, choices.get(command[i - 1])):
                yield change(f"{command[i - 1]} {other}", dtype, command=command[:i] + [other] + command[i + 1:])
        elif is_flag(word) and (i + 1 == len(command) or command[i + 1].startswith("-")):
            yield change(f"leave out {word}", "Float", command=command[:i] + command[i + 1:])
    said = {word.partition("=")[0] for word in command}
    for option, (names, default) in defaults.items():
        if not said & set(names) and named_like(option) and dtype_of(default):
            for other, dtype in others(default, choices.get(option)):
                yield change(f"{option} {other}", dtype, command=[*command, option, other])


def advised(command, advice, declared=frozenset()):
    """What a framework's own way is, where the command line asked for another one. A script that declares the option itself
    knows no other than those that are declared."""
    for one in advice:
        words = one["arguments"].split()
        typed = [word for word in words if word != "{}"]
        wanted, has_options = " ".join(typed), typed[0].startswith("--")
        for i, word in enumerate(command):
            name, sign, value = word.partition("=")
            if i == 0 or name.lstrip("-").replace("-", "_").rpartition(".")[2] != one["name"]:
                continue
            has_next = not sign and i + 1 < len(command) and not command[i + 1].startswith("-")
            given = value if sign else command[i + 1] if has_next and one["value"] != "True" else "True"
            if one["value"] != given and not (one["value"] == "*" and dtype_of(given) in LOW):
                continue
            if name in declared and not {w for w in typed if w.startswith("--")} <= declared:
                continue
            if has_options:
                options = {} if "{}" in words else {name: [given] if given != "True" else []}
                options.update({w: typed[k + 1:k + 2] for k, w in enumerate(typed) if w.startswith("--")})
                rest = command
                for option, value in options.items():
                    rest = without(rest, option, any(not v.startswith("--") for v in value))
                changed = [*rest, *typed]
            elif sign:
                changed = [*command[:i], f"{name}={wanted}", *command[i + 1:]]
            else:
                changed = [*command[:i + 1], wanted, *command[i + 2:]]
            dtype = "BFloat16" if "bf" in wanted else "Half" if re.search(r"16|half|\bamp\b", wanted) else "Float"
            said = word if sign or given == "True" else f"{word} {given}"
            yield change(f"{wanted} in place of {said}", dtype, command=changed)


def without(command, option, has_value):
    out, is_value = [], False
    for word in command:
        if not is_value and word != option and not word.startswith(option + "="):
            out.append(word)
        is_value = word == option and has_value
    return out


def value_of(word):
    return word.partition("=")[2] if "=" in word else word


def in_environment(environment):
    for name, value in sorted(environment.items()):
        if named_like(name) and dtype_of(value):
            for other, dtype in others(value):
                yield change(f"{name}={other}", dtype, environment={name: other})


def in_files(command, folder):
    for word in command[1:]:
        path = os.path.join(folder, value_of(word))
        if not path.endswith(tuple(CONFIGURATION)) or not os.path.isfile(path) or os.path.getsize(path) > MAX_BYTES:
            continue
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
        for i, line in enumerate(lines):
            match = LINE.match(line)
            if not match or not dtype_of(match.group(4)) or not named_like(match.group(2)):
                continue
            for other, dtype in others(match.group(4)):
                new = "".join([match.group(1), match.group(3), other, match.group(5), match.group(6)])
                edit = {"path": os.path.realpath(path), "line": i + 1, "column": 1, "old": line, "new": new}
                yield change(f"{match.group(2)}: {other}, {os.path.basename(path)}:{i + 1}", dtype, edits=[edit])


def change(text, dtype, command=None, environment=None, edits=()):
    return {"text": text, "dtype": dtype, "command": command, "environment": environment or {}, "edits": list(edits)}


def main(question, answer_file):
    with open(question, encoding="utf-8") as file:
        asked = json.load(file)
    PRECISIONS.extend(asked["precisions"])
    PRECISION_NAMES.extend(asked["precision_names"])
    CONFIGURATION.extend(asked["configuration"])
    command, folder = asked["command"], asked["folder"]
    options = options_of(command, folder)
    found = [*advised(command, asked["advice"], options[-1]), *in_command(command, folder, options), *in_environment(asked["environment"]),
             *in_files(command, folder)]
    with open(answer_file, "w", encoding="utf-8") as file:
        json.dump({"settings": found}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
