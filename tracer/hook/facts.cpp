// facts.cpp: see facts.h. Nothing here is asked for on the hot path.
#include "tracer/hook/facts.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "core/launch.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/pretended.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck {
namespace tracer {
namespace {

std::string command_line() {
  std::string text;
  std::FILE* file = std::fopen("/proc/self/cmdline", "re");
  if (!file) return text;
  char buffer[4096];
  const size_t size = std::fread(buffer, 1, sizeof buffer, file);
  std::fclose(file);
  for (size_t i = 0; i < size; ++i) text += buffer[i] ? buffer[i] : ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string link_target(const char* path) {
  char target[4096];
  const ssize_t size = readlink(path, target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : std::string();
}

// A variable that names a precision, as ACCELERATE_MIXED_PRECISION does: who asked for it may be
// there.
void write_precision_variables() {
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string text = *variable;
    const size_t sign = text.find('=');
    if (sign == std::string::npos || text.size() > 256) continue;
    const bool is_ours = text.rfind("DTYPECHECK_", 0) == 0;
    const bool is_named = !is_ours && (text.find("PRECISION") < sign || text.find("DTYPE") < sign);
    if (is_named) write_fact("env." + text.substr(0, sign), text.substr(sign + 1));
  }
}

struct Known {
  std::mutex mutex;
  std::map<std::string, std::string> facts;
};
Known* known = new Known;

}  // namespace

void write_fact(const std::string& key, const std::string& value) {
  const uint32_t key_id = intern(key), value_id = intern(value);
  auto* record = tracer.file.reserve<trace::FactRecord>(trace::Kind::kFact);
  if (!record) return;
  record->key = key_id;
  record->value = value_id;
  tracer.file.commit(record->header);
}

void forget_facts() {
  known = new Known;
}  // the old one may have been locked, or half changed, by a thread that is no more

void write_facts_at_start() {
  write_fact("argv", command_line());
  write_fact("executable", link_target("/proc/self/exe"));
  write_fact("folder", link_target("/proc/self/cwd"));
  write_fact("libtorch.path", tracer.stage1->libtorch_path);
  write_pretended_facts();
  const auto write_variable = [](const char* name) {
    if (const char* value = std::getenv(name)) write_fact(std::string("env.") + name, value);
  };
  for (const LauncherVariables& launcher : kLaunchers) {
    write_variable(launcher.rank);
    if (launcher.size) write_variable(launcher.size);
  }
  for (const char* name : kLaunchVariables) write_variable(name);
  write_precision_variables();
}

namespace {

void write_if_new(const std::string& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(known->mutex);
  if (known->facts[key] == value) return;
  known->facts[key] = value;
  write_fact(key, value);
}

}  // namespace

void note_world() {
  if (!tracer.python) return;
  const python::World world = python::world();  // takes the GIL: before the lock
  if (world.size == 0) return;
  write_if_new("distributed.rank", std::to_string(world.rank));
  write_if_new("distributed.world_size", std::to_string(world.size));
}

void note_facts() {
  if (!tracer.python) return;
  if (tracer.step.load() > 2) return;  // settled by then
  for (const auto& [key, value] : python::facts()) write_if_new(key, value);
  note_world();
}

}  // namespace tracer
}  // namespace dtypecheck
