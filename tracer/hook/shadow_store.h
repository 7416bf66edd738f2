// shadow_store.h: a shadow belongs to a storage, since views are no ops that the tracer is told of.
// It keeps the bytes that it is the shadow of: what was written without us is taken as it is.
//
// This, shadow_operands.h and shadow_verdicts.h are parts of shadows.cpp, each of which asks those
// before it; nothing else includes them.
#pragma once

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

#include "tracer/hook/shadows.h"
#include "tracer/hook/stand_ins.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer {

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
  // Inside of a training: told where the loss is off by it, or a number that the program reads and
  // that was divided by it, as a correlation is by a variance.
  bool is_of_float = false;
  bool has_divided = false;
  bool is_told = false;
  Arrived product = {};  // the first op that multiplied it while it was far off
  uint32_t recording = ended_recordings;

  ~Damage() {
    if (!is_told && product.signature != 0 && recording == ended_recordings)
      write_inexact(signature, from, to, step, rounded_at, product);
  }
};
using Damages = std::vector<std::shared_ptr<Damage>>;

// Each once: what goes two ways, as around the block of a residual network, comes together again.
void add_damages(Damages& all, const Damages& more) {
  constexpr size_t kMostDamages = 64;
  for (const auto& one : more)
    if (all.size() < kMostDamages && std::find(all.begin(), all.end(), one) == all.end())
      all.push_back(one);
}

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
constexpr int64_t kSampleElements = 1 << 12;  // of a tensor that has more
constexpr size_t kMostBytes = 64 << 20;       // of all shadows
// The error, as a share of what Double gives, from which on …
constexpr double kFar = 0.25;       // … one op did damage
constexpr double kLossOff = 0.05;   // … a loss is off, though no op was far off
constexpr double kNumberOff = 0.1;  // … a number that the program reads is
constexpr double kEndOff = 0.2;     // … a tensor is, of which nothing more is computed
constexpr int64_t kFewest = 16;     // numbers, to speak of a share of them

bool is_low(const Tensor& tensor) { return is_of_16_bits(tensor.scalar_type()); }

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
  const bool is_read = arrived.as == Arrival::kRead && arrived.off >= kNumberOff;
  for (const auto& one : damages) {
    if (one->is_of_float && !is_of_loss && !(is_read && one->has_divided)) continue;
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

}  // namespace

}  // namespace dtypecheck::tracer
