// Traces of many processes become one, in which nothing is lost and nothing counts twice.
#include "trace/merge.h"

#include <catch2/catch.hpp>

#include "core/codes.h"
#include "platform/error.h"
#include "trace/builder.h"
#include "trace/reader.h"
#include "trace/text.h"

namespace dtypecheck {
namespace {

using test::OperandSpec;
using test::TemporaryFolder;
using test::TraceBuilder;
using trace::TraceFile;

constexpr auto kHalf = static_cast<uint8_t>(Dtype::kHalf);
constexpr auto kFloat = static_cast<uint8_t>(Dtype::kFloat);

// The bytes of a rank's trace that `build` fills.
template <typename Build>
std::string rank_trace(int rank, const Build& build) {
  const TemporaryFolder folder;
  const auto file = test::new_trace_file();
  REQUIRE(file->create(folder.path().c_str(), "node", 100 + rank, rank) == 0);
  file->header()->start_unix_ns = 1'000 + rank;
  TraceBuilder builder(*file);
  build(builder);
  builder.fact("env.RANK", std::to_string(rank));
  file->finish(static_cast<uint32_t>(EndState::kExited));
  return test::read_bytes(file->path());
}

uint32_t add_linear(TraceBuilder& builder, const std::string& module, uint8_t dtype, uint64_t count,
                    uint32_t origin = 0) {
  const uint32_t line = builder.line("train.py", 9, "main");
  return builder.signature(
      {.op = "aten::linear",
       .operands = {{"input", dtype, {2, 4}, 0, "", origin}, {"weight", kFloat, {4, 4}}},
       .results = {{"", kFloat, {2, 4}}},
       .site = builder.site(line, line, module, "Linear"),
       .count = count});
}

Run merged(const TraceMerger& merger) {
  const std::string bytes = merger.bytes();
  Run run;
  read_trace_bytes(bytes.data(), bytes.size(), "all.dtrace", run);
  for (const Process& process : run.processes) CHECK(process.damaged == "");
  return run;
}

std::vector<ProcessRange> makers(uint32_t first, uint32_t last, uint64_t each) {
  return {{first, last, each, each}};
}

TEST_CASE("equal op calls are one, with who made them") {
  TraceMerger merger;
  for (int rank = 0; rank < 4; ++rank) {
    const auto trace = rank_trace(rank, [&](TraceBuilder& builder) {
      // One rank comes to them in another order, so that its ids are others.
      if (rank == 2) add_linear(builder, "model.b", kFloat, 5);
      add_linear(builder, "model.a", kFloat, 7);
      if (rank != 2) add_linear(builder, "model.b", rank == 3 ? kHalf : kFloat, 5);
    });
    merger.add(trace, std::to_string(rank) + ".dtrace");
  }
  const Run run = merged(merger);
  REQUIRE(run.processes.size() == 4);
  CHECK(run.processes[2].rank == 2);
  CHECK(run.processes[2].file == "2.dtrace");
  CHECK(run.processes[2].facts.at("env.RANK") == "2");
  CHECK(run.processes[3].devices == std::vector<std::string>{"cpu"});
  REQUIRE(run.calls.size() == 3);
  CHECK(run.calls[0].site.module == "model.a");
  CHECK(run.calls[0].count == 28);
  CHECK(run.calls[0].made_by == makers(0, 3, 7));
  CHECK(run.calls[1].made_by == makers(0, 2, 5));
  CHECK(run.calls[2].operands[0].dtypes == DtypeSet(Dtype::kHalf));
  CHECK(run.calls[2].process == 3);
  CHECK(run.calls[2].made_by == makers(3, 3, 5));
}

TEST_CASE("one trace merged is the run that it was") {
  const auto trace = rank_trace(0, [](TraceBuilder& builder) {
    const uint32_t first = add_linear(builder, "model.a", kFloat, 1);
    const uint32_t second = add_linear(builder, "model.b", kHalf, 2, first);
    builder.threw(second, "mat1 and mat2 must have the same dtype", "c10::Error", 1);
    builder.inexact(first, 1365, 1368);
  });
  TraceMerger merger;
  merger.add(trace, "x.dtrace");
  Run run = merged(merger), before;
  read_trace_bytes(trace.data(), trace.size(), "x.dtrace", before);
  for (OpCall& call : run.calls) {
    CHECK(call.made_by.size() == 1);
    call.made_by.clear();
  }
  CHECK(to_text(run) == to_text(before));
}

TEST_CASE("the sample of every kind of record keeps what it says") {
  const std::string trace = test::sample_trace();
  TraceMerger merger;
  merger.add(trace, "x.dtrace");
  const std::string bytes = merger.bytes();
  Run run, before;
  read_trace_bytes(bytes.data(), bytes.size(), "all.dtrace", run);
  read_trace_bytes(trace.data(), trace.size(), "x.dtrace", before);
  for (OpCall& call : run.calls) call.made_by.clear();
  CHECK((run.times.empty() && !before.times.empty()));  // the time line of one process is left out
  before.times.clear();
  before.gpu_times.clear();
  before.health.clear();  // so is what became of its modules' numbers
  before.health_steps.clear();
  CHECK(to_text(run) == to_text(before));
}

TEST_CASE("origins lead to the same op calls") {
  TraceMerger merger;
  for (int rank = 0; rank < 2; ++rank) {
    const auto trace = rank_trace(rank, [&](TraceBuilder& builder) {
      if (rank == 1) add_linear(builder, "model.other", kHalf, 1);
      const uint32_t a = add_linear(builder, "model.a", kFloat, 1);
      add_linear(builder, rank == 0 ? "model.b" : "model.c", kFloat, 1, a);
    });
    merger.add(trace, std::to_string(rank));
  }
  const Run run = merged(merger);
  for (const OpCall& call : run.calls) {
    if (call.site.module != "model.b" && call.site.module != "model.c") continue;
    const OpCall* origin = run.call(call.operands[0].origin);
    REQUIRE(origin != nullptr);
    CHECK(origin->site.module == "model.a");
  }
}

TEST_CASE("counts that differ are ranges, and processes that are absent are none") {
  TraceMerger merger;
  for (int rank = 0; rank < 6; ++rank) {
    const auto trace = rank_trace(rank, [&](TraceBuilder& builder) {
      if (rank != 3) add_linear(builder, "model.a", kFloat, rank < 2 ? 7 : 9);
      add_linear(builder, "model.b", kFloat, 1);
    });
    merger.add(trace, std::to_string(rank));
  }
  const Run run = merged(merger);
  CHECK(run.calls[0].made_by ==
        std::vector<ProcessRange>{{0, 1, 7, 7}, {2, 2, 9, 9}, {4, 5, 9, 9}});
  CHECK(run.calls[0].count == 7 + 7 + 9 + 9 + 9);
}

TEST_CASE("merged traces merge") {
  const auto trace_of = [](int rank) {
    return rank_trace(rank, [](TraceBuilder& builder) { add_linear(builder, "m.a", kFloat, 3); });
  };
  TraceMerger first, second, all, once;
  for (int rank = 0; rank < 6; ++rank) {
    const std::string trace = trace_of(rank);
    (rank < 3 ? first : second).add(trace, std::to_string(rank));
    once.add(trace, std::to_string(rank));
  }
  all.add(first.bytes(), "first");
  all.add(second.bytes(), "second");
  CHECK(to_text(merged(all)) == to_text(merged(once)));
}

TEST_CASE("a process counts once, however often it is named") {
  const auto trace_of = [](int rank) {
    return rank_trace(rank, [](TraceBuilder& builder) { add_linear(builder, "m.a", kFloat, 3); });
  };
  TraceMerger merger;
  merger.add(trace_of(0), "a");
  merger.add(trace_of(0), "copy of a");
  CHECK(merger.seen_twice() == std::vector<std::string>{"copy of a"});
  CHECK(merged(merger).calls[0].count == 3);
  TraceMerger both;
  both.add(trace_of(0), "a");
  both.add(trace_of(1), "b");
  CHECK_THROWS_AS(merger.add(both.bytes(), "both"), InputError);
}

TEST_CASE("what is missing is said of the merged run") {
  TraceMerger merger;
  merger.add(rank_trace(0, [](TraceBuilder& builder) { add_linear(builder, "m", kFloat, 1); }),
             "a");
  merger.add_missing("b.dtrace", "b.dtrace: version 3, this build reads 5");
  const std::string bytes = merger.bytes();
  Run run;
  read_trace_bytes(bytes.data(), bytes.size(), "all.dtrace", run);
  REQUIRE(run.processes.size() == 2);
  CHECK_FALSE(run.processes[1].complete());
}

}  // namespace
}  // namespace dtypecheck
