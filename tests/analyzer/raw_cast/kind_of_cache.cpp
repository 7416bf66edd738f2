// A cache that is read as one type or another by the name of its kind, and block scales as one 16-bit type or the other by a switch: by
// neither the dtype is known. A check under the same name holds where it is asked for again.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <torch/extension.h>

template <typename T, typename Cache>
void store(const T* key, Cache* cache);
template <typename T>
void multiply(const uint8_t* x, const T* scales);

void by_name(at::Tensor key, at::Tensor cache, const std::string& kind) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, key.scalar_type(), "store", [&] {
    if (kind == "auto") {
      store<scalar_t, scalar_t>(key.data_ptr<scalar_t>(), reinterpret_cast<scalar_t*>(cache.data_ptr()));
      // EXPECT error: cache is cast to the type of key from an untyped pointer, and nothing says that it has its dtype [dispatched-raw-cast]
    } else {
      store<scalar_t, uint8_t>(key.data_ptr<scalar_t>(), reinterpret_cast<uint8_t*>(cache.data_ptr()));
    }
  });
}

void by_name_checked(at::Tensor key, at::Tensor cache, const std::string& kind) {
  if (kind == "auto") TORCH_CHECK(cache.scalar_type() == key.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, key.scalar_type(), "store", [&] {
    if (kind == "auto") store<scalar_t, scalar_t>(key.data_ptr<scalar_t>(), reinterpret_cast<scalar_t*>(cache.data_ptr()));
  });
}

void by_another_name(at::Tensor key, at::Tensor cache, std::string kind) {
  if (kind == "auto") TORCH_CHECK(cache.scalar_type() == key.scalar_type());
  kind = "auto";
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, key.scalar_type(), "store", [&] {
    if (kind == "auto") store<scalar_t, scalar_t>(key.data_ptr<scalar_t>(), reinterpret_cast<scalar_t*>(cache.data_ptr()));
    // EXPECT error: cache is cast to the type of key from an untyped pointer, and nothing says that it has its dtype [dispatched-raw-cast]
  });
}

void scales_by_switch(at::Tensor x, at::Tensor scales, bool is_small) {
  TORCH_CHECK(x.scalar_type() == at::kByte && scales.scalar_type() == at::kBFloat16);
  if (is_small) {
    multiply(x.data_ptr<uint8_t>(), reinterpret_cast<__nv_bfloat16*>(scales.data_ptr()));
  } else {
    multiply(x.data_ptr<uint8_t>(), reinterpret_cast<half*>(scales.data_ptr()));
    // EXPECT error: scales is BFloat16 here and is read as half [raw-cast]
  }
}

void scales_by_their_dtype(at::Tensor x, at::Tensor scales) {
  TORCH_CHECK(x.scalar_type() == at::kByte);
  if (scales.scalar_type() == at::kBFloat16)
    multiply(x.data_ptr<uint8_t>(), reinterpret_cast<__nv_bfloat16*>(scales.data_ptr()));
  else if (scales.scalar_type() == at::kHalf)
    multiply(x.data_ptr<uint8_t>(), reinterpret_cast<half*>(scales.data_ptr()));
  else
    TORCH_CHECK(false);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("by_name", &by_name);
  m.def("by_name_checked", &by_name_checked);
  m.def("by_another_name", &by_another_name);
  m.def("scales_by_switch", &scales_by_switch);
  m.def("scales_by_their_dtype", &scales_by_their_dtype);
}
