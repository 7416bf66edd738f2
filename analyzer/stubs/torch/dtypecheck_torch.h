// A minimal LibTorch for the analyzer: the declarations that checks look at, so that source can be
// judged where no LibTorch is installed, and tests run in milliseconds. Nothing here is ever run.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <math.h>

#include <dtypecheck_ops.h>

#ifdef __CUDA__  // as c10/util/Half.h does
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#ifndef __CUDA__
#define C10_HOST_DEVICE
#else
#define C10_HOST_DEVICE __host__ __device__
#endif

struct cudaDeviceProp;
struct CUstream_st;

struct __half;
namespace c10 {
struct alignas(2) Half {
  unsigned short x;
  Half() = default;
  C10_HOST_DEVICE Half(float value);
#ifdef __CUDA__
  C10_HOST_DEVICE Half(const ::__half& value);
#endif
  C10_HOST_DEVICE operator float() const;
};
struct alignas(2) BFloat16 {
  unsigned short x;
  BFloat16() = default;
  C10_HOST_DEVICE BFloat16(float value);
  C10_HOST_DEVICE operator float() const;
};
#define DTYPECHECK_MIXED(type, symbol, other, result)             \
  C10_HOST_DEVICE result operator symbol(type a, other b);         \
  C10_HOST_DEVICE result operator symbol(other a, type b);
#define DTYPECHECK_ARITHMETIC(type, symbol)                        \
  C10_HOST_DEVICE type operator symbol(const type& a, const type& b); \
  C10_HOST_DEVICE type& operator symbol##=(type& a, const type& b); \
  C10_HOST_DEVICE float& operator symbol##=(float& a, type b);     \
  DTYPECHECK_MIXED(type, symbol, float, float)                     \
  DTYPECHECK_MIXED(type, symbol, double, double)                   \
  DTYPECHECK_MIXED(type, symbol, int, type)                        \
  DTYPECHECK_MIXED(type, symbol, int64_t, type)
#define DTYPECHECK_LOW_PRECISION(type)            \
  DTYPECHECK_ARITHMETIC(type, +)                  \
  DTYPECHECK_ARITHMETIC(type, -)                  \
  DTYPECHECK_ARITHMETIC(type, *)                  \
  DTYPECHECK_ARITHMETIC(type, /)                  \
  C10_HOST_DEVICE type operator-(const type& a);
DTYPECHECK_LOW_PRECISION(Half)
DTYPECHECK_LOW_PRECISION(BFloat16)
#undef DTYPECHECK_LOW_PRECISION
#undef DTYPECHECK_ARITHMETIC
#undef DTYPECHECK_MIXED
template <typename T>
struct complex {
  T real_, imag_;
};

enum class ScalarType : int8_t {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool,
  QInt8, QUInt8, QInt32, BFloat16, QUInt4x2, QUInt2x4, Bits1x8, Bits2x4, Bits4x2, Bits8, Bits16,
  Float8_e5m2, Float8_e4m3fn, Float8_e5m2fnuz, Float8_e4m3fnuz, UInt16, UInt32, UInt64, Undefined
};
enum class DeviceType : int8_t {
  CPU, CUDA, HIP, XLA, MPS, XPU, Meta, PrivateUse1, MLU, COMPILE_TIME_MAX_DEVICE_TYPES
};
std::string DeviceTypeName(DeviceType type, bool lower_case = false);
using DeviceIndex = int8_t;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : int8_t { Strided, Sparse };
enum class Backend : int8_t { CPU, CUDA, HIP, MPS, XPU, SparseCPU, SparseCUDA };

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                     kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat = ScalarType::Float, kDouble = ScalarType::Double,
                     kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16,
                     kComplexHalf = ScalarType::ComplexHalf,
                     kComplexFloat = ScalarType::ComplexFloat,
                     kComplexDouble = ScalarType::ComplexDouble,
                     kU8 = kByte, kI8 = kChar, kI16 = kShort, kI32 = kInt, kI64 = kLong,
                     kF16 = kHalf, kF32 = kFloat, kF64 = kDouble,
                     kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                     kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32,
                     kUInt64 = ScalarType::UInt64, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kXPU = DeviceType::XPU,
                     kMPS = DeviceType::MPS, kMeta = DeviceType::Meta,
                     kPrivateUse1 = DeviceType::PrivateUse1;
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;

bool isFloatingType(ScalarType type);
bool isIntegralType(ScalarType type, bool include_bool = false);
bool isComplexType(ScalarType type);
bool isReducedFloatingType(ScalarType type);
const char* toString(ScalarType type);
int64_t elementSize(ScalarType type);

struct Device {
  Device(DeviceType type, int index = -1);
  Device(const std::string& text);
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_mps() const;
  bool is_xpu() const;
  bool is_meta() const;
  bool is_privateuseone() const;
  bool has_index() const;
  int index() const;
  DeviceType type() const;
  std::string str() const;
};
bool operator==(const Device& a, const Device& b);
bool operator!=(const Device& a, const Device& b);

using std::nullopt;
using std::optional;

template <typename T>
class ArrayRef {
 public:
  ArrayRef();
  ArrayRef(const T& one);
  ArrayRef(const std::vector<T>& all);
  ArrayRef(std::initializer_list<T> all);
  const T& operator[](size_t i) const;
  size_t size() const;
  const T* begin() const;
  const T* end() const;
  const T* data() const;
  std::vector<T> vec() const;
  bool empty() const;
  bool equals(ArrayRef other) const;
  ArrayRef slice(size_t from) const;
  ArrayRef slice(size_t from, size_t size) const;
  const T& front() const;
  const T& back() const;
  ArrayRef(const T* data, size_t size);
  template <typename Iterator, typename = typename std::iterator_traits<Iterator>::value_type>
  ArrayRef(Iterator begin, Iterator end);
  template <size_t N>
  ArrayRef(const std::array<T, N>& all);
};
template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b);
template <typename T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b);
template <typename T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b);
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b);
template <typename T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b);
template <typename T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b);
template <typename T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> all);
using IntArrayRef = ArrayRef<int64_t>;
template <typename T>
using intrusive_ptr = std::shared_ptr<T>;
std::ostream& operator<<(std::ostream& out, ScalarType type);

