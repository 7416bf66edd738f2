// fallback.cpp: hot. Every call of the dispatcher goes through here; one whose operands cannot fail
// for their dtypes only pays for the look at them.
#include "tracer/hook/describe.h"
#include "tracer/hook/throws.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/call.h"
#include "tracer/keep_going/draws.h"
#include "tracer/keep_going/fix.h"
#include "tracer/keep_going/in_float.h"
#include "tracer/keep_going/keep_going.h"
#include "tracer/keep_going/known_values.h"
#include "tracer/keep_going/python_side.h"

namespace dtypecheck::tracer::keep_going {

std::atomic<bool> on{false};
c10::DispatchKey key = c10::DispatchKey::TESTING_ONLY_GenericMode;

void forget_repairs();  // repair.cpp

namespace {

c10::DispatchKeySet below_key;

// A call that is being tried. An op inside it that fails below autograd leaves the repair to it:
// only there do gradients come back through the casts, and forward and backward are one finding.
struct Attempt {
  Call& call;
  const bool takes_over;
  const bool is_recorded;
  bool was_left_to_us = false;
  Attempt* const outer;

  Attempt(Call& tried, bool may_take_over)
      : call(tried),
        takes_over(may_take_over && tried.below.has_any(c10::autograd_dispatch_keyset)),
        is_recorded(tried.own_frame() != nullptr),
        outer(static_cast<Attempt*>(tried.state->attempt)) {
    call.state->attempt = this;
  }
  ~Attempt() { call.state->attempt = outer; }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
};

// Ours is the better place: above autograd; and with --fix the outer op, which the trace names, is
// one that a kernel computes.
bool is_place_to_repair(const Call& call, const Attempt& outer) {
  if (call.below.has_any(c10::autograd_dispatch_keyset))
    return tracer.options.fix && outer.is_recorded && outer.call.facts.kernel && !call.facts.kernel;
  return true;
}

// Labels, indices and masks of another dtype, or integers among numbers. --fix serves what has one
// right answer; which integers were meant it does not know.
bool may_be_integers(const DtypeMix& mix, const OpFacts& facts) {
  return (mix.has_integers() || facts.chooses) && !tracer.options.fix;
}
bool may_be_integers(const Call& call) { return may_be_integers(call.mix, call.facts); }

// The outer call has what made the inner one fail.
bool may_fail_as(const Call& outer, const Call& inner) {
  if (inner.mix.is_mixed()) return outer.mix.is_mixed();
  if (inner.mix.has_low_precision() && outer.mix.has_low_precision()) return true;
  return may_be_integers(inner) && may_be_integers(outer);
}

bool leave_to_outer(const Call& call) {
  for (auto* attempt = static_cast<Attempt*>(call.state->attempt); attempt;
       attempt = attempt->outer) {
    if (!is_place_to_repair(call, *attempt)) continue;
    if (!attempt->takes_over || !may_fail_as(attempt->call, call)) continue;
    attempt->was_left_to_us = true;
    return true;
  }
  return false;
}

bool holds(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

// Operands that disagree may be the reason, whatever the message says: the call with cast operands
// then shows whether they were. So may labels, indices and masks. Where all have one dtype, the
// message has to name it.
bool may_be_dtypes(const Call& call, const char* message) {
  if (holds(message, "out of memory") || holds(message, "can't allocate memory")) return false;
  if (call.mix.is_mixed() || may_be_integers(call)) return true;
  for (const char* word :
       {"Half", "BFloat16", "Low precision", "float or double", "a float tensor", "type Float"})
    if (holds(message, word)) return true;
  return false;
}

struct Thrown {
  std::exception_ptr exception;
  std::string message, type;
  PythonError python;
};

void keep_text(const Call& call, const std::exception& error, const char* message, Thrown& thrown) {
  thrown.exception = std::current_exception();
  const bool was_noted = call.state->has_message;
  thrown.message = was_noted ? call.state->message : message;
  thrown.type = was_noted ? call.state->message_type : typeid(error).name();
}

// With --fix the program counts on being served, recorded or not.
bool can_be_recorded(const Call& call) {
  if (tracer.options.fix) return can_be_served(call);
  return call.record() != nullptr && !is_compilers_call(call);
}

void record_failure(const Call& call, const Thrown& thrown) {
  trace::SignatureRecord* record = call.record();
  if (!record) return;
  const BusyScope ours(call.state);
  const uint32_t mark = tracer.options.fix ? trace::kSignatureServed : trace::kSignatureRepaired;
  const uint32_t before = __atomic_fetch_or(&record->flags, mark, __ATOMIC_RELAXED);
  if (!(before & mark) && call.cause < record->id) record->follows = call.cause;
  write_throw(record, thrown.message.c_str(), thrown.type.c_str());
  call.state->has_message = false;
}

void taint_repaired(Call& call) {
  if (tracer.options.fix) return;  // what was served is right
  count_repair();
  const trace::SignatureRecord* record = call.record();
  taint(call.facts, call.arguments, call.results(), call.cause ? call.cause : record->id);
}

// True when it was repaired.
bool try_or_repair(Call& call, bool may_take_over) {
  Thrown thrown;
  bool was_left_to_us = false;
  {
    Attempt attempt(call, may_take_over);
    try {
      call.run();
      return false;
    } catch (const c10::Error& error) {
      const char* message = error.what_without_backtrace();
      if (!may_be_dtypes(call, message) || !can_be_recorded(call) || leave_to_outer(call)) throw;
      keep_text(call, error, message, thrown);
    } catch (const std::exception& error) {
      if (!(call.mix.is_mixed() || may_be_integers(call)) || !can_be_recorded(call) ||
          leave_to_outer(call))
        throw;
      if (is_onednn(error)) {
        keep_text(call, error, error.what(), thrown);
      } else if (is_kernels_refusal(error, &thrown.type, &thrown.message)) {
        thrown.exception = std::current_exception();
      } else if (call.below.has(c10::DispatchKey::Python) && thrown.python.fetch()) {
        thrown.exception = std::current_exception();
        thrown.message = thrown.python.message();
        thrown.type = thrown.python.type();
      } else {
        throw;
      }
    }
    was_left_to_us = attempt.was_left_to_us;
  }
  bool was_repaired = false;
  try {
    was_repaired = repair(call);
  } catch (...) {
    // Not a refusal: activation checkpointing ends its second forward pass by an exception as soon
    // as it has all tensors it needs, and that may be in the middle of the call with cast operands.
    record_failure(call, thrown);
    throw;
  }
  if (was_repaired) {
    record_failure(call, thrown);
    taint_repaired(call);
    return true;
  }
  if (was_left_to_us) {
    // An op inside failed and left the repair to this call, which could not. So the call is made
    // once more, and the op inside repairs itself.
    call.put_back(call.arguments);
    return try_or_repair(call, /*may_take_over=*/false);
  }
  thrown.python.restore();
  std::rethrow_exception(thrown.exception);
}

// After a call that went well. Its results and what it wrote come from the repair that its operands
// come from; where they come from none, that wipes out what was known of the memory before. But an
// op inside the call may have been repaired, and has tainted its results, which may be those of the
// call: then nothing is wiped out.
void hand_on_taint(Call& call) {
  if (call.cause == 0 && call.repairs_before != repairs_so_far()) return;
  if (any_taint()) taint(call.facts, call.arguments, call.results(), call.cause);
}

void call_that_may_fail(Call& call) {
  if (tracer.options.fix) {
    if (!can_be_served(call)) return call.run();
    if (serve_slow(call)) return;
  }
  if ((call.record() || tracer.options.fix) && repair_as_before(call)) return taint_repaired(call);
  if (!try_or_repair(call, /*may_take_over=*/true)) hand_on_taint(call);
}

// What two computers that round differently give: random numbers that are off by a few last bits of
// Float, up and down in turns. Where the program ends is then as far off as rounding alone makes
// it.
void nudge(const at::Tensor& drawn) {
  constexpr double kOff = 0x1p-20;
  const bool is_off = drawn.defined() && drawn.is_cpu() && drawn.layout() == at::kStrided &&
                      drawn.is_contiguous() && drawn.dim() > 0;
  const auto set_off = [&](auto* numbers) {
    for (int64_t i = 0; i < drawn.numel(); ++i) numbers[i] *= i % 2 == 0 ? 1 + kOff : 1 - kOff;
  };
  if (is_off && drawn.scalar_type() == at::kFloat) set_off(drawn.data_ptr<float>());
  if (is_off && drawn.scalar_type() == at::kDouble) set_off(drawn.data_ptr<double>());
}

void run_nudged(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                torch::jit::Stack* stack) {
  op.redispatchBoxed(below, stack);
  for (const c10::IValue& result : torch::jit::last(*stack, op.schema().returns().size()))
    if (result.isTensor()) nudge(result.toTensor());
}

void run_and_repair(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                    torch::jit::Stack* stack, ThreadState* state) {
  const DtypeMix mix =
      DtypeMix::of_arguments(torch::jit::last(*stack, op.schema().arguments().size()));
  if (tracer.options.draws && facts_of(op).only_draws) return run_draw(op, below, stack, state);
  if (tracer.options.in_float) {
    if (!state->in_float) return op.redispatchBoxed(below, stack);
    Call call(op, below, stack, state, mix);
    return run_in_float(call);
  }
  const OpFacts& facts = facts_of(op);
  if (facts.draws && tracer.options.nudge) return run_nudged(op, below, stack);
  const bool may_fail = mix.may_fail() || may_be_integers(mix, facts);
  if ((!may_fail && !any_taint()) || facts.is_view) return op.redispatchBoxed(below, stack);
  Call call(op, below, stack, state, mix);
  if (may_fail) return call_that_may_fail(call);
  call.run();
  hand_on_taint(call);
}

void run_as_it_is(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                  torch::jit::Stack* stack, ThreadState*) {
  op.redispatchBoxed(below, stack);
}

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = keys & below_key;
  const bool fixes = tracer.options.fix;
  const bool is_pretended = tracer.options.pretended;
  ThreadState* state = fixes || is_pretended ? thread_state() : existing_thread_state();
  if (!state || state->busy || !on.load(std::memory_order_relaxed) ||
      !(fixes || is_pretended || tracer.on.load(std::memory_order_relaxed)))
    return op.redispatchBoxed(below, stack);
  if (!fixes && python_side_is_missing()) install_python_side(state);
  if (!is_pretended) return run_and_repair(op, below, stack, state);
  const bool repairs = tracer.options.keep_going && tracer.on.load(std::memory_order_relaxed);
  call_on_pretended_gpu(op, below, stack, state, repairs ? run_and_repair : run_as_it_is);
}

bool is_free(c10::DispatchKey candidate, const char* name) {
  return c10::parseDispatchKey(name) == candidate &&
         !c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(candidate);
}

}  // namespace

void arm() { c10::impl::tls_set_dispatch_key_included(key, true); }

bool start(std::string* why_not) {
  if (is_free(c10::DispatchKey::TESTING_ONLY_GenericMode, "TESTING_ONLY_GenericMode")) {
    key = c10::DispatchKey::TESTING_ONLY_GenericMode;
  } else if (is_free(c10::DispatchKey::TESTING_ONLY_GenericWrapper,
                     "TESTING_ONLY_GenericWrapper")) {
    key = c10::DispatchKey::TESTING_ONLY_GenericWrapper;
  } else {
    *why_not =
        "--keep-going, --fix, --in-float or preflight's values are off: another tool has taken the "
        "dispatch keys it needs (TESTING_ONLY_Generic…)";
    return false;
  }
  below_key = c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key);
  // Kept for good: calls go through it until the process ends.
  new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
      key, c10::KernelFunction::makeFromBoxedFunction<&fallback>(), "dtypecheck --keep-going"));
  on.store(true);
  arm();
  return true;
}

void forget() {
  forget_repairs();
  forget_taint();
  forget_python_side();
  forget_known_values();
  forget_draws();
}

}  // namespace dtypecheck::tracer::keep_going

// For benchmarks: hands every call on unseen, or not, in this thread.
extern "C" __attribute__((visibility("default"))) void dtypecheck_hook_pause_keep_going(
    int paused) {
  using namespace dtypecheck::tracer;
  keep_going::on.store(!paused);
  c10::impl::tls_set_dispatch_key_included(keep_going::key, !paused);
}
