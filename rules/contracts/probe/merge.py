"""Several contract files into one, equal rows shared: merge.py FILE... -o FILE

Versions stand in their order; of one that several files have, the last file's is taken. With --agree
these are of one version: what they say differently is not known, as the words of a refusal are the first's.
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


def in_mode(modes, mode):
    """A mode without outcomes of its own is as the plain one; backward, gradients come through."""
    found = next(iter(modes.get(mode, {}).values()), None)
    if found is not None or mode in ("backward", "index"):
        return found or {}
    return in_mode(modes, "plain")


def agreed(tables):
    """One table of one runtime, of several that measured it, in their first one's ops."""
    result = contract_file.Contracts()
    capabilities = [re.search(r"capability=(\S+)", table.runtimes[0]).group(1) for table in tables]
    result.runtimes.append(tables[0].runtimes[0].replace(capabilities[0], ",".join(capabilities), 1))
    for (op, operands), modes in tables[0].rows.items():
        others = [table.rows[op, operands] for table in tables[1:] if (op, operands) in table.rows]
        for mode in set(modes).union(*others):
            outcomes = dict(in_mode(modes, mode))
            for other in others:
                for combination, outcome in in_mode(other, mode).items():
                    own = outcomes.setdefault(combination, outcome)
                    both_refuse = not isinstance(own, str) and not isinstance(outcome, str)
                    if own != outcome and not both_refuse:
                        outcomes[combination] = "?"
            result.add(op, operands, mode, 0, outcomes)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--agree", action="store_true")
    arguments = parser.parse_args()
    tables = []
    for name in arguments.files:
        with open(name) as lines:
            try:
                tables.append(contract_file.read(lines, name))
            except ValueError as error:
                sys.exit(str(error))
    with open(arguments.out, "w") as out:
        (agreed(tables) if arguments.agree else merged(tables)).write(out)


if __name__ == "__main__":
    main()
