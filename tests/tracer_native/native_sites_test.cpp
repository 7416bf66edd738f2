#include "tracer/native/native_sites.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer_native/observer.h"

namespace native = dtypecheck::tracer::native;

#define FRAME __attribute__((noinline))

namespace {

uint64_t key_of_op(int pad_bytes = 16, int moving_bytes = 0) {
  Observed observed;
  fake_op(&observed, pad_bytes, moving_bytes, moving_bytes > 0 ? kMoving : kPlain);
  CHECK(observed.key == observed.unwound_key);
  return observed.key;
}

FRAME std::vector<uint64_t> two_lines(int pad_bytes, int moving_bytes) {
  Observed first, second;
  fake_op(&first, pad_bytes, moving_bytes, moving_bytes > 0 ? kMoving : kPlain);
  fake_op(&second, pad_bytes, moving_bytes, moving_bytes > 0 ? kMoving : kPlain);
  return {first.key, second.key};
}

// Leaves its return addresses in 8 kB of stack below the caller.
FRAME int litter(int depth) {
  volatile int here = depth;
  if (depth > 0) here = here + litter(depth - 1);
  return here;
}

FRAME int litter_otherwise(int depth) {
  volatile int here[9] = {depth};
  if (depth > 0) here[0] = here[0] + litter_otherwise(depth - 1);
  return here[0];
}

std::string name_of_file(uint64_t address) {
  native::Mapping mapping;
  if (!native::find_mapping(address, &mapping)) return "";
  const std::string path = mapping.path;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

TEST_CASE("a line has one key however often it runs") {
  std::set<uint64_t> keys;
  for (int i = 0; i < 100; ++i) keys.insert(key_of_op());
  CHECK(keys.size() == 1);
  CHECK(keys.count(0) == 0);
}

TEST_CASE("every kind of frame is walked without a real unwind") {
  const uint64_t before = native::scan_unwinds();
  for (Frames frames : {kPlain, kMoving, kAligned, kAlignedMoving}) {
    INFO(frames);
    Observed observed;
    fake_op(&observed, 1024, 48, frames);
    CHECK(observed.key != 0);
    CHECK(observed.key == observed.unwound_key);
  }
  CHECK(native::scan_unwinds() == before);
}

TEST_CASE("two lines of a function at the same stack depth have two keys") {
  const std::vector<uint64_t> keys = two_lines(16, 0);
  CHECK(keys[0] != keys[1]);
  CHECK(keys[0] != 0);
}

TEST_CASE("return addresses of calls that are over change no key and hide no line") {
  std::set<uint64_t> firsts, seconds;
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) litter(100);
    if (i % 3 == 0) litter_otherwise(60);
    const std::vector<uint64_t> keys = two_lines(4096, 0);
    firsts.insert(keys[0]);
    seconds.insert(keys[1]);
  }
  CHECK(firsts.size() == 1);
  CHECK(seconds.size() == 1);
  CHECK(*firsts.begin() != *seconds.begin());
}

TEST_CASE("frames of changing size below the user's are walked") {
  std::set<uint64_t> firsts, seconds;
  for (int moving_bytes : {8, 64, 1000, 200, 64, 8, 1000}) {
    const std::vector<uint64_t> keys = two_lines(16, moving_bytes);
    firsts.insert(keys[0]);
    seconds.insert(keys[1]);
  }
  CHECK(firsts.size() == 1);
  CHECK(seconds.size() == 1);
  CHECK(*firsts.begin() != *seconds.begin());
}

TEST_CASE("more frame sizes than are remembered still give the right key") {
  std::set<uint64_t> firsts, seconds;
  for (int moving_bytes = 16; moving_bytes < 16 * 40; moving_bytes += 16) {
    const std::vector<uint64_t> keys = two_lines(16, moving_bytes);
    firsts.insert(keys[0]);
    seconds.insert(keys[1]);
  }
  CHECK(firsts.size() == 1);
  CHECK(seconds.size() == 1);
}

TEST_CASE("the limit bounds how far up is looked") {
  Observed observed;
  for (uint32_t limit_bytes : {64u, 1024u, 16384u}) {
    observed.limit_bytes = limit_bytes;
    fake_op(&observed, 4096, 0, kPlain);
    CHECK((observed.key != 0) == (limit_bytes > 4096));
  }
}

static Observed g_on_small_stack;
static void* op_on_small_stack(void*) {
  fake_op(&g_on_small_stack, 16, 0, kAligned);
  fake_op(&g_on_small_stack, 16, 300, kAlignedMoving);
  g_on_small_stack.unwinds = true;
  fake_op(&g_on_small_stack, 4096, 0, kPlain);
  return nullptr;
}

