// What a vendor's headers declare, and none of them is here: types in declarations, loops,
// constants, functions with and without template arguments, macros that register. Each read is seen.
#include <torch/extension.h>
#include <vendor/sdk.h>
#include <thrust/reduce.h>

VENDOR_REGISTER(scale)

struct Plan {
  vendorHandle_t handle;
  vendor::matrix<float, 16> tile;
  int rows VENDOR_GUARDED_BY(tile);
};

VENDOR_EXPORT int workspace(vendorHandle_t handle, vendor::Layout layout, int rows);

template <typename T>
__global__ void sum(const T* x, float* out, int n) {
  typename vendor::Traits<T>::Bits bits = vendor::Traits<T>::twiddle(x[0]);
  float total = 0;
  VENDOR_LOOP(i, n) {
    total += vendor::load<4>(x + i) * vendorScale(bits);
  }
  atomicAdd(out, total);
}

namespace vendor {
template <typename T>
struct Serializer<c10::optional<T>> {
  static at::Tensor read(at::Tensor x) { return x.to(at::kFloat); }
};
}  // namespace vendor

VENDOR_TEST("of a plan", "[plan]") {
  TORCH_CHECK(at::zeros({1}).scalar_type() == at::kFloat);
  VENDOR_REQUIRE(vendor::plans() == 1);
}

// A name that stands before :: first, and is a type all the same.
int code(int type = static_cast<int>(vendor::Kind::kFirst));
int size_of(vendor::Kind kind, at::Tensor x);

at::Tensor reduce(vendorHandle_t handle, at::Tensor x, at::Tensor rows) {
  vendor::Descriptor descriptor(handle, VENDOR_ROW_MAJOR);
  if (descriptor.set(vendor::kPacked) != VENDOR_SUCCESS) return x;
  auto end = thrust::reduce_by_key(thrust::device, rows.data_ptr<int64_t>(),
                                   // EXPECT note: rows is read as int64_t, and nothing says that it is of that dtype [unchecked-data-ptr]
                                   rows.data_ptr<int64_t>() + rows.numel());
  at::Tensor out = at::zeros({1}, x.options().dtype(at::kFloat));
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sum", [&] {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
    sum<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), out.data_ptr<float>(), end - rows.numel());
  });
  return out;
}