class Error : public std::exception {
 public:
  const char* what() const noexcept override;
  const std::string& msg() const;
};
struct Scalar {
  Scalar() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T value);
  template <typename T>
  T to() const;
  double toDouble() const;
  float toFloat() const;
  int64_t toLong() const;
  int toInt() const;
  bool toBool() const;
};
std::ostream& operator<<(std::ostream& out, const Scalar& value);

// Whatever a call may be given where that does not matter, lists in braces too.
struct AnyArgument {
  AnyArgument();
  template <typename T>
  AnyArgument(const T& value);
  AnyArgument(std::initializer_list<AnyArgument> values);
};

struct TensorOptions;

}  // namespace c10

namespace caffe2 {
struct TypeMeta {
  TypeMeta(c10::ScalarType type);
  template <typename T>
  static TypeMeta Make();
  c10::ScalarType toScalarType() const;
  size_t itemsize() const;
  const char* name() const;
};
bool operator==(const TypeMeta& a, const TypeMeta& b);
bool operator!=(const TypeMeta& a, const TypeMeta& b);
std::ostream& operator<<(std::ostream& out, const TypeMeta& type);
}  // namespace caffe2

namespace c10 {
template <typename T>
struct IntegerRange {
  T* begin() const;
  T* end() const;
};
template <typename T>
IntegerRange<T> irange(T end);
template <typename Begin, typename T>
IntegerRange<T> irange(Begin begin, T end);
}  // namespace c10

namespace c10 {
using caffe2::TypeMeta;
ScalarType typeMetaToScalarType(TypeMeta type);
TypeMeta scalarTypeToTypeMeta(ScalarType type);
struct TensorOptions {
  TensorOptions();
  TensorOptions(ScalarType type);
  TensorOptions(TypeMeta type);
  TensorOptions(DeviceType device);
  TensorOptions(Device device);
  TensorOptions(MemoryFormat format);
  TensorOptions(Layout layout);
  TensorOptions dtype(ScalarType type) const;
  TensorOptions dtype(TypeMeta type) const;
  TensorOptions device(DeviceType device) const;
  TensorOptions device(DeviceType device, int index) const;
  TensorOptions device(Device device) const;
  TensorOptions layout(Layout layout) const;
  TensorOptions requires_grad(bool value) const;
  TensorOptions memory_format(MemoryFormat format) const;
  TensorOptions pinned_memory(bool value) const;
  TypeMeta dtype() const;
  Device device() const;
};
TensorOptions dtype(ScalarType type);
TensorOptions dtype(caffe2::TypeMeta type);
TensorOptions device(DeviceType device);
TensorOptions device(Device device);
TensorOptions layout(Layout layout);
TensorOptions requires_grad(bool value = true);
std::ostream& operator<<(std::ostream& out, DeviceType type);
std::ostream& operator<<(std::ostream& out, const Device& device);
std::ostream& operator<<(std::ostream& out, const TensorOptions& options);
template <typename T>
struct CppTypeToScalarType;
template <ScalarType T>
struct ScalarTypeToCPPType;
#define DTYPECHECK_TYPE(name, cpp)                      \
  template <>                                           \
  struct CppTypeToScalarType<cpp> {                     \
    static constexpr ScalarType value = ScalarType::name; \
  };                                                    \
  template <>                                           \
  struct ScalarTypeToCPPType<ScalarType::name> {        \
    using type = cpp;                                   \
  };
DTYPECHECK_TYPE(Byte, uint8_t)
DTYPECHECK_TYPE(Char, int8_t)
DTYPECHECK_TYPE(Short, int16_t)
DTYPECHECK_TYPE(Int, int)
DTYPECHECK_TYPE(Long, int64_t)
DTYPECHECK_TYPE(Half, Half)
DTYPECHECK_TYPE(Float, float)
DTYPECHECK_TYPE(Double, double)
DTYPECHECK_TYPE(ComplexFloat, complex<float>)
DTYPECHECK_TYPE(ComplexDouble, complex<double>)
DTYPECHECK_TYPE(Bool, bool)
DTYPECHECK_TYPE(BFloat16, BFloat16)
#undef DTYPECHECK_TYPE
template <ScalarType T>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<T>::type;

template <typename... Arguments>
std::string str(const Arguments&... arguments);
namespace detail {
template <typename... Arguments>
[[noreturn]] void torchCheckFail(const Arguments&... arguments);
}
}  // namespace c10

