"""The dtypes that operands are measured in, a letter each, and what LibTorch makes of them.

rules/contracts/pattern.cpp knows the same rules in C++.
"""
import itertools

DTYPES = {
    "f": "float32", "h": "float16", "b": "bfloat16", "d": "float64", "l": "int64", "i": "int32",
    "s": "int16", "c": "int8", "u": "uint8", "o": "bool", "F": "complex64", "H": "complex32",
    "D": "complex128", "e": "float8_e4m3fn", "E": "float8_e5m2",
}
LETTERS = {name: letter for letter, name in DTYPES.items()}
FIRST = "fhbd"     # in every combination of up to three operands
BESIDE = "fhbdl"   # beside which each other dtype is measured

# How LibTorch spells dtypes in its messages, by the letter of the spelling.
NAMES = {
    "f": "Float", "h": "Half", "b": "BFloat16", "d": "Double", "l": "Long", "i": "Int",
    "s": "Short", "c": "Char", "u": "Byte", "o": "Bool", "F": "ComplexFloat", "H": "ComplexHalf",
    "D": "ComplexDouble", "e": "Float8_e4m3fn", "E": "Float8_e5m2",
}
CPP_NAMES = {
    "f": "float", "h": "c10::Half", "b": "c10::BFloat16", "d": "double", "l": "long int",
    "i": "int", "s": "short int", "c": "signed char", "u": "unsigned char", "o": "bool",
    "F": "c10::complex<float>", "H": "c10::complex<c10::Half>", "D": "c10::complex<double>",
    "e": "c10::Float8_e4m3fn", "E": "c10::Float8_e5m2",
}
SPELLINGS = {
    "S": NAMES,
    "T": CPP_NAMES,
    "P": {letter: "torch." + name for letter, name in DTYPES.items()},
    "H": {letter: "torch.%sTensor" % name for letter, name in NAMES.items()},
    "G": {letter: "torch.cuda.%sTensor" % name for letter, name in NAMES.items()},
    "C": {letter: "CPU%sType" % name for letter, name in NAMES.items()},
}
WORDS = {word: (style, letter) for style, words in SPELLINGS.items()
         for letter, word in words.items()}

REAL_OF = {"F": "f", "H": "h", "D": "d"}
COMPLEX_OF = {"f": "F", "h": "H", "d": "D", "b": "F"}
INTEGERS = "csil"  # from narrow to wide; Byte widens to Short beside Char
INTEGRAL = "ouscil"


def category(letter):
    """0 bool, 1 integers, 2 floating, 3 complex."""
    return 3 if letter in REAL_OF else 0 if letter == "o" else 1 if letter in INTEGRAL else 2


def promoted_pair(a, b):
    """torch.promote_types; "" where there is none."""
    if a == b:
        return a
    if a in "eE" or b in "eE":
        return ""
    if category(a) < category(b):
        a, b = b, a
    if category(a) == 3:
        real = promoted_pair(REAL_OF[a], REAL_OF.get(b, b)) if category(b) > 1 else REAL_OF[a]
        return COMPLEX_OF[real]
    if category(a) == 2:
        if category(b) < 2:
            return a
        return "d" if "d" in (a, b) else "f"
    if category(b) == 0:
        return a
    if "u" in (a, b):
        other = b if a == "u" else a
        return "s" if other == "c" else other
    return max(a, b, key=INTEGERS.index)


def promoted(combination, scalars=()):
    """torch.result_type of operands, of which those at `scalars` have no dimensions; or ""."""
    with_dimensions = without = ""
    for i, letter in enumerate(combination):
        if i in scalars:
            without = promoted_pair(without, letter) if without else letter
            if not without:
                return ""
        else:
            with_dimensions = (promoted_pair(with_dimensions, letter) if with_dimensions
                               else letter)
            if not with_dimensions:
                return ""
    if not with_dimensions or not without:
        return with_dimensions or without
    if category(with_dimensions) == 3:
        return with_dimensions
    if category(with_dimensions) == 2:
        return (COMPLEX_OF.get(with_dimensions, "") if category(without) == 3
                else with_dimensions)
    if with_dimensions == "o" or category(without) > 1:
        return promoted_pair(with_dimensions, without)
    return with_dimensions


# What stands for the dtype of a result, beside its letter and the position of an operand.
def promoted_to(symbol, dtype):
    """The letter that the symbol means where operands promote to this one; "" for none."""
    if not dtype or symbol == "^":
        return dtype
    if symbol == "%":  # integers are answered in Float
        return "f" if dtype in INTEGRAL else dtype
    if symbol == "+":  # and summed in Long
        return "l" if dtype in INTEGRAL else dtype
    real = REAL_OF.get(dtype, "f" if dtype in INTEGRAL else dtype)
    return real if symbol == "|" else COMPLEX_OF.get(real, "")


SYMBOLS = "^%+|&"


def meaning(symbol, combination, promoted_letter):
    if symbol.isdigit():
        return combination[int(symbol)] if int(symbol) < len(combination) else ""
    return promoted_to(symbol, promoted_letter) if symbol in SYMBOLS else symbol


def is_of_letters(outcome):
    return outcome not in ("?", ".", "-")


def resolved(word, combination, scalars=()):
    """The outcome with a letter for each symbol."""
    if not is_of_letters(word):
        return word
    dtype = promoted(combination, scalars)
    outcome = "".join(meaning(symbol, combination, dtype) for symbol in word)
    if len(outcome) != len(word):
        raise ValueError("%s means nothing for %s" % (word, combination))
    return outcome


def words_for(outcome, combination, scalars=()):
    """Each word that says the outcome: "^", "0" or "f" for Float; the most general ones first."""
    if not is_of_letters(outcome):
        return [outcome]
    dtype = promoted(combination, scalars)
    symbols = SYMBOLS + "".join(str(i) for i in range(len(combination)))
    by_result = [[s for s in symbols if meaning(s, combination, dtype) == letter] + [letter]
                 for letter in outcome]
    if len(outcome) > 2:  # the same symbol for all that it fits, or for the first alone
        first = ["".join(s if s in of_result else letter
                         for of_result, letter in zip(by_result, outcome)) for s in symbols]
        first += [s + outcome[1:] for s in by_result[0]]
        return list(dict.fromkeys(first + [outcome]))
    return ["".join(choice) for choice in itertools.product(*by_result)]


def scalars_of(operands):
    """The positions of the operands without dimensions: "self,other()" has them at 1."""
    names = operands.partition(" ")[0].split(",")
    return tuple(i for i, name in enumerate(names) if name.endswith("()"))
