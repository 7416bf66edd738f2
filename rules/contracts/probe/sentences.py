"""Which sentences about dtypes a torch, or a library beside it, can say, from its own files:

    sentences.py TORCH_FOLDER... -o FILE
    sentences.py --of-library NAME=FOLDER... -o FILE

LibTorch's checks are string literals of its libraries, in pieces where a dtype or a name is put in
between; Python's are in `raise`, `assert`, warnings and checks of its sources, with {} where something
is put in. Each is written once, in normal form, with the versions that have it, for the test that
names those that explain's tables do not know. Of a library's unpacked wheel or source archive the
Python sources, the checks in its C++ and CUDA sources (TORCH_CHECK and its kin, whose arguments are
joined) and the literals of its shared objects are read; each sentence is written with the library
and the dtypes that it names.
"""
import argparse
import ast
import pathlib
import re
import subprocess
import sys

LIBRARIES = ["lib/libc10.so", "lib/libtorch_cpu.so", "lib/libtorch_cuda.so", "lib/libtorch_python.so"]
# What a sentence about dtypes has in it.
ABOUT = re.compile(
    r"\b(d-?types?|scalar[ _]?types?|scalartype|data types?|half|bfloat16|float16|float32|float64|"
    r"float8|bf16|fp16|floating[- ]point (type|tensor|input)s?|complex|"
    r"bool(ean)? (tensor|mask|input)s?|"
    r"(float|double|long|int|integer|byte) (tensor|type|input)s?|mixed precision|autocast|"
    r"type promotion)\b", re.I)
# And what else a check says, so that documents, schemas and names are left out.
CHECKS = re.compile(
    r"\b(expect(s|ed)?|must|should|only|not|cannot|can't|doesn't|does not|don't|unsupported|invalid|"
    r"mismatch(ed)?|match(es)?|same|different|supports?|requires?|required|got|found|unexpected|"
    r"unable|fail(s|ed)?)\b", re.I)
# LLVM's and the interpreters' own sentences are in the libraries too, and ONNX's documents.
OF_OTHERS = re.compile(
    r"&&|\|\||internal assert|isa<|\(optional|llvm|vector|shuffle|opcode|operand bundle|dwarf|"
    r"register|memory|immediate|instruction|legali[sz]|splat|getelementptr|pointer|attribute|"
    r"intrinsic|caffe2|onnx|nnapi|literal|token|identifier|mantissa|exponent|opset|json|protobuf|"
    r"constant|string|metadata|intel avx|pad(ding)? should|data type (for|is specified|to which)|"
    r"dtype argument|data type of the (output tensor|elements)|if the input data type|zero[-_ ]point|"
    r"malformed|prepack|qint|quint|observer|qconfig|embedding_?bag_|qnnpack|schema|torchscript|"
    r"printing|tracer|spir|vulkan|miopen_|profil|complexity|halfway", re.I)
NO_SENTENCE = re.compile(
    r"->|::|\n.*\n|^\s*(r?\"\"\"|#)|Args:|Example|>>>|\bTensor[a-z?\[\]]* \w+[,)]|%[sd0-9.]|"
    r"[;{}]\s*$|\w\(.*\)\s*$|[<>]{2}|__|\\")
LEAST_WORDS, MOST = 3, 240


def normal(text):
    text = re.sub(r"['\"`]", "", text).lower()
    return re.sub(r"\s+", " ", text).strip()


def is_check(text):
    return (len(text) <= MOST and len(text.split()) >= LEAST_WORDS and ABOUT.search(text)
            and CHECKS.search(text) and not NO_SENTENCE.search(text)
            and not OF_OTHERS.search(text))


def of_libraries(torch):
    for name in LIBRARIES:
        path = torch / name
        if not path.exists():
            continue
        out = subprocess.run(["strings", "-n", "12", str(path)], capture_output=True, check=True)
        for text in out.stdout.decode("utf-8", "replace").splitlines():
            if is_check(text):
                yield normal(text), name.split("/")[-1]


def text_of(node):
    """A literal's text, with {} for what is put in; or nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(value) or "{}" for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or "{}") + (text_of(node.right) or "{}")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return re.sub(r"\{[^}]*\}", "{}", text_of(node.func.value) or "")
    if isinstance(node, ast.Lambda):
        return text_of(node.body)
    return None


def said_in(tree):
    """The texts of exceptions, assertions, warnings and torch._check."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from map(text_of, node.exc.args[:1])
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield text_of(node.msg)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("warn", "warning", "check", "_check", "_check_with"):
                yield from map(text_of, node.args[:3])