namespace std {
#define DTYPECHECK_LIMITS(type)                           \
  template <>                                             \
  class numeric_limits<type> {                            \
   public:                                                \
    C10_HOST_DEVICE static constexpr type lowest();       \
    C10_HOST_DEVICE static constexpr type min();          \
    C10_HOST_DEVICE static constexpr type max();          \
    C10_HOST_DEVICE static constexpr type infinity();     \
    C10_HOST_DEVICE static constexpr type quiet_NaN();    \
    C10_HOST_DEVICE static constexpr type epsilon();      \
  };
DTYPECHECK_LIMITS(c10::Half)
DTYPECHECK_LIMITS(c10::BFloat16)
#undef DTYPECHECK_LIMITS
}  // namespace std

struct CUstream_st;
struct cublasContext;

namespace torch::autograd {
struct Node {
  std::string name() const;
};
}  // namespace torch::autograd

namespace at {
using namespace c10;

template <typename T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
template <typename T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <typename T, size_t N, template <typename> class Traits, typename Index>
struct TensorAccessorBase {
  using PtrType = typename Traits<T>::PtrType;
  C10_HOST_DEVICE TensorAccessorBase();
  C10_HOST_DEVICE TensorAccessorBase(PtrType data, const Index* sizes, const Index* strides);
  C10_HOST_DEVICE IntArrayRef sizes() const;
  C10_HOST_DEVICE IntArrayRef strides() const;
  C10_HOST_DEVICE Index size(Index i) const;
  C10_HOST_DEVICE Index stride(Index i) const;
  C10_HOST_DEVICE PtrType data() const;
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits,
          typename Index = int64_t>
struct TensorAccessor : TensorAccessorBase<T, N, Traits, Index> {
  using TensorAccessorBase<T, N, Traits, Index>::TensorAccessorBase;
  C10_HOST_DEVICE TensorAccessor<T, N - 1, Traits, Index> operator[](Index i) const;
};
template <typename T, template <typename> class Traits, typename Index>
struct TensorAccessor<T, 1, Traits, Index> : TensorAccessorBase<T, 1, Traits, Index> {
  using TensorAccessorBase<T, 1, Traits, Index>::TensorAccessorBase;
  C10_HOST_DEVICE T& operator[](Index i) const;
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits,
          typename Index = int64_t>
struct GenericPackedTensorAccessor : TensorAccessor<T, N, Traits, Index> {
  using TensorAccessor<T, N, Traits, Index>::TensorAccessor;
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits,
          typename Index = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, Index>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

struct DeprecatedTypeProperties {
  ScalarType scalarType() const;
  bool is_cuda() const;
  operator ScalarType() const;
  operator TensorOptions() const;
  TensorOptions options() const;
};
std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type);

namespace indexing {
struct Slice {
  template <typename... Bounds>
  Slice(Bounds... bounds);
};
enum class Index { None, Ellipsis };
constexpr Index None = Index::None, Ellipsis = Index::Ellipsis;
struct TensorIndex {
  template <typename Value>
  TensorIndex(const Value& value);
};
}  // namespace indexing

// A list in braces is no type that a template could deduce: what has one comes here.
#define DTYPECHECK_ANYS                                                                   \
  AnyArgument, AnyArgument = {}, AnyArgument = {}, AnyArgument = {}, AnyArgument = {}, \
      AnyArgument = {}

class Tensor {
 public:
  Tensor& operator=(Scalar value) &&;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, Scalar value);
  Tensor index(const AnyArgument& indices) const;
  Tensor& index_put_(const AnyArgument& indices, const Tensor& values, bool accumulate = false);
  Tensor& index_put_(const AnyArgument& indices, Scalar value);
  ScalarType scalar_type() const;
  caffe2::TypeMeta dtype() const;
  DeprecatedTypeProperties& type() const;
  TensorOptions options() const;
  Device device() const;
  int64_t size(int64_t i) const;
  int64_t stride(int64_t i) const;
  int64_t dim() const;
  int64_t ndimension() const;
  int64_t numel() const;
  int64_t element_size() const;
  int64_t itemsize() const;
  int64_t nbytes() const;
  int64_t get_device() const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_mps() const;
  bool is_xpu() const;
  bool is_meta() const;
  bool is_privateuseone() const;
  bool is_pinned(optional<Device> device = nullopt) const;
  bool is_sparse() const;
  bool is_non_overlapping_and_dense() const;
  Layout layout() const;
  MemoryFormat suggest_memory_format() const;
  bool is_same(const Tensor& other) const;
  int64_t storage_offset() const;
  bool has_names() const;
  ArrayRef<struct Dimname> names() const;
  void reset();
  Tensor toBackend(Backend backend) const;
  Tensor pin_memory() const;
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  bool is_floating_point() const;
  bool is_complex() const;
  bool defined() const;
  bool requires_grad() const;
  bool is_leaf() const;
  std::shared_ptr<torch::autograd::Node> grad_fn() const;
  void print() const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const;
  Tensor to(TensorOptions options, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& other, bool non_blocking = false) const;
  Tensor toType(ScalarType type) const;
  Tensor type_as(const Tensor& other) const;
  Tensor cuda() const;
  Tensor cpu() const;
  Tensor detach() const;
  Tensor clone(optional<MemoryFormat> format = nullopt) const;
  Tensor view(IntArrayRef sizes) const;
  Tensor reshape(IntArrayRef sizes) const;
  Tensor flatten(int64_t from = 0, int64_t to = -1) const;
  Tensor select(int64_t dim, int64_t i) const;
  Tensor slice(int64_t dim = 0, optional<int64_t> from = nullopt, optional<int64_t> to = nullopt,
               int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t from, int64_t length) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor permute(IntArrayRef dims) const;
  Tensor expand(IntArrayRef sizes, bool implicit = false) const;
  Tensor expand_as(const Tensor& other) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor t() const;
  Tensor sum() const;
  Tensor sum(ScalarType type) const;
  Tensor sum(IntArrayRef dims, bool keep = false, optional<ScalarType> type = nullopt) const;
  Tensor mean(optional<ScalarType> type = nullopt) const;
  Tensor mean(IntArrayRef dims, bool keep = false, optional<ScalarType> type = nullopt) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keep = false) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keep = false) const;
  Tensor cumsum(int64_t dim, optional<ScalarType> type = nullopt) const;
  Tensor operator[](int64_t i) const;
  Tensor operator[](const Tensor& index) const;
  Tensor operator[](Scalar index) const;
  Tensor& operator+=(const Tensor& other);
  Tensor& operator-=(const Tensor& other);
  Tensor& operator*=(const Tensor& other);
  Tensor& operator/=(const Tensor& other);
  Tensor& operator+=(Scalar other);
  Tensor& operator-=(Scalar other);
  Tensor& operator*=(Scalar other);
  Tensor& operator/=(Scalar other);
  Tensor& operator&=(const Tensor& other);
  Tensor& operator|=(const Tensor& other);
  Tensor& operator^=(const Tensor& other);
  Tensor& zero_() const;
  Tensor& fill_(Scalar value) const;
  Tensor& copy_(const Tensor& other, bool non_blocking = false) const;
  Tensor& resize_(IntArrayRef sizes, optional<MemoryFormat> format = nullopt) const;
  Tensor new_empty(IntArrayRef sizes, TensorOptions options = {}) const;
  Tensor new_zeros(IntArrayRef sizes, TensorOptions options = {}) const;
  // Ops whose operands the rules know by these names.
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& mat2) const;
  Tensor bmm(const Tensor& mat2) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
               const Scalar& alpha = 1) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(const Scalar& other) const;
  Tensor div(const Tensor& other) const;
  Tensor div(const Scalar& other) const;
  Tensor div(const Tensor& other, std::string rounding_mode) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef sizes, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef sizes, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  // Ops whose arguments do not matter here.
