// A C interface over tracer/python, for tests that call it from Python through ctypes: CDLL
// releases the GIL around a call as LibTorch's bindings do, PyDLL keeps it.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "tracer/python/call_arguments.h"
#include "tracer/python/python_sites.h"

namespace {

namespace python = dtypecheck::tracer::python;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string field(const char* name, const std::string& json) { return quoted(name) + ":" + json; }
std::string text(const char* name, const std::string& value) { return field(name, quoted(value)); }
std::string flag(bool value) { return value ? "true" : "false"; }
std::string address(const void* pointer) {
  return std::to_string(reinterpret_cast<uintptr_t>(pointer));
}

std::string json_of(const python::Line& line) {
  return "{" + text("file", line.file) + "," + text("function", line.function) + "," +
         field("line", std::to_string(line.line)) + "}";
}

std::string extent_of(const python::Line& line) {
  return "[" + std::to_string(line.column) + "," + std::to_string(line.end_column) + "," +
         std::to_string(line.more_lines) + "]";
}

std::string json_of(const python::Site& site) {
  return field("extent", extent_of(site.line)) + "," + field("line", json_of(site.line)) + "," +
         field("inner", json_of(site.inner)) + "," + field("caller", json_of(site.caller)) + "," +
         text("module", site.module) + "," + text("class", site.module_class);
}

std::string json_of(const python::LocalTensor& t) {
  std::string shape;
  for (const int64_t size : t.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
  return "{" + text("name", t.name) + "," + text("dtype", t.dtype) + "," +
         text("device", t.device) + "," + field("shape", "[" + shape + "]") + "," +
         field("requires_grad", flag(t.requires_grad)) + "," + field("is_leaf", flag(t.is_leaf)) +
         "," + text("parameter", t.parameter) + "," + field("impl", address(t.impl)) + "," +
         field("grad_impl", address(t.grad_impl)) + "," + text("grad_dtype", t.grad_dtype) + "}";
}

std::string json_of(const python::Refusal& r) {
  std::string tensors;
  for (const auto& t : r.tensors) tensors += (tensors.empty() ? "" : ",") + json_of(t);
  return "{" + text("type", r.type) + "," + text("message", r.message) + "," +
         text("function", r.function) + "," + json_of(r.site) + "," +
         field("tensors", "[" + tensors + "]") + "}";
}

void give(const std::string& json, char* out, size_t room) {
  std::snprintf(out, room, "%s", json.c_str());
}

std::string g_refusal_file;

void write_refusal(const python::Refusal& refusal) {
  std::ofstream(g_refusal_file, std::ios::app) << json_of(refusal) << "\n";
}

// The best of many short rounds: other programs on the machine only ever add.
template <typename Body>
double nanoseconds_each(int rounds, Body body) {
  constexpr int kCallsARound = 200;
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int j = 0; j < kCallsARound; ++j) body();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kCallsARound);
  }
  return best;
}

}  // namespace

extern "C" {

// Whatever it is called with besides, and as what operator: what was handed over to it. Told later.
static std::string g_handed_over;
void dc_keep_handed_over() {
  const python::Interpreter interpreter;
  python::HandedOver found;
  g_handed_over = "null";
  if (!interpreter || !python::find_handed_over(&found)) return;
  std::string values;
  for (const auto& value : found.values)
    values += (values.empty() ? "" : ",") + ("[" + quoted(value.keyword) + ",") +
              quoted(value.object ? python::type_name(python::type_of(value.object)) : "") + "]";
  g_handed_over = "[" + std::to_string(static_cast<int>(found.kind)) + ",[" + values + "]]";
}

void dc_handed_over(char* out, size_t room) { give(g_handed_over, out, room); }

void dc_start(char* out, size_t room) {
  std::string why_not;
  const bool started = python::start(&why_not);
  give("{" + field("started", flag(started)) + "," + text("why_not", why_not) + "," +
           text("version", python::version()) + "}",
       out, room);
}

void dc_walk(char* out, size_t room) {
  python::FrameWalk walk;
  const bool found = python::walk(&walk);
  give("{" + field("found", flag(found)) + "," + field("key", std::to_string(walk.key)) + "," +
           field("module_address", address(walk.module)) + "," +
           field("has_user", flag(walk.user_code != nullptr)) + "}",
       out, room);
}

// A walk and what it resolves to, as for the first op at a site.
void dc_site(char* out, size_t room) {
  python::FrameWalk walk;
  python::Site site;
  const bool found = python::walk(&walk) && python::resolve(walk, &site);
  give("{" + field("found", flag(found)) + "," + field("key", std::to_string(walk.key)) + "," +
           field("module_address", address(walk.module)) + "," +
           field("has_user", flag(walk.user_code != nullptr)) + "," + json_of(site) + "}",
       out, room);
}

void dc_parameter(uint64_t impl, char* out, size_t room) {
  give(quoted(python::parameter_name(reinterpret_cast<const void*>(impl))), out, room);
}

void dc_describe(char* out, size_t room) {
  python::Refusal refusal;
  const bool described = python::describe_innermost_call(&refusal);
  give(described ? json_of(refusal) : "null", out, room);
}

void dc_watch_uncaught(const char* file) {
  g_refusal_file = file;
  python::watch_uncaught(write_refusal);
}

void dc_facts(char* out, size_t room) {
  std::string fields;
  for (const auto& [key, value] : python::facts()) {
    fields += (fields.empty() ? "" : ",") + text(fact_name(key).c_str(), value);
  }
  give("{" + fields + "}", out, room);
}

void dc_time(int rounds, double* top_ns, double* walk_ns, double* resolve_ns) {
  volatile uintptr_t sink = 0;
  *top_ns = nanoseconds_each(rounds,
                             [&sink] { sink = reinterpret_cast<uintptr_t>(python::top().frame); });
  *walk_ns = nanoseconds_each(rounds, [&sink] {
    python::FrameWalk walk;
    python::walk(&walk);
    sink = walk.key;
  });
  *resolve_ns = nanoseconds_each(1 + rounds / 1000, [] {
    python::FrameWalk walk;
    python::Site site;
    if (python::walk(&walk)) python::resolve(walk, &site);
  });
}

// 1 when an error that is set before a call is still set after it.
int dc_keeps_error() {
  using SetString = void (*)(void* type, const char* text);
  using Occurred = void* (*)(void);
  auto* set = reinterpret_cast<SetString>(dlsym(RTLD_DEFAULT, "PyErr_SetString"));
  auto* occurred = reinterpret_cast<Occurred>(dlsym(RTLD_DEFAULT, "PyErr_Occurred"));
  auto* clear = reinterpret_cast<void (*)(void)>(dlsym(RTLD_DEFAULT, "PyErr_Clear"));
  void* key_error = *static_cast<void**>(dlsym(RTLD_DEFAULT, "PyExc_KeyError"));
  set(key_error, "kept");
  char out[4096];
  dc_site(out, sizeof out);
  const bool kept = occurred() == key_error;
  clear();
  return kept && std::strstr(out, "\"found\":true") != nullptr ? 1 : 0;
}

void dc_stop() { python::stop(); }

}  // extern "C"
