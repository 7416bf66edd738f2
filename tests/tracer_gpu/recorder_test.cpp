// Stage 3 over the pretended CUDA and its CUPTI: what it makes of launches and records, and that it
// steps back. CUPTI's functions that this program defines stand in front of the pretended ones.
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tracer/gpu/gpu.h"

// Of tracer/pretended/, beside CUDA's own.
extern "C" {
void __cudaRegisterFunction(void**, const void*, char*, const char*);
void dtypecheck_pretended_work_takes(uint64_t);
}

namespace {

std::map<std::string, int> calls, results;
std::atomic<size_t> lost{0};                      // asked for by any thread
uint32_t version = 0, correlation = 0, kind = 0;  // where they are not 0, records say so

template <typename Function>
Function* pretended(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define IN_FRONT(name, parameters, arguments)                                     \
  extern "C" __attribute__((visibility("default"))) CUptiResult name parameters { \
    ++calls[#name];                                                               \
    if (const int result = results[#name]) return CUptiResult(result);            \
    return pretended(#name, &name) arguments;                                     \
  }
IN_FRONT(cuptiSubscribe,
         (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc function, void* user),
         (subscriber, function, user))
IN_FRONT(cuptiUnsubscribe, (CUpti_SubscriberHandle subscriber), (subscriber))
IN_FRONT(cuptiActivityEnable, (CUpti_ActivityKind of), (of))
IN_FRONT(cuptiActivityFlushAll, (uint32_t flags), (flags))
IN_FRONT(cuptiActivityRegisterCallbacks,
         (CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete),
         (request, complete))
IN_FRONT(cuptiEnableCallback,
         (uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
          CUpti_CallbackId id),
         (enable, subscriber, domain, id))
IN_FRONT(cuptiFinalize, (), ())

extern "C" __attribute__((visibility("default"))) CUptiResult cuptiGetVersion(uint32_t* found) {
  if (version == 0) return pretended("cuptiGetVersion", &cuptiGetVersion)(found);
  *found = version;
  return CUPTI_SUCCESS;
}
extern "C" __attribute__((visibility("default"))) CUptiResult
cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (const int result = results["cuptiActivityGetNextRecord"]) return CUptiResult(result);
  // The size of a record goes by its kind.
  if (*record && kind) (*record)->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  const CUptiResult found =
      pretended("cuptiActivityGetNextRecord", &cuptiActivityGetNextRecord)(buffer, valid, record);
  if (found != CUPTI_SUCCESS) return found;
  if (kind) (*record)->kind = CUpti_ActivityKind(kind);
  if (correlation) reinterpret_cast<CUpti_ActivityKernel10*>(*record)->correlationId = correlation;
  return found;
}
extern "C" __attribute__((visibility("default"))) CUptiResult
cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
  *count = lost.exchange(0);
  return CUPTI_SUCCESS;
}

namespace {

void reset() {
  calls.clear();
  results.clear();
  version = correlation = kind = 0;
}

void launch(const char* kernel, uint64_t time_ns, cudaStream_t stream = nullptr) {
  __cudaRegisterFunction(nullptr, kernel, nullptr, kernel);
  dtypecheck_pretended_work_takes(time_ns);
  cudaLaunchKernel(kernel, {1, 1, 1}, {32, 1, 1}, nullptr, 0, stream);
}
void copy(uint64_t bytes) {
  cudaMemcpyAsync(nullptr, nullptr, bytes, cudaMemcpyHostToDevice, nullptr);
}

uint32_t op_now = 0;
std::vector<DtypecheckGpuWork> taken;
std::vector<std::string> complaints;

const DtypecheckGpuHost kHost = {
    DTYPECHECK_GPU_ABI,
    [] { return op_now; },
    [](const DtypecheckGpuWork* work) { taken.push_back(*work); },
    [](const char* line) { complaints.push_back(line); },
};

// A copy of the library each, since it is made to start once a process.
const DtypecheckGpu& stage3() {
  static void* library = dlopen(DTYPECHECK_GPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  return *reinterpret_cast<DtypecheckGpuEntry>(dlsym(library, DTYPECHECK_GPU_ENTRY))();
}

struct Recording {
  Recording() {
    reset();
    op_now = 0;
    taken.clear();
    complaints.clear();
    result = stage3().start(&kHost);
  }
  ~Recording() { stage3().stop(); }
  DtypecheckGpuLosses flush() {
    DtypecheckGpuLosses losses;
    stage3().flush(&losses);
    return losses;
  }
  int result;
};

TEST_CASE("a kernel belongs to the op that was in flight when it was launched") {
  Recording recording;
  REQUIRE(recording.result == 0);
  op_now = 7;
  launch("gemm", 300);
  op_now = 8;
  launch("add", 20);
  copy(4096);
  op_now = 0;
  launch("of nobody", 5);
  recording.flush();
  REQUIRE(taken.size() == 4);
  CHECK((taken[0].op == 7 && taken[0].kind == DTYPECHECK_GPU_KERNEL && taken[0].time_ns == 300));
  CHECK(std::string(taken[0].name) == "gemm");
  CHECK((taken[1].op == 8 && std::string(taken[1].name) == "add"));
  CHECK((taken[2].op == 8 && taken[2].kind == DTYPECHECK_GPU_COPY && taken[2].bytes == 4096));
  CHECK((taken[3].op == 0 && taken[3].name));
}

TEST_CASE("kernels of a graph belong to the ops of its capture, launch after launch") {
  Recording recording;
  cudaStream_t stream, side;
  cudaEvent_t event;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&side);
  cudaEventCreate(&event);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  op_now = 5;
  launch("a", 1, stream);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(side, event, 0);  // which takes the other stream into the capture
  op_now = 6;
  launch("b", 1, side);
  op_now = 0;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  recording.flush();
  CHECK(taken.empty());  // a capture runs nothing
  op_now = 9;            // what launches the graph is another op
  for (int i = 0; i < 2; ++i) cudaGraphLaunch(executable, stream);
  launch("c", 1, side);  // no longer captured
  recording.flush();
  REQUIRE(taken.size() == 5);
  for (const DtypecheckGpuWork& work : taken)
    CHECK(work.op == (work.name[0] == 'a' ? 5 : work.name[0] == 'b' ? 6 : 9));
  cudaGraphExecDestroy(executable);
  cudaGraphLaunch(executable, stream);  // which is gone
  recording.flush();
  CHECK(taken.size() == 5);
}

TEST_CASE("what cannot be told is counted") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  correlation = 0x7ffffff0;  // which no callback saw
  launch("late", 1);
  recording.flush();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].op == 0);
  kind = CUPTI_ACTIVITY_KIND_NAME;
  lost = 3;
  launch("k", 1);
  const DtypecheckGpuLosses after = recording.flush();
  CHECK(after.late - before.late == 1);
  CHECK(after.unknown - before.unknown == 1);
  CHECK(after.dropped - before.dropped == 3);
  CHECK(taken.size() == 1);
}

TEST_CASE("a copy that waits for its end belongs to its op too") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  op_now = 4;
  cudaMemcpy(nullptr, nullptr, 8, cudaMemcpyDeviceToHost);
  CHECK(recording.flush().late == before.late);
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].op == 4);
}

