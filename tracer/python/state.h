// state.h: what start() leaves for the other files.
#pragma once

#include <string>

namespace dtypecheck::tracer::python {

// The working folder when tracing began: relative file names are of that time.
const std::string& first_folder();

}  // namespace dtypecheck::tracer::python
