// tensors.h: torch.Tensor objects, read without calling anything that the program can override. GIL
// held.
#pragma once

#include <string>
#include <vector>

#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

bool is_tensor(const Object* object);
// Exactly torch.Tensor or Parameter: attributes of other classes may be the program's own code.
bool is_plain_tensor(const Object* object);

// The TensorImpl, of a subclass as well; null when it cannot be read.
const void* tensor_impl(Object* tensor);

// Of any tensor; of a subclass, or while a __torch_function__ mode is on, only the name is given.
LocalTensor describe_tensor(const std::string& name, Object* tensor);

}  // namespace dtypecheck::tracer::python