#define DTYPECHECK_METHOD(name, ...)                 \
  template <typename... Arguments>                   \
  __VA_ARGS__ name(Arguments&&... arguments) const;  \
  __VA_ARGS__ name(DTYPECHECK_ANYS) const;
#define DTYPECHECK_OP(name) DTYPECHECK_METHOD(name, Tensor)
  DTYPECHECK_METHODS(DTYPECHECK_OP)
  DTYPECHECK_OP(median)
  DTYPECHECK_OP(record_stream)
  DTYPECHECK_OP(retain_grad)
  DTYPECHECK_OP(set_data)
  DTYPECHECK_OP(sparse_dim)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name) DTYPECHECK_METHOD(name, std::tuple<Tensor, Tensor>)
  DTYPECHECK_METHODS_OF_TWO(DTYPECHECK_OP)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name) DTYPECHECK_METHOD(name, std::tuple<Tensor, Tensor, Tensor>)
  DTYPECHECK_METHODS_OF_THREE(DTYPECHECK_OP)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name) DTYPECHECK_METHOD(name, bool)
  DTYPECHECK_METHODS_OF_BOOL(DTYPECHECK_OP)
#undef DTYPECHECK_OP
  template <typename T>
  T* data_ptr() const;
  void* data_ptr() const;
  template <typename T>
  const T* const_data_ptr() const;
  const void* const_data_ptr() const;
  template <typename T>
  T* mutable_data_ptr() const;
  void* mutable_data_ptr() const;
  template <typename T>
  T* data() const;
  Tensor data() const;
  template <typename T>
  T item() const;
  Scalar item() const;
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const;
  template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, N, Traits> packed_accessor() const;
  template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const;
  template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const;
};
using TensorList = ArrayRef<Tensor>;

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator%(const Tensor& a, const Tensor& b);
#define DTYPECHECK_COMPARISON(symbol) \
  Tensor operator symbol(const Tensor& a, const Tensor& b);
