"""JSON lines to Parquet, by DuckDB or Arrow: dump_parquet.py LINES PARQUET. Exits with 3 where neither is installed."""

import sys


def with_duckdb(lines, parquet):
    import duckdb

    connection = duckdb.connect()
    # All lines say what a column is: many are null at first.
    connection.read_json(lines, format="newline_delimited", sample_size=-1, maximum_object_size=1 << 28).write_parquet(parquet)


def with_arrow(lines, parquet):
    import pyarrow.json
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.json.read_json(lines), parquet)


def main():
    for write in (with_duckdb, with_arrow):
        try:
            return write(*sys.argv[1:3])
        except ImportError:
            continue
    return 3


if __name__ == "__main__":
    sys.exit(main())
