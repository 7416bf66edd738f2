// dump_sqlite.h: a run as a database of SQLite, whose schema docs/scale.md explains.
#pragma once

#include <iosfwd>

#include "core/run.h"

namespace dtypecheck::cli {

// The bytes of the database's file. It is made in the folder for temporary files. Throws
// InputError.
void write_sqlite(const Run& run, std::ostream& out);

}  // namespace dtypecheck::cli
