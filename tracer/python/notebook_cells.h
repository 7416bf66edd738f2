// notebook_cells.h: code that was typed into a notebook or IPython's prompt. It has the name of a
// file that is not there ("/tmp/ipykernel_71/2183.py"); what people know it by is the cell's
// number, which IPython keeps by that name, and its lines are in linecache.
#pragma once

#include <string>
#include <vector>

#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

// "In [2]" of the name of a cell's code; "" for the code of a file, and where IPython does not know
// it. Cold; the GIL is held.
std::string cell_name(const std::string& code_file);

// The cells that cell_name() has named since this was last asked. The GIL is held.
std::vector<Cell> take_new_cells();

}  // namespace dtypecheck::tracer::python
