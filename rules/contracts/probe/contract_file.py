"""The contract file: what each op accepts, as text. docs/contracts.md describes it line by line.

Only the standard library and Python 3.8, like everything in this folder: it runs beside any torch.
"""
import itertools
import re

import letters
import patterns

SCHEMA = 3
SCHEMAS = ("1", "2", "3")  # that can be read

# Some messages lack a space before the dtype: "but gotFloat and Half".
WORD = re.compile(r"(?:(?<![\w.:<])|(?<=\bgot)|(?<=\bdtype)|(?<=\binput))(%s)(?!\w)" % "|".join(
    re.escape(word) for word in sorted(letters.WORDS, key=len, reverse=True)))
PLACEHOLDER = re.compile(r"\{([STPHGC])([0-9A])\}")
MOST_TEMPLATES = 40


def message_templates(text, combination, autocast=""):
    """Each way to write the message with the dtype of an operand as {S1}, the likeliest first.

    {S1} is a spelling and a position in the combination; autocast's own dtype is {SA}, where no
    operand has it. A word may also stand in the text whatever the operands are.
    """
    pieces, end, count = [], 0, 1
    found = list(WORD.finditer(text))
    for match in found:
        if all(other.group(1) == "bool" for other in found):
            break  # an English word: "does not support bool input"
        style, letter = letters.WORDS[match.group(1)]
        places = [str(i) for i, one in enumerate(combination) if one == letter]
        if not places and letter == autocast:
            places = ["A"]
        words = ["{%s%s}" % (style, place) for place in places] + [match.group(1)]
        if count * len(words) > MOST_TEMPLATES:
            words = words[:1]
        count *= len(words)
        pieces += [[text[end:match.start()]], words]
        end = match.end()
    return ["".join(choice) for choice in itertools.product(*pieces, [text[end:]])]


def filled(template, combination, autocast=""):
    """The message that LibTorch prints for these operands."""
    def spelled(match):
        style, place = match.groups()
        if place == "A":
            letter = autocast
        else:
            letter = combination[int(place)] if int(place) < len(combination) else ""
        return letters.SPELLINGS[style][letter] if letter else match.group(0)
    return PLACEHOLDER.sub(spelled, template)


class Rejects(tuple):
    """(exception type, message)"""


def autocast_letter(mode):
    return {"autocast:BFloat16": "b", "autocast:Half": "h"}.get(mode, "")


def ranges(columns, count):
    """[0, 1, 2, 5] as "0-2,5"; all of them as "*"."""
    if len(columns) == count:
        return "*"
    parts = []
    for column in sorted(columns):
        if parts and parts[-1][1] == column - 1:
            parts[-1][1] = column
        else:
            parts.append([column, column])
    return ",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in parts)


def columns_of(text, count):
    if text == "*":
        return list(range(count))
    columns = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        columns += range(int(first), int(last or first) + 1)
    return columns


