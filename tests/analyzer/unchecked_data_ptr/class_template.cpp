// The type is the class's, chosen when it was made; that of a function template is its caller's.
#include <torch/extension.h>

template <typename T>
struct Table {
  explicit Table(const at::Tensor& key) { first = key.data_ptr<T>()[0]; }
  // EXPECT note: key is read as T, and nothing says that it is of that dtype [unchecked-data-ptr]
  T first;
};

template <typename T>
T first_of(const at::Tensor& key) {
  return key.data_ptr<T>()[0];
}

// What T is here, the class alone knows.
template <typename T>
struct Map {
  void quantize() {
    at::Tensor keys = at::empty({4}, at::kInt);
    first = keys.data_ptr<T>()[0];
  }
  T first;
};