TEST_CASE("many records go through many buffers, and each is taken once") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  constexpr uint32_t kLaunches = 50'000;
  uint64_t sum = 0;
  for (uint32_t i = 1; i <= kLaunches; ++i) {
    op_now = i;
    launch("k", i);
    sum += i;
  }
  const DtypecheckGpuLosses losses = recording.flush();
  REQUIRE(taken.size() == kLaunches);
  uint64_t got = 0;
  for (size_t i = 0; i < taken.size(); ++i) {
    got += taken[i].time_ns;
    if (taken[i].op != i + 1) FAIL("launch " << i + 1 << " was told of op " << taken[i].op);
  }
  CHECK(got == sum);
  CHECK(losses.dropped == before.dropped);
}

TEST_CASE("threads that launch at once lose nothing") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  op_now = 3;
  constexpr int kThreads = 4, kLaunches = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < kLaunches; ++j) launch("k", 1);
    });
  for (std::thread& thread : threads) thread.join();
  const DtypecheckGpuLosses after = recording.flush();
  CHECK(taken.size() == size_t{kThreads} * kLaunches);
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& work) { return work.op == 3; }));
  CHECK((after.late == before.late && after.dropped == before.dropped));
}

TEST_CASE("where another tool has CUPTI, it is left alone") {
  Recording first;
  REQUIRE(first.result == 0);
  stage3().stop();
  results["cuptiSubscribe"] = 39;
  CHECK(stage3().start(&kHost) != 0);
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].find("another tool") != std::string::npos);
  CHECK(complaints[0].find("ops are recorded without") != std::string::npos);
  CHECK(calls["cuptiActivityEnable"] == 3);  // of the first alone
}

