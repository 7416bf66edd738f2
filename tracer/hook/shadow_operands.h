// shadow_operands.h: which calls are computed once more, and what they are given then. Of large
// tensors, which ops that work number by number are given, it is a run of numbers; ops that put
// numbers elsewhere are asked where each number of the result's run came from.
#pragma once

#include "ops/ops.h"
#include "tracer/hook/requests.h"
#include "tracer/hook/shadow_store.h"

namespace dtypecheck::tracer {

namespace {

constexpr int64_t kMostOfProduct = 1 << 14;   // which costs more than its numbers
constexpr int64_t kMostMultiplied = 1 << 21;  // of two matrices: 128 x 128 x 128
constexpr int64_t kCorner = 8;                // rows and columns of a product
constexpr int64_t kMostMoved = 1 << 22;       // of which it is asked where they are put

// The first rows of a matrix, or columns.
Tensor corner_of(const Tensor& matrix, int64_t dimension) {
  return matrix.narrow(dimension, 0, std::min(matrix.size(dimension), kCorner));
}

// Statistics of a dataset, its samples and metrics are computed in Float, and cancel there. In a
// step, what cancels in Float is as a rule meant to.
bool is_outside_training(const Frame& frame) {
  return frame.phase == static_cast<uint8_t>(Phase::kLoad) ||
         frame.phase == static_cast<uint8_t>(Phase::kData);
}

// False: the call cannot be computed again.
bool take_part(ShadowCall& call, const Tensor& whole, Tensor* out) {
  if (!is_shadowable(whole)) return false;
  if (call.is_corner) {
    *out = corner_of(whole, static_cast<int64_t>(call.stack.size()));
    return whole.is_cpu();
  }
  *out = part_of(whole);
  if (!out->defined()) return false;
  if (!is_large(whole)) return !call.is_sampled || whole.numel() == 1;
  if (call.sizes.empty()) call.sizes = whole.sizes().vec(), call.strides = whole.strides().vec();
  return call.sizes == whole.sizes().vec() && call.strides == whole.strides().vec();
}

void note_damages(ShadowCall& call, const Shadow& shadow, const Tensor& tensor) {
  if (!call.follows || shadow.damages.empty()) return;
  add_damages(call.damages, shadow.damages);
  call.damaged.push_back(tensor.storage().unsafeGetStorageImpl());
}

void note_growth(ShadowCall& call, const Shadow& shadow, const Tensor& tensor) {
  if (!call.follows) return;
  const bool is_of_16_bits = call.growth.is_of_16_bits || shadow.growth.is_of_16_bits;
  if (shadow.growth.by > call.growth.by) call.growth = shadow.growth;
  call.growth.is_of_16_bits = is_of_16_bits;
  if (shadow.growth.at) call.damaged.push_back(tensor.storage().unsafeGetStorageImpl());
}

int64_t row_size(const Rows& rows, const Tensor& tensor) {
  int64_t size = 1;
  for (auto i = static_cast<int64_t>(rows.batch.size()); i < tensor.dim(); ++i)
    size *= tensor.size(i);
  return size;
}

bool has_rows(const Rows& rows, const Tensor& tensor) {
  return tensor.dim() >= static_cast<int64_t>(rows.batch.size()) &&
         std::equal(rows.batch.begin(), rows.batch.end(), tensor.sizes().begin());
}

// Each row is given all of it.
bool is_for_each_row(const Rows& rows, const Tensor& tensor, int64_t dimensions) {
  const auto split = static_cast<int64_t>(rows.batch.size());
  if (tensor.dim() <= dimensions - split) return true;
  return tensor.dim() == dimensions &&
         std::all_of(tensor.sizes().begin(), tensor.sizes().begin() + split,
                     [](int64_t size) { return size == 1; });
}

// The rows of what is looked at, with as many dimensions as the whole.
Tensor cut_rows(const Rows& rows, const Tensor& whole, const Tensor& part) {
  const int64_t size = row_size(rows, whole);
  std::vector<int64_t> sizes = whole.sizes().vec();
  std::fill_n(sizes.begin(), rows.batch.size(), 1);
  sizes[rows.batch.size() - 1] = rows.count;
  return part.reshape({-1})
      .narrow(0, rows.first * size - begin_of_part(whole), rows.count * size)
      .view(sizes);
}

// The least dimension that an op reduces or normalizes; none where it is not known to be so.
c10::optional<int64_t> least_dimension(const c10::OperatorHandle& handle,
                                       c10::ArrayRef<const IValue> inputs, int64_t dimensions) {
  c10::optional<int64_t> least;
  if (ops::facts_of(handle.schema().name()) & ops::kDimStays) return least;
  const auto take = [&](int64_t at) {
    const int64_t from_0 = at < 0 ? at + dimensions : at;
    least = least ? std::min(*least, from_0) : from_0;
  };
  const auto& arguments = handle.schema().arguments();
  for (size_t i = 0; i < std::min(arguments.size(), inputs.size()); ++i) {
    const bool is_shape = arguments[i].name() == "normalized_shape";
    if (arguments[i].name() != "dim" && !is_shape) continue;
    if (inputs[i].isInt()) take(inputs[i].toInt());
    if (!inputs[i].isIntList()) continue;
    const auto list = inputs[i].toIntVector();
    if (is_shape) take(dimensions - static_cast<int64_t>(list.size()));
    if (!is_shape) std::for_each(list.begin(), list.end(), take);
  }
  return least;
}

// True where rows of the operands are what the op computes rows of its result of.
bool choose_rows(ShadowCall& call, const OpInfo& op, const c10::OperatorHandle& handle,
                 bool is_pointwise, c10::ArrayRef<const IValue> inputs) {
  std::vector<Tensor> all;
  for (const Argument& argument : op.tensors) {
    const IValue& value = inputs[argument.index];
    if (argument.is_written || value.isList()) return false;
    if (value.isTensor() && value.toTensor().defined()) all.push_back(value.toTensor());
  }
  const auto is_ready = [](const Tensor& tensor) {
    return is_shadowable(tensor) && tensor.is_cpu() && tensor.is_contiguous();
  };
  if (all.empty() || !std::all_of(all.begin(), all.end(), is_ready)) return false;
  const Tensor& widest = *std::max_element(all.begin(), all.end(),
                                           [](auto& a, auto& b) { return a.numel() < b.numel(); });
  const auto least = is_pointwise ? c10::optional<int64_t>(widest.dim() - 1)
                                  : least_dimension(handle, inputs, widest.dim());
  for (int64_t split = 1; least && split <= *least; ++split) {
    Rows rows;
    rows.batch = widest.sizes().slice(0, split).vec();
    int64_t end = widest.numel() / row_size(rows, widest);
    bool fits = true;
    for (const Tensor& tensor : all) {
      const bool has = has_rows(rows, tensor);
      fits = fits && (has || (!is_large(tensor) && is_for_each_row(rows, tensor, widest.dim())));
      if (!has || !is_large(tensor)) continue;
      const int64_t size = row_size(rows, tensor), begin = begin_of_part(tensor);
      rows.first = std::max(rows.first, (begin + size - 1) / size);
      end = std::min(end, (begin + kSampleElements) / size);
    }
    rows.count = end - rows.first;
    if (!fits || rows.count < 1) continue;
    call.rows = rows;
    return true;
  }
  return false;
}

bool is_by_rows(const ShadowCall& call) { return call.rows.count > 0; }

void note_floats(ShadowCall& call, const Tensor& tensor, const Shadow* shadow, const Tensor& actual,
                 const Tensor& right) {
  const Distance found = distance(actual, right);
  call.is_finite =
      call.is_finite && !found.is_odd && !found.has_same && !found.has_nan && !found.has_inf;
  call.has_nan = call.has_nan || found.has_nan || found.is_odd;
  call.scale = std::max(call.scale, found.scale);
  if (shadow && found.error >= call.error) call.rounded_at = shadow->rounded_at;
  call.error = std::max(call.error, found.error);
  call.is_known = call.is_known || shadow;
  call.is_unknown = call.is_unknown || (!shadow && is_low(tensor));
  call.is_bare = call.is_bare || (!shadow && tensor.scalar_type() == at::kFloat);
  call.is_low = call.is_low || is_low(tensor);
}

bool add_rows(ShadowCall& call, const Tensor& whole, Tensor* out) {
  const Tensor part = part_of(whole);
  const bool is_cut = has_rows(call.rows, whole);
  const auto cut = [&](const Tensor& values) {
    return is_cut ? cut_rows(call.rows, whole, values) : values.view(whole.sizes());
  };
  if (!part.is_floating_point()) return *out = cut(part).clone(), true;
  Shadow* shadow = find_shadow(part);
  if (shadow) note_damages(call, *shadow, part), note_growth(call, *shadow, part);
  const Tensor actual = cut(in_double(part));
  *out = shadow ? cut(values_of(*shadow, part)).clone() : actual;
  note_floats(call, part, shadow, actual, *out);
  return true;
}

// False: the call cannot be computed again.
bool add_tensor(ShadowCall& call, const Tensor& whole, Tensor* out) {
  Tensor tensor;
  if (!whole.defined()) return true;
  if (whole.numel() == 0 && whole.is_cpu() && is_plain(whole.unsafeGetTensorImpl())) {
    const bool is_float = whole.is_floating_point();
    *out = at::empty(whole.sizes(),
                     whole.options().dtype(is_float ? at::kDouble : whole.scalar_type()));
    return true;
  }
  if (is_by_rows(call)) return add_rows(call, whole, out);
  if (!take_part(call, whole, &tensor)) return false;
  if (!tensor.is_floating_point()) {
    *out = call.is_whole && tensor.scalar_type() != at::kBool
               ? tensor.to(at::kLong, /*non_blocking=*/false, /*copy=*/true)
               : tensor.clone();
    return true;
  }
  const Tensor actual = in_double(tensor);
  Shadow* shadow = find_shadow(tensor);
  if (shadow) note_damages(call, *shadow, tensor), note_growth(call, *shadow, tensor);
  *out = shadow ? values_of(*shadow, tensor).clone() : actual;
  note_floats(call, tensor, shadow, actual, *out);
  return true;
}

// `out` is the value with each tensor in it replaced: make(tensor, &other) says by what, and false
// where there is nothing.
template <typename Make>
bool replace_tensors(const IValue& value, const Make& make, IValue* out) {
  Tensor other;
  if (value.isTensor()) {
    if (!make(value.toTensor(), &other)) return false;
    *out = other;
  } else if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor& tensor : value.toTensorVector()) {
      if (!make(tensor, &other)) return false;
      list.push_back(other);
    }
    *out = list;
  } else if (value.isOptionalTensorList()) {
    c10::List<c10::optional<Tensor>> list;
    for (const IValue& element : value.toListRef()) {
      const bool is_there = element.isTensor() && element.toTensor().defined();
      if (is_there && !make(element.toTensor(), &other)) return false;
      list.push_back(is_there ? c10::optional<Tensor>(other) : c10::optional<Tensor>());
    }
    *out = list;
  } else {
    *out = value;
  }
  return true;
}

