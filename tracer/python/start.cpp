// start(), stop(), and the facts that only Python objects hold.
#include <unistd.h>

#include <atomic>

#include "core/shell_words.h"
#include "tracer/python/frame_walk.h"
#include "tracer/python/layout.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/state.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

std::atomic<bool> g_active{false};
void (*g_before_end)() = nullptr;

std::string* g_version = nullptr;  // never freed: version() may be asked at exit
std::string* g_folder = nullptr;

std::string working_folder() {
  char buffer[4096];
  return getcwd(buffer, sizeof buffer) == nullptr ? std::string() : buffer;
}

// Called by atexit. The interpreter then frees the thread states and frames of daemon threads,
// which may be in the middle of an op and never learn of it.
Object* interpreter_goes_away(Object*, Object*) {
  if (g_before_end) g_before_end();
  walk_only_in_this_thread();
  forbid_interpreter_to_other_threads();
  return return_none();
}

bool watch_exit() {
  const Ref module(api.PyImport_ImportModule("atexit"));
  const Ref register_function = attribute(module.get(), "register");
  const Ref callback = new_callback("dtypecheck_exit", interpreter_goes_away, kNoArguments);
  if (!register_function || !callback) return api.PyErr_Clear(), false;
  const Ref done(
      api.PyObject_CallFunctionObjArgs(register_function.get(), callback.get(), nullptr));
  if (!done) api.PyErr_Clear();
  return static_cast<bool>(done);
}

bool start_held(std::string* why_not) {
  const Interpreter interpreter;
  if (!interpreter || !self_test(why_not)) return false;
  if (!watch_exit()) {
    *why_not = "Python's atexit cannot be used; Python lines are not recorded";
    return false;
  }
  learn_paths();
  const char* version = api.Py_GetVersion();
  g_version = new std::string(version, std::strcspn(version, " "));
  g_folder = new std::string(working_folder());
  start_walking();
  g_active.store(true, std::memory_order_release);
  return true;
}

std::string command_line() {
  std::string line;
  Object* arguments = api.PySys_GetObject("argv");
  for (std::ptrdiff_t i = 0; i < sequence_size(arguments); ++i) {
    line += (i == 0 ? "" : " ") + quoted_word(text_of(sequence_item(arguments, i)));
  }
  return line;
}

using Facts = std::vector<std::pair<FactKey, std::string>>;

void add(FactKey key, const std::string& value, Facts& out) {
  if (!value.empty()) out.emplace_back(key, value);
}

// accelerate keeps one state for the process, in a dict that its class shares between all
// instances. The kind of launch is an enum's member.
void add_accelerate(Facts& out) {
  const Ref state = Ref::share(imported_item("accelerate.state", "AcceleratorState"));
  if (!is_type(state.get())) return;
  const Ref shared = attribute(state.get(), "_shared_state");
  add(FactKey::kAcceleratePrecision, text_of(dict_item(shared.get(), "_mixed_precision")), out);
  Object* kind = dict_item(shared.get(), "distributed_type");
  const Ref fields = kind != nullptr ? instance_dict(kind) : Ref();
  add(FactKey::kAccelerateDistributed, text_of(dict_item(fields.get(), "_value_")), out);
}

}  // namespace

const std::string& first_folder() { return *g_folder; }

bool start(std::string* why_not) {
  if (active()) return true;
  try {
    if (!find_python() || !is_known_version(why_not)) return false;
    std::string missing;
    if (!load_api(&missing)) {
      *why_not = "this CPython does not export " + missing + "; Python lines are not recorded";
      return false;
    }
    return interpreter_usable() && choose_layout(why_not) && start_held(why_not);
  } catch (...) {
    return false;
  }
}

bool active() { return g_active.load(std::memory_order_relaxed); }

const char* version() { return g_version == nullptr ? "" : g_version->c_str(); }

std::vector<std::pair<FactKey, std::string>> facts() {
  Facts out;
  if (!active()) return out;
  try {
    const Interpreter interpreter;
    if (!interpreter) return out;
    add_accelerate(out);
    add(FactKey::kPythonArgv, command_line(), out);
  } catch (...) {
  }
  return out;
}

bool in_data_worker() {
  if (!active()) return false;
  try {
    const Interpreter interpreter;
    if (!interpreter) return false;
    const Object* info = imported_item("torch.utils.data._utils.worker", "_worker_info");
    return info != nullptr && info != api._Py_NoneStruct;
  } catch (...) {
    return false;
  }
}

void flush_output() {
  if (!active()) return;
  try {
    const Interpreter interpreter;
    if (!interpreter) return;
    for (const char* name : {"stdout", "stderr"}) {
      const Ref flush = attribute(api.PySys_GetObject(name), "flush");
      const Ref done(flush ? api.PyObject_CallObject(flush.get(), nullptr) : nullptr);
      if (!done) api.PyErr_Clear();
    }
  } catch (...) {
  }
}

void watch_end(void (*before_end)()) { g_before_end = before_end; }

void stop() {
  g_active.store(false, std::memory_order_relaxed);
  stop_walking();
  forbid_interpreter();
}

}  // namespace dtypecheck::tracer::python
