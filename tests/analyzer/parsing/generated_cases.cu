// The build generates the header with the cases, and it is not here: macros that are cases of a
// switch, without a semicolon, and names that the lambdas in them are given as template arguments.
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "generated/cases.inc"

#define DISPATCH_DTYPE(dtype, type_t, ...)               \
  [&]() -> bool {                                        \
    switch (dtype) {                                     \
      case at::ScalarType::Half: {                       \
        using type_t = nv_half;                          \
        return __VA_ARGS__();                            \
      }                                                  \
      case at::ScalarType::BFloat16: {                   \
        using type_t = nv_bfloat16;                      \
        return __VA_ARGS__();                            \
      }                                                  \
      default:                                           \
        TORCH_CHECK(false, "attention takes no ", dtype); \
        return false;                                    \
    }                                                    \
  }()
#define SWITCH(value, ...)          \
  [&]() -> bool {                   \
    switch (value) {                \
      __VA_ARGS__                   \
      default:                      \
        TORCH_CHECK(false, "none"); \
        return false;               \
    }                               \
  }()
#define DISPATCH_HEAD_DIM(value, CONSTANT, ...) SWITCH(value, CASES_OF_HEAD_DIM(CONSTANT, __VA_ARGS__))
#define DISPATCH_GROUP(value, CONSTANT, ...) SWITCH(value, CASES_OF_GROUP(CONSTANT, __VA_ARGS__))

at::Tensor attend(at::Tensor q, at::Tensor k) {
  DISPATCH_DTYPE(q.scalar_type(), type_t, [&] {
    return DISPATCH_HEAD_DIM(q.size(1), HEAD_DIM, [&] {
      return DISPATCH_GROUP(k.size(0), N, [&] {
        return attend_rows<HEAD_DIM, N, 2>(static_cast<type_t*>(q.data_ptr()),
                                           static_cast<type_t*>(k.data_ptr()), q.size(0));
        // EXPECT warning: k is cast to the type of q from an untyped pointer, and nothing says that it has its dtype [dispatched-raw-cast]
      });
    });
  });
  return q;
}

at::Tensor attend_alike(at::Tensor q, at::Tensor k) {
  TORCH_CHECK(q.scalar_type() == k.scalar_type());
  DISPATCH_DTYPE(q.scalar_type(), type_t, [&] {
    return DISPATCH_HEAD_DIM(q.size(1), HEAD_DIM, [&] {
      return attend_rows<HEAD_DIM, 4, 2>(static_cast<type_t*>(q.data_ptr()),
                                         static_cast<type_t*>(k.data_ptr()), q.size(0));
    });
  });
  return q;
}
