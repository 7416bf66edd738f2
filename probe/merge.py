"""Several contract files into one, equal rows shared: merge.py FILE... -o FILE, oldest version first."""
import argparse
import sys

import contract_file


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", "--out", required=True)
    arguments = parser.parse_args()
    merged = contract_file.Contracts()
    for name in arguments.files:
        with open(name) as lines:
            try:
                merged.add_all(contract_file.read(lines, name))
            except ValueError as error:
                sys.exit(str(error))
    with open(arguments.out, "w") as out:
        merged.write(out)


if __name__ == "__main__":
    main()