DTYPECHECK_COMPARISON(<)
DTYPECHECK_COMPARISON(<=)
DTYPECHECK_COMPARISON(>)
DTYPECHECK_COMPARISON(>=)
DTYPECHECK_COMPARISON(==)
DTYPECHECK_COMPARISON(!=)
DTYPECHECK_COMPARISON(&)
DTYPECHECK_COMPARISON(|)
DTYPECHECK_COMPARISON(^)
#undef DTYPECHECK_COMPARISON
#define DTYPECHECK_OPERATOR(symbol)                  \
  Tensor operator symbol(const Tensor& a, Scalar b); \
  Tensor operator symbol(Scalar a, const Tensor& b);
DTYPECHECK_OPERATOR(+)
DTYPECHECK_OPERATOR(-)
DTYPECHECK_OPERATOR(*)
DTYPECHECK_OPERATOR(/)
DTYPECHECK_OPERATOR(%)
DTYPECHECK_OPERATOR(&)
DTYPECHECK_OPERATOR(|)
DTYPECHECK_OPERATOR(^)
DTYPECHECK_OPERATOR(<)
DTYPECHECK_OPERATOR(<=)
DTYPECHECK_OPERATOR(>)
DTYPECHECK_OPERATOR(>=)
DTYPECHECK_OPERATOR(==)
DTYPECHECK_OPERATOR(!=)
#undef DTYPECHECK_OPERATOR
Tensor operator-(const Tensor& a);
Tensor operator!(const Tensor& a);
Tensor operator~(const Tensor& a);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, caffe2::TypeMeta type);

TensorOptions CUDA(ScalarType type);  // of the deprecated types, which convert to options
TensorOptions CPU(ScalarType type);
// Factories take their options one by one, too, and before them names of the dimensions.
struct Dimname {};
#define DTYPECHECK_OPTIONS                                                                      \
  optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device, \
      optional<bool> pin, optional<MemoryFormat> format = nullopt
#define DTYPECHECK_FACTORY(name)                            \
  Tensor name(IntArrayRef sizes, DTYPECHECK_OPTIONS);       \
  Tensor name(IntArrayRef sizes, optional<ArrayRef<Dimname>> names, DTYPECHECK_OPTIONS);
DTYPECHECK_FACTORY(empty)
DTYPECHECK_FACTORY(zeros)
DTYPECHECK_FACTORY(ones)
DTYPECHECK_FACTORY(rand)
DTYPECHECK_FACTORY(randn)
Tensor full(IntArrayRef sizes, const Scalar& value, DTYPECHECK_OPTIONS);
Tensor arange(const Scalar& end, DTYPECHECK_OPTIONS);
#undef DTYPECHECK_FACTORY
#undef DTYPECHECK_OPTIONS
Tensor empty(IntArrayRef sizes, TensorOptions options = {});
Tensor zeros(IntArrayRef sizes, TensorOptions options = {});
Tensor ones(IntArrayRef sizes, TensorOptions options = {});
Tensor rand(IntArrayRef sizes, TensorOptions options = {});
Tensor randn(IntArrayRef sizes, TensorOptions options = {});
Tensor full(IntArrayRef sizes, Scalar value, TensorOptions options = {});
Tensor arange(Scalar end, TensorOptions options = {});
Tensor arange(Scalar begin, Scalar end, TensorOptions options = {});
Tensor arange(Scalar begin, Scalar end, Scalar step, TensorOptions options = {});
Tensor linspace(Scalar begin, Scalar end, int64_t steps, TensorOptions options = {});
Tensor eye(int64_t n, TensorOptions options = {});
Tensor normal(double mean, double std, IntArrayRef sizes, const AnyArgument& generator = {},
              TensorOptions options = {});
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, TensorOptions options = {});
Tensor randint(int64_t high, IntArrayRef sizes, TensorOptions options = kLong);
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, TensorOptions options = kLong);
template <typename T>
Tensor tensor(std::initializer_list<T> values, TensorOptions options = {});
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> values, TensorOptions options = {});
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> values,
              TensorOptions options = {});
template <typename T>
Tensor tensor(const std::vector<T>& values, TensorOptions options = {});
template <typename T>
Tensor tensor(ArrayRef<T> values, TensorOptions options = {});
Tensor tensor(Scalar value, TensorOptions options = {});
struct TensorData {  // in lists of any depth
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  TensorData(T value);
  TensorData(std::initializer_list<TensorData> values);
};
Tensor tensor(std::initializer_list<TensorData> values, TensorOptions options = {});
Tensor scalar_tensor(Scalar value, TensorOptions options = {});
Tensor range(Scalar begin, Scalar end, TensorOptions options = {});
Tensor range(Scalar begin, Scalar end, Scalar step, TensorOptions options = {});
Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset = 0, TensorOptions options = kLong);
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset = 0, TensorOptions options = kLong);
#define DTYPECHECK_WINDOW(name)                                              \
  Tensor name(int64_t length, TensorOptions options = {});                     \
  Tensor name(int64_t length, bool periodic, TensorOptions options = {});
DTYPECHECK_WINDOW(bartlett_window)
DTYPECHECK_WINDOW(blackman_window)
DTYPECHECK_WINDOW(hamming_window)
DTYPECHECK_WINDOW(hann_window)
DTYPECHECK_WINDOW(kaiser_window)
#undef DTYPECHECK_WINDOW
Tensor fft_fftfreq(int64_t n, double d = 1, TensorOptions options = {});
Tensor fft_rfftfreq(int64_t n, double d = 1, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, int64_t offset,
                 TensorOptions options = {});
