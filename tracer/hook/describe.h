// describe.h: writes down a signature that is seen for the first time. Cold, but for the small
// inline readers.
#pragma once

#include <cstdint>

#include "tracer/hook/autocast_regions.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/factories.h"
#include "tracer/python/numpy_loops.h"
#include "tracer/python/python_api.h"

namespace dtypecheck::tracer {

// What autocast is set to in this thread; read from the dispatcher's thread-local key set.
struct AutocastBits {
  uint8_t on = 0;  // trace::kAutocast…
  uint8_t cpu = static_cast<uint8_t>(Dtype::kUndefined);
  uint8_t cuda = static_cast<uint8_t>(Dtype::kUndefined);
  uint8_t region = 0;  // autocast_regions.h

  bool any() const { return on != 0; }
  uint64_t word() const {
    return uint64_t{region} << 16 | (on ? uint64_t{on} << 12 | uint64_t{cpu} << 6 | cuda : 0);
  }
};

inline AutocastBits autocast_bits(const ThreadState* state) {
  AutocastBits bits;
  bits.region = autocast_region(state);
  const auto excluded = c10::impl::tls_local_dispatch_key_set().excluded_;
  if (!excluded.has(c10::DispatchKey::AutocastCPU)) {
    bits.on |= trace::kAutocastCpu;
    bits.cpu = static_cast<uint8_t>(autocast_dtype(c10::DeviceType::CPU));
  }
  if (!excluded.has(c10::DispatchKey::AutocastCUDA)) {
    bits.on |= trace::kAutocastCuda;
    bits.cuda = static_cast<uint8_t>(autocast_dtype(c10::DeviceType::CUDA));
  }
  return bits;
}

inline bool is_of_16_bits(uint8_t dtype) {
  return dtype == static_cast<uint8_t>(Dtype::kHalf) ||
         dtype == static_cast<uint8_t>(Dtype::kBFloat16);
}
inline bool is_of_16_bits(c10::ScalarType type) {
  return is_of_16_bits(static_cast<uint8_t>(type));
}

inline uint8_t dtype_of(const c10::TensorImpl* impl) {
  const auto type = impl->dtype();
  if (!type.isScalarType()) return static_cast<uint8_t>(Dtype::kUndefined);
  const auto scalar = c10::typeMetaToScalarType(type);
  return scalar == c10::ScalarType::Undefined ? static_cast<uint8_t>(Dtype::kUndefined)
                                              : static_cast<uint8_t>(scalar);
}

// visit(impl) for the tensor that the value is, or for those of a list; one of anything else is
// left at its first element.
template <typename Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) return visit(value.unsafeToTensorImpl());
  if (!value.isList()) return;
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isTensor() && !element.isList() && !element.isNone()) return;
    for_each_tensor(element, visit);
  }
}

// The first number that an op on tensors is given, as mul() and lerp() are.
c10::optional<double> number_beside(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs);

// A tensor whose sizes, device and data can be read without anything of a subclass being called.
bool is_plain(const c10::TensorImpl* impl);
const void* data_of(const c10::TensorImpl* plain);
inline const char* first_byte(const c10::TensorImpl* plain) {
  return static_cast<const char*>(data_of(plain)) +
         plain->storage_offset() * plain->dtype().itemsize();
}
bool is_leaf(
    const c10::TensorImpl* impl);  // a parameter, or an input that was asked for its gradient

// Dtype and key set stand at fixed places in every TensorImpl, subclasses and fakes included:
// nothing of theirs is called.
inline uint64_t tensor_word(const c10::TensorImpl* impl) {
  const auto type = impl->dtype();
  const uint64_t dtype =
      type.isScalarType() ? static_cast<uint64_t>(c10::typeMetaToScalarType(type)) : 62;
  return impl->key_set().raw_repr() * 64 + dtype;
}

// The c10d::ProcessGroup in an argument; null where there is none.
inline const void* process_group_in(const c10::IValue& value) {
  if (!value.isObject() || value.toObjectRef().slots().size() != 1) return nullptr;
  const c10::IValue& capsule = value.toObjectRef().slots()[0];
  return capsule.isCapsule() ? capsule.toCapsule().get() : nullptr;
}

// The module that a parameter lies in, as a string's id: "unet.conv_in" of "unet.conv_in.weight".
// Asks Python each time.
uint32_t module_of_parameter(const c10::TensorImpl* impl);

// Those of a sparse tensor, which has no storage of its own, where it is one that keeps them; null
// otherwise.
const c10::TensorImpl* values_of(const c10::TensorImpl* sparse);

// The signature that gave a tensor its dtype (origins.h); 0 when it was not seen.
inline void set_origin(const c10::TensorImpl* plain, uint32_t signature) {
  tracer.origins.set(plain->unsafe_storage().unsafeGetStorageImpl(), data_of(plain),
                     dtype_of(plain), signature);
}
inline uint32_t find_origin(const c10::TensorImpl* plain) {
  return tracer.origins.find(plain->unsafe_storage().unsafeGetStorageImpl(), data_of(plain),
                             dtype_of(plain));
}