bool add_value(ShadowCall& call, const IValue& value) {
  if (value.isGenerator()) return false;
  if (value.isDevice() && !value.toDevice().is_cpu() && !value.toDevice().is_cuda()) return false;
  IValue shadow = c10::Device(c10::DeviceType::CPU);
  const auto make = [&](const Tensor& tensor, Tensor* out) {
    *out = Tensor();
    return add_tensor(call, tensor, out);
  };
  if (!value.isDevice() && !replace_tensors(value, make, &shadow)) return false;
  call.stack.push_back(shadow);
  return true;
}

// Where the numbers of a result come from: the op is given places in storages in place of numbers.
// False where nothing of what is looked at has a shadow.
bool move_shadows(ShadowCall& call, const c10::OperatorHandle& handle,
                  c10::ArrayRef<const IValue> inputs) {
  struct Source {
    Tensor values;
    int64_t first;       // of the values, as a place
    int64_t begin, end;  // places of the operand
  };
  std::vector<Source> sources;
  int64_t places = 0;
  const auto make = [&](const Tensor& tensor, Tensor* out) {
    *out = tensor;
    if (!tensor.defined() || !tensor.is_floating_point()) return true;
    if (!is_shadowable(tensor)) return false;
    const Extent extent = extent_of(tensor);
    if (extent.count > kMostMoved - places) return false;
    *out =
        at::arange(places, places + extent.count)
            .as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset() - extent.begin);
    if (Shadow* shadow = find_shadow(tensor, /*in_part=*/true)) {
      sources.push_back({shadow->values.clone(), places + shadow->begin - extent.begin, places,
                         places + extent.count});
      note_damages(call, *shadow, tensor);
      call.rounded_at = shadow->rounded_at;
    }
    places += extent.count;
    return true;
  };
  torch::jit::Stack stack;
  for (const IValue& value : inputs) {
    IValue place;
    if (!replace_tensors(value, make, &place)) return false;
    stack.push_back(place);
  }
  if (sources.empty()) return false;
  handle.callBoxed(&stack);
  if (stack.size() != 1 || !stack[0].isTensor()) return false;
  const Tensor part = part_of(stack[0].toTensor());
  if (!part.defined()) return false;
  const Tensor from = part.contiguous();
  call.right = at::zeros(from.sizes(), at::kDouble);
  call.is_right = at::zeros(from.sizes(), at::kBool);
  const int64_t* place = from.data_ptr<int64_t>();
  double* right = call.right.data_ptr<double>();
  bool* is_right = call.is_right.data_ptr<bool>();
  for (int64_t i = 0; i < from.numel(); ++i) {
    for (const Source& source : sources) {
      const int64_t at = place[i] - source.first;
      const bool is_its = place[i] >= source.begin && place[i] < source.end;
      if (!is_its || at < 0 || at >= source.values.numel()) continue;
      right[i] = source.values.data_ptr<double>()[at];
      is_right[i] = true;
    }
  }
  call.is_known = call.is_right.any().item<bool>();
  return call.is_known;
}