template <typename Deleter, typename = decltype(std::declval<Deleter>()(nullptr))>
Tensor from_blob(void* data, IntArrayRef sizes, Deleter deleter, TensorOptions options = {});
Tensor empty_like(const Tensor& like, TensorOptions options = {});
Tensor zeros_like(const Tensor& like, TensorOptions options = {});
Tensor ones_like(const Tensor& like, TensorOptions options = {});
Tensor full_like(const Tensor& like, Scalar value, TensorOptions options = {});
Tensor cat(TensorList tensors, int64_t dim = 0);
Tensor stack(TensorList tensors, int64_t dim = 0);
Tensor concat(TensorList tensors, int64_t dim = 0);
Tensor concatenate(TensorList tensors, int64_t dim = 0);
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor dstack(TensorList tensors);
Tensor row_stack(TensorList tensors);
Tensor column_stack(TensorList tensors);
Tensor block_diag(TensorList tensors);
Tensor cartesian_prod(TensorList tensors);
Tensor chain_matmul(TensorList matrices);
Tensor linalg_multi_dot(TensorList tensors);
Tensor einsum(const std::string& equation, TensorList tensors);
std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing = "ij");
std::vector<Tensor> broadcast_tensors(TensorList tensors);

Tensor matmul(const Tensor& self, const Tensor& other);
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor mul(const Tensor& self, const Scalar& other);
Tensor pow(const Scalar& self, const Tensor& exponent);
Tensor float_power(const Scalar& self, const Tensor& exponent);
Tensor remainder(const Scalar& self, const Tensor& other);
Tensor linear(const Tensor& input, const Tensor& weight);
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps = 1e-5);
Tensor max(const Tensor& self);
Tensor max(const Tensor& self, const Tensor& other);
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor min(const Tensor& self);
Tensor min(const Tensor& self, const Tensor& other);
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false);
#define DTYPECHECK_LOSS(name)                                                        \
  Tensor name(const Tensor& self, const Tensor& target, int64_t reduction = 1,        \
              const AnyArgument& more = {});
DTYPECHECK_LOSS(mse_loss)
DTYPECHECK_LOSS(l1_loss)
DTYPECHECK_LOSS(smooth_l1_loss)
DTYPECHECK_LOSS(huber_loss)
DTYPECHECK_LOSS(kl_div)
DTYPECHECK_LOSS(soft_margin_loss)
#undef DTYPECHECK_LOSS
#define DTYPECHECK_LOSS(name)                                                        \
  Tensor name(const Tensor& self, const Tensor& target,                                \
              const optional<Tensor>& weight = {}, const AnyArgument& a = {},         \
              const AnyArgument& b = {}, const AnyArgument& c = {});
DTYPECHECK_LOSS(nll_loss)
DTYPECHECK_LOSS(nll_loss2d)
DTYPECHECK_LOSS(cross_entropy_loss)
DTYPECHECK_LOSS(binary_cross_entropy)
DTYPECHECK_LOSS(binary_cross_entropy_with_logits)
#undef DTYPECHECK_LOSS

#define DTYPECHECK_FUNCTION(name, ...)                             \
  template <typename... Arguments>                                 \
  __VA_ARGS__ name(const Tensor& first, Arguments&&... arguments); \
  __VA_ARGS__ name(const Tensor& first, DTYPECHECK_ANYS);
#define DTYPECHECK_OP(name) DTYPECHECK_FUNCTION(name, Tensor)
DTYPECHECK_FUNCTIONS(DTYPECHECK_OP)
DTYPECHECK_OP(where)
DTYPECHECK_OP(dropout)
DTYPECHECK_OP(alpha_dropout)
DTYPECHECK_OP(feature_dropout)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name) DTYPECHECK_FUNCTION(name, std::tuple<Tensor, Tensor>)
DTYPECHECK_FUNCTIONS_OF_TWO(DTYPECHECK_OP)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name) DTYPECHECK_FUNCTION(name, std::tuple<Tensor, Tensor, Tensor>)
DTYPECHECK_FUNCTIONS_OF_THREE(DTYPECHECK_OP)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name) DTYPECHECK_FUNCTION(name, bool)
DTYPECHECK_FUNCTIONS_OF_BOOL(DTYPECHECK_OP)
#undef DTYPECHECK_OP
#define DTYPECHECK_OP(name)        \
  template <typename... Arguments> \
  std::vector<Tensor> name(const Tensor& self, Arguments&&... arguments); \
  std::vector<Tensor> name(const Tensor& self, IntArrayRef sizes, int64_t dim = 0);
DTYPECHECK_OP(chunk)
DTYPECHECK_OP(dsplit)
DTYPECHECK_OP(hsplit)
DTYPECHECK_OP(split)
DTYPECHECK_OP(split_with_sizes)
DTYPECHECK_OP(tensor_split)
DTYPECHECK_OP(unbind)
DTYPECHECK_OP(unsafe_chunk)
DTYPECHECK_OP(unsafe_split)
DTYPECHECK_OP(vsplit)
#undef DTYPECHECK_OP
ScalarType promote_types(ScalarType a, ScalarType b);
ScalarType result_type(const Tensor& a, const Tensor& b);
bool can_cast(ScalarType from, ScalarType to);
bool is_floating_point(const Tensor& self);
bool is_complex(const Tensor& self);
Tensor randperm(int64_t n, TensorOptions options = kLong);