TEST_CASE("without a driver nothing is asked a second time") {
  reset();
  complaints.clear();
  results["cuptiSubscribe"] = 999;
  CHECK(stage3().start(&kHost) != 0);
  CHECK(complaints.size() == 1);
  DtypecheckGpuLosses losses;
  stage3().flush(&losses);
  stage3().stop();
  for (const char* function : {"cuptiActivityEnable", "cuptiActivityFlushAll",
                               "cuptiActivityRegisterCallbacks", "cuptiEnableCallback"})
    CHECK(calls[function] == 0);
}

TEST_CASE("a driver that forbids profiling is told so, and CUPTI is given back") {
  reset();
  complaints.clear();
  results["cuptiActivityEnable"] = 35;
  CHECK(stage3().start(&kHost) != 0);
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].find("ERR_NVGPUCTRPERM") != std::string::npos);
  CHECK(calls["cuptiUnsubscribe"] == 1);
}

TEST_CASE("a CUPTI of a version that nobody knows is left alone") {
  for (const uint32_t unknown : {3u, 140000u}) {
    reset();
    complaints.clear();
    version = unknown;
    CHECK(stage3().start(&kHost) != 0);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].find("not one of CUDA 11.8 to 13") != std::string::npos);
    CHECK(calls["cuptiSubscribe"] == 0);
  }
}

TEST_CASE("buffers that CUPTI itself cannot read are counted and given back") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  constexpr int kMoreThanCuptiHas = 100;
  results["cuptiActivityGetNextRecord"] = 20;
  for (int i = 0; i < kMoreThanCuptiHas; ++i) {
    launch("k", 1);
    recording.flush();
  }
  CHECK(recording.flush().unknown - before.unknown == kMoreThanCuptiHas);
  CHECK(taken.empty());
  results.clear();
  launch("k", 1);
  recording.flush();
  CHECK(taken.size() == 1);
}

TEST_CASE("after it has stopped it can start again") {
  {
    Recording first;
    launch("k", 1);
  }
  CHECK(taken.size() == 1);
  Recording again;
  REQUIRE(again.result == 0);
  launch("k", 1);
  again.flush();
  CHECK(taken.size() == 1);
}

TEST_CASE("times are those of the machine's clock, and the stream is told") {
  cuptiActivityRegisterTimestampCallback([] { return uint64_t{500}; });  // CUPTI has its own
  Recording recording;
  launch("k", 300);
  recording.flush();
  REQUIRE(taken.size() == 1);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t now_ns = uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
  CHECK((taken[0].begin_unix_ns < now_ns && now_ns - taken[0].begin_unix_ns < 60'000'000'000));
  CHECK(taken[0].stream == 7);
  cuptiActivityRegisterTimestampCallback(nullptr);
}

TEST_CASE("once it has stopped, launches are not looked at") {
  Recording recording;
  stage3().stop();
  op_now = 3;
  launch("k", 1);
  recording.flush();
  CHECK(taken.empty());
  CHECK(calls["cuptiUnsubscribe"] == 1);
  CHECK(calls["cuptiFinalize"] == 0);  // which would break other tools
}

TEST_CASE("another interface is not spoken to") {
  DtypecheckGpuHost other = kHost;
  other.abi = DTYPECHECK_GPU_ABI + 1;
  reset();
  CHECK(stage3().start(&other) != 0);
  CHECK(calls["cuptiSubscribe"] == 0);
}

}  // namespace