bool is_op(const Frame& frame, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return frame.op->name == name; });
}

bool is_integral(at::ScalarType dtype) { return c10::isIntegralType(dtype, /*includeBool=*/false); }

// Where integers may pass the end of their dtype.
bool is_arithmetic(const OpInfo& op) {
  if (ops::facts_of(op.name) & (ops::kMultiplies | ops::kProduct)) return true;
  static const char* const kNames[] = {
      "add",  "sub",    "rsub",    "mul", "pow",  "square", "neg",       "sum",
      "prod", "cumsum", "cumprod", "abs", "diff", "dot",    "index_add", "scatter_add"};
  const std::string_view base = ops::parse_op_name(op.name).base;
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return base == name; });
}

// Whole numbers and times that Float, or Double, has not.
bool is_beyond(const Tensor& tensor, at::ScalarType target) {
  const bool is_long = tensor.scalar_type() == at::kLong;
  const bool is_count = is_long || tensor.scalar_type() == at::kInt;
  const double least = target == at::kDouble ? 0x1p53 : is_count ? 1 << 24 : 1 << 16;
  if (!is_count && tensor.scalar_type() != at::kDouble) return false;
  if (target != at::kFloat && !(is_long && target == at::kDouble)) return false;
  const Tensor part = is_shadowable(tensor) ? part_of(tensor) : Tensor();
  if (!part.defined()) return false;
  return tensor.is_cuda() ||  // asked again of its stand-in
         part.abs().max().to(at::kDouble).item<double>() > least;
}

