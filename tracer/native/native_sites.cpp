// native_sites.cpp: hot file: scan_key() does no allocation, no formatting, no virtual call.
#include "tracer/native/native_sites.h"

#include <link.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>
#include <unwind.h>

#include "tracer/native/frame_rule.h"
#include "tracer/native/user_code.h"

// The walk reads words that a sanitizer may have put between its redzones.
#define DTYPECHECK_READS_STACK __attribute__((no_sanitize_address, no_sanitize_thread))

namespace dtypecheck::tracer::native {
namespace {

// The table: return address -> whose code it is, and how to get to its caller. Open addressing,
// read without a lock: the rule is stored before the address that makes it visible.
struct Slot {
  uint64_t address;  // 0: free; kUser in the top bit
  uint64_t rule;     // a FrameRule
};
constexpr uint64_t kUser = uint64_t{1} << 63;
constexpr int kSlotBits = 14;
constexpr uint32_t kSlots = 1u << kSlotBits;
constexpr uint32_t kMaxEntries = kSlots / 2;

Slot g_table[kSlots];
uint32_t g_entries = 0;           // with the lock
unsigned long long g_closed = 0;  // libraries closed so far; with the lock
pid_t g_learner = 0;              // the lock: the process of the thread that holds it
uint64_t g_epoch = 0;             // how often the table was emptied
uint64_t g_unwinds = 0;
bool g_is_below_python = false;
unsigned long long g_loaded = 0;  // libraries loaded so far, when extensions were looked for
bool g_has_extensions = false;

struct Entry {
  bool known, is_user;
  FrameRule rule;
};

// Return addresses are odd enough to need no better hash, and a frame waits for this one.
uint32_t slot_of(uint64_t address) {
  return static_cast<uint32_t>(address ^ address >> kSlotBits) & (kSlots - 1);
}

inline __attribute__((always_inline)) Entry find(uint64_t address) {
  for (uint32_t i = slot_of(address);; i = (i + 1) & (kSlots - 1)) {
    const uint64_t found = __atomic_load_n(&g_table[i].address, __ATOMIC_ACQUIRE);
    if ((found & ~kUser) == address && found != 0) {
      const uint64_t rule = __atomic_load_n(&g_table[i].rule, __ATOMIC_RELAXED);
      return {true, (found & kUser) != 0, FrameRule::from_word(rule)};
    }
    if (found == 0) return {false, false, FrameRule()};
  }
}

void forget_all() {
  for (Slot& slot : g_table) __atomic_store_n(&slot.address, 0, __ATOMIC_RELAXED);
  g_entries = 0;
  __atomic_fetch_add(&g_epoch, 1, __ATOMIC_RELAXED);
}

int forget_if_closed(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_subs != g_closed) {
    g_closed = info->dlpi_subs;
    forget_all();
  }
  return 1;
}

void insert(uint64_t address, const Entry& entry) {
  if (g_entries == kMaxEntries) forget_all();
  uint32_t i = slot_of(address);
  for (; g_table[i].address != 0; i = (i + 1) & (kSlots - 1)) {
    if ((g_table[i].address & ~kUser) == address) return;
  }
  __atomic_store_n(&g_table[i].rule, entry.rule.word(), __ATOMIC_RELAXED);
  __atomic_store_n(&g_table[i].address, address | (entry.is_user ? kUser : 0), __ATOMIC_RELEASE);
  ++g_entries;
}

// Nobody waits: while another thread learns, an address stays unknown until the next time. What a
// thread held at a fork is not held in the child.
bool try_lock() {
  const pid_t self = getpid();
  pid_t holder = __atomic_load_n(&g_learner, __ATOMIC_RELAXED);
  return holder != self && __atomic_compare_exchange_n(&g_learner, &holder, self, false,
                                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
void unlock() { __atomic_store_n(&g_learner, 0, __ATOMIC_RELEASE); }

__attribute__((noinline)) Entry learn(uint64_t address) {
  const Owner owner = owner_of(address);
  const bool is_last = g_is_below_python && owner == Owner::kInterpreter;
  const Entry entry = {true, owner == Owner::kUser,
                       is_last ? FrameRule(FrameRule::kOutermost) : find_frame_rule(address)};
  if (try_lock()) {
    dl_iterate_phdr(forget_if_closed, nullptr);
    insert(address, entry);
    unlock();
  }
  return entry;
}

// A hash of the user's return addresses, nearest first.
struct Key {
  uint64_t hash = 0;
  int frames = 0;

  bool full() const { return frames == kKeyFrames; }
  void add(uint64_t address, bool is_user) {
    uint64_t next = (hash ^ address) * 0x9FB21C651E98DF25u;
    next ^= next >> 32;
    hash = is_user ? next : hash;
    frames += is_user;
  }
  // An address may mean something else after a library was closed: the epoch makes all keys new.
  uint64_t value() const {
    if (frames == 0) return 0;
    const uint64_t key = hash + __atomic_load_n(&g_epoch, __ATOMIC_RELAXED);
    return key != 0 ? key : 1;
  }
};

struct Stack {
  uint64_t begin, end;
  bool contains(uint64_t p) const { return p >= begin && p < end; }
};
// Not initial-exec: a library that is opened late may find no static TLS left.
__thread Stack t_stack;

Stack ask_for_stack() {
  const Stack unknown = {0, 1};  // contains nothing, and is not asked for again
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return unknown;
  void* begin = nullptr;
  size_t size_bytes = 0;
  const bool known = pthread_attr_getstack(&attributes, &begin, &size_bytes) == 0;
  pthread_attr_destroy(&attributes);
  const uint64_t first = reinterpret_cast<uint64_t>(begin);
  return known ? Stack{first, first + size_bytes} : unknown;
}

const Stack& this_stack() {
  Stack& stack = t_stack;
  if (__builtin_expect(stack.end == 0, 0)) stack = ask_for_stack();
  return stack;
}

// The registers in a frame after the call that it is in has returned to `address`.
struct StackFrame {
  uint64_t address, sp, fp;
};

// Walks up the calling thread's stack, and reads nothing outside of [first sp, limit).
class StackWalk {
 public:
  StackWalk(StackFrame start, uint64_t limit) : frame_(start), lowest_(start.sp), limit_(limit) {}

  // False when a frame has to be unwound for good.
  bool collect(Key* key) {
    for (;;) {
      Entry entry = find(frame_.address);
      if (__builtin_expect(!entry.known, 0)) entry = learn(frame_.address);
      key->add(frame_.address, entry.is_user);
      if (key->full() || entry.rule.base() == FrameRule::kOutermost) return true;
      if (entry.rule.base() == FrameRule::kUnknown) return false;
      if (!go_up(entry.rule)) return true;
    }
  }

 private:
  DTYPECHECK_READS_STACK bool load(uint64_t at, uint64_t* word) const {
    if (at < lowest_ || at > limit_ - 8 || at % 8 != 0) return false;
    *word = *reinterpret_cast<const uint64_t*>(at);
    return true;
  }

  bool find_cfa(const FrameRule& rule, uint64_t* cfa) const {
    const uint64_t base = rule.base() == FrameRule::kStackPointer ? frame_.sp : frame_.fp;
    *cfa = base + rule.offset_bytes();
    return rule.base() != FrameRule::kAtFramePointer || load(*cfa, cfa);
  }

  // False at the limit.
  bool go_up(const FrameRule& rule) {
    StackFrame caller = frame_;
    if (!find_cfa(rule, &caller.sp) || caller.sp <= frame_.sp) return false;
    // Loaded in any case: whether a frame saved the register is a branch that no processor
    // predicts.
    uint64_t saved;
    const uint64_t base = rule.saved() == FrameRule::kSavedAtFramePointer ? frame_.fp : caller.sp;
    if (!load(base + rule.saved_bytes(), &saved)) return false;
    caller.fp = rule.saved() == FrameRule::kUnchanged ? frame_.fp : saved;
    if (!load(caller.sp - 8, &caller.address)) return false;
    frame_ = caller;
    return true;
  }

  StackFrame frame_;
  const uint64_t lowest_, limit_;
};

struct Unwound {
  static constexpr int kRoom = 192;
  uint64_t addresses[kRoom], sps[kRoom];
  int count = 0;
};

_Unwind_Reason_Code collect(_Unwind_Context* context, void* argument) {
  Unwound& unwound = *static_cast<Unwound*>(argument);
  if (unwound.count == Unwound::kRoom) return _URC_NORMAL_STOP;
  unwound.addresses[unwound.count] = _Unwind_GetIP(context);
  unwound.sps[unwound.count++] = _Unwind_GetCFA(context);
  return _URC_NO_REASON;
}

bool is_user(uint64_t address) {
  const Entry entry = find(address);
  return entry.known ? entry.is_user : owner_of(address) == Owner::kUser;
}

bool is_end(uint64_t address) {
  return g_is_below_python && owner_of(address) == Owner::kInterpreter;
}

__attribute__((noinline)) Key key_by_unwinding(uint64_t start_sp, uint64_t limit) {
  Unwound unwound;
  _Unwind_Backtrace(collect, &unwound);
  Key key;
  for (int i = 0; i < unwound.count && !key.full(); ++i) {
    const bool in_range = unwound.sps[i] >= start_sp && unwound.sps[i] <= limit;
    if (is_end(unwound.addresses[i])) break;
    if (in_range) key.add(unwound.addresses[i], is_user(unwound.addresses[i]));
  }
  return key;
}

}  // namespace

__attribute__((noinline)) DTYPECHECK_READS_STACK uint64_t scan_key(uint32_t limit_bytes) {
  // This function has a frame pointer, since it asks for it: the caller's is saved there, and the
  // return address above it.
  const uint64_t* own = static_cast<const uint64_t*>(__builtin_frame_address(0));
  const StackFrame start = {own[1], reinterpret_cast<uint64_t>(own + 2), own[0]};
  const Stack& stack = this_stack();
  if (!stack.contains(start.sp)) return 0;
  const uint64_t room = stack.end - start.sp;
  const uint64_t limit = start.sp + (limit_bytes < room ? limit_bytes : room);
  Key key;
  if (!StackWalk(start, limit).collect(&key)) {
    __atomic_fetch_add(&g_unwinds, 1, __ATOMIC_RELAXED);
    key = key_by_unwinding(start.sp, limit);
  }
  return key.value();
}

uint64_t unwound_key() {
  const uint64_t sp = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16;
  return key_by_unwinding(sp, ~uint64_t{0}).value();
}

void start() {
  learn_program_path();
  Unwound unwound;
  _Unwind_Backtrace(collect, &unwound);  // the first one allocates
  rescan();
}

void start_below_python() {
  g_is_below_python = true;
  count_extensions_alone();
  start();
}

bool has_extensions() { return __atomic_load_n(&g_has_extensions, __ATOMIC_RELAXED); }

static int count_loaded(dl_phdr_info* info, size_t, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_adds;
  return 1;
}

void look_for_extensions() {
  if (has_extensions()) return;
  unsigned long long loaded = 0;
  dl_iterate_phdr(count_loaded, &loaded);
  if (__atomic_exchange_n(&g_loaded, loaded, __ATOMIC_RELAXED) == loaded) return;
  if (is_extension_loaded()) __atomic_store_n(&g_has_extensions, true, __ATOMIC_RELAXED);
}

void rescan() {
  if (!try_lock()) return;
  dl_iterate_phdr(forget_if_closed, nullptr);
  unlock();
}

int unwind(uint64_t* addresses, int room) {
  Unwound unwound;
  _Unwind_Backtrace(collect, &unwound);
  int count = 0;
  for (int i = 0; i < unwound.count && count < room; ++i) {
    const Owner owner = owner_of(unwound.addresses[i]);
    if (g_is_below_python && owner == Owner::kInterpreter) break;
    if (owner == Owner::kUser) addresses[count++] = unwound.addresses[i];
  }
  return count;
}

int unwind_all(uint64_t* addresses, int room, int* users) {
  Unwound unwound;
  _Unwind_Backtrace(collect, &unwound);
  int count = 0;
  *users = 0;
  while (count < unwound.count && count < room && !is_end(unwound.addresses[count])) {
    addresses[count] = unwound.addresses[count];
    if (owner_of(addresses[count++]) == Owner::kUser) *users = count;
  }
  return count;
}

uint64_t scan_unwinds() { return __atomic_load_n(&g_unwinds, __ATOMIC_RELAXED); }

}  // namespace dtypecheck::tracer::native
