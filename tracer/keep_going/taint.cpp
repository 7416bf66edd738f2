#include "tracer/keep_going/taint.h"

#include "tracer/hook/describe.h"
#include "tracer/hook/origins.h"

namespace dtypecheck::tracer::keep_going {
namespace {

Origins causes;  // the "signature" is that of the repair
std::atomic<bool> tainted{false};
std::atomic<uint32_t> repairs{0};

bool has_storage(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->layout() == c10::Layout::Strided && impl->unsafe_storage();
}

const void* storage_of(const c10::TensorImpl* impl) {
  return impl->unsafe_storage().unsafeGetStorageImpl();
}

uint32_t find_cause(const c10::TensorImpl* impl) {
  return has_storage(impl) ? causes.find(storage_of(impl), data_of(impl), dtype_of(impl)) : 0;
}

}  // namespace

bool any_taint() { return tainted.load(std::memory_order_relaxed); }
uint32_t repairs_so_far() { return repairs.load(std::memory_order_relaxed); }
void count_repair() { repairs.fetch_add(1, std::memory_order_relaxed); }

uint32_t cause_of(const OpFacts& facts, Values arguments) {
  uint32_t earliest = 0;
  for (const TensorArgument& argument : facts.tensors) {
    if (argument.is_out || (argument.is_written && facts.overwrites)) continue;
    for_each_tensor(arguments[argument.index], [&](const c10::TensorImpl* impl) {
      const uint32_t cause = find_cause(impl);
      if (cause && (!earliest || cause < earliest)) earliest = cause;
    });
  }
  return earliest;
}

// A parameter that the optimizer stepped with a tainted gradient does not hand it on: in the next
// step everything would be.
void taint(const c10::TensorImpl* impl, uint32_t cause) {
  if (!has_storage(impl) || is_leaf(impl) || find_cause(impl) == cause) return;
  tainted.store(true, std::memory_order_relaxed);
  causes.set(storage_of(impl), data_of(impl), dtype_of(impl), cause);
}

void taint(const OpFacts& facts, Values arguments, Values results, uint32_t cause) {
  const auto mark = [cause](const c10::TensorImpl* impl) { taint(impl, cause); };
  for (const c10::IValue& result : results) for_each_tensor(result, mark);
  for (const TensorArgument& argument : facts.tensors)
    if (argument.is_written) for_each_tensor(arguments[argument.index], mark);
}

void forget_taint() {
  tainted.store(false);
  causes.clear();
}

}  // namespace dtypecheck::tracer::keep_going
