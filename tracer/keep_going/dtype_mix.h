// dtype_mix.h: hot. Which floating dtypes the operands of a call have, and whether there are
// integers or Bool among them.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer::keep_going {

// As torch.result_type has it: a tensor without dimensions has a say only where nothing else does.
class PromotedDtype {
 public:
  void add(c10::ScalarType type, int64_t dims) {
    join(all_, type);
    if (dims > 0) join(with_dims_, type);
  }
  c10::ScalarType get() const {
    return with_dims_ == c10::ScalarType::Undefined ? all_ : with_dims_;
  }

 private:
  static void join(c10::ScalarType& into, c10::ScalarType type) {
    into = into == c10::ScalarType::Undefined ? type : c10::promoteTypes(into, type);
  }
  c10::ScalarType all_ = c10::ScalarType::Undefined, with_dims_ = c10::ScalarType::Undefined;
};

class DtypeMix {
 public:
  static DtypeMix of_arguments(c10::ArrayRef<c10::IValue> arguments) {
    DtypeMix mix;
    for (const c10::IValue& value : arguments) {
      if (value.isTensor())
        mix.add(value.unsafeToTensorImpl());
      else if (value.isList())
        mix.add_list(value.toListRef());
    }
    return mix;
  }

  bool is_mixed() const { return (bits_ & (bits_ - 1)) != 0; }
  bool has_low_precision() const { return (bits_ & kLow) != 0; }
  // Labels, indices and masks, or numbers where floating ones are wanted.
  bool has_integers() const { return has_integers_; }
  // Only these can fail for their floating dtypes.
  bool may_fail() const { return is_mixed() || has_low_precision(); }

 private:
  static constexpr uint64_t kLow = kLowPrecisionBits;
  static constexpr uint64_t kIntegers = dtype_bit(Dtype::kByte) | dtype_bit(Dtype::kChar) |
                                        dtype_bit(Dtype::kShort) | dtype_bit(Dtype::kInt) |
                                        dtype_bit(Dtype::kLong) | dtype_bit(Dtype::kBool);
  static constexpr uint64_t kFloats = kLow | dtype_bit(Dtype::kFloat) | dtype_bit(Dtype::kDouble);

  void add(const c10::TensorImpl* impl) {
    const auto type = impl->dtype();
    if (!type.isScalarType()) return;
    const auto dtype = static_cast<Dtype>(c10::typeMetaToScalarType(type));
    const uint64_t found = dtype_bit(dtype) & (kFloats | kIntegers);
    if (!found || impl->is_wrapped_number()) return;  // a number takes what it meets
    bits_ |= found & kFloats;
    has_integers_ |= (found & kIntegers) != 0;
  }
  void add_list(c10::ArrayRef<c10::IValue> list) {
    for (const c10::IValue& element : list) {
      if (element.isTensor())
        add(element.unsafeToTensorImpl());
      else if (!element.isNone())
        return;  // a list of something else
    }
  }

  uint64_t bits_ = 0;
  bool has_integers_ = false;
};

}  // namespace dtypecheck::tracer::keep_going
