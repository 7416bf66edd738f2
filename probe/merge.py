"""Several contract files into one, equal rows shared: merge.py FILE... -o FILE

Versions stand in their order; of one that several files have, the last file's is taken.
"""
import argparse
import re
import sys

import contract_file


def order(runtime):
    """"cpu 2.11.0 measured …" by device and version."""
    device, version = runtime.split(" ")[:2]
    return device, [int(part) for part in re.findall(r"\d+", version)]


def merged(tables):
    by_runtime = {}
    for table in tables:
        for column, runtime in enumerate(table.runtimes):
            by_runtime[tuple(runtime.split(" ")[:2])] = (runtime, table, column)
    result = contract_file.Contracts()
    for runtime, table, column in sorted(by_runtime.values(), key=lambda one: order(one[0])):
        result.add_column(table, column)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", "--out", required=True)
    arguments = parser.parse_args()
    tables = []
    for name in arguments.files:
        with open(name) as lines:
            try:
                tables.append(contract_file.read(lines, name))
            except ValueError as error:
                sys.exit(str(error))
    with open(arguments.out, "w") as out:
        merged(tables).write(out)


if __name__ == "__main__":
    main()