// The place and op that gave a tensor its dtype, as far back as is known; 0 where nothing is. One
// line that is given tensors which were made at different places is more than one signature.
inline std::atomic<uint32_t>& maker_by(uint32_t signature) {
  return tracer.makers[signature % (sizeof tracer.makers / sizeof *tracer.makers)];
}
// A plain one that has memory; of a list its first. Null where there is none.
inline const c10::TensorImpl* plain_tensor_in(const c10::IValue& value) {
  const c10::IValue* one = &value;
  if (value.isList()) {
    if (value.toListRef().empty()) return nullptr;
    one = &value.toListRef()[0];
  }
  if (!one->isTensor()) return nullptr;
  const c10::TensorImpl* impl = one->unsafeToTensorImpl();
  return is_plain(impl) && impl->unsafe_storage() ? impl : nullptr;
}
inline uint32_t maker_of(const c10::TensorImpl* plain) {
  const uint32_t origin = find_origin(plain);
  return origin == 0 ? 0 : maker_by(origin).load(std::memory_order_relaxed);
}

// A record is in the hands of all threads: what changes after it was written does so atomically.
inline bool has_flag(const trace::SignatureRecord* record, uint32_t flag) {
  return __atomic_load_n(&record->flags, __ATOMIC_RELAXED) & flag;
}

inline void count_call(trace::SignatureRecord* record) {
  __atomic_fetch_add(&record->count, 1, __ATOMIC_RELAXED);
  const uint32_t step = tracer.current_step();
  if (__atomic_load_n(&record->last_step, __ATOMIC_RELAXED) != step)
    __atomic_store_n(&record->last_step, step, __ATOMIC_RELAXED);
}

// Autocast is on around this op and off inside it.
inline bool is_wrapper(const trace::SignatureRecord* record) {
  return __atomic_load_n(&record->autocast, __ATOMIC_RELAXED) & trace::kAutocastWrapper;
}
inline void note_wrapper(trace::SignatureRecord* record) {
  if (!is_wrapper(record))
    __atomic_fetch_or(&record->autocast, trace::kAutocastWrapper, __ATOMIC_RELAXED);
}

// Null when there was no room: then the call is counted as lost.
trace::SignatureRecord* describe(ThreadState* state, uint64_t key, const Frame& frame,
                                 const Frame* parent, c10::ArrayRef<const c10::IValue> inputs,
                                 const AutocastBits& autocast, bool inner);

void describe_results(ThreadState* state, trace::SignatureRecord* record,
                      const std::vector<c10::IValue>& outputs);

// The name of the parameter that a tensor is, or is a view of all of; 0: none that is known. May
// take the GIL.
uint32_t parameter_name(const c10::TensorImpl* impl, bool may_be_parameter);

// A compiled region as an op call of its own ("compiled::inductor_forward_0"), by the tensors that
// go in and come out.
using Tensors = c10::ArrayRef<const c10::TensorImpl*>;
trace::SignatureRecord* describe_region(uint64_t key, const std::string& name, const Frame& frame,
                                        const Frame* parent, Tensors inputs);
void describe_region_results(trace::SignatureRecord* record, Tensors outputs);

// torch.tensor() and its like as an op call ("python::torch.tensor") without operands: what the
// tensor was made of stands among the scalars, as its type and dtype (ndarray:=Double).
trace::SignatureRecord* describe_factory(ThreadState* state, uint64_t key, const char* function,
                                         const python::Source& source, const Frame& frame,
                                         const trace::OperandRecord& result);
trace::OperandRecord describe_result(ThreadState* state, const c10::TensorImpl* result);

// What Python calls and no op tells of, once it is imported. Cold, takes the GIL.
void watch_python();

// A call of NumPy that wrapped around ("python::numpy.subtract"), with its arrays.
trace::SignatureRecord* describe_numpy(ThreadState* state, uint64_t key,
                                       const python::WrappedCall& call, const Frame& frame);

// A refusal that no op raised, as an op call of its own ("python::GradScaler._unscale_grads_").
// Null when there was no room.
trace::SignatureRecord* describe_refusal(ThreadState* state, const python::Refusal& refusal,
                                         bool repaired = false);

// The same of C++ that reads the data of a tensor as another dtype (ops::kDataRead).
trace::SignatureRecord* describe_data_read(ThreadState* state);

// In a forked child: no thread is left that could hold its lock, and its file is another one.
void free_describe();
void expect_room();  // in another file, though the one before was full

SequenceRing* make_sequence_ring(ThreadState* state);
uint32_t intern(const std::string& text);
uint32_t intern(const char* text);

}  // namespace dtypecheck::tracer
