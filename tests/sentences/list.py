"""The sentences that the program can print, as they stand in its sources: list.py [--update].

sentences.txt beside this file has them all, so that they can be read as a whole, and a change of one is seen in review. Each
literal of C++ and C with a blank between two words is one; neighbouring literals are joined, {} is what is filled in. A part of a
sentence stands behind the last whole one of its function, or, where that has none, of the function above, after a bar. What is
text in files of its own (explain/data, the page) is not listed.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
APPROVED = pathlib.Path(__file__).resolve().parent / "sentences.txt"
FOLDERS = ("analyzer", "cli", "compare", "core", "cures", "explain", "ops", "platform", "reports", "rules", "symbols", "trace", "tracer", "runtime")
# A comment, a raw literal, a literal, or a character: whatever may hold a quote.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\])'""", re.S)
NOT_PROSE = re.compile(r"^\s*#\s*(include|pragma|error|warning)\b.*$", re.M)


def literals(source):
    """Each literal of the source, neighbours joined."""
    end, joined = None, ""
    for token in TOKEN.finditer(NOT_PROSE.sub("", source)):
        text = token["raw"] if token["raw"] is not None else token["text"]
        if text is None:
            continue
        if end is not None and token.string[end:token.start()].strip():
            yield joined
            joined = ""
        joined += text
        end = token.end()
    yield joined


def is_sentence(text):
    words = re.findall(r"[A-Za-z][a-z']+", text)
    is_code = re.search(r"#include|\bdef \w+\(|\bop \w+::|CREATE TABLE|EXPECT |__global__", text)
    return len(words) >= 3 and bool(re.search(r"[a-z,:;] [a-z{]", text)) and not is_code


def is_whole(text):
    """Nobody can judge ", which its project has elsewhere" or "of any dtype but" alone."""
    is_open = re.search(r"(^|\W)(a|an|and|as|at|but|by|for|from|in|no|of|on|or|than|the|to|which|with)$", text)
    return not re.match(r"[,;:).…]", text) and not is_open and len(re.findall(r"[A-Za-z'{]+", text)) >= 5


def lines_of(source):
    """The whole sentences, each with the parts of sentences of its function."""
    lines = []
    for function in re.split(r"(?<=^})", source, flags=re.M):
        texts = [re.sub(r'\\"', '"', text).replace("\\n", "\n").strip() for text in literals(function) if is_sentence(text)]
        texts = [" / ".join(text.splitlines()) for text in dict.fromkeys(texts)]
        lines += [[text] for text in texts if is_whole(text)]
        parts = [text for text in texts if not is_whole(text)]
        if parts:
            lines[-1:] = [[*(lines[-1] if lines else []), *parts]]
    return [" | ".join(line) for line in lines]


def listed():
    parts = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            is_ours = path.suffix in (".cpp", ".h", ".c", ".inc") and "bundled" not in path.parts and "stubs" not in path.name
            if not is_ours or path.name == "process_facts.inc":  # what nobody prints
                continue
            found = lines_of(path.read_text())
            if found:
                parts.append(path.relative_to(ROOT).as_posix() + "\n" + "".join(f"  {line}\n" for line in found))
    return "\n".join(parts)


def main():
    now = listed()
    if sys.argv[1:] == ["--update"]:
        APPROVED.write_text(now)
        return 0
    if now == APPROVED.read_text():
        return 0
    before = set(APPROVED.read_text().splitlines())
    for line in now.splitlines():
        if line not in before:
            print("not approved:", line.strip())
    print("Read what changed as a user would, then run: python3 tests/sentences/list.py --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
