#include "tracer/attach/inject.h"

#include <fmt/format.h>

#include <cstring>

#include "platform/error.h"

#if defined(__x86_64__)

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

extern "C" {
extern const unsigned char dtypecheck_stub[], dtypecheck_stub_store[], dtypecheck_stub_stop[],
    dtypecheck_stub_end[];
}

namespace dtypecheck::attaching {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kPage = 4096, kPages = 2 * kPage;
constexpr auto kLongestStop = 2s;  // for a thread to be stopped; one that sleeps in a device is not

bool write_memory(pid_t pid, uint64_t address, const void* from, size_t bytes) {
  const iovec here{const_cast<void*>(from), bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// A thread, stopped from here to the end of this object, which leaves it as it was.
class StoppedThread {
 public:
  static std::optional<StoppedThread> stop(pid_t thread, int* error) {
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
      *error = errno;
      return std::nullopt;
    }
    StoppedThread stopped(thread);
    if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0 || !stopped.wait_for_stop() ||
        !stopped.keep_registers())
      return std::nullopt;  // whose end lets it go
    return stopped;
  }
  ~StoppedThread() {
    if (thread_ == 0) return;
    if (has_registers_) put_registers_back();
    ::ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
  }
  StoppedThread(StoppedThread&& other) noexcept { *this = std::move(other); }
  StoppedThread& operator=(StoppedThread&& other) noexcept {
    std::swap(thread_, other.thread_);
    std::swap(has_registers_, other.has_registers_);
    std::swap(signal_, other.signal_);
    std::swap(mask_, other.mask_);
    std::swap(registers_, other.registers_);
    return *this;
  }

  // Runs from `at` until a system call has returned; its result.
  std::optional<long> run_system_call(user_regs_struct changed) {
    changed.orig_rax = ~0ull;  // what was interrupted is not to be called again by the kernel
    if (::ptrace(PTRACE_SETREGS, thread_, nullptr, &changed) != 0) return std::nullopt;
    for (int stops = 0; stops < 2;) {  // where it begins, and where it returns
      if (::ptrace(PTRACE_SYSCALL, thread_, nullptr, nullptr) != 0) return std::nullopt;
      int status = 0;
      if (!wait(&status)) return std::nullopt;
      if (WSTOPSIG(status) == (SIGTRAP | 0x80))
        ++stops;
      else if (status >> 16 == 0)
        signal_ = WSTOPSIG(status);  // it gets that when it is let go
    }
    user_regs_struct after;
    if (::ptrace(PTRACE_GETREGS, thread_, nullptr, &after) != 0) return std::nullopt;
    return static_cast<long>(after.rax);
  }

  const user_regs_struct& registers() const { return registers_; }

 private:
  explicit StoppedThread(pid_t thread) : thread_(thread) {}

  bool wait(int* status) {
    pid_t got = 0;
    do got = ::waitpid(thread_, status, __WALL);
    while (got < 0 && errno == EINTR);
    if (got == thread_ && WIFSTOPPED(*status)) return true;
    thread_ = 0;  // it has ended
    return false;
  }

  bool wait_for_stop() {
    const auto deadline = std::chrono::steady_clock::now() + kLongestStop;
    while (std::chrono::steady_clock::now() < deadline) {
      int status = 0;
      const pid_t got = ::waitpid(thread_, &status, __WALL | WNOHANG);
      if (got == thread_ && !WIFSTOPPED(status)) {
        thread_ = 0;
        return false;
      }
      if (got == thread_ && status >> 16 == PTRACE_EVENT_STOP) return true;
      if (got == thread_)  // a signal came first: it takes that, and is stopped then
        ::ptrace(PTRACE_CONT, thread_, nullptr, WSTOPSIG(status));
      std::this_thread::sleep_for(50us);
    }
    return false;
  }

  // No handler of the program's runs meanwhile.
  bool keep_registers() {
    constexpr uint64_t kAll = ~0ull;
    if (::ptrace(PTRACE_GETREGS, thread_, nullptr, &registers_) != 0 ||
        ::ptrace(PTRACE_GETSIGMASK, thread_, sizeof mask_, &mask_) != 0 ||
        ::ptrace(PTRACE_SETSIGMASK, thread_, sizeof kAll, &kAll) != 0)
      return false;
    has_registers_ = true;
    return true;
  }

  // The kernel would have called what it interrupted again: where the thread has been elsewhere
  // meanwhile that is done by hand, as the kernel does it.
  void put_registers_back() {
    constexpr long kRestart = -512, kRestartNoInterrupt = -513, kRestartNoHandler = -514,
                   kRestartBlock = -516;
    const long result = static_cast<long>(registers_.rax);
    const bool was_in_call = static_cast<long>(registers_.orig_rax) >= 0;
    if (was_in_call && (result == kRestart || result == kRestartNoInterrupt ||
                        result == kRestartNoHandler || result == kRestartBlock)) {
      registers_.rax = result == kRestartBlock ? SYS_restart_syscall : registers_.orig_rax;
      registers_.rip -= 2;
    }
    registers_.orig_rax = ~0ull;
    ::ptrace(PTRACE_SETREGS, thread_, nullptr, &registers_);
    ::ptrace(PTRACE_SETSIGMASK, thread_, sizeof mask_, &mask_);
  }

  pid_t thread_ = 0;
  bool has_registers_ = false;
  long signal_ = 0;
  uint64_t mask_ = 0;
  user_regs_struct registers_{};
};

// Nothing ends this program while a thread of the other one is not where it was.
class UninterruptedScope {
 public:
  UninterruptedScope() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~UninterruptedScope() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  UninterruptedScope(const UninterruptedScope&) = delete;

