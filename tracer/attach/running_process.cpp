#include "tracer/attach/running_process.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "platform/elf_file.h"
#include "platform/error.h"
#include "platform/files.h"

namespace fs = std::filesystem;

namespace dtypecheck::attaching {
namespace {

constexpr const char* kStepCallbacks = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";
constexpr const char* kStartIt = "start it under dtypecheck trace instead";

std::string proc(pid_t pid, const char* what) { return fmt::format("/proc/{}/{}", pid, what); }

[[noreturn]] void refuse(pid_t pid, const std::string& why) {
  throw InputError(fmt::format("process {}: {}", pid, why));
}

// "Uid", "Seccomp", …: what stands behind the colon; "" where there is none.
std::map<std::string, std::string> status_of(const std::string& path) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(read_file_if_any(path).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(":\t");
    if (colon != line.npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return fields;
}

long number_of(const std::string& text) {
  long number = 0;
  const size_t first = text.find_first_not_of(" \t");
  if (first != text.npos) std::from_chars(text.data() + first, text.data() + text.size(), number);
  return number;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

std::string link_of(const std::string& path) {
  std::error_code none;
  return fs::read_symlink(path, none).string();
}

std::string user_name(uid_t user) {
  const passwd* entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : std::to_string(user);
}

struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  std::string permissions, path;
};

std::vector<Mapping> mappings_of(pid_t pid) {
  std::vector<Mapping> mappings;
  std::istringstream lines(read_file_if_any(proc(pid, "maps")).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    Mapping mapping;
    char dash = 0;
    std::string device, inode;
    std::istringstream in(line);
    in >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.permissions >>
        mapping.offset >> device >> inode;
    std::getline(in >> std::ws, mapping.path);
    mappings.push_back(mapping);
  }
  return mappings;
}

bool is_named(const std::string& path, std::string_view beginning) {
  const size_t slash = path.rfind('/');
  return slash != path.npos && std::string_view(path).substr(slash + 1).starts_with(beginning);
}

std::optional<Mapped> find(const std::vector<Mapping>& mappings, std::string_view beginning) {
  for (const Mapping& mapping : mappings)
    if (is_named(mapping.path, beginning))
      return Mapped{mapping.path, mapping.begin - mapping.offset};
  return std::nullopt;
}

// What a process may do that has no other filter than ours, we may.
void check_seccomp(pid_t pid, std::map<std::string, std::string>& status) {
  auto own = status_of("/proc/self/status");
  const long mode = number_of(status["Seccomp"]);
  if (mode == 0) return;
  const bool is_ours = mode == 2 && number_of(own["Seccomp"]) == 2 &&
                       number_of(own["Seccomp_filters"]) >= number_of(status["Seccomp_filters"]);
  if (!is_ours)
    refuse(pid,
           fmt::format("a seccomp filter of its own says which system calls it may make, and one "
                       "more could end it; {}",
                       kStartIt));
}

void check_owner(pid_t pid, const std::string& users) {
  std::istringstream in(users);
  for (uid_t user = 0; in >> user;) {
    if (user == ::geteuid()) continue;
    refuse(pid, fmt::format("it is of user {}, and this is {}; run this as {}", user_name(user),
                            user_name(::geteuid()), user_name(user)));
  }
}

void check_place(pid_t pid) {
  for (const char* what : {"ns/mnt", "root"}) {
    if (link_of(proc(pid, what)) != link_of(fmt::format("/proc/self/{}", what)))
      refuse(pid, "it runs in another container or root folder; run dtypecheck inside of it");
  }
}

bool is_preloaded(const std::string& environment) {
  bool has_run = false, has_preload = false;
  for (const std::string& variable : split(environment, '\0')) {
    has_run |= variable.starts_with("DTYPECHECK_RUN=");
    has_preload |= variable.starts_with("LD_PRELOAD=") &&
                   variable.find("libdtypecheck_preload") != variable.npos;
  }
  return has_run && has_preload;
}

// Before anything of it is read that its owner alone may read.
void check_state(pid_t pid) {
  if (pid <= 0 || !fs::exists(proc(pid, ""))) refuse(pid, "no process has that number");
  auto status = status_of(proc(pid, "status"));
  const std::string state = status["State"];
  if (state.starts_with('Z') || state.starts_with('X'))
    refuse(pid, "it has ended, and its parent has not collected it yet");
  if (state.starts_with('T')) refuse(pid, "it is stopped; let it go on first (kill -CONT)");
  if (pid == ::getpid()) refuse(pid, "that is this program itself");
  check_owner(pid, status["Uid"]);
  if (const long tracer = number_of(status["TracerPid"]); tracer != 0)
    refuse(pid, fmt::format("process {} traces it already, as a debugger or strace does; end that "
                            "first",
                            tracer));
  check_seccomp(pid, status);
  check_place(pid);
}

// Of programs that LibTorch may be in, and that something can be loaded into.
void check_program(pid_t pid, const std::vector<Mapping>& mappings) {
  if (mappings.empty())
    refuse(pid,
           fmt::format("the system does not let this user look into it (ptrace_scope, a program "
                       "that gave up rights, or one of the kernel's own); {}",
                       kStartIt));
  const auto program = ElfFile::open(proc(pid, "exe"));
  if (!program) refuse(pid, "its program cannot be read");
  if (program->machine() != EM_X86_64 || !program->is_64_bit())
    refuse(pid, fmt::format("it is no program for x86-64; {}", kStartIt));
  if (program->interpreter().empty() && !find(mappings, "ld-linux"))
    refuse(pid, "it is a static program, into which nothing can be loaded");
  if (find(mappings, "ld-musl") || program->interpreter().find("musl") != std::string::npos)
    refuse(pid, "its C library is musl, and dtypecheck's tracer needs glibc");
  if (!find(mappings, "libtorch_cpu.so") && !find(mappings, "libtorch.so"))
    refuse(pid, "no LibTorch is loaded into it; wait until it has imported torch");
}

const Mapping* mapping_at(const std::vector<Mapping>& mappings, uint64_t address) {
  const auto found = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
    return mapping.begin <= address && address < mapping.end;
  });
  return found == mappings.end() ? nullptr : &*found;
}

ElfFile open_library(pid_t pid, const Mapped& library) {
  auto file = ElfFile::open(library.path);
  if (!file)
    refuse(pid,
           fmt::format("{}: what it has loaded is not there any more; {}", library.path, kStartIt));
  return *std::move(file);
}

void find_slot(RunningProcess& process, const std::vector<Mapping>& mappings) {
  const auto libtorch = find(mappings, "libtorch_cpu.so");
  process.libtorch = libtorch ? *libtorch : *find(mappings, "libtorch.so");
  const ElfFile file = open_library(process.pid, process.libtorch);
  const auto slot = file.slot_address(kStepCallbacks);
  const auto real = file.symbol_address(kStepCallbacks);
  if (!slot || !real)
    refuse(process.pid,
           fmt::format("its LibTorch ({}) is built so that none can be attached to it; {}",
                       process.libtorch.path, kStartIt));
  process.slot = process.libtorch.base + *slot;
  process.real = process.libtorch.base + *real;
  // The loader adds to what the slot has while it loads LibTorch: no other value may be there then.
  uint64_t now = 0;
  if (!read_memory(process.pid, process.slot, &now, sizeof now))
    refuse(process.pid,
           fmt::format("its memory cannot be read: {}; {}", why_not_allowed(), kStartIt));
  const Mapping* code = mapping_at(mappings, now);
  if (code == nullptr || code->permissions[2] != 'x')
    refuse(process.pid, "its LibTorch is being loaded at this moment; try again");
  const Mapping* page = mapping_at(mappings, process.slot);
  process.slot_is_sealed = page == nullptr || page->permissions[1] != 'w';
}

// From glibc 2.34 on dlopen is in libc.so, before in libdl.so.
void find_dlopen(RunningProcess& process, const std::vector<Mapping>& mappings) {
  for (const char* name : {"libc.so.6", "libc-2.", "libdl.so.2", "libdl-2."}) {
    const auto library = find(mappings, name);
    if (!library) continue;
    const auto address = open_library(process.pid, *library).symbol_address("dlopen");
    if (address) process.dlopen = library->base + *address;
    if (address) return;
  }
  refuse(process.pid, fmt::format("no dlopen() was found in it; {}", kStartIt));
}

// Any place in the C library's code that reads as the instruction will do.
void find_system_call(RunningProcess& process, const std::vector<Mapping>& mappings) {
  constexpr std::string_view kInstruction("\x0f\x05", 2);
  for (const Mapping& mapping : mappings) {
    const bool is_libc = is_named(mapping.path, "libc.so.6") || is_named(mapping.path, "libc-2.");
    if (!is_libc || mapping.permissions[2] != 'x') continue;
    std::string code(mapping.end - mapping.begin, '\0');
    if (!read_memory(process.pid, mapping.begin, code.data(), code.size())) continue;
    const size_t at = code.find(kInstruction);
    if (at == code.npos) continue;
    process.system_call = mapping.begin + at;
    return;
  }
  refuse(process.pid,
         fmt::format("its memory cannot be read: {}; {}", why_not_allowed(), kStartIt));
}

}  // namespace

