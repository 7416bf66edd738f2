// shadows.cpp: a shadow belongs to a storage, since views are no ops that the tracer is told of. It
// keeps the bytes that it is the shadow of: what was written without us is taken as it is. Of large
// tensors, which ops that work number by number are given, it is a run of numbers; ops that put
// numbers elsewhere are asked where each number of the result's run came from.
#include "tracer/hook/shadows.h"

#include <ATen/core/stack.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/codes.h"
#include "ops/ops.h"
#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/requests.h"
#include "tracer/hook/stand_ins.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/quiet.h"

namespace dtypecheck {
namespace tracer {

#if DTYPECHECK_TORCH_AT_LEAST(2, 0)  // which op draws numbers, and which works number by number

// How many have ended: signatures of these are no more.
std::atomic<uint32_t> ended_recordings{0};

// A result that is far from its shadow. It is reported where it arrives: where what is computed of
// it stays far, up to a tensor of which nothing more is computed, or where that cannot be followed.
// Where all that is computed of it is near again, as behind a `where` that leaves it out, it is
// not, unless a product read it.
struct Damage {
  const trace::SignatureRecord* signature;
  double from, to;
  uint32_t step;
  uint32_t rounded_at;
  bool is_of_float = false;  // inside of a training: told where the loss is off by it
  bool is_told = false;
  Arrived product = {};  // the first op that multiplied it while it was far off
  uint32_t recording = ended_recordings;

  ~Damage() {
    if (!is_told && product.signature != 0 && recording == ended_recordings)
      write_inexact(signature, from, to, step, rounded_at, product);
  }
};
using Damages = std::vector<std::shared_ptr<Damage>>;

// The op of all that led to numbers at which their error grew most. No op need be far from what it
// should be for a loss to be.
struct Growth {
  bool is_of_16_bits = false;  // or of Float, before a training begins alone
  bool is_near_zero = false;   // few numbers that are left of larger ones: any error is large
  double by = 0;
  std::shared_ptr<Damage> at;
};

struct LaterCall;

// Of large tensors, where an op computes each row alone: these rows, over the first dimensions.
struct Rows {
  std::vector<int64_t> batch;  // the sizes of those
  int64_t first = 0, count = 0;
};

// What a call of an op would give in Double, until the op itself has given something.
struct ShadowCall {
  const void* record = nullptr;  // of the RecordFunction
  torch::jit::Stack stack;
  double error = 0;         // of the operands, the largest of them
  uint32_t rounded_at = 0;  // signature id of the cast or factory that this error comes from
  double scale = 0;         // the largest number in them
  double terms = 0;         // of a sum or a mean: what it would be if none cancelled
  bool is_known = false;    // an operand has a shadow
  bool is_unknown = false;  // one of 16 bits has none: what was lost before is not known
  bool is_bare = false;     // one of Float has none: it was rounded as the others were, perhaps
  bool is_low = false;      // one is of 16 bits
  bool is_finite = true;    // the operands themselves
  bool has_nan = false;
  bool is_whole = false;       // arithmetic of integers, computed in Long
  bool is_narrowed = false;    // a cast to integers, or to fewer bits of them
  bool is_beyond = false;      // one to Float, or Double, of numbers that it has not
  bool is_sampled = false;     // of large operands a run of numbers
  bool is_corner = false;      // of a large product its first rows and columns
  bool is_moved = false;       // numbers of large operands are put elsewhere: the result is known
  at::Tensor right, is_right;  // already, in part: its numbers, and which of these are known
  Rows rows;                   // of large operands that do not have the same sizes
  std::vector<int64_t> sizes, strides;           // which all of them have
  Damages damages;                               // of the operands
  std::vector<const c10::StorageImpl*> damaged;  // which these are of
  Damages carried;                               // which the result has
  Growth growth;                                 // of the operands, the largest of them
  bool has_grown = false;                        // an error that is followed
  double off = 0;                                // of the result
  bool follows = true;                           // what becomes of the damages matters
  bool is_followed = false;                      // it is known what becomes of the damages
  Arrival arrival = Arrival::kLost;              // where it is not
  std::shared_ptr<LaterCall> later;              // of tensors on a GPU
};

namespace {

using at::Tensor;
using c10::IValue;

constexpr int64_t kMostElements = kMostStored;
constexpr int64_t kMostOfProduct = 1 << 14;   // which costs more than its numbers
constexpr int64_t kMostMultiplied = 1 << 21;  // of two matrices: 128 x 128 x 128
constexpr int64_t kSampleElements = 1 << 12;  // of a tensor that has more
constexpr int64_t kCorner = 8;                // rows and columns of a product
constexpr int64_t kMostMoved = 1 << 22;       // of which it is asked where they are put
constexpr size_t kMostBytes = 64 << 20;       // of all shadows
constexpr double kFar = 0.25;                 // of a number: damage
constexpr double kNear = 0.05;
constexpr double kHarmless = 0.01;     // of what was computed of damage: it is none any more
constexpr double kVanished = 0x1p-24;  // in Half: a gradient that is 0
constexpr double kLossOff = 0.05;      // of a loss, though no op was far off
constexpr double kNumberOff = 0.1;     // of a number that the program reads
constexpr double kEndOff = 0.2;        // of a tensor of which nothing more is computed
constexpr double kGradientOff = 0.04;  // of what a loss gives to the logits
constexpr int64_t kFewest = 16;        // numbers, to speak of a share of them
constexpr int64_t kFewestChosen = 4;   // the same, of the largest
constexpr double kOfFloat = 1e-6;      // what Float itself rounds, or less
constexpr double kAmplified = 16;      // times as far as the operands were
constexpr double kSmall = 0.01;        // of the operands
constexpr double kResidue = 1e-12;     // of the operands: what is left where all cancels
constexpr double kMeant = 1e8;         // what is larger stands for infinity, in a mask
constexpr double kMasked = 6e4;        // below less this, in Half, what is masked becomes infinite

bool is_low(const Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

bool is_shadowable(const Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return is_plain(impl) && (tensor.is_cpu() || can_be_copied(impl)) &&
         tensor.layout() == at::kStrided && !tensor.is_quantized() && !tensor.is_complex() &&
         !tensor.is_neg() && tensor.has_storage() && tensor.numel() > 0 && data_of(impl) != nullptr;
}

bool is_large(const Tensor& tensor) { return tensor.numel() > kMostElements; }

// Where what is looked at of it begins: behind its middle, where an image has something to show and
// a table its far positions.
int64_t begin_of_part(const Tensor& whole) {
  return is_large(whole) ? whole.numel() / 4 * 3 - kSampleElements : 0;
}

// In the order of its storage: the numbers of operands with the same strides lie at the same
// places.
Tensor sample_of(const Tensor& large) {
  return large.as_strided({large.numel()}, {1}).narrow(0, begin_of_part(large), kSampleElements);
}

// What of a tensor is looked at; undefined where that is no run of its numbers.
Tensor part_of(const Tensor& whole) {
  if (!is_large(whole)) return whole;
  return whole.is_non_overlapping_and_dense() ? sample_of(whole) : Tensor();
}

Tensor in_double(const Tensor& tensor) {
  return tensor.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
}

// How far numbers are from those that they should be.
struct Distance {
  double error = 0;       // of all, as a part of their size
  double scale = 0;       // the largest that should be
  double share = 0;       // of the numbers that are far, each
  bool is_odd = false;    // one that should be infinite or NaN, and is not the same infinity
  bool has_same = false;  // an infinity that should be one
  bool has_nan = false, has_inf = false;
  double from = 0, to = 0;  // where it is worst, or the first that is not finite
};

Distance distance(const Tensor& actual, const Tensor& right) {
  const Tensor a = actual.to(at::kDouble).contiguous(), b = right.to(at::kDouble).contiguous();
  const double *is = a.data_ptr<double>(), *should = b.data_ptr<double>();
  const int64_t count = a.numel();
  Distance out;
  double size = 0, off = 0, worst = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(should[i])) (is[i] == should[i] ? out.has_same : out.is_odd) = true;
    if (!std::isfinite(should[i]) || out.has_nan) continue;
    size += should[i] * should[i];
    out.scale = std::max(out.scale, std::fabs(should[i]));
    if (!std::isfinite(is[i])) {
      const bool is_nan = std::isnan(is[i]);
      if (is_nan || !out.has_inf) out.from = should[i], out.to = is[i];
      (is_nan ? out.has_nan : out.has_inf) = true;
      continue;
    }
    const double by = std::fabs(is[i] - should[i]);
    off += by * by;
    if (by > worst && !out.has_inf) worst = by, out.from = should[i], out.to = is[i];
  }
  if (out.has_nan || out.has_inf || size == 0) {
    if (size == 0 && off > 0) out.error = INFINITY;
    return out;
  }
  out.error = std::sqrt(off / size);
  const double mean = std::sqrt(size / static_cast<double>(count));
  int64_t far = 0;
  for (int64_t i = 0; i < count; ++i)
    far += std::fabs(is[i] - should[i]) >= kFar * std::max(mean, std::fabs(should[i]));
  out.share = static_cast<double>(far) / static_cast<double>(count);
  return out;
}

struct Shadow {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  at::ScalarType dtype;
  int64_t begin;            // in the storage
  Tensor values;            // from there on, one dimension
  std::vector<char> bytes;  // that it is the shadow of
  uint64_t made = 0;
  Damages damages;
  double off;    // when it was kept; at the end of a process nothing can be computed any more
  bool is_read;  // by a call that is followed
  uint32_t rounded_at = 0;  // as of a call
  Growth growth;