 private:
  sigset_t before_{};
};

[[noreturn]] void refuse(const RunningProcess& process, const std::string& why) {
  throw InputError(fmt::format("process {}: {}", process.pid, why));
}

StoppedThread stop_a_thread(const RunningProcess& process) {
  int error = 0;
  for (const pid_t thread : threads_to_stop(process.pid)) {
    if (auto stopped = StoppedThread::stop(thread, &error)) return *std::move(stopped);
    if (error == EPERM) refuse(process, why_not_allowed());
  }
  if (!is_alive(process.pid)) refuse(process, "it has ended");
  refuse(process, "none of its threads could be stopped for a moment; try again");
}

long system_call(const RunningProcess& process, StoppedThread& thread, long number, uint64_t a = 0,
                 uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0, uint64_t f = 0) {
  user_regs_struct registers = thread.registers();
  registers.rip = process.system_call;
  registers.rax = static_cast<uint64_t>(number);
  registers.rdi = a, registers.rsi = b, registers.rdx = c;
  registers.r10 = d, registers.r8 = e, registers.r9 = f;
  const auto result = thread.run_system_call(registers);
  if (!result) refuse(process, "it has ended");
  return *result;
}

void make_writable(const RunningProcess& process, StoppedThread& thread, bool writable) {
  if (!process.slot_is_sealed) return;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  system_call(process, thread, SYS_mprotect, process.slot & ~(kPage - 1), kPage,
              static_cast<uint64_t>(protection));
}

// Stores data.value in the slot where that has data.expected.
bool store(const RunningProcess& process, StoppedThread& thread, uint64_t page, StubData& data) {
  if (!write_memory(process.pid, page + kPage, &data, offsetof(StubData, found))) return false;
  make_writable(process, thread, true);
  user_regs_struct registers = thread.registers();
  registers.rip = page + static_cast<uint64_t>(dtypecheck_stub_store - dtypecheck_stub);
  const auto done = thread.run_system_call(registers);
  make_writable(process, thread, false);
  return done &&
         read_memory(process.pid, page + kPage + offsetof(StubData, found), &data.found,
                     sizeof data.found) &&
         data.found == data.expected;
}

}  // namespace

Injection::Injection(const RunningProcess& process, const std::string& library, uint64_t offset,
                     uint64_t address, const std::vector<std::string>& arguments)
    : process_(process) {
  uint64_t now = 0;
  if (!read_memory(process.pid, process.slot, &now, sizeof now)) refuse(process, why_not_allowed());
  const UninterruptedScope to_end;
  StoppedThread thread = stop_a_thread(process);
  const long made = system_call(process, thread, SYS_mmap, 0, kPages, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0);
  if (made < 0 && made > -4096)
    refuse(process, fmt::format("no memory could be made in it: {}",
                                std::strerror(static_cast<int>(-made))));
  page_ = static_cast<uint64_t>(made);

  // A slot that was never used leads to the loader, which would put the function's address there.
  const auto in_libtorch = [&](uint64_t at) {
    return at >= process.libtorch.base && at < process.slot;
  };
  data_.original = in_libtorch(now) ? process.real : now;
  data_.slot = process.slot;
  data_.expected = now;
  data_.value = page_;
  data_.dlopen = process.dlopen;
  data_.offset = offset;
  data_.function = address;
  std::string texts;
  const uint64_t texts_at = page_ + kPage + sizeof data_;
  const auto add_text = [&](const std::string& text) {
    const uint64_t at = texts_at + texts.size();
    texts.append(text.c_str(), text.size() + 1);
    return at;
  };
  data_.path = add_text(library);
  for (size_t i = 0; i < arguments.size() && i < std::size(data_.arguments); ++i)
    data_.arguments[i] = add_text(arguments[i]);

  const auto code_bytes = static_cast<size_t>(dtypecheck_stub_end - dtypecheck_stub);
  const bool is_written =
      texts.size() + sizeof data_ <= kPage &&
      write_memory(process.pid, page_, dtypecheck_stub, code_bytes) &&
      write_memory(process.pid, page_ + kPage, &data_, sizeof data_) &&
      write_memory(process.pid, texts_at, texts.data(), texts.size()) &&
      system_call(process, thread, SYS_mprotect, page_, kPage, PROT_READ | PROT_EXEC) == 0;
  if (!is_written || !store(process, thread, page_, data_)) {
    system_call(process, thread, SYS_munmap, page_, kPages);
    refuse(process, is_written
                        ? "another tool changed how LibTorch is watched at this moment; try again"
                        : "this system forbids new code in a program that runs");
  }
}

StubState Injection::state() {
  StubData now;
  if (read_memory(process_.pid, page_ + kPage, &now, sizeof now)) {
    data_.result = now.result;
    data_.state = now.state;
  }
  return static_cast<StubState>(data_.state);
}

void Injection::take_back() {
  const UninterruptedScope to_end;
  try {
    StoppedThread thread = stop_a_thread(process_);
    StubData back = data_;
    back.expected = page_;
    back.value = data_.original;
    store(process_, thread, page_, back);
  } catch (const InputError&) {
    // It has ended, or cannot be stopped: what stands there goes on to LibTorch's own function.
  }
}

}  // namespace dtypecheck::attaching

#else

namespace dtypecheck::attaching {

Injection::Injection(const RunningProcess& process, const std::string&, uint64_t, uint64_t,
                     const std::vector<std::string>&) {
  throw InputError(
      fmt::format("process {}: a program that is already running can be attached to on x86-64 "
                  "alone; start it under dtypecheck trace instead",
                  process.pid));
}
StubState Injection::state() { return StubState::kWaiting; }
void Injection::take_back() {}

}  // namespace dtypecheck::attaching

#endif