using CheckedFrom = const char*;
struct TensorArg {
  TensorArg(const Tensor& tensor, const char* name, int position);
  const Tensor* operator->() const;
};
void checkScalarType(CheckedFrom from, const TensorArg& tensor, ScalarType type);
void checkScalarTypes(CheckedFrom from, const TensorArg& tensor, ArrayRef<ScalarType> types);
void checkSameType(CheckedFrom from, const TensorArg& a, const TensorArg& b);
void checkAllSameType(CheckedFrom from, ArrayRef<TensorArg> tensors);
void checkDim(CheckedFrom from, const TensorArg& tensor, int64_t dim);
void checkDimRange(CheckedFrom from, const TensorArg& tensor, int64_t begin, int64_t end);
void checkSameDim(CheckedFrom from, const TensorArg& a, const TensorArg& b);
void checkContiguous(CheckedFrom from, const TensorArg& tensor);
void checkAllContiguous(CheckedFrom from, ArrayRef<TensorArg> tensors);
void checkSize(CheckedFrom from, const TensorArg& tensor, IntArrayRef sizes);
void checkSize(CheckedFrom from, const TensorArg& tensor, int64_t dim, int64_t size);
void checkNumel(CheckedFrom from, const TensorArg& tensor, int64_t numel);
void checkSameNumel(CheckedFrom from, const TensorArg& a, const TensorArg& b);
void checkAllSameNumel(CheckedFrom from, ArrayRef<TensorArg> tensors);
void checkSameSize(CheckedFrom from, const TensorArg& a, const TensorArg& b);
void checkAllSameSize(CheckedFrom from, ArrayRef<TensorArg> tensors);
void checkDefined(CheckedFrom from, const TensorArg& tensor);
void checkAllDefined(CheckedFrom from, ArrayRef<TensorArg> tensors);
void checkDeviceType(CheckedFrom from, const Tensor& tensor, DeviceType type);
void checkDeviceType(CheckedFrom from, ArrayRef<Tensor> tensors, DeviceType type);
void checkLayout(CheckedFrom from, const Tensor& tensor, Layout layout);
void checkLayout(CheckedFrom from, ArrayRef<Tensor> tensors, Layout layout);
void checkSameGPU(CheckedFrom from, const TensorArg& a, const TensorArg& b);
void checkAllSameGPU(CheckedFrom from, ArrayRef<TensorArg> tensors);
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& body) {
  body(begin, end);
}

template <typename T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<Half> {
  using type = float;
};
template <>
struct OpMathType<BFloat16> {
  using type = float;
};
template <typename T>
using opmath_type = typename OpMathType<T>::type;
template <typename T, bool is_cuda>
using acc_type = opmath_type<T>;

int get_num_threads();
#define C10_WARP_SIZE 32
#define DTYPECHECK_SWITCHES(X) \
    X(AllowBF16ReductionCuBLAS) X(AllowFP16AccumulationCuBLAS) X(AllowFP16ReductionCPU) \
    X(AllowFP16ReductionCuBLAS) X(AllowTF32CuBLAS) X(AllowTF32CuDNN) X(AllowTF32OneDNN) \
    X(BenchmarkCuDNN) X(BenchmarkLimitCuDNN) X(DeterministicAlgorithms) X(DeterministicCuDNN) \
    X(DeterministicFillUninitializedMemory) X(DeterministicMkldnn) X(FlushDenormal) \
    X(SDPUseCuDNN) X(SDPUseFlash) X(SDPUseMath) X(SDPUseMemEfficient) X(UserEnabledCuDNN) \
    X(UserEnabledMkldnn)
#define DTYPECHECK_QUESTIONS(X) \
    X(allowBF16ReductionCuBLAS) X(allowFP16ReductionCuBLAS) X(allowTF32CuBLAS) X(allowTF32CuDNN) \
    X(benchmarkCuDNN) X(deterministicCuDNN) X(hasCuDNN) X(hasHIP) X(hasLAPACK) X(hasMAGMA) \
    X(hasMKL) X(hasMKLDNN) X(hasMPS) X(hasOpenMP) X(hasXPU) X(userEnabledCuDNN) \
    X(userEnabledMkldnn)