TEST_CASE("nothing above the stack of a small thread is read") {
  // The page above the stack faults when it is touched.
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
#ifdef __SANITIZE_THREAD__
  const size_t stack_bytes = 2 << 20;  // its run time takes up to half of that for itself
#else
  const size_t stack_bytes = 64 << 10;
#endif
  char* memory = static_cast<char*>(
      mmap(nullptr, stack_bytes + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(mprotect(memory + page_bytes, stack_bytes, PROT_READ | PROT_WRITE) == 0);
  for (int i = 0; i < 3; ++i) {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstack(&attributes, memory + page_bytes, stack_bytes) == 0);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, &attributes, op_on_small_stack, nullptr) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
    pthread_attr_destroy(&attributes);
    CHECK(g_on_small_stack.key != 0);
    CHECK(g_on_small_stack.key == g_on_small_stack.unwound_key);
    CHECK(!g_on_small_stack.addresses.empty());
  }
  munmap(memory, stack_bytes + 2 * page_bytes);
}

TEST_CASE("unwind gives the program's own return addresses, nearest first") {
  Observed observed;
  observed.unwinds = true;
  fake_op(&observed, 1024, 0, kPlain);
  REQUIRE(observed.addresses.size() >= 2);
  // The first lies in this test's own function: between it and libtorch_cpu.so there is no other
  // frame of the program.
  Dl_info info;
  REQUIRE(dladdr(reinterpret_cast<void*>(observed.addresses[0]), &info) != 0);
  for (uint64_t address : observed.addresses)
    CHECK(name_of_file(address) == "test_tracer_native_sites");
}

TEST_CASE("a user's library is user code, and closing it makes all keys new") {
  void* library = dlopen(DTYPECHECK_USER_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  void (*step)(void*) = reinterpret_cast<void (*)(void*)>(dlsym(library, "plugin_step"));
  REQUIRE(step != nullptr);
  Observed observed;
  observed.unwinds = true;
  step(&observed);
  REQUIRE(!observed.addresses.empty());
  CHECK(name_of_file(observed.addresses[0]) == "libuser_plugin.so");
  native::Mapping mapping;
  REQUIRE(native::find_mapping(observed.addresses[0], &mapping));
  CHECK(mapping.begin <= observed.addresses[0]);
  CHECK(observed.addresses[0] < mapping.end);
  CHECK(mapping.path[0] == '/');

  std::vector<uint64_t> keys;
  for (int i = 0; i < 2; ++i) {
    keys.push_back(key_of_op());
    if (i == 0) dlclose(library);
    native::rescan();
  }
  CHECK(keys[0] != keys[1]);
  CHECK(keys[1] != 0);
}

TEST_CASE("an address in no file has no mapping") {
  native::Mapping mapping;
  int local = 0;
  CHECK_FALSE(native::find_mapping(reinterpret_cast<uint64_t>(&local), &mapping));
  CHECK_FALSE(native::find_mapping(0, &mapping));
}

TEST_CASE("a forked child goes on with the same keys") {
  void* memory = mmap(nullptr, 2 * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  volatile uint64_t* keys = static_cast<uint64_t*>(memory);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  keys[child == 0] = key_of_op();  // in both processes
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(keys[0] != 0);
  CHECK(keys[0] == keys[1]);
  munmap(memory, 2 * sizeof(uint64_t));
}

TEST_CASE("threads share what was learned") {
  std::vector<std::set<uint64_t>> keys(4);
  std::vector<std::thread> threads;
  for (std::set<uint64_t>& own : keys) {
    threads.emplace_back([&own] {  // Catch's macros are for one thread alone
      Observed observed;
      for (int i = 0; i < 2000; ++i) {
        fake_op(&observed, i % 2 ? 16 : 1024, 48, i % 7 ? kPlain : kMoving);
        own.insert(observed.key);
        own.insert(observed.unwound_key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::set<uint64_t>& own : keys) {
    CHECK(own == keys[0]);
    CHECK(own.size() == 1);
  }
}

TEST_CASE("files are distinguished by name") {
  const auto [path, is_user] = GENERATE(table<const char*, bool>({
      {"/opt/trainer/libsdxl_kernels.so", true},
      {"/home/me/torch/lib/libmine.so", true},  // a folder called torch is not yet LibTorch
      {"/usr/local/lib/libmymodel.so.2", true},
      {"/usr/local/lib/libcuda_layer_norm.so", true},
      {"/home/me/build/fused_rms.cpython-311-x86_64-linux-gnu.so", true},
      {"/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", false},
      {"/v/lib/python3.11/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so", false},
      {"/v/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12", false},
      {"/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13", false},
      {"/opt/libtorch/lib/libgomp-a34b3233.so.1", false},
      {"/lib/x86_64-linux-gnu/libc.so.6", false},
      {"/lib/x86_64-linux-gnu/libm.so.6", false},
      {"/lib64/ld-linux-x86-64.so.2", false},
      {"linux-vdso.so.1", false},
      {"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", false},
      {"/opt/dtypecheck/lib/libdtypecheck_preload.so", false},
      {"/usr/lib/x86_64-linux-gnu/libasan.so.8", false},
  }));
  INFO(path);
  CHECK(native::is_user_file(path) == is_user);
}
