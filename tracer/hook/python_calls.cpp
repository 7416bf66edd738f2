// python_calls.cpp: torch.tensor() and its like are frames like an op's, so that what they allocate
// inside is not recorded beside them. The record is written when they return: only then is it known
// that there is a tensor, and of which dtype. Calls of NumPy that did not wrap are no concern of
// ours, and are not counted.
#include "tracer/hook/python_calls.h"

#include <cmath>
#include <unordered_map>

#include "ops/ops.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/factories.h"
#include "tracer/python/numpy_loops.h"

namespace dtypecheck::tracer {

const OpInfo& python_op() {
  static const OpInfo* op = [] {
    auto* made = new OpInfo;
    made->name = std::string(ops::kPython) + "torch";
    return made;
  }();
  return *op;
}

namespace {

// The frame of a function of Python's that runs at `place`; false where nothing is recorded now.
bool begin_python_call(ThreadState* state, const void* place, Frame& frame) {
  if (!state || state->busy || state->muted_by || !is_looking() || !tracer.is_on()) return false;
  state->drop_stale_frames(place);
  const Frame* parent = state->innermost();
  frame.record = place;
  frame.op = &python_op();
  const bool own_place = !parent || !parent->op;  // Python runs in an autograd node, too
  frame.site = own_place || parent->site == 0 ? site_here(state) : parent->site;
  const int64_t recorded = parent && c10::GradMode::is_enabled() ? 0 : -1;  // computed again
  frame.phase = own_place ? phase_of(state, *frame.op, {}, recorded, frame.site, parent != nullptr)
                          : parent->phase;
  return true;
}

uint64_t python_call_key(const char* function, const Frame& frame, uint64_t word) {
  const uint64_t place = uint64_t{frame.site} << 32 | frame.phase;
  return mix(mix(reinterpret_cast<uint64_t>(function), place), word);
}

// The call of torch.tensor() or the like that the first op of the process runs in. Its C function
// was called directly, so nothing tells of its end but the next op that another line calls, or
// another call of such a function.
struct FirstCall {
  ThreadState* state = nullptr;
  Frame frame;
  python::Top top;
  python::FactoryCall call;
  // Of what it has given so far.
  bool has_result = false;
  trace::OperandRecord result = {};
  uint64_t word = 0;
  const void *storage = nullptr, *data = nullptr;
};
std::atomic<FirstCall*> first_call{nullptr};  // never freed: other threads ask whose it is

// Whether it is what such a function calls: what another function calls at the same place is not.
bool is_of_factory(const OpInfo& op) {
  return op.converts || op.name == "aten::to" || op.name == "aten::empty" ||
         op.name == "aten::lift_fresh";
}

// At the first op.
FirstCall* find_first_call(ThreadState* state, const OpInfo& op) {
  static std::atomic<bool> has_run{false};
  if (has_run.load(std::memory_order_relaxed) || has_run.exchange(true)) return first_call;
  FirstCall found;
  found.state = state;
  const char place = 0;
  if (tracer.python && is_of_factory(op) && begin_python_call(state, &place, found.frame)) {
    const BusyScope busy(state);
    watch_python();
    found.call = python::factory_being_called();
    found.top = python::top();
    if (found.call.function) return first_call = new FirstCall(found);
  }
  may_be_in_first_call = false;
  return nullptr;
}

void note_result(FirstCall& call, const c10::IValue& value) {
  const c10::TensorImpl* impl = value.isTensor() ? value.unsafeToTensorImpl() : nullptr;
  if (!impl || !is_plain(impl) || !impl->unsafe_storage()) return;
  call.has_result = true;
  call.result = describe_result(call.state, impl);
  call.word = tensor_word(impl);
  call.storage = impl->unsafe_storage().unsafeGetStorageImpl();
  call.data = data_of(impl);
}

bool on_enter(const void* place) {
  if (may_be_in_first_call.load(std::memory_order_relaxed)) end_first_call();
  ThreadState* state = thread_state();
  Frame frame;
  if (!begin_python_call(state, place, frame) || state->depth >= ThreadState::kMaxDepth)
    return false;
  const Frame* parent = state->innermost();
  if (parent && parent->op == &python_op()) return false;  // a __torch_function__ calls it again
  state->frames[state->depth++] = frame;
  return true;
}

// torch.tensor([0.5, …], dtype=torch.long), which says nothing: a list, or number after number at
// one line. Only where a first call has made integers of floats are the next ones looked at. GIL
// held.
void note_fractions(trace::SignatureRecord* signature, bool is_new, python::Object* source,
                    const c10::TensorImpl* impl) {
  constexpr size_t kMostLines = 256;
  static auto* cut = new std::unordered_map<const trace::SignatureRecord*, python::Fractions>;
  if (is_new) {
    const bool is_integral =
        c10::isIntegralType(static_cast<c10::ScalarType>(dtype_of(impl)), false);
    if (!is_integral || cut->size() >= kMostLines) return;
    cut->erase(signature);
  } else if (cut->count(signature) == 0) {
    return;
  }
  python::Fractions& sum = (*cut)[signature];
  const bool is_of_floats = python::add_fractions(source, sum);
  const double number = sum.lost();
  if (number != 0)
    write_inexact(signature, number, std::trunc(number), tracer.current_step(), 0, {});
  constexpr std::ptrdiff_t kEnough = 256;
  if (!is_of_floats || number != 0 || sum.count >= kEnough) cut->erase(signature);
}

void on_leave(const void* place, const char* function, python::Object* source, const void* tensor) {
  ThreadState* state = existing_thread_state();
  if (!state) return;
  while (state->depth > 0 && state->frames[state->depth - 1].record < place) --state->depth;
  if (state->depth == 0 || state->frames[state->depth - 1].record != place) return;
  const Frame& frame = state->frames[--state->depth];
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  if (!impl || !is_plain(impl) || !impl->unsafe_storage()) return;
  const uint64_t key =
      python_call_key(function, frame, mix(python::word_of_source(source), tensor_word(impl)));
  trace::SignatureRecord* signature = tracer.signatures.find(key);
  const bool is_new = !signature;
  if (is_new)
    signature = describe_factory(state, key, function, python::source_of(source), frame,
                                 describe_result(state, impl));
  else
    count_call(signature);
  if (!signature) return;
  note_fractions(signature, is_new, source, impl);
  set_origin(impl, signature->id);
}

bool numpy_is_looked_at() { return tracer.may_record() && is_looking(); }

void on_wrapped(const void* place, const python::WrappedCall& call) {
  ThreadState* state = thread_state();
  Frame frame;
  if (!begin_python_call(state, place, frame)) return;
  const uint64_t key =
      python_call_key(call.function, frame, reinterpret_cast<uint64_t>(call.dtype));
  trace::SignatureRecord* signature = tracer.signatures.find(key);
  if (signature) return count_call(signature);
  signature = describe_numpy(state, key, call, frame);
  if (signature) write_inexact(signature, call.from, call.to, tracer.current_step(), 0, {});
}

}  // namespace

std::atomic<bool> may_be_in_first_call{true};

Frame* first_call_of(ThreadState* state, const OpInfo& op,
                     c10::ArrayRef<const c10::IValue> inputs) {
  FirstCall* call = find_first_call(state, op);
  if (!call || call->state != state) return nullptr;
  if (!is_of_factory(op) || !(python::top() == call->top)) return end_first_call(), nullptr;
  if (op.name == "aten::lift_fresh" && !inputs.empty()) note_result(*call, inputs[0]);
  return &call->frame;
}

void note_result_in_first_call(ThreadState* state, const std::vector<c10::IValue>& outputs) {
  FirstCall* call = first_call;
  if (call && call->state == state && outputs.size() == 1) note_result(*call, outputs[0]);
}

void end_first_call() {
  ThreadState* state = existing_thread_state();
  FirstCall* call = first_call;
  if (!call || call->state != state) return;
  may_be_in_first_call = false;
  first_call = nullptr;
  if (!call->has_result) return;
  const uint64_t key =
      python_call_key(call->call.function, call->frame, mix(call->call.word, call->word));
  const trace::SignatureRecord* signature = describe_factory(
      state, key, call->call.function, call->call.source, call->frame, call->result);
  if (signature) tracer.origins.set(call->storage, call->data, call->result.dtype, signature->id);
}

void forget_first_call() {
  may_be_in_first_call = false;
  first_call = nullptr;
}

void watch_factories() {
  static std::atomic<bool> done{false};
  if (!tracer.python || done.load(std::memory_order_relaxed)) return;
  done.store(python::watch_factories({on_enter, on_leave}));
}

void watch_numpy() {
  static std::atomic<bool> done{false};
  if (!tracer.python || done.load(std::memory_order_relaxed)) return;
  done.store(python::watch_numpy({numpy_is_looked_at, on_wrapped}));
}

}  // namespace dtypecheck::tracer