// What a copy or a cast makes of its last tensor.
at::ScalarType target_of(const OpInfo& op, c10::ArrayRef<const IValue> inputs) {
  const IValue& self = inputs[op.tensors[0].index];
  return op.tensors.size() == 2 && self.isTensor() ? self.toTensor().scalar_type()
                                                   : asked_dtype(op, inputs);
}

template <typename Visit>
bool any_tensor(const OpInfo& op, c10::ArrayRef<const IValue> inputs, const Visit& visit) {
  for (const Argument& argument : op.tensors) {
    const IValue& value = inputs[argument.index];
    if (value.isTensor()) {
      if (value.toTensor().defined() && visit(value.toTensor())) return true;
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef())
        if (element.isTensor() && element.toTensor().defined() && visit(element.toTensor()))
          return true;
    }
  }
  return false;
}

bool has_shadow(const Tensor& tensor) {
  return tensor.has_storage() && shadows().of.count(tensor.storage().unsafeGetStorageImpl()) != 0;
}

bool may_have_shadow_now(const Tensor& tensor) {
  return tensor.is_cuda() ? has_stand_in(tensor) : has_shadow(tensor);
}

bool is_cuda(const Tensor& tensor) { return tensor.is_cuda(); }

bool is_half(const Tensor& tensor) { return tensor.scalar_type() == at::kHalf; }

