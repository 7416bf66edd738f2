// Stage 3 over a libcupti that is none (fake_cupti.h): what it makes of launches and records, and
// that it steps back.
#include <dlfcn.h>
#include <time.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "fake_cupti.h"
#include "tracer/gpu/gpu.h"

namespace {

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
    fake_cupti_reset();
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
  fake_launch("gemm", 300);
  op_now = 8;
  fake_launch("add", 20);
  fake_copy(4096, 10);
  op_now = 0;
  fake_launch("of nobody", 5);
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
  op_now = 5;
  fake_capture(100);
  op_now = 6;
  fake_capture(101);
  op_now = 0;
  fake_instantiate(100, 200);
  fake_instantiate(101, 201);
  op_now = 9;  // what launches the graph is another op
  for (int i = 0; i < 2; ++i) {
    fake_graph_launch(200, "a", 1);
    fake_graph_launch(201, "b", 1);
  }
  recording.flush();
  REQUIRE(taken.size() == 4);
  for (const DtypecheckGpuWork& work : taken) CHECK(work.op == (work.name[0] == 'a' ? 5 : 6));
}

TEST_CASE("what cannot be told is counted") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  fake_stray("late");
  fake_unknown();
  fake_drop(3);
  const DtypecheckGpuLosses after = recording.flush();
  CHECK(after.late - before.late == 1);
  CHECK(after.unknown - before.unknown == 1);
  CHECK(after.dropped - before.dropped == 3);
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].op == 0);
}

TEST_CASE("many records go through many buffers, and each is taken once") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  constexpr uint32_t kLaunches = 50'000;
  uint64_t sum = 0;
  for (uint32_t i = 1; i <= kLaunches; ++i) {
    op_now = i;
    fake_launch("k", i);
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
  CHECK(fake_cupti_buffers() == 0);
}

TEST_CASE("where another tool has CUPTI, it is left alone") {
  Recording first;
  REQUIRE(first.result == 0);
  stage3().stop();
  fake_cupti_fail("cuptiSubscribe", 39);
  CHECK(stage3().start(&kHost) != 0);
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].find("another tool") != std::string::npos);
  CHECK(complaints[0].find("ops are recorded without") != std::string::npos);
  CHECK(fake_cupti_calls("cuptiActivityEnable") == 3);  // of the first alone
}

TEST_CASE("without a driver nothing is asked a second time") {
  fake_cupti_reset();
  complaints.clear();
  fake_cupti_fail("cuptiSubscribe", 999);
  CHECK(stage3().start(&kHost) != 0);
  CHECK(complaints.size() == 1);
  DtypecheckGpuLosses losses;
  stage3().flush(&losses);
  stage3().stop();
  for (const char* function : {"cuptiActivityEnable", "cuptiActivityFlushAll",
                               "cuptiActivityRegisterCallbacks", "cuptiEnableCallback"})
    CHECK(fake_cupti_calls(function) == 0);
}

TEST_CASE("a driver that forbids profiling is told so, and CUPTI is given back") {
  fake_cupti_reset();
  complaints.clear();
  fake_cupti_fail("cuptiActivityEnable", 35);
  CHECK(stage3().start(&kHost) != 0);
  REQUIRE(complaints.size() == 1);
  CHECK(complaints[0].find("ERR_NVGPUCTRPERM") != std::string::npos);
  CHECK(fake_cupti_calls("cuptiUnsubscribe") == 1);
}

TEST_CASE("a CUPTI of a version that nobody knows is left alone") {
  for (const uint32_t version : {3u, 140000u}) {
    fake_cupti_reset();
    complaints.clear();
    fake_cupti_version(version);
    CHECK(stage3().start(&kHost) != 0);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].find("not one of CUDA 11.8 to 13") != std::string::npos);
    CHECK(fake_cupti_calls("cuptiSubscribe") == 0);
  }
}

TEST_CASE("a buffer that CUPTI itself cannot read is counted and given back") {
  Recording recording;
  const DtypecheckGpuLosses before = recording.flush();
  fake_launch("k", 1);
  fake_cupti_fail("cuptiActivityGetNextRecord", 20);
  const DtypecheckGpuLosses after = recording.flush();
  CHECK(after.unknown - before.unknown == 1);
  CHECK(taken.empty());
  CHECK(fake_cupti_buffers() == 0);
}

TEST_CASE("after it has stopped it can start again") {
  {
    Recording first;
    fake_launch("k", 1);
  }
  CHECK(taken.size() == 1);
  Recording again;
  REQUIRE(again.result == 0);
  fake_launch("k", 1);
  again.flush();
  CHECK(taken.size() == 1);
}

TEST_CASE("times are those of the machine's clock, and the stream is told") {
  Recording recording;
  fake_launch("k", 300);
  recording.flush();
  REQUIRE(taken.size() == 1);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t now_ns = uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
  CHECK((taken[0].begin_unix_ns < now_ns && now_ns - taken[0].begin_unix_ns < 60'000'000'000));
  CHECK(taken[0].stream == 7);
}

TEST_CASE("once it has stopped, launches are not looked at") {
  Recording recording;
  stage3().stop();
  op_now = 3;
  fake_launch("k", 1);
  recording.flush();
  CHECK(taken.empty());
  CHECK(fake_cupti_calls("cuptiUnsubscribe") == 1);
  CHECK(fake_cupti_calls("cuptiFinalize") == 0);  // which would break other tools
}

TEST_CASE("another interface is not spoken to") {
  DtypecheckGpuHost other = kHost;
  other.abi = DTYPECHECK_GPU_ABI + 1;
  fake_cupti_reset();
  CHECK(stage3().start(&other) != 0);
  CHECK(fake_cupti_calls("cuptiSubscribe") == 0);
}

}  // namespace
