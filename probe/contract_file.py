"""The contract file: what each op accepts, as text. docs/contracts.md describes it line by line.

Only the standard library and Python 3.8, like everything in this folder: it runs beside any torch.
"""
import re

SCHEMA = 1
LETTERS = {
    "float32": "f", "float16": "h", "bfloat16": "b", "float64": "d", "int64": "l", "int32": "i",
    "int16": "s", "int8": "c", "uint8": "u", "bool": "o", "complex64": "F", "complex32": "H",
    "complex128": "D",
}
OPERAND_LETTERS = "fhbd"

# How LibTorch spells the four dtypes in its messages, by the letter of the spelling.
SPELLINGS = {
    "S": {"f": "Float", "h": "Half", "b": "BFloat16", "d": "Double"},
    "T": {"f": "float", "h": "c10::Half", "b": "c10::BFloat16", "d": "double"},
    "P": {"f": "torch.float32", "h": "torch.float16", "b": "torch.bfloat16", "d": "torch.float64"},
    "H": {"f": "torch.FloatTensor", "h": "torch.HalfTensor", "b": "torch.BFloat16Tensor",
          "d": "torch.DoubleTensor"},
    "C": {"f": "CPUFloatType", "h": "CPUHalfType", "b": "CPUBFloat16Type", "d": "CPUDoubleType"},
}
WORDS = {word: (style, letter) for style, words in SPELLINGS.items()
         for letter, word in words.items()}
WORD = re.compile(r"(?<![\w.:])(%s)(?!\w)" % "|".join(
    re.escape(word) for word in sorted(WORDS, key=len, reverse=True)))


def message_template(text, combination, autocast=""):
    """The message with each dtype of an operand as {S1}: spelling and position in the combination.

    Autocast's own dtype is {SA}, where no operand has it.
    """
    def placeholder(match):
        style, letter = WORDS[match.group(1)]
        position = combination.find(letter)
        if position < 0:
            return "{%sA}" % style if letter == autocast else match.group(1)
        return "{%s%d}" % (style, position)
    return WORD.sub(placeholder, text)


class Rejects(tuple):
    """(exception type, message template)"""


def text_of_pattern(outcomes, number_of):
    """{combination: outcome} as "f=fff h=hhh m3=*"; `*` stands for the outcome of most, if many."""
    combinations = {}
    for combination, outcome in outcomes.items():
        word = outcome if isinstance(outcome, str) else "m%d" % number_of(outcome)
        combinations.setdefault(word, []).append(combination)
    most = max(sorted(combinations), key=lambda word: len(combinations[word]))
    if len(combinations[most]) > 2:
        combinations[most] = ["*"]
    return " ".join("%s=%s" % (word, ",".join(given)) for word, given in combinations.items())


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

    def add_all(self, other):
        first = len(self.runtimes)
        self.runtimes += other.runtimes
        for (op, operands), modes in other.rows.items():
            for mode, by_column in modes.items():
                for column, outcomes in by_column.items():
                    self.add(op, operands, mode, first + column, outcomes)

    def write(self, out):
        numbers = self._message_numbers()
        lines = ["dtypecheck contracts %d" % SCHEMA]
        lines += ["runtime %d %s" % pair for pair in enumerate(self.runtimes)]
        for message, number in sorted(numbers.items(), key=lambda item: item[1]):
            lines.append("message %d %s %s" % (number, message[0], message[1]))
        rows = 0
        for (op, operands), modes in sorted(self.rows.items()):
            lines.append("op %s %s" % (op, operands))
            for mode in sorted(modes, key=lambda m: (m != "plain", m)):
                for columns, outcomes in self._shared(modes[mode]):
                    pattern = text_of_pattern(outcomes, numbers.__getitem__)
                    lines.append("%s %s %s" % (mode, ranges(columns, len(self.runtimes)), pattern))
                    rows += 1
        lines.append("end %d" % rows)
        out.write("\n".join(lines) + "\n")

    def _message_numbers(self):
        seen = {}
        for key in sorted(self.rows):
            for by_column in self.rows[key].values():
                for outcomes in by_column.values():
                    for outcome in outcomes.values():
                        if not isinstance(outcome, str):
                            seen[outcome] = seen.get(outcome, 0) + 1
        order = sorted(seen, key=lambda message: (-seen[message], message))
        return {message: number for number, message in enumerate(order)}

    @staticmethod
    def _shared(by_column):
        groups = []
        for column in sorted(by_column):
            for columns, outcomes in groups:
                if outcomes == by_column[column]:
                    columns.append(column)
                    break
            else:
                groups.append(([column], by_column[column]))
        return groups


def combinations_of(kinds):
    """Every combination that is measured for operands of these kinds, "t" a tensor, "l" a list.

    Up to three operands in full, more with at most two dtypes at a time; a list that is the only
    operand also with two dtypes in it.
    """
    letters = OPERAND_LETTERS
    if kinds == "l":
        return list(letters) + [a + b for a in letters for b in letters if a != b]
    if len(kinds) <= 3:
        combinations = [""]
        for _ in kinds:
            combinations = [c + letter for c in combinations for letter in letters]
        return combinations
    combinations = [letter * len(kinds) for letter in letters]
    for i, a in enumerate(letters):
        for b in letters[i + 1:]:
            for mask in range(1, 2 ** len(kinds) - 1):
                combinations.append("".join(b if mask >> k & 1 else a for k in range(len(kinds))))
    return combinations


def read(lines, name):
    """The file back as Contracts. Raises ValueError with name and line on anything else."""
    contracts, messages, key, rows, ended = Contracts(), {}, None, 0, False
    for number, line in enumerate(lines, 1):
        words = line.rstrip("\n").split(" ")
        try:
            if number == 1:
                if words[:2] != ["dtypecheck", "contracts"]:
                    raise ValueError("expected \"dtypecheck contracts %d\"" % SCHEMA)
                if words[2] != str(SCHEMA):
                    raise ValueError("schema %s, this reads %d" % (words[2], SCHEMA))
            elif words[0] == "runtime":
                contracts.runtimes.append(" ".join(words[2:]))
            elif words[0] == "message":
                messages["m" + words[1]] = Rejects((words[2], " ".join(words[3:])))
            elif words[0] == "op":
                key = (words[1], words[2])
            elif words[0] == "end":
                ended = int(words[1]) == rows
            else:
                rows += 1
                outcomes = _outcomes(key, words[2:], messages)
                for column in columns_of(words[1], len(contracts.runtimes)):
                    contracts.add(key[0], key[1], words[0], column, outcomes)
        except (ValueError, IndexError, KeyError, TypeError) as error:
            raise ValueError("%s:%d: %s" % (name, number, error)) from None
    if not ended:
        raise ValueError("%s: cut short: no \"end\" with the number of rows" % name)
    return contracts


def kinds_of(operands):
    return "".join("l" if name.endswith("[]") else "t" for name in operands.split(","))


def _outcomes(key, words, messages):
    given, default = {}, None
    for word in words:
        outcome, _, combinations = word.partition("=")
        outcome = messages[outcome] if re.match(r"m\d", outcome) else outcome
        if combinations == "*":
            default = outcome
        else:
            given.update((c, outcome) for c in combinations.split(","))
    outcomes = {c: given.pop(c, default) for c in combinations_of(kinds_of(key[1]))}
    if given:
        raise ValueError("%s is no combination of %s" % (min(given), key[1]))
    if None in outcomes.values():
        raise ValueError("no outcome for some combination of %s" % key[1])
    return outcomes