bool lies_on_gpu(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && is_cuda(value.toTensor());
}

// A product that takes too long. Of two matrices it is known how long.
bool is_large_product(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  const auto is_any_above = [&](int64_t most) {
    return any_tensor(*frame.op, inputs,
                      [=](const Tensor& tensor) { return tensor.numel() > most; });
  };
  if (!is_any_above(kMostOfProduct)) return false;
  const bool has_two = is_op(frame, {"aten::linear", "aten::mm", "aten::matmul", "aten::bmm"});
  if (!has_two || is_any_above(kMostElements)) return true;
  const Tensor &left = inputs[0].toTensor(), &right = inputs[1].toTensor();
  const int64_t depth = left.dim() > 0 ? left.size(-1) : 1;
  return left.numel() / std::max<int64_t>(depth, 1) * right.numel() > kMostMultiplied;
}

// As an op that works number by number is given them.
bool has_one_size(const OpInfo& op, c10::ArrayRef<const IValue> inputs) {
  const Tensor* first = nullptr;
  return !any_tensor(op, inputs, [&](const Tensor& tensor) {
    if (tensor.numel() == 1) return false;
    if (first == nullptr) first = &tensor;
    return tensor.sizes() != first->sizes();
  });
}

// Sets what kind of call it is. Most are Float, or views of nothing that has a shadow.
bool is_wanted(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
               bool is_pointwise, c10::ArrayRef<const IValue> inputs) {
  const OpInfo& op = *frame.op;
  const at::ScalarType asked = asked_dtype(op, inputs);
  if (op.tensors.empty()) return is_of_16_bits(asked);
  if (ops::facts_of(op.name) & ops::kAnyBasis) return false;
  // Of gradients what vanishes in Half is told, and what is not finite: that Half makes as a rule.
  // Those of BFloat16 are followed from the loss to its logits, behind which products are.
  if (frame.phase == static_cast<uint8_t>(Phase::kBackward) && !any_tensor(op, inputs, is_half) &&
      (ops::facts_of(op.name) & ops::kProduct || !any_tensor(op, inputs, is_low)))
    return false;
  if (ops::facts_of(op.name) & (ops::kMultiplies | ops::kProduct) &&
      is_large_product(frame, inputs)) {
    call.is_corner = call.is_whole = is_op(frame, {"aten::mm", "aten::matmul"}) &&
                                     !any_tensor(op, inputs, [](const Tensor& tensor) {
                                       return tensor.dim() != 2 ||
                                              !is_integral(tensor.scalar_type()) ||
                                              tensor.scalar_type() == at::kLong;
                                     });
    return call.is_corner;
  }
  call.is_sampled = any_tensor(op, inputs, is_large);
  if (call.is_sampled && !(is_pointwise && has_one_size(op, inputs)) &&
      !choose_rows(call, op, handle, is_pointwise, inputs) && !is_pointwise) {
    call.is_moved = is_op(frame, {"aten::cat", "aten::stack", "aten::index_select", "aten::index",
                                  "aten::repeat", "aten::flip", "aten::roll"}) &&
                    any_tensor(op, inputs, has_shadow);
    return call.is_moved;
  }
  if (op.converts) {
    const IValue& source = inputs[op.tensors.back().index];
    if (!source.isTensor() || !source.toTensor().defined()) return false;
    const at::ScalarType from = source.toTensor().scalar_type(), to = target_of(op, inputs);
    call.is_narrowed = is_integral(to) && from != to && from != at::kBool;
    if (call.is_narrowed || is_of_16_bits(to)) return true;
    call.is_beyond = is_beyond(source.toTensor(), to);
    if (call.is_beyond) return true;
    const bool is_of_more = from == at::kLong || from == at::kInt || from == at::kDouble;
    if (to == at::kFloat && is_of_more) return true;  // sums of them, and what cancels of Double
  }
  const bool has_floats =
      any_tensor(op, inputs, [](const Tensor& tensor) { return tensor.is_floating_point(); });
  if (!has_floats) {
    call.is_whole = is_arithmetic(op) && any_tensor(op, inputs, [](const Tensor& tensor) {
                      return is_integral(tensor.scalar_type()) && tensor.scalar_type() != at::kLong;
                    });
    return call.is_whole;
  }
  return is_outside_training(frame) || frame.autocast_on || is_of_16_bits(asked) ||
         any_tensor(op, inputs, is_low) || any_tensor(op, inputs, may_have_shadow_now);
}