class Contracts:
    """Runtimes, and for each (op, operands) and mode the outcomes by runtime."""

    def __init__(self):
        self.runtimes = []  # one string each: "cpu 2.11.0 measured 2026-11-21 ..."
        self.rows = {}      # (op, operands) -> {mode: {column: {combination: outcome}}}

    def add(self, op, operands, mode, column, outcomes):
        modes = self.rows.setdefault((op, operands), {})
        modes.setdefault(mode, {})[column] = dict(outcomes)

    def add_column(self, other, column):
        """One runtime of another table, behind those that are here."""
        for (op, operands), modes in other.rows.items():
            for mode, by_column in modes.items():
                if column in by_column:
                    self.add(op, operands, mode, len(self.runtimes), by_column[column])
        self.runtimes.append(other.runtimes[column])

    def write(self, out):
        rows = [(key, mode, columns, self._candidates(key[1], mode, outcomes))
                for key, modes in sorted(self.rows.items())
                for mode in sorted(modes, key=lambda m: (m != "plain", m))
                for columns, outcomes in shared(modes[mode])]
        commonness = {}
        for _, _, _, candidates in rows:
            for word in {word for words in candidates.values() for word in words}:
                commonness[word] = commonness.get(word, 0) + 1
        chosen = [(key, mode, columns, patterns.choose(candidates, commonness))
                  for key, mode, columns, candidates in rows]
        numbers = self._message_numbers(words for *_, words in chosen)
        types = self._types(chosen)
        lines = ["dtypecheck contracts %d" % SCHEMA]
        lines += ["runtime %d %s" % pair for pair in enumerate(self.runtimes)]
        lines += ["message %d %s %s" % (number, types[word], *word) for word, number in numbers.items()]
        texts = {}
        for key, mode, columns, words in chosen:
            named = {c: word if isinstance(word, str) else "m%d" % numbers[word]
                     for c, word in words.items()}
            texts.setdefault(key, []).append("%s %s %s" % (mode, ranges(columns, len(self.runtimes)),
                                                           patterns.text_of(named)))
        ops_of = {}  # of the same rows
        for key, its in texts.items():
            ops_of.setdefault(tuple(its), []).append("op %s %s" % key)
        for its, ops in ops_of.items():
            lines += [*ops, *its]
        lines.append("end %d" % sum(map(len, ops_of)))
        out.write("\n".join(lines) + "\n")

    def _types(self, rows):
        """{message: "RuntimeError|NotImplementedError:9-16"}: a LibTorch raises one sentence as one type."""
        found = {}
        for key, mode, columns, words in rows:
            for column in columns:
                for combination, outcome in self.rows[key][mode][column].items():
                    if not isinstance(outcome, str):
                        found.setdefault(words[combination], {}).setdefault(column, outcome[0])
        texts = {}
        for word, by_column in found.items():
            of_type = {}
            for column in sorted(by_column):
                of_type.setdefault(by_column[column], []).append(column)
            first, *others = of_type
            texts[word] = first + "".join("|%s:%s" % (one, ranges(of_type[one], 0)) for one in others)
        return texts

    @staticmethod
    def _candidates(operands, mode, outcomes):
        """{combination: the words that say its outcome, the likeliest first}"""
        scalars = letters.scalars_of(operands) if mode != "index" else ()
        found = {}
        for combination, outcome in outcomes.items():
            if isinstance(outcome, str):
                found[combination] = letters.words_for(outcome, combination, scalars)
            else:
                found[combination] = [(template,) for template in message_templates(
                    outcome[1], combination, autocast_letter(mode))]
        return found

    @staticmethod
    def _message_numbers(rows):
        seen = {}
        for words in rows:
            for word in words.values():
                if not isinstance(word, str):
                    seen[word] = seen.get(word, 0) + 1
        order = sorted(seen, key=lambda message: (-seen[message], message))
        return {message: number for number, message in enumerate(order)}


def said(outcome):
    """A refusal without its type."""
    return outcome if isinstance(outcome, str) else outcome[1:]


def shared(by_column):
    """[(columns, outcomes)]: versions that say the same of each combination that both measured."""
    groups = []
    for column in sorted(by_column):
        outcomes = by_column[column]
        for columns, common in groups:
            if all(said(outcomes[c]) == said(common[c]) for c in outcomes.keys() & common.keys()):
                columns.append(column)
                common.update(outcomes)
                break
        else:
            groups.append(([column], dict(outcomes)))
    return groups


def combinations_of(kinds, measured=letters.FIRST, mode="plain"):
    """Every combination that is measured for operands of these kinds, "t" a tensor, "l" a list.

    Of Float, Half, BFloat16 and Double up to three operands in full, more with at most two dtypes
    at a time; a list that is the only operand also with two dtypes in it. Of all other dtypes: each
    alone; of two operands, each beside those four and Long, or in other modes than plain beside
    Float; of more, one beside Float, or one Float beside it.
    """
    beside = letters.BESIDE if mode == "plain" else "f"
    others = [letter for letter in measured if letter not in letters.FIRST]
    combinations = _of_first(kinds)
    count = 2 if kinds == "l" else len(kinds)
    combinations += [x if kinds == "l" else x * count for x in others]
    if count == 2:
        pairs = itertools.permutations(measured, 2)
        return combinations + [a + b for a, b in pairs if (a in others or b in others)
                               and (a in beside or b in beside)]
    for x in others if count > 2 else ():
        for one, rest in ((x, "f"), ("f", x)):
            combinations += [rest * i + one + rest * (count - i - 1) for i in range(count)]
    return combinations


