// parameter_names.h: parameters and buffers of the known module trees, by their TensorImpl. GIL
// held.
#pragma once

#include <string>

namespace dtypecheck {
namespace tracer {
namespace python {

std::string find_parameter_name(const void* impl);

}  // namespace python
}  // namespace tracer
}  // namespace dtypecheck