def of_sources(torch):
    for path in sorted(torch.rglob("*.py")):
        where = path.relative_to(torch)
        if {"testing", "test", "_inductor", "_vendor", "onnx", "ao", "_numpy", "jit"} & set(where.parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for text in said_in(tree):
            if text and is_check(text.replace("\n", " ")):
                yield normal(text), str(where)


# TORCH_CHECK(q.dtype() == k.dtype(), "query and key must have the same dtype, got ", q.dtype());
CPP_CHECK = re.compile(r"\b(?:TORCH_CHECK(?:_\w+)?|AT_ERROR|NVTE_CHECK|NVTE_ERROR|CHECK_INPUT|ORT_ENFORCE)\s*\(")


def arguments_in(text, begin):
    """The arguments of a call whose bracket opens before `begin`."""
    parts, depth, start, at, is_quoted = [], 1, begin, begin, False
    while at < len(text) and depth:
        char = text[at]
        if char == '"' and text[at - 1] != "\\":
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (char in "([{") - (char in ")]}")
            if (char == "," and depth == 1) or not depth:
                parts.append(text[start:at])
                start = at + 1
        at += 1
    return parts


def of_cpp(text):
    """What a check says, with {} for what is put in; without words of its own what LibTorch says of it."""
    for match in CPP_CHECK.finditer(text):
        arguments = arguments_in(text, match.end())
        words = [re.sub(r'"\s*"', "", part.strip()) for part in arguments if part.strip()]
        said = "".join(word.strip('"') if word.startswith('"') else "{}" for word in words if word not in words[:1] or word.startswith('"'))
        if '"' in "".join(words):
            yield re.sub(r"(\{\})+", "{}", said)
        elif words and "CHECK" in match.group() and not words[0].startswith("!"):
            yield f"Expected {' '.join(words[0].split())} to be true, but got false."


# In a whole program's literals and logs only what says that a dtype is refused counts.
DTYPES = re.compile(r"\b(?:float(?:8\w*|16|32|64)|bfloat16|half|double|fp(?:8|16|32|64)|bf16|u?int(?:4|8|32|64)|int64|long|bool|complex|"
                    r"e4m3\w*|e5m2\w*)\b")
SKIPPED = {"test", "tests", "testing", "_vendor", "docs", "examples", "3rdparty", "third_party", "cutlass", "composable_kernel", "_inductor"}


def of_library(folder):
    for path in sorted(folder.rglob("*")):
        if SKIPPED & set(path.relative_to(folder).parts) or not path.is_file():
            continue
        texts = []
        if path.suffix == ".py":
            try:
                texts = said_in(ast.parse(path.read_text(encoding="utf-8")))
            except (SyntaxError, ValueError):
                continue
        elif path.suffix in (".cpp", ".cu", ".h", ".cuh", ".hpp", ".cc"):
            texts = of_cpp(path.read_text(encoding="utf-8", errors="replace"))
        elif ".so" in path.suffixes:
            out = subprocess.run(["strings", "-n", "12", str(path)], capture_output=True, check=True)
            texts = out.stdout.decode("utf-8", "replace").splitlines()
        for text in texts:
            if text and is_check(text.replace("\n", " ")):
                yield normal(text)


def write_libraries(names, out):
    found = {}
    for name in names:
        library, _, folder = name.partition("=")
        for text in of_library(pathlib.Path(folder)):
            found.setdefault(text, []).append(library)
    for text, libraries in sorted(found.items()):
        dtypes = sorted(set(DTYPES.findall(text)))
        out.write("%s | %s | %s\n" % (text, " ".join(sorted(set(libraries))), " ".join(dtypes) or "any"))


def version_of(torch):
    return re.search(r"__version__ = ['\"](\d+\.\d+)", (torch / "version.py").read_text()).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", help="the folder of torch's package")
    parser.add_argument("--of-library", action="store_true")
    parser.add_argument("-o", "--out", required=True)
    arguments = parser.parse_args()
    if arguments.of_library:
        with open(arguments.out, "w") as out:
            return write_libraries(arguments.folders, out)
    found = {}  # text -> (where it was seen first, versions)
    for torch in map(pathlib.Path, arguments.folders):
        if not (torch / "version.py").exists():
            sys.exit("%s: no version.py: not the folder of a torch" % torch)
        version = version_of(torch)
        for text, where in [*of_libraries(torch), *of_sources(torch)]:
            versions = found.setdefault(text, (where, []))[1]
            if version not in versions:
                versions.append(version)
    with open(arguments.out, "w") as out:
        for text, (where, versions) in sorted(found.items()):
            out.write("%s | %s | %s\n" % (text, where, " ".join(versions)))


if __name__ == "__main__":
    main()