  bool has_arrived() const {
    const double least = values.numel() < kFewest ? kNumberOff : kEndOff;
    return !is_read && (!damages.empty() || has_grown(least));
  }
  // What Float alone computes is not so rough by anybody's wish.
  bool has_grown(double least) const {
    if (!growth.is_of_16_bits && std::isfinite(least)) least = kLossOff;
    return growth.at && !growth.is_near_zero && growth.by >= least / 2 && off >= least;
  }
};

struct Shadows {
  std::mutex mutex;
  std::unordered_map<const c10::StorageImpl*, Shadow> of;
  size_t bytes = 0;
  uint64_t made = 0;
  std::atomic<size_t> damaged{0};  // that were ever kept; asked without the lock
  std::atomic<size_t> open{0};     // of which nothing was computed yet; the same
  // Which cast rounded what a call of this signature reads, and how many such calls were looked at.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> readers;
  std::unordered_set<uint32_t> roundings;  // that numbers of more bits come from
  std::atomic<int> searches{0};            // for readers, that are left
};
Shadows* all_shadows = new Shadows;
Shadows& shadows() { return *all_shadows; }

// So much of a tensor's storage.
Tensor stored(const Tensor& tensor, Extent extent) {
  return at::from_blob(const_cast<char*>(first_of(tensor, extent)), {extent.count},
                       at::TensorOptions().dtype(tensor.scalar_type()));
}

const char* bytes_of(const Tensor& on_cpu) { return static_cast<const char*>(on_cpu.data_ptr()); }

size_t size_of(const Shadow& shadow) {
  return shadow.bytes.size() + static_cast<size_t>(shadow.values.numel()) * sizeof(double);
}

Tensor values_of(const Shadow& shadow, const Tensor& tensor) {
  return shadow.values.as_strided(tensor.sizes(), tensor.strides(),
                                  tensor.storage_offset() - shadow.begin);
}

void report(const Damages& damages, const Arrived& arrived) {
  const bool is_of_loss = arrived.as == Arrival::kLoss && arrived.off >= kLossOff;
  for (const auto& one : damages) {
    if (!is_of_loss && one->is_of_float) continue;
    one->is_told = true;
    write_inexact(one->signature, one->from, one->to, one->step, one->rounded_at, arrived);
  }
}

// As it is now.
double off_of(Shadow& shadow, const Tensor& tensor) {
  return distance(tensor, values_of(shadow, tensor)).error;
}

void report_kept(const Shadow& shadow) {
  if (!shadow.has_arrived()) return;
  const Damages grown = {shadow.growth.at};
  report(shadow.damages.empty() ? grown : shadow.damages, {Arrival::kKept, shadow.off, 0});
}

// Whatever changes whether a shadow's damage is on its way.
template <typename Change>
void change(Shadow& shadow, const Change& how) {
  const bool was_open = shadow.has_arrived();
  how();
  shadows().open += static_cast<size_t>(shadow.has_arrived()) - static_cast<size_t>(was_open);
}

void set_read(Shadow& shadow) {
  change(shadow, [&] { shadow.is_read = true; });
}

void forget(const c10::StorageImpl* storage) {
  const auto found = shadows().of.find(storage);
  if (found == shadows().of.end()) return;
  report_kept(found->second);
  set_read(found->second);
  shadows().bytes -= size_of(found->second);
  shadows().of.erase(found);
}

void make_room() {
  if (shadows().bytes < kMostBytes) return;
  std::vector<const c10::StorageImpl*> gone;
  for (const auto& [storage, shadow] : shadows().of)
    if (shadow.storage.expired() || shadow.made + 512 < shadows().made) gone.push_back(storage);
  for (const c10::StorageImpl* storage : gone) forget(storage);
  if (shadows().bytes < kMostBytes) return;
  for (const auto& [storage, shadow] : shadows().of) report_kept(shadow);
  shadows().of.clear();
  shadows().open = 0;
  shadows().bytes = 0;
}

// Of this tensor, or of some of it, or null. Where the storage was written to since, its numbers
// are taken as they are.
Shadow* find_shadow(const Tensor& tensor, bool in_part = false) {
  const auto found = shadows().of.find(tensor.storage().unsafeGetStorageImpl());
  if (found == shadows().of.end()) return nullptr;
  Shadow& shadow = found->second;
  const Extent extent = extent_of(tensor);
  const int64_t count = shadow.values.numel();
  const bool has_all =
      extent.begin >= shadow.begin && extent.begin + extent.count <= shadow.begin + count;
  if (shadow.dtype != tensor.scalar_type() || !(has_all || in_part)) return nullptr;
  const Tensor held = stored(tensor, {shadow.begin, count});
  const char* now = bytes_of(held);
  if (std::memcmp(now, shadow.bytes.data(), shadow.bytes.size()) == 0) return &shadow;
  const Tensor actual = in_double(held);
  const size_t size = tensor.element_size();
  for (int64_t i = 0; i < count; ++i) {
    char* before = shadow.bytes.data() + i * size;
    if (std::memcmp(now + i * size, before, size) == 0) continue;
    shadow.values.data_ptr<double>()[i] = actual.data_ptr<double>()[i];
    std::memcpy(before, now + i * size, size);
  }
  return &shadow;
}

// Null where it is too long.
Shadow* keep_shadow(const Tensor& actual, const Tensor& values) {
  const c10::StorageImpl* storage = actual.storage().unsafeGetStorageImpl();
  const Extent extent = extent_of(actual);
  if (extent.count > kMostElements) return forget(storage), nullptr;
  if (Shadow* shadow = find_shadow(actual)) {
    values_of(*shadow, actual).copy_(values);
    return shadow;
  }
  forget(storage);
  make_room();
  const Tensor held = stored(actual, extent);
  const char* bytes = bytes_of(held);
  const auto size = static_cast<size_t>(extent.count) * actual.element_size();
  Shadow shadow{actual.storage().getWeakStorageImpl(),
                actual.scalar_type(),
                extent.begin,
                in_double(held),
                std::vector<char>(bytes, bytes + size),
                ++shadows().made,
                {},
                0,
                false,
                0,
                {}};
  values_of(shadow, actual).copy_(values);
  shadows().bytes += size_of(shadow);
  return &shadows().of.emplace(storage, std::move(shadow)).first->second;
}

// The cast or factory that the numbers are wrong by: this one, where its operands were right, or
// that of the operand that is off the most.
uint32_t rounded_by(const ShadowCall& call, const Frame& frame) {
  const bool rounds = frame.op->converts || frame.op->tensors.empty();
  return rounds && call.off > 2 * call.error ? frame.signature->id : call.rounded_at;
}

void keep_damaged(const Frame& frame, const Tensor& actual, const Tensor& values,
                  const ShadowCall& call) {
  Shadow* shadow = keep_shadow(actual, values);
  if (!shadow) return report(call.carried, {Arrival::kLost, call.off, frame.signature->id});
  report_kept(*shadow);
  change(*shadow, [&] {
    shadow->rounded_at = rounded_by(call, frame);
    shadow->damages = call.carried;
    shadow->off = call.off;
    shadow->is_read = false;
    shadow->growth = call.growth;
  });
  shadows().damaged += call.carried.empty() && !call.growth.at ? 0 : 1;
  constexpr int kSearches = 256;
  const bool is_raised = shadow->rounded_at != 0 && !is_low(actual);
  if (is_raised && shadows().roundings.insert(shadow->rounded_at).second)
    shadows().searches += kSearches;
}

// The first rows of a matrix, or columns.
Tensor corner_of(const Tensor& matrix, int64_t dimension) {
  return matrix.narrow(dimension, 0, std::min(matrix.size(dimension), kCorner));
}

// Statistics of a dataset and metrics are computed in Float, and cancel there. In a step, what
// cancels in Float is as a rule meant to.
bool is_outside_training(const Frame& frame) {
  return frame.phase == static_cast<uint8_t>(Phase::kLoad);
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
  call.damages.insert(call.damages.end(), shadow.damages.begin(), shadow.damages.end());
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
  if (!is_shadowable(tensor) || is_large(tensor)) return false;
  return tensor.is_cuda() ||  // asked again of its stand-in
         tensor.abs().max().to(at::kDouble).item<double>() > least;
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

bool is_of_16_bits(at::ScalarType dtype) { return dtype == at::kHalf || dtype == at::kBFloat16; }

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

void note(const ShadowCall& call, const Frame& frame, double from, double to) {
  write_inexact(frame.signature, from, to, frame.step, call.rounded_at, {});
}

// What of an error that no op alone made is told where it arrives; infinity: nothing is.
double least_off(Arrival arrival) {
  return arrival == Arrival::kLoss ? kLossOff : arrival == Arrival::kRead ? kNumberOff : INFINITY;
}

// What is damaged of the tensors is reported as one that went there.
void report_damaged(const OpInfo& op, c10::ArrayRef<const IValue> inputs, Arrival arrival,
                    uint32_t signature) {
  any_tensor(op, inputs, [&](const Tensor& tensor) {
    if (!tensor.has_storage()) return false;
    const auto found = shadows().of.find(tensor.storage().unsafeGetStorageImpl());
    if (found == shadows().of.end()) return false;
    if (found->second.damages.empty()) set_read(found->second);
    const Tensor part = is_shadowable(tensor) ? part_of(tensor) : Tensor();
    Shadow* shadow = part.defined() ? find_shadow(part) : nullptr;
    if (shadow) change(*shadow, [&] { shadow->off = off_of(*shadow, part); });
    const Arrived arrived{arrival, found->second.off, signature};
    if (!found->second.damages.empty())
      report(found->second.damages, arrived);
    else if (shadow && found->second.has_grown(least_off(arrival)))
      report({found->second.growth.at}, arrived);
    return false;
  });
}

bool multiplies(const Frame& frame) {
  return (ops::facts_of(frame.op->name) & (ops::kMultiplies | ops::kProduct)) != 0;
}

// What is off in the features that a model reads may be near again behind the weights of its first
// steps, or of one input.
void note_product(const Damages& damages, double off, const Frame& frame) {
  if (!multiplies(frame) || !(off >= kEndOff) || std::isinf(off)) return;
  for (const auto& one : damages)
    if (one->product.signature == 0 && !one->is_of_float)
      one->product = {Arrival::kProduct, off, frame.signature->id};
}

// Its operands' damage goes where it cannot be followed. Of a large tensor no reduction can be:
// what goes into it is the last that is known.
void lose_trail(const ShadowCall& call, const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (!call.follows || shadows().damaged == 0) return;
  const Arrival arrival = call.is_sampled ? Arrival::kKept : Arrival::kLost;
  report_damaged(*frame.op, inputs, arrival, frame.signature->id);
}

double smallest_part(const Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? 1.0 / 512
         : tensor.scalar_type() == at::kHalf   ? 1.0 / 4096
                                               : 1.0 / (1 << 25);
}

// What was computed of the damaged operands is known, so that they need not be reported themselves.
void follow(ShadowCall& call) {
  call.is_followed = true;
  for (const c10::StorageImpl* storage : call.damaged) {
    const auto found = shadows().of.find(storage);
    if (found != shadows().of.end()) set_read(found->second);
  }
}

// A number that is small beside what it is the sum of, or the difference, may have any error.
bool is_near_zero(const ShadowCall& call, const Frame& frame, const Tensor& right,
                  const Distance& found) {
  const bool sums_up = is_op(frame, {"aten::mean", "aten::sum"});
  const bool adds =
      is_op(frame, {"aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::rsub"});
  const bool is_product = (ops::facts_of(frame.op->name) & ops::kMultiplies) != 0;
  if (right.numel() >= kFewest || !(sums_up || adds || is_product)) return false;
  const double terms = sums_up && call.terms > 0 ? call.terms : call.scale;
  // A difference of two statistics in 16 bits is what the program wants to know.
  const bool is_difference = adds && right.numel() == 1 && call.is_low;
  return found.scale < (is_difference ? kSmall : kFar) * terms;
}

// Their results are large where a number is near 0.
bool tells_of_small(const Frame& frame) {
  return is_op(frame, {"aten::exp", "aten::log", "aten::log2", "aten::log10"});
}

void grow(ShadowCall& call, const Frame& frame, const Tensor& actual, const Tensor& right,
          const Distance& found) {
  const bool is_of_16_bits = call.growth.is_of_16_bits || call.is_low || is_low(actual);
  const bool is_told = is_of_16_bits || is_outside_training(frame);
  const bool is_residue = found.scale < kResidue * call.scale;
  if (!is_told || !call.follows || is_residue) call.growth = Growth();
  call.growth.is_of_16_bits = is_of_16_bits;
  if (!is_told || !call.follows) return;
  if (is_residue) {  // nothing in Double: no error of it, or of what comes of it, is large
    call.growth.is_near_zero = true;
    call.growth.by = INFINITY;
    return;
  }
  if (is_near_zero(call, frame, right, found)) {
    call.growth.is_near_zero = true;
  } else if (found.error < call.error / 2 || tells_of_small(frame)) {
    call.growth.is_near_zero = false;  // what it was added to is not
    if (!call.growth.at) call.growth.by = 0;
  }
  const double by = found.error - call.error;
  // What a compiled region gave is rounded already, and beside it numbers that are not differ.
  const bool is_of_unknown =
      call.is_unknown && is_op(frame, {"aten::sub", "aten::sub_", "aten::rsub"});
  if (frame.op->converts || is_of_unknown || !std::isfinite(by) || by <= call.growth.by) return;
  call.growth.by = by;
  call.growth.at = std::make_shared<Damage>(
      Damage{frame.signature, found.from, found.to, frame.step, call.rounded_at});
}

// What the loss gives to the logits is as good as all gradients behind it can be.
bool is_of_loss(const Frame& frame) {
  return is_op(frame, {"aten::_log_softmax_backward_data", "aten::_softmax_backward_data"});
}

// True where the shadow is to be kept.
bool judge_floats(ShadowCall& call, const Frame& frame, const Tensor& actual, const Tensor& right) {
  const Distance found = distance(actual, right);
  call.off = found.error;
  const bool is_finite = !found.is_odd && !found.has_nan && !found.has_inf;
  if (is_finite) grow(call, frame, actual, right, found), follow(call);
  call.has_grown = is_finite && call.growth.at;
  if (!call.damages.empty() && is_finite) {
    if (found.error >= kHarmless || found.share > 0) call.carried = call.damages;
    return true;
  }
  if (found.is_odd) return false;
  if (call.is_moved) return is_finite;
  if (found.has_nan || found.has_inf) {
    // Scores less a mask; a logarithm of a likelihood is a quotient of small numbers.
    const bool is_of_small = is_op(frame, {"aten::div", "aten::div_"}) && call.scale < kMasked / 16;
    const bool is_mask = found.to < 0 && found.from < -kMasked && !is_of_small;
    const bool is_meant = is_mask || (is_low(actual) && found.scale >= kMeant);
    if (frame.op->converts) return !found.has_nan;
    if (found.has_nan ? !call.has_nan : call.is_finite && !is_meant)
      note(call, frame, found.from, found.to);
    return !found.has_nan && !call.is_finite;  // an infinity goes on
  }
  const bool is_far = found.error >= kFar || found.share >= 1.0 / 32;
  const bool is_off = is_of_loss(frame) && is_low(actual) && !call.is_unknown &&
                      actual.numel() >= kFewest && found.error >= kGradientOff &&
                      found.error >= kAmplified * std::max(call.error, smallest_part(actual));
  if (is_off) {
    write_inexact(frame.signature, found.from, found.to, frame.step, call.rounded_at,
                  {Arrival::kKept, found.error, 0});
    return false;
  }
  if (!is_far) return found.error < kFar;
  if (frame.op->converts || found.scale < kResidue * call.scale) return false;
  if (call.is_unknown && call.error > 0) return false;
  const bool may_be_alike = call.is_bare && !call.is_low && call.error >= kOfFloat;
  if (may_be_alike && !is_outside_training(frame)) return false;
  const bool is_of_float = !is_low(actual) && !is_outside_training(frame) && call.error < kOfFloat;
  if (is_of_float && call.is_bare) return false;
  if (found.error < kAmplified * std::max(call.error, smallest_part(actual))) return false;
  // Gradients that cancel have nothing to say, and are left to their noise.
  const bool is_gradient = frame.phase == static_cast<uint8_t>(Phase::kBackward);
  const bool has_vanished =
      is_gradient && actual.scalar_type() == at::kHalf && found.scale < kVanished;
  if (is_gradient && !has_vanished) return false;
  // A step is taken again and again: what cancels in a few numbers of one batch says little.
  // A mean near 0 is as good as another, and so is a product of small weights, as of an adapter.
  const bool is_small = found.scale < kSmall * call.scale;
  const bool sums_up = (ops::facts_of(frame.op->name) & ops::kMultiplies) != 0 ||
                       is_op(frame, {"aten::mean", "aten::sum"});
  if (is_small && sums_up) return false;
  const bool is_residue = is_small && actual.numel() < kFewest;
  if (has_vanished) return note(call, frame, found.from, found.to), false;
  // What divides by it, or takes its logarithm, may give a NaN that Double does not.
  if (!is_outside_training(frame) && is_residue && !is_of_float) return true;
  call.carried = {std::make_shared<Damage>(
      Damage{frame.signature, found.from, found.to, frame.step, call.rounded_at, is_of_float})};
  return true;
}

// Whole numbers: one that is another. Of casts some have to be, and not all of them one number,
// which stands for none; of what is whole before it is cast many, since a byte of an image may be
// its neighbour.
void judge_whole(const ShadowCall& call, const Frame& frame, const Tensor& actual,
                 const Tensor& right) {
  const Tensor a = actual.to(at::kDouble).contiguous();
  const Tensor b = right.to(at::kDouble).contiguous();
  const double *is = a.data_ptr<double>(), *should = b.data_ptr<double>();
  const bool is_byte = actual.element_size() == 1;
  int64_t off = 0, moved = 0, gone = 0, first = -1, first_moved = -1, first_cut = -1;
  bool has_others = false, is_exact = !is_byte, are_parts = true;
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (!std::isfinite(should[i])) continue;
    is_exact = is_exact && std::floor(should[i]) == should[i];
    are_parts = are_parts && std::fabs(should[i]) <= 1;
    gone += should[i] != 0 && is[i] == 0;
    const double by = std::fabs(is[i] - (call.is_narrowed ? std::trunc(should[i]) : should[i]));
    if (by != 0 && moved++ == 0) first_moved = i;
    if (first_cut < 0 && std::floor(should[i]) != should[i]) first_cut = i;
    if (call.is_narrowed ? by <= 1 + kNear * std::fabs(should[i]) : by == 0) continue;
    if (off++ == 0) first = i;
    has_others = has_others || should[i] != should[first];
  }
  if (!call.is_narrowed && off > 0) return note(call, frame, should[first], is[first]);
  // A counter that is overwritten: the rule asks whether by a quotient of itself.
  const bool is_cut =
      call.is_narrowed && is_op(frame, {"aten::copy_"}) && first_moved < 0 && first_cut >= 0;
  if (a.numel() < kFewest && is_cut) return note(call, frame, should[first_cut], is[first_cut]);
  if (a.numel() < kFewest) return;
  const bool is_next = off > 0 && is[first] < 0 && should[first] + is[first] == 0;  // 32768
  if ((has_others || is_next) && off * 100 >= a.numel())
    return note(call, frame, should[first], is[first]);
  if (is_exact && moved * 10 >= a.numel())
    return note(call, frame, should[first_moved], is[first_moved]);
  if (are_parts && gone * 10 >= a.numel() * 9) note(call, frame, should[a.numel() / 2], 0);
}

// Whole numbers, or times, of which a cast makes neighbours one number.
void judge_neighbours(const ShadowCall& call, const Frame& frame, const Tensor& actual,
                      const Tensor& source) {
  const bool is_count = c10::isIntegralType(source.scalar_type(), false);
  const Tensor whole = source.to(is_count ? at::kLong : at::kDouble);
  const auto sorted = whole.contiguous().view({-1}).sort();
  const Tensor& b = std::get<0>(sorted);
  const Tensor a =
      actual.to(at::kDouble).contiguous().view({-1}).index_select(0, std::get<1>(sorted));
  int64_t fallen = 0, first = -1;
  const auto differ = [&](int64_t i) {
    return is_count ? b.data_ptr<int64_t>()[i] != b.data_ptr<int64_t>()[i - 1]
                    : b.data_ptr<double>()[i] != b.data_ptr<double>()[i - 1];
  };
  for (int64_t i = 1; i < a.numel(); ++i) {
    if (a.data_ptr<double>()[i] != a.data_ptr<double>()[i - 1] || !differ(i)) continue;
    if (fallen++ == 0) first = i;
  }
  if (a.numel() < kFewest || fallen * 10 < a.numel()) return;
  const double from =
      is_count ? static_cast<double>(b.data_ptr<int64_t>()[first]) : b.data_ptr<double>()[first];
  note(call, frame, from, a.data_ptr<double>()[first]);
}

// Yes and no of rounded numbers: equal ones that were none, or an order that is another.
void judge_answers(const ShadowCall& call, const Frame& frame, const Tensor& actual,
                   const Tensor& right) {
  if (frame.phase == static_cast<uint8_t>(Phase::kBackward)) return;
  const double yes = actual.sum().item<double>(), expected = right.sum().item<double>();
  const double differ = actual.ne(right).sum().item<double>();
  if (is_op(frame, {"aten::eq", "aten::isin"})) {
    if (!call.is_bare && expected > 0 && yes > expected) note(call, frame, expected, yes);
  } else if (is_op(frame, {"aten::lt", "aten::gt", "aten::le", "aten::ge"})) {
    if (differ >= 2 && differ * 10 >= static_cast<double>(actual.numel()))
      note(call, frame, expected, yes);
  }
}

// The place of a number that is to be found exactly: 0 is the smallest difference.
void judge_place(const ShadowCall& call, const Frame& frame, const Tensor& actual,
                 const Tensor& right) {
  if (!frame.op->tensors.size() || actual.numel() != 1 || right.numel() != 1) return;
  const Tensor values = call.stack.empty() ? Tensor() : call.stack[0].toTensor().contiguous();
  const int64_t is = actual.item<int64_t>(), should = right.item<int64_t>();
  if (!values.defined() || is == should || is >= values.numel() || should >= values.numel()) return;
  const double* number = values.data_ptr<double>();
  if (std::fabs(number[should]) <= kResidue * call.scale &&
      std::fabs(number[is]) > kResidue * call.scale)
    note(call, frame, static_cast<double>(should), static_cast<double>(is));
}

void judge_indices(const ShadowCall& call, const Frame& frame, const Tensor& actual,
                   const Tensor& right) {
  const double differ = actual.ne(right).sum().item<double>();
  if (differ >= 8 && differ * 4 >= static_cast<double>(actual.numel()))
    note(call, frame, right.to(at::kDouble).sum().item<double>(),
         actual.to(at::kDouble).sum().item<double>());
}

// The numbers of a row that are chosen, or their order, are others than in Double. Numbers that are
// next to each other change places by any rounding, and are as good.
void judge_order(const ShadowCall& call, const ShadowCall& before, const Frame& frame,
                 const Tensor& actual, const Tensor& right) {
  if (frame.autocast_on || call.is_unknown || actual.dim() == 0 || before.stack.empty()) return;
  const int64_t chosen = actual.size(-1), rows = actual.numel() / std::max<int64_t>(chosen, 1);
  const Tensor values = before.stack[0].toTensor();
  const int64_t total = rows * chosen;
  if (values.dim() != actual.dim() || total < kFewestChosen) return;
  const auto is_dimension = [](const IValue& value) { return value.isInt(); };
  const auto dimension = std::find_if(before.stack.begin() + (is_op(frame, {"aten::topk"}) ? 2 : 1),
                                      before.stack.end(), is_dimension);
  if (dimension == before.stack.end()) return;
  if (dimension->toInt() != -1 && dimension->toInt() != values.dim() - 1) return;
  const int64_t all = values.size(-1);
  const Tensor a = actual.contiguous(), b = right.contiguous();
  const int64_t *is = a.data_ptr<int64_t>(), *should = b.data_ptr<int64_t>();
  std::vector<int64_t> place(static_cast<size_t>(all));
  int64_t moved = 0;
  for (int64_t row = 0; row < rows; ++row, is += chosen, should += chosen) {
    std::fill(place.begin(), place.end(), all);
    for (int64_t i = 0; i < chosen; ++i) place[static_cast<size_t>(should[i])] = i;
    for (int64_t i = 0; i < chosen; ++i) {
      const int64_t by = place[static_cast<size_t>(is[i])] - i;
      moved += chosen < all ? place[static_cast<size_t>(is[i])] == all : std::abs(by) * 8 > all;
    }
  }
  if (moved * (total < kFewest ? 3 : 20) >= total)
    note(call, frame, static_cast<double>(total), static_cast<double>(moved));
}

void judge(ShadowCall& call, const ShadowCall& before, const Frame& frame, const Tensor& given,
           const Tensor& computed) {
  if (!given.defined() || !computed.defined() || !is_shadowable(given)) return;
  if (call.is_corner) return judge_whole(call, frame, corner_of(corner_of(given, 0), 1), computed);
  const Tensor actual = part_of(given);
  const bool is_in_order = call.strides.empty() || call.strides == given.strides().vec();
  if (!actual.defined() || !is_in_order) return;
  const Tensor right = part_of(is_large(computed) ? computed.contiguous() : computed);
  if (is_op(frame, {"aten::_unique2", "aten::unique_dim", "aten::unique_consecutive"})) {
    if (actual.numel() * 10 < right.numel() * 9)
      note(call, frame, static_cast<double>(right.numel()), static_cast<double>(actual.numel()));
    return;
  }
  if (actual.sizes() != right.sizes()) return;
  if (call.is_beyond)
    judge_neighbours(call, frame, actual, before.stack[frame.op->tensors.back().index].toTensor());
  // An answer that is as it should be says nothing of the numbers: the program may keep them.
  if (!call.damages.empty() && !actual.is_floating_point()) {
    call.is_followed = actual.equal(right.to(actual.scalar_type()));
    call.arrival = Arrival::kUnknown;  // in the answer itself
    return;
  }
  if (actual.is_floating_point()) {
    call.carried.clear();
    const bool stays = judge_floats(call, frame, actual, right) || call.has_grown;
    if (!call.carried.empty()) return keep_damaged(frame, actual, right, call);
    const bool matters = is_low(actual) || call.is_known || is_outside_training(frame) ||
                         (frame.op->converts && actual.scalar_type() == at::kFloat);
    if (stays && matters && actual.element_size() > 1)
      return keep_damaged(frame, actual, right, call);
    return forget(actual.storage().unsafeGetStorageImpl());
  }
  if (call.is_whole || call.is_narrowed) return judge_whole(call, frame, actual, right);
  if (call.error == 0) return;
  if (actual.scalar_type() == at::kBool) return judge_answers(call, frame, actual, right);
  if (is_op(frame, {"aten::argmin", "aten::argmax"}))
    return judge_place(before, frame, actual, right);
  if (is_op(frame, {"aten::searchsorted", "aten::bucketize"}))
    return judge_indices(call, frame, actual, right);
  if (is_op(frame, {"aten::topk", "aten::sort", "aten::argsort"}))
    return judge_order(call, before, frame, actual, right);
}

double terms_of(const Frame& frame, const Tensor& summed, const Tensor& sum) {
  const double mean = summed.abs().to(at::kDouble).mean().item<double>();
  const auto each = static_cast<double>(summed.numel()) / static_cast<double>(sum.numel());
  return is_op(frame, {"aten::sum"}) ? mean * each : mean;
}

// What is known of a result are rows; the others are taken as they are.
void judge_rows(ShadowCall& call, const Frame& frame, const Tensor& given, const Tensor& computed) {
  if (!is_shadowable(given) || !given.is_contiguous() || !given.is_floating_point()) return;
  const Tensor actual = part_of(given);
  const int64_t size = row_size(call.rows, given), begin = begin_of_part(given);
  const int64_t first = std::max(call.rows.first * size, begin);
  const int64_t end = std::min((call.rows.first + call.rows.count) * size, begin + actual.numel());
  if (!has_rows(call.rows, given) || computed.numel() != call.rows.count * size || first >= end)
    return;
  const Tensor known =
      computed.reshape({-1}).narrow(0, first - call.rows.first * size, end - first);
  const Tensor right = in_double(actual);
  right.view({-1}).narrow(0, first - begin, end - first).copy_(known);
  const Tensor rows = actual.reshape({-1}).narrow(0, first - begin, end - first);
  const bool stays = judge_floats(call, frame, rows, known) || call.has_grown;
  const bool matters = is_low(actual) || call.is_known || is_outside_training(frame);
  if (!call.carried.empty() || (stays && matters)) return keep_damaged(frame, actual, right, call);
  forget(actual.storage().unsafeGetStorageImpl());
}

void compute(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
             const std::vector<IValue>& outputs) {
  if (call.is_moved) {
    const Tensor part = part_of(outputs.at(0).toTensor());
    if (!part.defined()) return;
    return judge(call, call, frame, outputs[0].toTensor(),
                 at::where(call.is_right, call.right, in_double(part)));
  }
  if (is_dropout(*frame.op)) {
    const Tensor part = part_of(outputs.at(0).toTensor());
    const double kept = call.stack[2].toBool() ? 1 - call.stack[1].toDouble() : 1;
    if (!part.defined() || kept <= 0) return;
    return judge(
        call, call, frame, outputs[0].toTensor(),
        at::where(part.ne(0), call.stack[0].toTensor() / kept, at::zeros({}, at::kDouble)));
  }
  const ShadowCall before = call;  // in-place ops write to what is on the stack
  if (call.is_narrowed) {          // the source itself is what should come out
    const Tensor source = call.stack[frame.op->tensors.back().index].toTensor();
    call.stack = {IValue(source)};
  } else {
    handle.callBoxed(&call.stack);
  }
  if (outputs.size() != call.stack.size()) return;
  if (is_op(frame, {"aten::mean", "aten::sum"}) && before.stack[0].isTensor())
    call.terms = terms_of(frame, before.stack[0].toTensor(), call.stack[0].toTensor());
  if (is_by_rows(call))
    return judge_rows(call, frame, outputs[0].toTensor(), call.stack[0].toTensor());
  const bool has_statistics = ops::facts_of(frame.op->name) & (ops::kNorm | ops::kStatistics);
  for (size_t i = 0; i < (has_statistics ? 1 : outputs.size()); ++i)
    if (outputs[i].isTensor() && call.stack[i].isTensor())
      judge(call, before, frame, outputs[i].toTensor(), call.stack[i].toTensor());
}

class Scope {
 public:
  explicit Scope(ThreadState* state) : quiet_(state) {}