struct Context {
#define DTYPECHECK_SWITCH(name) void set##name(int value, bool more = false);
  DTYPECHECK_SWITCHES(DTYPECHECK_SWITCH)
#undef DTYPECHECK_SWITCH
#define DTYPECHECK_QUESTION(name) static bool name();
  DTYPECHECK_QUESTIONS(DTYPECHECK_QUESTION)
#undef DTYPECHECK_QUESTION
  void setFloat32MatmulPrecision(const std::string& precision);
  void alertNotDeterministic(const char* caller);
  bool deterministicAlgorithms() const;
};
Context& globalContext();
std::optional<Device> device_of(const Tensor& tensor);
struct PhiloxCudaState {
  uint64_t seed_, offset_;
};
struct DeviceGuard {
  explicit DeviceGuard(Device device);
};
int64_t numel(const Tensor& self);
template <typename T>
struct numeric_limits {
  C10_HOST_DEVICE static T lowest();
  C10_HOST_DEVICE static T max();
  C10_HOST_DEVICE static T lower_bound();
  C10_HOST_DEVICE static T upper_bound();
};
std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool sorted = true, bool inverse = false);
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& self, int64_t dim, bool sorted = true,
                                              bool inverse = false, bool counts = false);
Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& other);

namespace cuda {
using at::PhiloxCudaState;
int current_device();
struct cudaDeviceProp* getCurrentDeviceProperties();
struct cudaDeviceProp* getDeviceProperties(int device);
template <typename T>
constexpr T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
struct CUDAStream {
  operator struct CUstream_st*() const;
  struct CUstream_st* stream() const;
  void synchronize() const;
  Device device() const;
  int device_index() const;
  int64_t id() const;
};
CUDAStream getCurrentCUDAStream(int device = -1);
CUDAStream getStreamFromPool(bool high_priority = false, int device = -1);
void set_device(int device);
namespace philox {
C10_HOST_DEVICE std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState state);
}
::cublasContext* getCurrentCUDABlasHandle();
bool is_available();
int device_count();
int warp_size();
struct OptionalCUDAGuard {
  OptionalCUDAGuard();
  OptionalCUDAGuard(std::optional<Device> device);
  explicit OptionalCUDAGuard(Device device);
};
struct CUDAGuard {
  explicit CUDAGuard(Device device);
  explicit CUDAGuard(int device);
};
}  // namespace cuda
}  // namespace at

namespace c10::cuda {
using at::cuda::CUDAGuard;
using at::cuda::CUDAStream;
using at::cuda::current_device;
using at::cuda::device_count;
using at::cuda::getCurrentCUDAStream;
using at::cuda::getStreamFromPool;
using at::cuda::set_device;
using at::cuda::OptionalCUDAGuard;
using OptionalDeviceGuard = at::cuda::OptionalCUDAGuard;
}  // namespace c10::cuda

namespace torch {
using namespace at;
using at::Tensor;
struct NoGradGuard {};
struct CustomClassHolder {
  virtual ~CustomClassHolder();
};
using Dtype = at::ScalarType;
struct Library {
  template <typename F>
  Library& def(const char* name, F&& function);
  Library& def(const char* name);
  template <typename F>
  Library& impl(const char* name, F&& function);
};
struct RegisterOperators {
  RegisterOperators();
  template <typename F>
  RegisterOperators(const char* name, F&& function);
  template <typename F>
  RegisterOperators& op(const char* name, F&& function);
};
}  // namespace torch

#define TORCH_CHECK(condition, ...)                              \
  if (__builtin_expect(static_cast<bool>(!(condition)), 0)) {    \
    ::c10::detail::torchCheckFail(::c10::str(__VA_ARGS__));      \
  }
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_WITH(type, ...) TORCH_CHECK(__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define AT_CHECK TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ERROR(...) TORCH_CHECK(false, __VA_ARGS__)
#define TORCH_WARN(...) ((void)0)
#define C10_CUDA_CHECK(expression) ((void)(expression))
#define C10_CUDA_CHECK_WARN(expression) ((void)(expression))
#define AT_CUDA_CHECK(expression) ((void)(expression))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define TORCH_FN(function) &function
#define TORCH_CUDABLAS_CHECK(expression) ((void)(expression))
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define TORCH_SELECTIVE_NAME(name) name
#define WARP_SHFL(value, lane) (value)
#define WARP_SHFL_XOR(value, lanes, ...) (value)
#define WARP_SHFL_DOWN(value, lanes, ...) (value)
#define WARP_SHFL_UP(value, lanes, ...) (value)
#define WARP_BALLOT(predicate, ...) ((unsigned)(predicate))
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 15
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.15.0"
#define C10_UNUSED [[maybe_unused]]
#define C10_UNLIKELY(condition) (condition)
#define C10_LIKELY(condition) (condition)
#define C10_EXPORT
#define TORCH_API
#define TORCH_WARN_ONCE(...) ((void)0)

#define DTYPECHECK_JOIN_(a, b) a##b
#define DTYPECHECK_JOIN(a, b) DTYPECHECK_JOIN_(a, b)
#define TORCH_LIBRARY(name, variable) \
  static void DTYPECHECK_JOIN(torch_library_, __LINE__)(::torch::Library & variable)
#define TORCH_LIBRARY_IMPL(name, key, variable) TORCH_LIBRARY(name, variable)
#define TORCH_LIBRARY_FRAGMENT(name, variable) TORCH_LIBRARY(name, variable)

namespace detail {
inline c10::ScalarType scalar_type(c10::ScalarType type) { return type; }
}  // namespace detail
#include "dtypecheck_dispatch.h"
#include "dtypecheck_jit.h"
#include "dtypecheck_autograd.h"
#include "dtypecheck_nn.h"
#include "dtypecheck_train.h"
