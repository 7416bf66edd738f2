"""The questions of docs/scale.md about many runs, asked of DuckDB, Spark and ClickHouse, and of plain Python.

    runs_asked.py ENGINE FOLDER     asks one of a folder that make_runs() made, and prints its answers as JSON

ENGINE is python, duckdb, parquet (DuckDB over what it wrote), spark or clickhouse.
"""

import collections
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "scale.md"
RUNS_OF_A_REVISION = 10
LAYERS = 40


def statements(kind):
    """The SQL of the page's blocks of that kind, a text each."""
    blocks = re.findall(r"^```sql (.*?)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return [text.strip() for name, block in blocks if name == kind for text in re.split(r";\s*?\n", block) if text.strip()]


def trace_of(number, runs):
    """A made-up run as text: its revision's dtypes, its LibTorch, its optimizer, and every fiftieth with ranks that differ."""
    revision = number // RUNS_OF_A_REVISION
    late = revision >= runs // RUNS_OF_A_REVISION // 2
    dtypes = ["Float" if late and layer == 3 else "BFloat16" for layer in range(LAYERS)]
    weight = "BFloat16" if number % 10 == 3 else "Float"
    ranks = 2 if number % 50 == 7 else 1
    by = f"by 0-{ranks - 1}x9" if ranks > 1 else ""
    process = f"host=a libtorch={'2.15.0' if late else '2.11.0'} steps=9"
    lines = [f"process pid=7 rank=0 {process}"]
    for layer, dtype in enumerate(dtypes):
        where = f"at model.py:{layer + 9} forward in net.layers.{layer} (Linear) phase forward step 1-9 count 9 {by}"
        for op in ("linear", "layer_norm", "gelu"):
            lines.append(f"op aten::{op} input={dtype}[8,64]@cuda:0 -> {dtype}[8,64]@cuda:0 {where}")
        lines.append(f"op aten::add_ self={weight}[64,64]@cuda:0%net.layers.{layer}.weight!out other={weight}[64,64]@cuda:0 "
                     f"-> {weight}[64,64]@cuda:0 at train.py:30 main phase optimizer step 1-9 count 9 {by}")
    lines.append(f"op aten::_to_copy self=Float[8,64] dtype:=BFloat16 -> BFloat16[8,64] at train.py:12 main phase forward step 1-9 "
                 f"count 9 {by} cast {4608 + number} 3 {3000 + number % 7}")
    if late and number % 4 == 0:
        lines.append(f"op aten::cat tensors=Half[8,64],Float[1,64] -> Float[9,64] at train.py:14 main phase forward step 1-9 count 9 {by}")
    for rank in range(ranks if ranks > 1 else 0):
        dtype = ("Float", "Half")[rank]
        lines.append(f"op aten::relu self={dtype}[8,64] -> {dtype}[8,64] at model.py:7 forward in net.head (ReLU) phase forward "
                     f"step 1-9 count 9 by {rank}x9")
    return "\n".join(lines + [f"process pid=8 rank=1 {process}"] * (ranks - 1)) + "\n"


def keep(dtypecheck, folder, number, runs):
    """As the page's commands keep a run."""
    revision = number // RUNS_OF_A_REVISION
    at = f"revision={revision:05d}-{revision * 2654435761 % 2**28:07x}/run=job{number:05d}"
    trace = folder / f"{number}.trace"
    trace.write_text(trace_of(number, runs))
    for kind, name, command in (("calls", "calls.jsonl", ("dump", "--format", "jsonl")),
                                ("reports", "report.json", ("report", "--format", "json", "--fail-on", "never"))):
        (folder / kind / at).mkdir(parents=True)
        subprocess.run([dtypecheck, *command, "-o", folder / kind / at / name, trace], check=True, capture_output=True)
    trace.unlink()


def make_runs(dtypecheck, folder, runs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda number: keep(dtypecheck, folder, number, runs), range(runs)))


def read(folder, kind):
    for path in sorted((folder / kind).glob("*/*/*")):
        revision, run = (part.name.split("=", 1)[1] for part in (path.parents[1], path.parents[0]))
        text = path.read_text()
        for value in map(json.loads, text.splitlines()) if path.suffix == ".jsonl" else [json.loads(text)]:
            yield revision, run, value