 private:
  keep_going::Quiet quiet_;
  at::DisableRecordFunctionGuard unobserved_;
  c10::impl::ExcludeDispatchKeyGuard no_versions_{c10::DispatchKey::ADInplaceOrView};
};

// Numbers that a where leaves out damage nothing, whatever else is off in its result.
void leave_out(ShadowCall& call, const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (call.damages.empty() || call.is_sampled || !is_op(frame, {"aten::where"})) return;
  if (inputs.size() != 3) return;
  Damages kept;
  for (const size_t i : {1, 2}) {
    if (!inputs[i].isTensor()) continue;
    const Tensor& given = inputs[i].toTensor();
    Shadow* shadow = is_shadowable(given) ? find_shadow(given) : nullptr;
    if (!shadow || shadow->damages.empty()) continue;
    const Tensor right = values_of(*shadow, given), condition = call.stack[0].toTensor();
    const Tensor is_off = (in_double(given) - right).abs() > right.abs() * kNear;
    const Tensor is_chosen = i == 1 ? condition : condition.logical_not();
    if (is_off.logical_and(is_chosen).any().item<bool>())
      kept.insert(kept.end(), shadow->damages.begin(), shadow->damages.end());
  }
  call.damages = kept;
}

// What begins a call: false where it is not computed again.
bool begin_call(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
                bool is_pointwise, c10::ArrayRef<const IValue> inputs) {
  if (!is_wanted(call, frame, handle, is_pointwise, inputs))
    return lose_trail(call, frame, inputs), false;
  if (call.is_moved)
    return move_shadows(call, handle, inputs) || (lose_trail(call, frame, inputs), false);
  for (const IValue& value : inputs)
    if (!add_value(call, value)) return lose_trail(call, frame, inputs), false;
  leave_out(call, frame, inputs);
  note_product(call.damages, call.error, frame);
  widen_dtypes(call, *frame.op);
  return true;
}

void end_call(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
              const std::vector<IValue>& outputs) {
  try {
    compute(call, frame, handle, outputs);
  } catch (...) {
  }
  if (!call.is_followed) report(call.damages, {call.arrival, call.error, frame.signature->id});
}

}  // namespace

// A call on tensors of a GPU: what it was given and gave arrives while other ops run.
struct LaterCall {
  ShadowCall call;
  Frame frame;
  bool is_pointwise;
  bool has_begun = false;
  std::vector<IValue> inputs, outputs;  // on stand-ins
};

namespace {

// A tensor of the CPU beside one on a GPU: the program may change it before the other has arrived.
Tensor copy_with_shadow(const Tensor& tensor, bool follows) {
  Tensor copy = tensor.clone();
  Shadow* shadow = tensor.is_floating_point() ? find_shadow(tensor) : nullptr;
  if (!shadow) return copy;
  const Damages damages = shadow->damages;
  const Growth growth = shadow->growth;
  const double off = shadow->off;
  const uint32_t rounded_at = shadow->rounded_at;
  Shadow* kept = keep_shadow(copy, values_of(*shadow, tensor));
  if (kept) {
    kept->damages = damages, kept->growth = growth;
    kept->off = off, kept->rounded_at = rounded_at;
  }
  Shadow* original = kept && follows ? find_shadow(tensor) : nullptr;
  if (original) set_read(*original);  // its damage goes on in the copy
  return copy;
}

bool take_inputs(LaterCall& later, Snapshot& snapshot, c10::ArrayRef<const IValue> inputs) {
  const auto make = [&](const Tensor& whole, Tensor* out) {
    Tensor part;
    *out = Tensor();
    if (!whole.defined()) return true;
    if (!take_part(later.call, whole, &part)) return false;
    *out = part.is_cuda() ? snapshot.add(part, /*keep=*/false)
                          : copy_with_shadow(part, later.call.follows);
    return out->defined();
  };
  for (const IValue& value : inputs) {
    IValue input;
    if (value.isGenerator() || !replace_tensors(value, make, &input)) return false;
    later.inputs.push_back(input);
  }
  return true;
}

c10::ArrayRef<const IValue> as_array(const std::vector<IValue>& values) {
  return c10::ArrayRef<const IValue>(values.data(), values.size());
}

// As they were last, of tensors that have a stand-in.
std::vector<IValue> known_of(c10::ArrayRef<const IValue> inputs) {
  const auto make = [&](const Tensor& tensor, Tensor* out) {
    const Tensor part = tensor.defined() && tensor.is_cuda() ? part_of(tensor) : Tensor();
    *out = part.defined() ? stand_in_of(part) : Tensor();
    return true;
  };
  std::vector<IValue> known;
  for (const IValue& value : inputs) {
    IValue input;
    replace_tensors(value, make, &input);
    known.push_back(input);
  }
  return known;
}

// As report_damaged(); of tensors on a GPU once all before it is known, which have no shadow now.
void report_at(const OpInfo& op, c10::ArrayRef<const IValue> inputs, Arrival arrival,
               uint32_t signature) {
  if (shadows().damaged != 0) report_damaged(op, inputs, arrival, signature);
  if (!any_tensor(op, inputs, is_cuda) || !any_tensor(op, inputs, may_have_shadow_now)) return;
  do_later(nullptr, [&op, known = known_of(inputs), arrival, signature] {
    report_damaged(op, as_array(known), arrival, signature);
  });
}

// False where the call is not computed again; what becomes of its operands' damage is not known
// then.
bool begin_on_gpu(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
                  bool is_computed, bool is_pointwise, c10::ArrayRef<const IValue> inputs) {
  auto later = std::make_shared<LaterCall>();
  auto snapshot = std::make_shared<Snapshot>();
  later->frame = frame;
  later->is_pointwise = is_pointwise;
  if (is_computed && is_wanted(call, frame, handle, is_pointwise, inputs) && !call.is_moved) {
    later->call = call;
    if (take_inputs(*later, *snapshot, inputs) && snapshot->copy()) {
      later->call.is_sampled = false;  // stand-ins have no more than is looked at
      do_later(snapshot, [later, handle] {
        later->has_begun = begin_call(later->call, later->frame, handle, later->is_pointwise,
                                      as_array(later->inputs));
        later->inputs.clear();
      });
      call.later = later;
      return true;
    }
  }
  if (!any_tensor(*frame.op, inputs, may_have_shadow_now)) return false;
  lose_trail(call, frame, inputs);
  later->call = call;
  later->inputs = known_of(inputs);
  do_later(nullptr, [later] { lose_trail(later->call, later->frame, as_array(later->inputs)); });
  return false;
}

void take_outputs(LaterCall& later, Snapshot& snapshot, const std::vector<IValue>& outputs) {
  const auto make = [&](const Tensor& whole, Tensor* out) {
    *out = whole.defined() && whole.is_cpu() ? whole : Tensor();
    if (!whole.defined() || whole.is_cpu() || !is_shadowable(whole)) return true;
    const Tensor part = part_of(whole);
    if (part.defined()) *out = snapshot.add(part, /*keep=*/true);
    return true;
  };
  for (const IValue& value : outputs) {
    IValue output;
    replace_tensors(value, make, &output);
    later.outputs.push_back(output);
  }
}

void end_on_gpu(ShadowCall& call, const Frame& frame, const c10::OperatorHandle& handle,
                const std::vector<IValue>& outputs) {
  std::shared_ptr<LaterCall> later = call.later;
  if (!later) {  // a factory was given no tensors, and a copy to the GPU none of a GPU
    later = std::make_shared<LaterCall>();
    later->call = std::move(call);
    later->frame = frame;
    later->has_begun = true;
  }
  auto snapshot = std::make_shared<Snapshot>();
  take_outputs(*later, *snapshot, outputs);
  if (!snapshot->copy()) snapshot = nullptr, later->outputs.clear();
  do_later(snapshot, [later, handle, snapshot] {
    if (later->has_begun) end_call(later->call, later->frame, handle, later->outputs);
    for (size_t i = 0; snapshot && i < snapshot->storages().size(); ++i)
      if (!has_shadow(snapshot->flat(i))) forget_stand_in(snapshot->storages()[i]);
  });
  const bool has_more = !std::all_of(outputs.begin(), outputs.end(), lies_on_gpu);
  if (tracer.options.check_values)
    wait_for_samples();
  else if (has_more)
    look_at_arrived();
  else
    return;
  do_arrived();
  // The program has waited for what is on the CPU, and may change it.
  later->outputs.clear();
}

}  // namespace

// A number that is counted up, and wraps once: between the calls that are looked at, as a rule.
static bool is_counted(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (frame.op->tensors.empty()) return false;
  const IValue& first = inputs[frame.op->tensors[0].index];
  if (!first.isTensor() || !first.toTensor().defined()) return false;
  const Tensor& counter = first.toTensor();
  return is_integral(counter.scalar_type()) && counter.scalar_type() != at::kLong &&
         counter.numel() == 1 && counter.is_cpu() && is_arithmetic(*frame.op);
}

// A line that was called before, on numbers that were not rounded, as when a model in 16 bits is
// run behind its training in Float. Under the lock.
static bool is_new_reader(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  constexpr uint32_t kMostReaders = 4;  // the first number may be one that no cast rounds
  if (shadows().searches <= 0) return false;
  --shadows().searches;
  return any_tensor(*frame.op, inputs, [&frame](const Tensor& tensor) {
    if (!tensor.has_storage() || is_low(tensor)) return false;
    const auto found = shadows().of.find(tensor.storage().unsafeGetStorageImpl());
    if (found == shadows().of.end() || found->second.rounded_at == 0) return false;
    return ++shadows().readers[{frame.signature->id, found->second.rounded_at}] <= kMostReaders;
  });
}

bool is_followed(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (is_counted(frame, inputs)) return true;
  if (shadows().open.load(std::memory_order_relaxed) == 0 &&
      shadows().searches.load(std::memory_order_relaxed) <= 0)
    return false;
  if (frame.phase == static_cast<uint8_t>(Phase::kBackward)) return false;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return false;
  const bool is_damaged = any_tensor(*frame.op, inputs, [](const Tensor& tensor) {
    if (!tensor.has_storage()) return false;
    const auto found = shadows().of.find(tensor.storage().unsafeGetStorageImpl());
    return found != shadows().of.end() && found->second.has_arrived();
  });
  return is_damaged || is_new_reader(frame, inputs);
}

void begin_shadow(ThreadState* state, Frame& frame, const at::RecordFunction& fn,
                  c10::ArrayRef<const c10::IValue> inputs) {
  const Options& options = tracer.options;
  if (options.keep_going || options.fix) return;
  if (frame.phase == static_cast<uint8_t>(Phase::kOptimizer)) return;  // lost-update's
  const auto handle = c10::Dispatcher::singleton().findSchema(*fn.operator_name());
  if (!handle) return;
  const bool is_computed = is_computable(frame, *handle, inputs);
  if (!is_computed && shadows().damaged == 0 && !is_more_to_do()) return;
  const bool is_pointwise =
      frame.op->converts || handle->hasTag(at::Tag::pointwise) || is_dropout(*frame.op);
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  const Scope scope(state);
  try {
    frame.step = tracer.current_step();
    ShadowCall call;
    call.record = frame.record;
    const bool reads_shape_alone = ops::takes_no_values(frame.op->name);
    if (frame.op->may_begin_backward)
      report_at(*frame.op, inputs, Arrival::kLoss, frame.signature->id);
    call.follows = frame.phase != static_cast<uint8_t>(Phase::kBackward) && !reads_shape_alone;
    if (any_tensor(*frame.op, inputs, is_cuda)) {
      if (!begin_on_gpu(call, frame, *handle, is_computed, is_pointwise, inputs)) return;
    } else if (!is_computed) {
      return lose_trail(call, frame, inputs);
    } else if (!begin_call(call, frame, *handle, is_pointwise, inputs)) {
      return;
    }
    if (!state->shadow_call) state->shadow_call = new ShadowCall;
    *state->shadow_call = std::move(call);
    frame.is_shadowed = true;
  } catch (...) {
  }
}

void end_shadow(ThreadState* state, const Frame& frame, const at::RecordFunction& fn) {
  if (!state->shadow_call || state->shadow_call->record != frame.record) return;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  const Scope scope(state);
  ShadowCall call = std::move(*state->shadow_call);
  *state->shadow_call = ShadowCall();
  try {
    const auto handle = c10::Dispatcher::singleton().findSchema(*fn.operator_name());
    const std::vector<IValue>& outputs = fn.outputs();
    if (!lock || !handle)
      return report(call.damages, {call.arrival, call.error, frame.signature->id});
    if (call.later || std::any_of(outputs.begin(), outputs.end(), lies_on_gpu))
      end_on_gpu(call, frame, *handle, outputs);
    else
      end_call(call, frame, *handle, outputs);
  } catch (...) {
  }
}

void note_number_read(ThreadState* state, const OpInfo& op, const at::RecordFunction& fn,
                      uint32_t made_by) {
  if (shadows().damaged == 0 && !is_more_to_do()) return;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  const Scope scope(state);
  try {
    report_at(op, fn.inputs(), Arrival::kRead, made_by);
  } catch (...) {
  }
}

void compute_arrived(ThreadState* state) {
  if (!is_more_to_do() || !can_compute_here()) return;
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  const Scope scope(state);
  do_arrived();
}

// What they are written to is another recording's from here on.
static void forget_damages() {
  for (auto& [storage, shadow] : shadows().of) {
    shadow.damages.clear();
    shadow.growth = Growth();
    shadow.rounded_at = 0;
  }
  shadows().damaged = shadows().open = 0;
  shadows().searches = 0;
  shadows().readers.clear();
  shadows().roundings.clear();
  ++ended_recordings;
}

// A run that is killed has what arrived in the steps before.
void settle_shadows(bool at_end) {
  std::unique_lock<std::mutex> lock(shadows().mutex, std::try_to_lock);
  if (!lock) return;
  forget_dead_stand_ins();
  if (at_end) forget_stand_ins();
  if (shadows().damaged == 0) return;
  std::vector<const c10::StorageImpl*> gone;
  for (const auto& [storage, shadow] : shadows().of)
    if (shadow.has_arrived() && (at_end || shadow.storage.expired())) gone.push_back(storage);
  for (const c10::StorageImpl* storage : gone) forget(storage);
  if (at_end) forget_damages();
}

void free_shadows() {
  all_shadows = new Shadows;
  forget_stand_ins();
}

#else

struct ShadowCall {};
bool is_followed(const Frame&, c10::ArrayRef<const c10::IValue>) { return false; }
void begin_shadow(ThreadState*, Frame&, const at::RecordFunction&,
                  c10::ArrayRef<const c10::IValue>) {}
void end_shadow(ThreadState*, const Frame&, const at::RecordFunction&) {}
void note_number_read(ThreadState*, const OpInfo&, const at::RecordFunction&, uint32_t) {}
void compute_arrived(ThreadState*) {}
void settle_shadows(bool) {}
void free_shadows() {}

#endif

}  // namespace tracer
}  // namespace dtypecheck
