// dump_parquet.h: a run as a Parquet file, which DuckDB or Arrow writes of the JSON lines: neither
// is a library of this program, and whoever reads Parquet has one of them in Python.
#pragma once

#include <iosfwd>

#include "core/run.h"

namespace dtypecheck::cli {

// The bytes of the file. It is made in the folder for temporary files, by python3. Throws
// InputError, also where python3 has no package that writes Parquet.
void write_parquet(const Run& run, std::ostream& out);

}  // namespace dtypecheck::cli
