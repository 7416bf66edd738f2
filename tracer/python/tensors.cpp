#include "tracer/python/tensors.h"

#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

// A class of torch's, once imported; kept, since it is asked for often.
Object* kept(const char* module, const char* name, Object** place) {
  if (*place == nullptr) {
    *place = imported_item(module, name);
    if (*place != nullptr) api.Py_IncRef(*place);
  }
  return *place;
}
Object* tensor_type() {
  static Object* type = nullptr;
  return kept("torch", "Tensor", &type);
}
Object* parameter_type() {
  static Object* type = nullptr;
  return kept("torch.nn.parameter", "Parameter", &type);
}

// A mode (`with torch.device(…)`, or the program's own) is Python code that sees every attribute of
// a tensor being read.
bool torch_function_mode_is_on() {
  Object* length = imported_item("torch._C", "_len_torch_function_stack");
  if (length == nullptr) return false;  // before torch 2.0 there is none
  const Ref depth(api.PyObject_CallObject(length, nullptr));
  if (!depth) api.PyErr_Clear();
  return as_integer(depth.get(), 1) != 0;
}

// Where a tensor object keeps its TensorImpl: right behind the header, or, where there is a flag
// before it, 8 bytes further (torch 1.x, 2.x up to 2.9 or so). Learnt from one tensor, which says
// its address as `_cdata`.
size_t g_impl_offset = 0;

void learn_impl_offset(Object* tensor) {
  if (torch_function_mode_is_on()) return;
  const Ref address = attribute(tensor, "_cdata");
  if (!is_instance(address.get(), api.PyLong_Type)) return;
  const void* impl = api.PyLong_AsVoidPtr(address.get());
  if (impl == nullptr) return api.PyErr_Clear();
  for (size_t offset : {16, 24}) {
    if (load<const void*>(tensor, offset) == impl) g_impl_offset = offset;
  }
}

std::string text_attribute(Object* object, const char* name) {
  const Ref value = attribute(object, name);
  const Ref text(value ? api.PyObject_Str(value.get()) : nullptr);
  if (!text) api.PyErr_Clear();
  return text_of(text.get());
}

std::string dtype_of(Object* tensor) {
  const std::string dtype = text_attribute(tensor, "dtype");  // "torch.float16"
  return dtype.rfind("torch.", 0) == 0 ? dtype.substr(6) : dtype;
}

bool flag_of(Object* tensor, const char* name) {
  const Ref value = attribute(tensor, name);
  return value && api.PyObject_IsTrue(value.get()) == 1;
}

std::vector<int64_t> shape_of(Object* tensor) {
  std::vector<int64_t> sizes;
  const Ref shape = attribute(tensor, "shape");
  if (!is_instance(shape.get(), api.PyTuple_Type)) return sizes;
  for (std::ptrdiff_t i = 0; i < api.PyTuple_Size(shape.get()); ++i) {
    sizes.push_back(as_integer(api.PyTuple_GetItem(shape.get(), i), -1));
  }
  return sizes;
}

}  // namespace

bool is_tensor(const Object* object) { return is_instance(object, tensor_type()); }

bool is_plain_tensor(const Object* object) {
  return object != nullptr &&
         (is_exactly(object, tensor_type()) || is_exactly(object, parameter_type()));
}

const void* tensor_impl(Object* tensor) {
  if (!is_tensor(tensor)) return nullptr;
  if (g_impl_offset == 0 && is_plain_tensor(tensor)) learn_impl_offset(tensor);
  return g_impl_offset == 0 ? nullptr : load<const void*>(tensor, g_impl_offset);
}

LocalTensor describe_tensor(const std::string& name, Object* tensor) {
  LocalTensor t;
  t.name = name;
  if (!is_plain_tensor(tensor)) return t;
  t.impl = tensor_impl(tensor);
  if (torch_function_mode_is_on()) return t;
  t.dtype = dtype_of(tensor);
  t.device = text_attribute(tensor, "device");
  t.shape = shape_of(tensor);
  t.requires_grad = flag_of(tensor, "requires_grad");
  t.is_leaf = flag_of(tensor, "is_leaf");
  if (!t.is_leaf) return t;  // .grad of any other tensor warns
  const Ref grad = attribute(tensor, "grad");
  if (!is_plain_tensor(grad.get())) return t;
  t.grad_impl = tensor_impl(grad.get());
  t.grad_dtype = dtype_of(grad.get());
  return t;
}

}  // namespace dtypecheck::tracer::python
