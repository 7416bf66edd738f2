// throws.cpp: RecordFunction's end callback runs while the stack unwinds and cannot see the
// exception; __cxa_throw can.
#include "tracer/hook/throws.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstring>
#include <typeinfo>

#include "platform/hash.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/torch_compat.h"
#include "tracer/hook/tracer.h"
#include "tracer/hook/unseen.h"

namespace dtypecheck::tracer {
namespace {

// The object as a Base, when its type is derived from it; what a catch clause does.
template <typename Base>
const Base* as(void* object, const std::type_info* type) {
  void* adjusted = object;
  return typeid(Base).__do_catch(type, &adjusted, 1) ? static_cast<const Base*>(adjusted) : nullptr;
}

// Exceptions that carry a Python error through C++: Python code raised them, no op refused
// anything.
bool is_python_carrier(const char* type_name) {
  return std::strstr(type_name, "python_error") || std::strstr(type_name, "error_already_set") ||
         std::strstr(type_name, "stop_iteration") || std::strstr(type_name, "StopIteration");
}

void keep(ThreadState* state, const char* message, const char* mangled) {
  std::snprintf(state->message, sizeof state->message, "%s", message ? message : "");
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::snprintf(state->message_type, sizeof state->message_type, "%s",
                demangled ? demangled : mangled);
  std::free(demangled);
  state->has_message = true;
}

// An op's exception that nobody catches arrives at sys.excepthook too, and would be recorded again
// as a refusal by Python code. So the messages that were recorded are kept, by their beginnings:
// with TORCH_SHOW_CPP_STACKTRACES=1 Python's text goes on with a backtrace.
KeyedTable<uint32_t, 1 << 10> recorded;
uint64_t key_of_message(const char* message) {
  char start[64];
  std::snprintf(start, sizeof start, "%.63s", message);
  return fnv1a(start) | 1;
}

uint64_t key_of_place(const python::Refusal& refusal, uint64_t key) {
  const python::Line& line = refusal.site.line;
  return mix(key, fnv1a((line.file + ':' + std::to_string(line.line)).c_str())) | 1;
}

// data_ptr<float>() and accessor<float, 2>() of C++ read the numbers of a tensor of another dtype.
void throw_of_data(ThreadState* state) {
  if (std::strncmp(state->message, "expected scalar type ", 21) != 0) return;
  trace::SignatureRecord* record = describe_data_read(state);
  if (!record) return;
  record->throws = 1;
  write_throw(record, state->message, state->message_type);
}

// An extension called directly, not as an op: its operands are the tensors of the Python function
// that called it. So are those of an op that --steady did not look at, where nothing better is
// known; the op let go of the GIL, as it does when a new signature is described.
void throw_outside_of_ops(ThreadState* state, bool was_asleep) {
  python::Refusal refusal;
  const uint64_t key = key_of_message(state->message);
  if (!tracer.python) return throw_of_data(state);
  if (!was_asleep && recorded.find(key)) return;
  if (!python::describe_innermost_call(&refusal, /*may_wait=*/was_asleep)) return;
  refusal.message = state->message;
  refusal.type = state->message_type;
  if (!recorded.insert(key_of_place(refusal, key), 1)) return;
  describe_refusal(state, refusal);
  recorded.insert(key, 1);
}

}  // namespace

void forget_messages() {
  tracer.messages.clear();
  recorded.clear();
}

void on_throw(void* object, void* type_info) {
  ThreadState* state = is_looking() ? existing_thread_state() : thread_state();
  if (!state || state->busy || !tracer.on.load(std::memory_order_relaxed)) return;
  ++state->throws;
  const bool was_asleep = wake_up();
  if (was_asleep) expect_news();
  const auto* type = static_cast<const std::type_info*>(type_info);
  const Frame* op = state->op_in_flight();
  // A kernel in Python that hands its op on to LibTorch's own: what that refused comes back so.
  const bool is_same_again = op && state->has_message && state->message_of == op->record;
  if (is_python_carrier(type->name())) {
    state->has_message = is_same_again;
    return;
  }
  state->has_message = false;
  state->message_of = op ? op->record : nullptr;
  BusyScope busy(state);
  if (const auto* error = as<c10::Error>(object, type)) {
    keep(state, error->what_without_backtrace(),
         type->name());  // what() would symbolize a backtrace: 5 ms
    if (!op && !(was_asleep && record_unseen_throw(state))) throw_outside_of_ops(state, was_asleep);
  } else if (const auto* exception = op ? as<std::exception>(object, type) : nullptr) {
    keep(state, exception->what(), type->name());
  }
  // An exception that nobody catches ends a C++ program without unwinding, so the op's end callback
  // never runs.
  if (op && !tracer.python && state->has_message)
    write_throw(op->signature, state->message, state->message_type);
}

void record_throw(ThreadState* state, trace::SignatureRecord* record) {
  if (!state->has_message) return;  // a Python error that only passed through
  __atomic_fetch_add(&record->throws, 1, __ATOMIC_RELAXED);
  BusyScope busy(state);
  write_throw(record, state->message, state->message_type, /*is_in_call=*/true);
}

void write_throw(trace::SignatureRecord* record, const char* message, const char* type,
                 bool is_in_call) {
  if (record->id == 0) return;  // of a file that was left since
  const uint64_t key = mix(reinterpret_cast<uint64_t>(record), fnv1a(message)) | 1;
  if (tracer.messages.find(key)) return;
  // A full table cannot tell what was written already. Each signature still gets its first message,
  // without which its refusal would be none; so there are no more than signatures.
  const bool is_first = __atomic_load_n(&record->throws, __ATOMIC_RELAXED) <= 1;
  if (!is_first && !tracer.messages.has_room()) return;
  const uint32_t text = intern(message), type_text = intern(type);
  const uint32_t caller = is_in_call ? caller_here() : 0;
  auto* written = tracer.file.reserve<trace::ThrowRecord>(trace::RecordKind::kThrow);
  if (!written) return;
  written->signature = record->id;
  written->message = text;
  written->type = type_text;
  written->step = tracer.current_step();
  written->caller = caller;
  tracer.file.commit(written->header);
  tracer.messages.insert(key, 1);
  recorded.insert(key_of_message(message), 1);
}

void on_uncaught(const python::Refusal& refusal) {
  ThreadState* state = thread_state();
  if (!state || state->busy || !tracer.is_on()) return;
  BusyScope busy(state);
  write_fact(FactKey::kUncaught, refusal.type + ": " + refusal.message);
  bool speaks_of_dtypes = false;
  for (const char* words : {"dtype", "floating point", "cannot be converted to type"})
    speaks_of_dtypes |= refusal.message.find(words) != std::string::npos;
  // A GradScaler that accelerate never made is asked for by functions that hold no tensor, too.
  const bool is_none = refusal.message.compare(0, 10, "'NoneType'") == 0;
  if (refusal.tensors.empty() && !speaks_of_dtypes && !is_none) return;
  if (recorded.find(key_of_message(refusal.message.c_str()))) return;
  describe_refusal(state, refusal);
}

}  // namespace dtypecheck::tracer
