// shadow_verdicts.h: what is said of a result beside what it would be in Double: damage, whose
// trail is followed to where it arrives, an error that grows, or neither.
#pragma once

#include "tracer/hook/shadow_operands.h"
#include "tracer/hook/values.h"

namespace dtypecheck::tracer {

namespace {

// What decides. An error is a share of the number that Double gives. Which of these a user meets,
// and why they are what they are: docs/silent.md, "A second computation in Double" and "When it is
// a warning, and when a note".
constexpr double kNear = 0.05;           // error of a number that no damage was done to
constexpr double kHarmless = 0.01;       // error below which a result carries damage no further
constexpr double kGradientOff = 0.04;    // error of the gradient at the logits that is reported
constexpr double kFloatRounding = 1e-6;  // error that Float's own rounding makes, at most
constexpr double kAmplified = 16;        // how much larger than its operands' error damage is
constexpr double kCancelled = 0.01;      // size of a result beside its operands: they cancelled
constexpr double kResidue = 1e-12;       // the same: all cancelled, and what is left is noise
constexpr double kVanished = 0x1p-24;    // size of a gradient that is 0 in Half
constexpr double kMasked = 6e4;          // size of what a mask subtracts, which Half makes infinite
constexpr int64_t kFewestChosen = 4;     // places of a sort or topk, to speak of a share of them

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

void note_divisor(const Frame& frame, c10::ArrayRef<const IValue> inputs) {
  if (!is_op(frame, {"aten::div", "aten::div_"}) || !inputs[1].isTensor()) return;
  const Tensor& divisor = inputs[1].toTensor();
  Shadow* shadow = is_shadowable(divisor) ? find_shadow(divisor) : nullptr;
  if (!shadow || !(shadow->off >= kEndOff)) return;
  for (const auto& one : shadow->damages) one->has_divided = true;
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
  return found.scale < (is_difference ? kCancelled : kFar) * terms;
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
    const bool is_meant = is_mask || (is_low(actual) && found.scale >= kMask);
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
  const bool may_be_alike = call.is_bare && !call.is_low && call.error >= kFloatRounding;
  if (may_be_alike && !is_outside_training(frame)) return false;
  const bool is_of_float =
      !is_low(actual) && !is_outside_training(frame) && call.error < kFloatRounding;
  if (is_of_float && call.is_bare) return false;
  if (found.error < kAmplified * std::max(call.error, smallest_part(actual))) return false;
  // Gradients that cancel have nothing to say, and are left to their noise.
  const bool is_gradient = frame.phase == static_cast<uint8_t>(Phase::kBackward);
  const bool has_vanished =
      is_gradient && actual.scalar_type() == at::kHalf && found.scale < kVanished;
  if (is_gradient && !has_vanished) return false;
  // A step is taken again and again: what cancels in a few numbers of one batch says little.
  // A mean near 0 is as good as another, and so is a product of small weights, as of an adapter.
  const bool is_small = found.scale < kCancelled * call.scale;
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
  int64_t off = 0, moved = 0, gone = 0, first = -1, first_moved = -1, first_cut = -1,
          first_gone = -1;
  bool has_others = false, is_exact = !is_byte, are_parts = true;
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (call.is_narrowed && std::isnan(should[i])) return note(call, frame, should[i], is[i]);
    if (!std::isfinite(should[i])) continue;
    is_exact = is_exact && std::floor(should[i]) == should[i];
    if (std::floor(should[i]) != should[i]) {
      are_parts = are_parts && std::fabs(should[i]) < 1;
      if (is[i] == 0 && gone++ == 0) first_gone = i;
    }
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
  // Fractions between -1 and 1, beside which whole numbers may stand: all of them become 0.
  if (are_parts && gone >= kFewest && gone * 4 >= a.numel())
    note(call, frame, should[first_gone], 0);
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

// So that the numbers of a large result lie as the op's do, channels last perhaps.
Tensor laid_out_as(const Tensor& given, const Tensor& computed) {
  if (given.is_contiguous() || given.sizes() != computed.sizes()) return computed.contiguous();
  return at::empty_strided(given.sizes(), given.strides(), computed.options()).copy_(computed);
}

// Of an optimizer's step: squares in Half that are 0. It divides by those that it adds up; of
// others, as of a norm, the largest alone may matter.
void judge_squares(const ShadowCall& call, const Frame& frame, const Tensor& actual,
                   const Tensor& right) {
  const bool adds_up = is_op(frame, {"aten::addcmul", "aten::addcmul_"});
  const Tensor gone = actual.eq(0).logical_and(right.ne(0)).view({-1}).nonzero().view({-1});
  if (gone.numel() < kFewest || gone.numel() * (adds_up ? 32 : 1) < actual.numel()) return;
  const Tensor one = right.contiguous().view({-1}).index_select(0, gone.slice(0, 0, 1));
  note(call, frame, one.item<double>(), 0);
}

void judge(ShadowCall& call, const ShadowCall& before, const Frame& frame, const Tensor& given,
           const Tensor& computed) {
  if (!given.defined() || !computed.defined() || !is_shadowable(given)) return;
  if (call.is_corner) return judge_whole(call, frame, corner_of(corner_of(given, 0), 1), computed);
  const Tensor actual = part_of(given);
  const bool is_in_order = call.strides.empty() || call.strides == given.strides().vec();
  if (!actual.defined() || !is_in_order) return;
  const Tensor right = part_of(is_large(computed) ? laid_out_as(given, computed) : computed);
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
  if (frame.phase == static_cast<uint8_t>(Phase::kOptimizer))
    return judge_squares(call, frame, actual, right);
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

// Whole numbers in 16 bits whose sum is another whole number: of 301 tokens BFloat16 counts 300.
void judge_count(const ShadowCall& call, const ShadowCall& before, const Frame& frame,
                 const Tensor& given, const Tensor& computed) {
  if (!is_op(frame, {"aten::sum"}) || !is_low(given) || is_large(given) || call.error > 0) return;
  const Tensor terms = before.stack[0].toTensor(), is = in_double(given);
  const Tensor off = is.ne(computed).logical_and(computed.eq(computed.floor()));
  if (is.sizes() != computed.sizes() || !off.any().item<bool>()) return;
  if (!terms.eq(terms.floor()).all().item<bool>()) return;
  const Tensor first = off.view({-1}).nonzero().view({-1}).slice(0, 0, 1);
  note(call, frame, computed.reshape({-1}).index_select(0, first).item<double>(),
       is.view({-1}).index_select(0, first).item<double>());
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

}  // namespace

}  // namespace dtypecheck::tracer
