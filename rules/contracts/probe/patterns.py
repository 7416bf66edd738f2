"""{combination: word} as a line, "^=[fhbd]. m3=*", and back.

A part is a word and the combinations that it is the outcome of: a letter or a class of letters for
each operand, "." for any and "~" for that of the first operand. The first part that a combination
fits has its outcome; "*" is all the rest.
"""
import re

import letters


def choose(candidates, commonness):
    """{combination: its word}: few words in all, and such as other rows have too."""
    left = dict(candidates)
    chosen = {}
    while left:
        counts, rank = {}, {}
        for words in left.values():
            for i, word in enumerate(words):
                counts[word] = counts.get(word, 0) + 1
                rank[word] = min(rank.get(word, i), i)
        best = max(counts, key=lambda w: (counts[w], commonness.get(w, 0), -rank[w], str(w)))
        for combination in [c for c, words in left.items() if best in words]:
            chosen[combination] = best
            del left[combination]
    return chosen


class Measured:
    """The combinations as bits of a number, and which of them have a letter at a place."""

    def __init__(self, combinations):
        self.bits = {c: 1 << i for i, c in enumerate(combinations)}
        self.letters = [x for x in letters.DTYPES if any(x in c for c in combinations)]
        self.of_size, self.at = {}, {}
        for combination, bit in self.bits.items():
            size = len(combination)
            self.of_size[size] = self.of_size.get(size, 0) | bit
            for i, letter in enumerate(combination):
                for one in {letter, "~" if letter == combination[0] else letter}:
                    key = (size, i, one)
                    self.at[key] = self.at.get(key, 0) | bit

    def of(self, combinations):
        return sum(self.bits[c] for c in combinations)

    def fitting(self, shape):
        found = self.of_size.get(len(shape), 0)
        for i, one in enumerate(shape):
            at = found if one == "." else 0
            for letter in one:
                at |= self.at.get((len(shape), i, letter), 0)
            found &= at
        return found

    def text(self, shape):
        """A class of all letters is a ".", which stands also for those that were not measured."""
        return "".join("." if len(one) == len(self.letters) > 1 else one if len(one) == 1
                       else "[%s]" % "".join(x for x in self.letters if x in one)
                       for one in shape)


def text_of(words):
    by_word = {}
    for combination, word in words.items():
        by_word.setdefault(word, []).append(combination)
    order = sorted(by_word, key=lambda word: (len(by_word[word]), word))
    measured, parts, settled = Measured(words), [], 0
    for word in order[:-1]:
        wanted = measured.of(by_word[word])
        parts.append("%s=%s" % (word, ",".join(_cover(by_word[word], wanted, settled, measured))))
        settled |= wanted
    last = order[-1]
    is_short = len(by_word[last]) < 2
    return " ".join(parts + ["%s=%s" % (last, by_word[last][0] if is_short else "*")])


def _cover(combinations, wanted, settled, measured):
    """Few patterns that fit all that is wanted, beside them only what is settled or not there."""
    left, cover = wanted, []
    for seed in sorted(combinations):
        if not left & measured.bits[seed]:
            continue
        shapes = [_grown(shape, wanted | settled, measured) for shape in _shapes(seed)]
        best = max(shapes, key=lambda shape: (bin(left & measured.fitting(shape)).count("1"),
                                              -len(measured.text(shape))))
        left &= ~measured.fitting(best)
        cover.append(measured.text(best))
    return cover


def _shapes(seed):
    yield tuple(seed)
    if len(seed) > 1 and seed[0] in seed[1:]:
        yield (seed[0],) + tuple("~" if c == seed[0] else c for c in seed[1:])


def _grown(shape, allowed, measured):
    for i in range(len(shape)):
        if shape[i] == "~":
            continue
        for letter in measured.letters:
            wider = shape[:i] + (shape[i] + letter,) + shape[i + 1:]
            if letter not in shape[i] and not measured.fitting(wider) & ~allowed:
                shape = wider
    return shape


def parse(words):
    """[(word, shapes)], shapes None for "*"."""
    parts = []
    for text in words:
        word, _, combinations = text.partition("=")
        if combinations == "*":
            parts.append((word, None))
            continue
        shapes = [tuple(one.strip("[]") for one in re.findall(r"\[\w+\]|.", shape))
                  for shape in combinations.split(",")]
        parts.append((word, shapes))
    return parts


def check(parts, combinations, measured):
    """Raises ValueError where a combination is spelled out that these operands cannot have."""
    known = set(combinations)
    for _, shapes in parts:
        for shape in shapes or ():
            if all(len(one) == 1 and one in letters.DTYPES for one in shape):
                text = "".join(shape)
                if text not in known and set(text) <= set(measured):
                    raise ValueError("%s is no combination" % text)
            elif not all(one in (".", "~") or set(one) <= set(letters.DTYPES) for one in shape):
                raise ValueError("%s is no pattern" % "".join(shape))


def words_of(parts, combinations):
    """{combination: word}; None where the line says nothing."""
    measured = Measured(combinations)
    left, rest, words = sum(measured.of_size.values()), None, {}
    for word, shapes in parts:
        if shapes is None:
            rest = word
            continue
        found = 0
        for shape in shapes:
            found |= measured.fitting(shape)
        words.update((c, word) for c, bit in measured.bits.items() if bit & found & left)
        left &= ~found
    return {c: words.get(c, rest) for c in combinations}
