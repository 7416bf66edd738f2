// local_parts.cpp: what this process holds of a tensor of torch.distributed, and how that is cut.
#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/tensors.h"

namespace dtypecheck::tracer::python {
namespace {

// A shard alone is another one in each process.
std::string placement(Object* placement, Object* coordinate) {
  const std::string kind = type_name(type_of(placement));
  const Ref dim = attribute(placement, "dim");  // a member of C++
  if (!dim) return kind;
  return kind + "(" + std::to_string(as_integer(dim.get(), 0)) + ")@" +
         std::to_string(as_integer(coordinate, -1));
}

std::string cut_of(Object* dtensor) {
  const Ref spec = attribute(dtensor, "_spec");
  const Ref placements = spec ? attribute(spec.get(), "placements") : Ref();
  const Ref mesh = spec ? attribute(spec.get(), "mesh") : Ref();
  const Ref coordinates = mesh ? attribute(mesh.get(), "_coordinate_on_dim") : Ref();
  std::string cut;
  for (std::ptrdiff_t i = 0; i < sequence_size(placements.get()); ++i)
    cut += (cut.empty() ? "" : ", ") +
           placement(sequence_item(placements.get(), i), sequence_item(coordinates.get(), i));
  return cut;
}

LocalPart part_of(Object* tensor) {
  static Object* dtensor = nullptr;
  static Object* async = nullptr;
  if (!dtensor) dtensor = imported_item("torch.distributed.tensor", "DTensor");
  if (!async)
    async = imported_item("torch.distributed._functional_collectives", "AsyncCollectiveTensor");
  LocalPart part;
  Ref at = Ref::share(tensor);
  if (is_exactly(at.get(), dtensor)) {
    part.cut = cut_of(at.get());
    at = attribute(at.get(), "_local_tensor");
  }
  if (is_exactly(at.get(), async)) {
    const Ref is_done = attribute(at.get(), "completed");
    if (!is_done || api.PyObject_IsTrue(is_done.get()) != 1) return part;
    at = attribute(at.get(), "elem");
  }
  if (is_plain_tensor(at.get())) part.impl = tensor_impl(at.get());
  return part;
}

}  // namespace

LocalPart local_part(const void* tensor) {
  if (tensor == nullptr) return {};
  return with_interpreter<LocalPart>(
      [&] { return part_of(static_cast<Object*>(const_cast<void*>(tensor))); });
}

}  // namespace dtypecheck::tracer::python