def _of_first(kinds):
    if kinds == "l":
        return list(letters.FIRST) + ["".join(p) for p in itertools.permutations(letters.FIRST, 2)]
    if len(kinds) <= 3:
        return ["".join(c) for c in itertools.product(letters.FIRST, repeat=len(kinds))]
    combinations = [letter * len(kinds) for letter in letters.FIRST]
    for a, b in itertools.combinations(letters.FIRST, 2):
        for mask in range(1, 2 ** len(kinds) - 1):
            combinations.append("".join(b if mask >> k & 1 else a for k in range(len(kinds))))
    return combinations


def index_combinations_of(operands, measured):
    """Of an index row: the dtype of all operands, then those of the fixed ones, one of them not
    as it was called with."""
    fixed = fixed_of(operands)
    found = {}
    if "x" in fixed:  # a list with several dtypes
        return []
    for base in "fhb":
        for i in range(len(fixed)):
            for letter in measured:
                found[base + fixed[:i] + letter + fixed[i + 1:]] = None
    return list(found)


def fixed_of(operands):
    """"lo" of "self index:l,mask:o": the letters of what keeps its dtype while operands vary."""
    _, _, fixed = operands.partition(" ")
    return "".join(name.partition(":")[2] for name in fixed.split(",") if name)


def kinds_of(operands):
    names = operands.partition(" ")[0].split(",")
    return "".join("l" if name.endswith("[]") else "t" for name in names)


def dtypes_of(runtime):
    """The letters that a runtime was measured in, of "cpu 2.11.0 measured … dtypes=fhbdl"."""
    found = re.search(r" dtypes=(\w+)", runtime)
    return found.group(1) if found else letters.FIRST


def type_in(types, column):
    """Of "RuntimeError|NotImplementedError:9-16", which type a refusal has there."""
    first, *others = types.split("|")
    for one in others:
        name, _, columns = one.partition(":")
        if column in columns_of(columns, 0):
            return name
    return first


def read(lines, name):
    """The file back as Contracts. Raises ValueError with name and line on anything else."""
    contracts, messages, keys, rows, ended = Contracts(), {}, [], 0, False
    is_above_rows = False
    for number, line in enumerate(lines, 1):
        words = line.rstrip("\n").split(" ")
        try:
            if number == 1:
                if words[:2] != ["dtypecheck", "contracts"]:
                    raise ValueError("expected \"dtypecheck contracts %d\"" % SCHEMA)
                if words[2] not in SCHEMAS:
                    raise ValueError("schema %s, this reads %d" % (words[2], SCHEMA))
            elif words[0] == "runtime":
                contracts.runtimes.append(" ".join(words[2:]))
            elif words[0] == "message":
                messages["m" + words[1]] = (words[2], " ".join(words[3:]))
            elif words[0] == "op":
                keys = [*(keys if is_above_rows else ()), (words[1], " ".join(words[2:]))]
            elif words[0] == "end":
                ended = int(words[1]) == rows
            else:
                rows += 1
                parts, outcomes = patterns.parse(words[2:]), {}
                refusals = [word for word, _ in parts if re.match(r"m\d", word)]
                for column in columns_of(words[1], len(contracts.runtimes)):
                    measured = dtypes_of(contracts.runtimes[column])
                    said_as = {word: (type_in(messages[word][0], column), messages[word][1]) for word in refusals}
                    for op, operands in keys:
                        known = (measured, operands, *said_as.values())
                        if known not in outcomes:
                            outcomes[known] = _outcomes(operands, words[0], parts, said_as, measured)
                        contracts.add(op, operands, words[0], column, outcomes[known])
            is_above_rows = words[0] == "op"
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise ValueError("%s:%d: %s" % (name, number, error)) from None
    if not ended:
        raise ValueError("%s: cut short: no \"end\" with the number of rows" % name)
    return contracts


def measured_combinations(operands, mode, measured):
    if mode == "index":
        return index_combinations_of(operands, measured)
    return combinations_of(kinds_of(operands), measured, mode)


def _outcomes(operands, mode, parts, messages, measured):
    scalars = letters.scalars_of(operands) if mode != "index" else ()
    combinations = measured_combinations(operands, mode, measured)
    patterns.check(parts, combinations, measured)
    outcomes = {}
    for combination, word in patterns.words_of(parts, combinations).items():
        if word is None:
            raise ValueError("no outcome for %s of %s" % (combination, operands))
        if re.match(r"m\d", word):
            kind, template = messages[word]
            outcomes[combination] = Rejects(
                (kind, filled(template, combination, autocast_letter(mode))))
        else:
            outcomes[combination] = letters.resolved(word, combination, scalars)
    return outcomes
