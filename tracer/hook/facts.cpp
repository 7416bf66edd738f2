// facts.cpp: see facts.h. Nothing here is asked for on the hot path.
#include "tracer/hook/facts.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "core/launch.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/pretended.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/in_float.h"

namespace dtypecheck::tracer {
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

void write_variables() {
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const size_t sign = text.find('=');
    if (sign == text.npos || text.size() > 1024 || !is_kept(text.substr(0, sign))) continue;
    write_fact(FactKey::kEnv, text.substr(0, sign), std::string(text.substr(sign + 1)));
  }
}

struct Known {
  std::mutex mutex;
  std::map<FactKey, std::string> facts;
};
Known* known = new Known;

}  // namespace

void write_fact(FactKey key, const std::string& value) { write_fact(key, {}, value); }

void write_fact(FactKey family, std::string_view rest, const std::string& value) {
  const uint32_t key_id = intern(fact_name(family, rest)), value_id = intern(value);
  auto* record = tracer.file.reserve<trace::FactRecord>(trace::RecordKind::kFact);
  if (!record) return;
  record->key = key_id;
  record->value = value_id;
  tracer.file.commit(record->header);
}

void forget_facts() {
  known = new Known;
}  // the old one may have been locked, or half changed, by a thread that is no more

void write_facts_at_start() {
  write_fact(FactKey::kArgv, command_line());
  write_fact(FactKey::kExecutable, link_target("/proc/self/exe"));
  write_fact(FactKey::kFolder, link_target("/proc/self/cwd"));
  write_fact(FactKey::kLibtorchPath, tracer.stage1->libtorch_path);
  if (tracer.options.in_float) write_fact(FactKey::kInFloat, keep_going::modules_in_float());
  write_pretended_facts();
  write_variables();
}

namespace {

void write_if_new(FactKey key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(known->mutex);
  if (known->facts[key] == value) return;
  known->facts[key] = value;
  write_fact(key, value);
}

}  // namespace

void write_kills() {
  const DtypecheckStage1& stage1 = *tracer.stage1;
  const int count = __atomic_load_n(stage1.kill_count, __ATOMIC_RELAXED);
  for (int i = 0; i < count && i < DTYPECHECK_MOST_KILLS; ++i) {
    const DtypecheckKill& kill = stage1.kills[i];
    if (kill.by == getpid() && kill.signal != 0)
      write_fact(FactKey::kKilled, std::to_string(kill.pid), std::to_string(kill.signal));
  }
}

void note_world() {
  if (!tracer.python) return;
  const python::World world = python::world();  // takes the GIL: before the lock
  if (world.size == 0) return;
  write_if_new(FactKey::kRank, std::to_string(world.rank));
  write_if_new(FactKey::kWorldSize, std::to_string(world.size));
}

void note_facts() {
  if (!tracer.python) return;
  if (tracer.step.load() > 2) return;  // settled by then
  for (const auto& [key, value] : python::facts()) write_if_new(key, value);
  note_world();
}

}  // namespace dtypecheck::tracer
