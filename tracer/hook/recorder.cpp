// recorder.cpp: hot. What runs at every op: no allocation, lock, formatting or virtual call; about
// 0.2 us for an op that is recorded in full, a tenth of that for a view.
//
// An op's signature is its name, the dtypes and backends of its tensors, the dtypes it was asked
// for, the op it was called from, what autocast did, the phase and the site, and, where a program
// decides about dtypes, the places that gave the tensors theirs. A signature that was
// seen before costs a hash and a counter; a new one is written down by describe.cpp. Views and
// nested allocations, most of all events, are dropped before any of that.
#include "tracer/hook/recorder.h"

#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "platform/hash.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/digests.h"
#include "tracer/hook/health.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/python_calls.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/throws.h"
#include "tracer/hook/tracer.h"
#include "tracer/hook/values.h"
#include "tracer/hook/weight_moves.h"
#include "tracer/keep_going/keep_going.h"
#include "tracer/native/native_sites.h"

namespace dtypecheck::tracer {
namespace {

inline uint64_t value_word(const c10::IValue& value) {
  return value.isTensor() ? tensor_word(value.unsafeToTensorImpl()) : 1;
}

inline uint64_t mix_list(uint64_t h, const c10::IValue& value) {
  if (!value.isList()) return mix(h, 1);
  for (const c10::IValue& element : value.toListRef()) h = mix(h, value_word(element));
  return h;
}

// Autocast casts input, weight and bias of a layer at one place: kept apart, so that each has the
// origin that is its own.
uint64_t mix_source(uint64_t h, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (op.tensors.empty() || !inputs[op.tensors.back().index].isTensor()) return h;
  const c10::TensorImpl* source = inputs[op.tensors.back().index].unsafeToTensorImpl();
  return is_plain(source) ? mix(h, uint64_t(source->dim()) << 1 | is_leaf(source)) : h;
}

// What an average in 16 bits keeps, or takes of a new value, by powers of two: many begin with a
// small share that grows, and the first one tells nothing of the rest.
uint64_t mix_share(uint64_t h, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  const c10::TensorImpl* average = plain_tensor_in(inputs[op.tensors.front().index]);
  if (!average || !is_of_16_bits(dtype_of(average))) return h;
  const auto number = number_beside(op, inputs);
  if (!number) return h;
  const double share = std::fabs(*number);
  if (!(share > 0 && share < 1)) return mix(h, 1);
  return mix(h, share < 0.5 ? 128 + std::ilogb(share) : 256 + std::ilogb(1 - share));
}

// One line may reduce over one process group after the other.
uint64_t mix_further(uint64_t h, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (op.converts) return mix_source(h, op, inputs);
  if (op.takes_share) return mix_share(h, op, inputs);
  const c10::IValue& group = inputs[op.group_argument];
  if (group.isString()) return mix(h, fnv1a(group.toStringRef()));
  return mix(h, reinterpret_cast<uint64_t>(process_group_in(group)));
}

uint64_t mix_operands(uint64_t h, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  constexpr auto kTensor = static_cast<uint16_t>(Argument::Kind::kTensor);
  const KeyArgument* argument = op.key_arguments;
  for (const KeyArgument* end = argument + op.key_tensors; argument != end; ++argument) {
    const c10::IValue& value = inputs[argument->index];
    h = argument->kind == kTensor ? mix(h, value_word(value)) : mix_list(h, value);
  }
  for (const KeyArgument* end = argument + op.key_dtypes; argument != end; ++argument) {
    const c10::IValue& value = inputs[argument->index];
    h = mix(h, value.isInt() ? static_cast<uint64_t>(value.toInt()) + 2 : 1);
  }
  return h;
}

// default_collate stacks features and labels at one line: each has the origin that is its own.
uint64_t mix_makers(uint64_t h, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  const KeyArgument* argument = op.key_arguments;
  for (const KeyArgument* end = argument + op.key_tensors; argument != end; ++argument) {
    const c10::TensorImpl* impl = plain_tensor_in(inputs[argument->index]);
    if (impl) h = mix(h, maker_of(impl));
  }
  return h;
}

inline const c10::StorageImpl* storage_of(const c10::IValue& value) {
  if (!value.isTensor()) return nullptr;
  return value.unsafeToTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

const void* first_storage(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  return op.may_return_first ? storage_of(inputs[op.key_arguments[0].index]) : nullptr;
}

// x + 1 casts the 1 before it adds: a number's own conversion is no cast of a tensor.
inline bool converts_number(const OpInfo& op, const at::RecordFunction& fn) {
  if (!op.converts || fn.inputs().empty() || !fn.inputs()[0].isTensor()) return false;
  return fn.inputs()[0].unsafeToTensorImpl()->is_wrapped_number();
}

// set_(self, storage, …) of memory that a DataLoader's worker shares with us. Of our own memory
// (torch.load in a dataset) LibTorch's allocator disposes. No memory is shared for an empty tensor.
bool is_from_worker(const ThreadState* state, const at::RecordFunction& fn) {
  if (state->data_depth == 0 || fn.inputs().size() < 2 || !fn.inputs()[1].isStorage()) return false;
  const c10::Storage storage = fn.inputs()[1].toStorage();
  return storage.nbytes() == 0 ||
         storage.data_ptr().get_deleter() != c10::GetAllocator(c10::DeviceType::CPU)->raw_deleter();
}

// The op runs code that has lines of its own: the C++ of an extension, or a custom op's Python.
// What torch itself runs in Python below an op has none.
inline bool runs_own_code(ThreadState* state, const Frame* parent) {
  if (!parent || !parent->op || !parent->op->may_call_anything) return false;
  if (native::has_extensions()) return true;
  return tracer.python && !(python::top() == parent->top) && site_here(state) != parent->site;
}

// Whatever its operands are.
inline bool is_dropped_anyway(ThreadState* state, const OpInfo& op, const Frame* parent) {
  const bool is_nested = parent && parent->op;
  if (op.interest == Interest::kTopLevel && runs_own_code(state, parent)) return false;
  return op.interest == Interest::kNever ||
         (is_nested && (op.interest != Interest::kAlways || parent->op->speaks_for_inner));
}

inline bool is_dropped(ThreadState* state, const OpInfo& op, const Frame* parent,
                       const at::RecordFunction& fn) {
  if (is_dropped_anyway(state, op, parent)) return true;
  if (op.interest == Interest::kLoading) return is_from_worker(state, fn);
  return parent && parent->op && converts_number(op, fn);
}

// In an autograd node, Python runs above the engine: a custom Function, or a checkpoint that
// computes its forward again.
inline bool in_python_of_node(const Frame* parent) {
  return parent && !parent->op && tracer.python && !(python::top() == parent->top);
}

// Between two autograd nodes the engine adds up and casts gradients; no Python ran since the last
// of them.
inline bool is_of_engine(ThreadState* state, const Frame* parent) {
  if (parent || !state->is_after_node) return false;
  if (python::top() == state->top_after_node) return true;
  state->is_after_node = false;
  return false;
}

// What an op of LibTorch calls is called from where the op was; what an autograd node calls, from
// where its forward was.
inline void place(ThreadState* state, const Frame* parent, Frame& frame,
                  const at::RecordFunction& fn, c10::ArrayRef<const c10::IValue> inputs,
                  Expected* expected) {
  if (is_of_engine(state, parent)) {
    // Of some nodes nobody knows where their forward was.
    frame.site = state->site_after_node ? state->site_after_node : site_here(state, expected);
    frame.phase = static_cast<uint8_t>(Phase::kBackward);
    return;
  }
  const bool in_node = in_python_of_node(parent);
  const bool own_place = !parent || in_node;
  frame.site = own_place || runs_own_code(state, parent) || parent->site == 0
                   ? site_here(state, expected)
                   : parent->site;
  frame.phase = own_place ? phase_of(state, *frame.op, inputs, fn.seqNr(), frame.site, in_node)
                          : parent->phase;
}

inline void note_sequence(ThreadState* state, const at::RecordFunction& fn, uint32_t site) {
  const int64_t sequence = fn.seqNr();
  if (sequence < 0) return;
  SequenceRing* ring = state->sequences.load(std::memory_order_relaxed);
  if (!ring) ring = make_sequence_ring(state);
  if (ring) ring->set(sequence, site);
}

// Of a sparse result: what was seen to make them made its dtype as well.
void remember_values(const Frame& frame, const c10::IValue& value) {
  if (!value.isTensor()) return;
  const c10::TensorImpl* values = values_of(value.unsafeToTensorImpl());
  if (values && find_origin(values) == 0) set_origin(values, frame.signature->id);
}

void remember_origin(const Frame& frame, const c10::IValue& value) {
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      if (element.isTensor()) remember_origin(frame, element);
    return;
  }
  const c10::StorageImpl* storage = storage_of(value);
  if (!storage) return remember_values(frame, value);
  const c10::TensorImpl* impl = value.unsafeToTensorImpl();
  if (!is_plain(impl)) return;
  if (storage == frame.first_storage) {
    if (dtype_of(impl) != frame.first_dtype)
      tracer.origins.set_view(storage, data_of(impl), dtype_of(impl), frame.signature->id);
    return;
  }
  set_origin(impl, frame.signature->id);
}

constexpr uint64_t kOfWeights = 0x3e1947;

// The op ended by an exception: the interposed __cxa_throw counted one, and it is still in flight.
inline bool threw(const ThreadState* state, const Frame& frame) {
  return state->throws != frame.throws_before && std::uncaught_exceptions() > 0;
}

// What the engine does around a node: it runs it, then reduces and adds up the gradients.
inline bool is_engine(const at::RecordFunction& fn) {
  constexpr char kPrefix[] = "autograd::engine::evaluate_function";
  return std::strncmp(fn.name(), kPrefix, sizeof kPrefix - 1) == 0;
}

// matmul under autocast: the inner matmul is dropped, for what it calls says the same.
inline void note_inner_call(const ThreadState* state, const Frame& outer) {
  if (!outer.autocast_on || !outer.signature || is_wrapper(outer.signature)) return;
  if (!autocast_bits(state).any()) note_wrapper(outer.signature);
}

inline void note_call_of(trace::SignatureRecord* caller) {
  if (!has_flag(caller, trace::kSignatureCallsOthers))
    __atomic_fetch_or(&caller->flags, trace::kSignatureCallsOthers, __ATOMIC_RELAXED);
}

// The program waits for a number anyway: no device has to be waited for to look at it. It is no op
// call of its own. Nothing on a pretended GPU is computed.
bool begin_read(ThreadState* state, const at::RecordFunction& fn, const OpInfo& op) {
  if (state->depth >= ThreadState::kMaxDepth || tracer.options.pretended) return false;
  if (fn.inputs().empty() || !fn.inputs()[0].isTensor()) return false;
  const c10::TensorImpl* impl = fn.inputs()[0].unsafeToTensorImpl();
  const uint32_t made_by = is_plain(impl) ? find_origin(impl) : 0;
  if (made_by == 0) return false;
  Frame& frame = state->frames[state->depth++];
  frame = Frame();
  frame.record = &fn;
  frame.op = &op;
  frame.throws_before = state->throws;
  frame.read = made_by;
  note_number_read(state, op, fn, made_by);
  return true;
}

inline uint64_t key_of(const Frame& frame, const Frame* parent,
                       c10::ArrayRef<const c10::IValue> inputs, const AutocastBits& autocast,
                       bool inner) {
  const OpInfo& op = *frame.op;
  uint64_t key =
      mix(reinterpret_cast<uint64_t>(&op), parent ? reinterpret_cast<uint64_t>(parent->op) + 1 : 0);
  key = mix(
      key, uint64_t{frame.site} << 32 | uint64_t{frame.phase} << 24 | autocast.word() << 1 | inner);
  key = mix_operands(key, op, inputs);
  if (op.is_keyed_further) key = mix_further(key, op, inputs);
  if (frame.phase != static_cast<uint8_t>(Phase::kBackward) &&
      frame.phase != static_cast<uint8_t>(Phase::kOptimizer))
    key = mix_makers(key, op, inputs);
  // RAdam steps its averages and the weights by one op, at one line, in one dtype.
  if (frame.phase == static_cast<uint8_t>(Phase::kOptimizer) && writes_parameter(op, inputs))
    key = mix(key, kOfWeights);
  return key;
}

// A call of the program's, or the cast to integers by which torch.tensor() does what it was asked.
bool is_programs_own(const Frame& frame, const Frame* parent,
                     c10::ArrayRef<const c10::IValue> inputs) {
  if (!parent || !parent->op) return true;
  const OpInfo& op = *frame.op;
  if (parent->op != &python_op() || !op.converts || op.dtypes.empty()) return false;
  const c10::IValue& dtype = inputs[op.dtypes[0].index];
  return dtype.isInt() &&
         c10::isIntegralType(static_cast<at::ScalarType>(dtype.toInt()), /*includeBool=*/false);
}

void on_node_start(ThreadState* state, const at::RecordFunction& fn);

void on_op_start(ThreadState* state, const at::RecordFunction& fn) {
  if (state->count_event() - state->flushed.load(std::memory_order_relaxed) >= 4096)
    flush_events(state);
  Expectations& expectations = state->expectations;
  if (!expectations.has_table() && !expectations.make_table()) return;
  const OpInfo* op = find_op(fn, expectations.next_op());
  if (const void* caller = std::exchange(state->asked_from, nullptr); caller && op)
    note_caller(caller, *op);
  if (!op && is_engine(fn)) return on_node_start(state, fn);
  state->drop_stale_frames(&fn);
  Frame* parent = state->innermost();
  if (may_be_in_first_call.load(std::memory_order_relaxed) && op && !parent)
    parent = first_call_of(state, *op, fn.inputs());
  if (!op || is_dropped(state, *op, parent, fn) || state->depth >= ThreadState::kMaxDepth) {
    if (op && parent && parent->op == op) note_inner_call(state, *parent);
    if (op && op->reads_number && begin_read(state, fn, *op)) return;
    skip_outputs(fn);
    return;
  }
  const c10::ArrayRef<const c10::IValue> inputs = fn.inputs();
  if (inputs.size() < op->argument_count) return;

  Frame& frame = state->frames[state->depth];
  frame.record = &fn;
  frame.op = op;
  frame.throws_before = state->throws;
  frame.first_storage = first_storage(*op, inputs);
  if (frame.first_storage)
    frame.first_dtype = dtype_of(inputs[op->key_arguments[0].index].unsafeToTensorImpl());
  if (op->may_call_anything && tracer.python) frame.top = python::top();
  Expected& expected = expectations.guess();
  place(state, parent, frame, fn, inputs, &expected);
  // A step that ended was the last one, or the next is not looked at.
  if (!tracer.on.load(std::memory_order_relaxed)) return;
  if (!is_looking() && !op->may_begin_backward) return;
  const AutocastBits autocast = autocast_bits(state);
  frame.autocast_on = autocast.any();
  frame.is_shadowed = false;
  const bool inner = parent && parent->autocast_on && !frame.autocast_on && parent->op &&
                     parent->op->name == op->name;

  const uint64_t key = key_of(frame, parent, inputs, autocast, inner);
  frame.signature = expected.key == key ? expected.signature : tracer.signatures.find(key);
  if (!frame.signature)
    frame.signature = describe(state, key, frame, parent, inputs, autocast, inner);
  else
    count_call(frame.signature);
  if (frame.signature) {
    if (expected.key != key) Expectations::correct(expected, key, frame.signature, op->number);
    expectations.advance(expected);
  }
  ++state->depth;
  note_sequence(state, fn, frame.site);
  if (parent && parent->signature) note_call_of(parent->signature);
  if (frame.signature) mute_inner_calls(state, frame);
  if (op->reads_values || tracer.looks.load(std::memory_order_relaxed))
    look_at_inputs(state, frame, inputs);
  if (frame.signature && is_programs_own(frame, parent, inputs) &&
      (may_have_shadow(frame) || is_followed(frame, inputs)))
    begin_shadow(state, frame, fn, inputs);
  if (tracer.options.values && frame.signature && (!parent || !parent->op))
    digest_operands(state, frame, inputs);
  if (tracer.options.health && frame.signature) note_health_operands(state, frame, inputs);
  if (op->writes_first_tensor && frame.phase == static_cast<uint8_t>(Phase::kOptimizer) &&
      frame.signature)
    look_at_weights(state, frame, inputs);
}

void on_op_end(ThreadState* state, const at::RecordFunction& fn) {
  if (state->muted_by == &fn) state->muted_by = nullptr;
  if (state->depth == 0) return;
  Frame& frame = state->frames[state->depth - 1];
  if (frame.record != &fn) return;  // a dropped one
  --state->depth;
  if (frame.op && frame.op->writes_first_tensor) look_at_written(frame);
  if (!frame.signature) {
    if (frame.op && frame.op->reads_number && !threw(state, frame))
      look_at_read(state, frame, fn.outputs());
    return;
  }
  if (threw(state, frame)) return record_throw(state, frame.signature);
  if (state->depth == 0)
    state->has_message = false;  // whatever was thrown inside was also caught there
  const std::vector<c10::IValue>& outputs = fn.outputs();
  if (!has_flag(frame.signature, trace::kSignatureResultsKnown))
    describe_results(state, frame.signature, outputs);
  for (const c10::IValue& value : outputs) remember_origin(frame, value);
  if (tracer.options.values) digest_results(state, frame, outputs);
  if (tracer.options.health) note_health_results(state, frame, outputs);
  if (frame.op->reads_results || tracer.looks.load(std::memory_order_relaxed))
    look_at_results(state, frame, outputs);
  if (frame.is_shadowed) end_shadow(state, frame, fn);
  if (may_be_in_first_call.load(std::memory_order_relaxed) && state->depth == 0)
    note_result_in_first_call(state, outputs);
}

void on_node_start(ThreadState* state, const at::RecordFunction& fn) {
  state->drop_stale_frames(&fn);
  if (state->depth >= ThreadState::kMaxDepth) return;
  note_backward();
  Frame& frame = state->frames[state->depth++];
  frame.record = &fn;
  frame.op = nullptr;
  frame.signature = nullptr;
  frame.autocast_on = false;
  frame.phase = static_cast<uint8_t>(Phase::kBackward);
  frame.site = 0;
  const SequenceRing* ring = fn.seqNr() >= 0 ? sequences_of(fn.forwardThreadId()) : nullptr;
  if (ring) frame.site = ring->find(fn.seqNr());
  if (tracer.python) frame.top = python::top();
}

void on_node_end(ThreadState* state, const at::RecordFunction& fn) {
  if (state->depth == 0 || state->frames[state->depth - 1].record != &fn) return;
  const Frame& node = state->frames[--state->depth];
  const uint32_t site = node.site;
  if (tracer.python && state->depth == 0) {
    state->is_after_node = true;
    state->site_after_node = site;
    state->top_after_node = node.top;
  }
  Frame* engine = state->innermost();
  if (engine && !engine->op)
    engine->site = site;  // what it does with the gradients now, it does for this node
}

}  // namespace

// A frame that lies below on the stack is over: on_op_start() drops it.
bool leave_out(ThreadState* state, const OpInfo& op, const void* stack) {
  const Frame* parent = state->innermost();
  if ((parent && parent->record <= stack) || keep_going::on.load(std::memory_order_relaxed))
    return false;
  if (!is_dropped_anyway(state, op, parent)) return false;
  state->count_event();
  if (parent && parent->op == &op) note_inner_call(state, *parent);
  return true;
}

trace::SignatureRecord* signature_of_unseen(ThreadState* state, const OpInfo& op,
                                            c10::ArrayRef<const c10::IValue> inputs, bool inner) {
  Frame frame;
  frame.op = &op;
  frame.site = site_here(state);
  frame.phase = phase_of(state, op, inputs, /*sequence=*/-1, frame.site, is_in_node());
  const AutocastBits autocast = autocast_bits(state);
  const uint64_t key = key_of(frame, nullptr, inputs, autocast, inner);
  trace::SignatureRecord* known = tracer.signatures.find(key);
  if (!known) return describe(state, key, frame, nullptr, inputs, autocast, inner);
  count_call(known);
  return known;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn) {
  ThreadState* state = thread_state();
  if (!state || state->busy || !tracer.is_on()) return nullptr;
  keep_going::stay_armed();
  switch (fn.scope()) {
    case at::RecordScope::FUNCTION:
      on_op_start(state, fn);
      break;
    case at::RecordScope::BACKWARD_FUNCTION:
      on_node_start(state, fn);
      break;
    default:
      on_scope_start(state, fn);
      break;
  }
  return nullptr;
}

void on_end(const at::RecordFunction& fn, at::ObserverContext*) {
  ThreadState* state = existing_thread_state();
  if (!state || state->busy || !tracer.on.load(std::memory_order_relaxed)) return;
  state->expectations.fetch_next();
  switch (fn.scope()) {
    case at::RecordScope::FUNCTION:
      on_op_end(state, fn);
      break;
    case at::RecordScope::BACKWARD_FUNCTION:
      on_node_end(state, fn);
      break;
    default:
      on_scope_end(state, fn);
      break;
  }
}

}  // namespace dtypecheck::tracer