std::string why_not_allowed() {
  const std::string scope =
      read_file_if_any("/proc/sys/kernel/yama/ptrace_scope").value_or("0").substr(0, 1);
  if (scope == "1")
    return "this system lets a process be looked into by its parents alone "
           "(kernel.yama.ptrace_scope "
           "is 1); as root, sysctl kernel.yama.ptrace_scope=0 changes that until the next start";
  if (scope == "2" || scope == "3")
    return fmt::format("this system forbids it (kernel.yama.ptrace_scope is {})", scope);
  return "this system or container forbids ptrace (docker run --cap-add SYS_PTRACE allows it)";
}

bool read_memory(pid_t pid, uint64_t address, void* into, size_t bytes) {
  const iovec here{into, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool is_alive(pid_t pid) {
  const std::string state = status_of(proc(pid, "status"))["State"];
  return !state.empty() && state.front() != 'Z' && state.front() != 'X';
}

RunningProcess inspect_process(pid_t pid) {
  check_state(pid);
  const std::vector<Mapping> mappings = mappings_of(pid);
  if (is_preloaded(read_file_if_any(proc(pid, "environ")).value_or("")))
    refuse(pid,
           "dtypecheck trace started it, and records all of it; see dtypecheck report --follow");
  check_program(pid, mappings);
  RunningProcess process{.pid = pid};
  process.command = split(read_file_if_any(proc(pid, "cmdline")).value_or(""), '\0');
  process.folder = link_of(proc(pid, "cwd"));
  find_slot(process, mappings);
  find_dlopen(process, mappings);
  find_system_call(process, mappings);
  return process;
}

uint64_t function_in(pid_t pid, const std::string& library, const char* name) {
  const auto known = find(mappings_of(pid), fs::path(library).filename().string());
  if (!known) return 0;
  const auto address = open_library(pid, *known).symbol_address(name);
  return address ? known->base + *address : 0;
}

// The 22nd field of its line, behind a name that may have spaces, counts ticks since the system
// began.
fs::file_time_type started_at(pid_t pid) {
  const std::string line = read_file_if_any(proc(pid, "stat")).value_or("");
  const size_t name_end = line.rfind(')');
  std::istringstream in(name_end == line.npos ? "" : line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) in >> field;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto age = std::chrono::seconds(now.tv_sec) -
                   std::chrono::seconds(number_of(field) / ::sysconf(_SC_CLK_TCK));
  return fs::file_time_type::clock::now() - std::max(age, std::chrono::seconds(0));
}

std::vector<pid_t> threads_to_stop(pid_t pid) {
  // These come back with EINTR after a stop, which a program may not expect.
  constexpr std::string_view kNotRestarted[] = {"65 ",  "69 ",  "70 ",  "128 ", "208 ",
                                                "220 ", "232 ", "281 ", "333 ", "441 "};
  constexpr std::string_view kFutex = "202 ";
  std::vector<pid_t> waiting, others;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(proc(pid, "task"), none)) {
    const pid_t thread = static_cast<pid_t>(number_of(entry.path().filename().string()));
    const std::string call = read_file_if_any((entry.path() / "syscall").string()).value_or("");
    const bool is_risky =
        std::any_of(std::begin(kNotRestarted), std::end(kNotRestarted),
                    [&](std::string_view number) { return call.starts_with(number); });
    if (is_risky) continue;
    (call.starts_with(kFutex) ? waiting : others).push_back(thread);
  }
  waiting.insert(waiting.end(), others.begin(), others.end());
  return waiting;
}

}  // namespace dtypecheck::attaching