def ask_python(folder):
    """What the engines are held to: a loop over the files, a dictionary a question."""
    low, dtypes, versions, casts, widths, parts = set(), {}, {}, {}, {}, []
    for revision, run, call in read(folder, "calls"):
        place = call["location"]
        for operand in call["operands"]:
            if (place["phase"] == "optimizer" and operand.get("written") and operand.get("parameter")
                    and operand["dtype"] in ("Half", "BFloat16")):
                low.add((revision, run))
        module, gave = place.get("module"), call["results"][0]["dtype"]
        if module:
            dtypes.setdefault(module, {}).setdefault(revision, set()).add(gave)
        made_by = call.get("made_by") or [{"first": call["process"], "last": call["process"]}]
        first, processes = made_by[0]["first"], sum(part["last"] - part["first"] + 1 for part in made_by)
        widths[run] = max(widths.get(run, 0), first + processes)
        parts.append((revision, run, first, module, processes))
        if call["op"] == "aten::_to_copy":
            total = casts.setdefault((call["operands"][0]["dtype"], gave), [0, 0, 0])
            total[0] += call["count"]
            total[1] += call["cast"]["elements"]
            total[2] += call["count"] * call["cast"]["time_ns"] / call["cast"]["timed"]
    for _, run, report in read(folder, "reports"):
        for finding in report["findings"]:
            versions.setdefault((report["runtime"]["libtorch"], finding["rule"]), set()).add(run)
    changed = []
    for module, revisions in dtypes.items():
        ordered = sorted((revision, min(gave)) for revision, gave in revisions.items())
        changed += [(after[0], module, before[1], after[1]) for before, after in zip(ordered, ordered[1:]) if before[1] != after[1]]
    differ = collections.Counter(part[:4] for part in parts if part[3] and part[4] < widths[part[1]])
    return [sorted(low), sorted(changed), sorted((*key, len(runs)) for key, runs in versions.items()),
            sorted((*key, total[0], total[1], round(total[2] / 1e6)) for key, total in casts.items()),
            sorted((*key, count) for key, count in differ.items())]


def duckdb_with(tables):
    import duckdb
    connection = duckdb.connect()
    for statement in tables:
        connection.execute(statement)
    return connection


def ask_duckdb(_):
    connection = duckdb_with(statements("tables duckdb"))
    return [connection.execute(question).fetchall() for question in statements("runs")]


def ask_parquet(folder):
    if not (folder / "findings.parquet").exists():
        duckdb_with(statements("tables duckdb") + statements("parquet"))
    connection = duckdb_with(f"CREATE VIEW {name} AS SELECT * FROM '{name}.parquet'" for name in ("calls", "operands", "findings"))
    return [connection.execute(question).fetchall() for question in statements("runs")]


def ask_spark(_):
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[2]")
    for name, value in (("ui.enabled", "false"), ("ui.showConsoleProgress", "false"), ("sql.shuffle.partitions", "4"), ("log.level", "ERROR"),
                        ("sql.warehouse.dir", tempfile.gettempdir())):
        builder = builder.config("spark." + name, value)
    spark = builder.getOrCreate()
    for statement in statements("tables spark"):
        spark.sql(statement)
    answers = [[tuple(row) for row in spark.sql(question).collect()] for question in statements("runs")]
    spark.stop()
    return answers


def ask_clickhouse(_):
    from chdb.session import Session
    session = Session()
    for statement in statements("tables clickhouse"):
        session.query(statement)
    return [[tuple(json.loads(line)) for line in session.query(question, "JSONCompactEachRow").bytes().splitlines()]
            for question in statements("runs")]


Engine = collections.namedtuple("Engine", "module ask")
ENGINES = {"python": Engine("json", ask_python), "duckdb": Engine("duckdb", ask_duckdb), "parquet": Engine("duckdb", ask_parquet),
           "spark": Engine("pyspark", ask_spark), "clickhouse": Engine("chdb", ask_clickhouse)}


def plain(value):
    return int(value) if isinstance(value, float) or (isinstance(value, str) and value.isdigit()) else value


def asked(engine, folder):
    """In a process of its own, whose working folder it is."""
    done = subprocess.run([sys.executable, __file__, engine, folder], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def missing(engine):
    """What has to be installed for it; nothing where it is there."""
    if importlib.util.find_spec(ENGINES[engine].module) is None:
        return f"{ENGINES[engine].module}: pip install -r tests/cli/engines.txt"
    return "java: apt-get install openjdk-17-jre-headless" if engine == "spark" and not shutil.which("java") else ""


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    print(json.dumps([[[plain(value) for value in row] for row in rows] for rows in ENGINES[sys.argv[1]].ask(pathlib.Path("."))]))