// Not inside of a mode that would see it.
bool can_compute_here() {
  const auto& included = c10::impl::tls_local_dispatch_key_set().included_;
  return !included.has(c10::DispatchKey::Python) &&
         !included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

// Attention without dropout.
bool draws_nothing(const c10::OperatorHandle& handle, c10::ArrayRef<const IValue> inputs) {
  const auto& arguments = handle.schema().arguments();
  for (size_t i = 0; i < std::min(arguments.size(), inputs.size()); ++i)
    if (arguments[i].name() == "dropout_p")
      return inputs[i].isDouble() && inputs[i].toDouble() == 0;
  return false;
}

// What it leaves out is seen in its result.
bool is_dropout(const OpInfo& op) { return op.name == "aten::dropout"; }

// Ops that draw numbers, or that write to lists or elsewhere, are not computed again.
bool is_computable(const Frame& frame, const c10::OperatorHandle& handle,
                   c10::ArrayRef<const IValue> inputs) {
  const OpInfo& op = *frame.op;
  if (op.may_call_anything || op.makes_garbage || op.speaks_for_inner) return false;
  if (!op.tensors.empty() && !op.may_return_first) return false;
  for (const Argument& argument : op.tensors) {
    if (argument.role == static_cast<uint8_t>(Role::kOut)) return false;
    if (argument.is_written && argument.kind == Argument::Kind::kTensorList) return false;
  }
  return can_compute_here() && (!handle.hasTag(at::Tag::nondeterministic_seeded) ||
                                draws_nothing(handle, inputs) || is_dropout(op));
}

bool squares_in_half(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (!is_op(frame, {"aten::addcmul", "aten::addcmul_", "aten::mul", "aten::square", "aten::pow"}))
    return false;
  return std::all_of(frame.op->tensors.begin(), frame.op->tensors.end(), [&](const auto& argument) {
    const IValue& value = inputs[argument.index];
    return value.isTensor() && value.toTensor().defined() && value.toTensor().dim() > 0 &&
           value.toTensor().scalar_type() == at::kHalf;
  });
}

// What dtype arguments ask for in 16 bits or in Float is asked for in Double.
void widen_dtypes(ShadowCall& call, const OpInfo& op) {
  for (const Argument& argument : op.dtypes) {
    IValue& value = call.stack[argument.index];
    if (!value.isInt() && op.tensors.empty()) value = static_cast<int64_t>(at::kDouble);
    if (!value.isInt()) continue;
    const auto dtype = static_cast<at::ScalarType>(value.toInt());
    if (c10::isFloatingType(dtype)) value = static_cast<int64_t>(at::kDouble);
    if (call.is_whole && is_integral(dtype)) value = static_cast<int64_t>(at::kLong);
  }
}

}  // namespace

}  // namespace dtypecheck::tracer
