#include "trace/reader.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "platform/error.h"
#include "trace/builder.h"
#include "trace/records.h"
#include "trace/text.h"
#include "trace/with_checks.h"

namespace dtypecheck {
namespace {

using test::sample_trace;
using test::TemporaryFolder;
using test::TraceBuilder;
using test::with_checks;
using trace::FileHeader;
using trace::OperandRecord;
using trace::SignatureRecord;
using trace::TraceFile;

Run read(const std::string& bytes, const std::string& name = "x.dtrace",
         Symbolizer* symbolizer = nullptr) {
  Run run;
  read_trace_bytes(bytes.data(), bytes.size(), name, run, symbolizer);
  return run;
}

std::string error_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// What a build writes, read back.
template <typename Build>
Run written(Build build, Symbolizer* symbolizer = nullptr) {
  const TemporaryFolder folder;
  const auto file = test::new_trace_file();
  REQUIRE(file->create(folder.path().c_str(), "host", 1, -1) == 0);
  TraceBuilder builder(*file);
  build(builder, *file);
  return read(test::read_bytes(file->path()), "x.dtrace", symbolizer);
}

template <typename T>
void put(std::string& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

template <typename T>
T get(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// The offset of the n-th record of a kind, from 0.
size_t record_of(const std::string& bytes, trace::RecordKind kind, int n = 0) {
  size_t offset = trace::kHeaderBytes;
  while (offset < bytes.size()) {
    const auto header = get<trace::RecordHeader>(bytes, offset);
    if (header.kind == static_cast<uint16_t>(kind) && n-- == 0) return offset;
    offset += header.size_bytes;
  }
  FAIL("no such record");
  return 0;
}

TEST_CASE("what the writer writes, the reader reads") {
  Run sample = read(sample_trace());
  Process& process = sample.processes.front();
  CHECK(process.started_unix_ns > 0);
  CHECK(process.ended_unix_ns >= process.started_unix_ns);
  process.started_unix_ns = 5;  // the clock's are never the same
  process.ended_unix_ns = 7;
  CHECK(
      to_text(sample) ==
      "process pid=4711 parent_pid=4710 rank=0 host=host file=x.dtrace command=\"train.py --fp16\" "
      "libtorch=2.11.0 python=3.11.7 started=5 ended=7 steps=3 "
      "fact:accelerate.mixed_precision=\"fp16\"\n"
      "op aten::_to_copy self=Float[2,4] alpha:=1 -> Half[2,4] at train.py:12 main inside \"\":0 "
      "trainer+0x634 in unet.linear (Linear) phase forward inexact 1365 1368 cast 800 3 900 id #1\n"
      "op aten::linear alpha:=1 at train.py:12 main inside \"\":0 trainer+0x634 in unet.linear "
      "(Linear) "
      "phase forward group 0-2,5 id #2\n"
      "op aten::linear alpha:=1 raised \"dtypes differ\" c10::Error at train.py:12 main inside "
      "\"\":0 "
      "trainer+0x634 in unet.linear (Linear) phase forward group 0-2,5 id #3\n"
      "op aten::addmm.out mat1=Half[2,4]<#1 weight=Float[4]%unet.weight^^ more=Float[], alpha:=1 "
      "-> "
      "Half[2,4] at train.py:12 main inside \"\":0 trainer+0x634 in unet.linear (Linear) phase "
      "forward "
      "step 1-3 count 3 autocast cpu:BFloat16 non-finite nan clean gpu kernel 0 1 300 0 \"gemm\" "
      "parent #2 id #4\n"
      "op aten::addmm.out mat1=Half[2,4]<#1 weight=Float[4]%unet.weight^^ more=Float[], alpha:=1 "
      "raised \"dtypes differ\" c10::Error at train.py:12 main inside \"\":0 trainer+0x634 in "
      "unet.linear "
      "(Linear) phase forward step 2-3 count 2 autocast cpu:BFloat16 parent #3 id #5\n"
      "time #4 1 2 1000 50\n"
      "gpu-time #4 kernel 0 7 1020 20 \"gemm\"\n"
      "gpu-time none copy 0 7 1030 20\n"
      "health #4 activations Half unet.linear 3 65504 0 1\n"
      "health #1 weights Float \"\" 1 0.5 0 0 3 1 0.2 0\n"
      "health-step 1 1 0 1024\n"
      "health-step 3 1 0 1024\n");
}

TEST_CASE("a trace that was read has a text that reads back as the same run") {
  const Run run = read(sample_trace());
  CHECK(parse_trace_text(to_text(run), "dump").run == run);
}

TEST_CASE("further messages of a signature become op calls of their own") {
  const Run run = written([](TraceBuilder& build, TraceFile&) {
    const uint32_t id = build.signature({.op = "aten::a", .count = 9, .throws = 5, .last_step = 8});
    for (const char* message : {"m1", "m2", "m1", "m3", "m4", "m5"})
      build.threw(id, message, "E", 3);
  });
  REQUIRE(run.calls.size() == 5);
  CHECK((run.calls[0].outcome == Outcome::kReturned && run.calls[0].count == 4));
  CHECK((run.calls[1].error == "m1" && run.calls[1].count == 2 && run.calls[1].throws == 2));
  CHECK((run.calls[4].error == "m4" && run.calls[4].count == 1 && run.calls[4].first_step == 3));
  uint64_t count = 0;
  for (const OpCall& call : run.calls) count += call.count;
  CHECK(count == 9);
}

TEST_CASE("a signature that was never counted was begun once") {
  const Run run = written(
      [](TraceBuilder& build, TraceFile&) { build.signature({.op = "aten::a", .count = 0}); });
  REQUIRE(run.calls.size() == 1);
  CHECK(run.calls[0].count == 1);
}

TEST_CASE("a throw that ended the process was not counted, and counts") {
  const auto one_throw = [](TraceBuilder& build, uint16_t results) {
    std::vector<test::OperandSpec> made(results, {"", 6, {}});
    build.threw(build.signature({.op = "aten::a", .results = made}), "no", "E");
  };
  const Run aborted = written([&](TraceBuilder& build, TraceFile&) { one_throw(build, 0); });
  CHECK(aborted.calls.at(0).outcome == Outcome::kThrew);
  const Run had_returned = written([&](TraceBuilder& build, TraceFile&) { one_throw(build, 1); });
  CHECK(had_returned.calls.at(0).outcome == Outcome::kReturned);
  const Run exited = written([&](TraceBuilder& build, TraceFile& file) {
    one_throw(build, 0);
    file.finish(1);
  });
  CHECK(exited.calls.at(0).outcome == Outcome::kReturned);
}

TEST_CASE("a repaired call keeps its results and tells what it would have thrown") {
  const Run run = written([](TraceBuilder& build, TraceFile&) {
    const uint32_t id =
        build.signature({.op = "aten::a",
                         .results = {{"", 6, {2}}},
                         .throws = 1,
                         .flags = trace::kSignatureRepaired | trace::kSignatureInCompiled});
    build.threw(id, "no", "E");
  });
  REQUIRE(run.calls.size() == 1);
  CHECK(run.calls[0].outcome == Outcome::kRepaired);
  CHECK(run.calls[0].error == "no");
  CHECK(run.calls[0].result_dtype() == Dtype::kFloat);
  CHECK(run.calls[0].in_compiled_region);
}

TEST_CASE("a repair names the one before it, and one that does not come before it is damage") {
  const auto follows = [](uint32_t id) {
    return written([id](TraceBuilder& build, TraceFile&) {
      build.signature({.op = "aten::a", .flags = trace::kSignatureRepaired});
      build.signature({.op = "aten::b", .flags = trace::kSignatureRepaired, .follows = id});
    });
  };
  CHECK(follows(1).calls.at(1).follows == 1);
  CHECK(follows(0).processes.at(0).damaged.empty());
  for (const uint32_t impossible : {2u, 3u, 0xffffffffu}) {
    const Run run = follows(impossible);
    CHECK(run.calls.at(1).follows == kNoOpCall);
    CHECK(run.processes.at(0).damaged.find("does not come before it") != std::string::npos);
  }
}

TEST_CASE("undefined tensors have no dtype, and cut shapes no shape") {
  const Run run = written([](TraceBuilder& build, TraceFile&) {
    build.signature({.op = "aten::a",
                     .operands = {{"bias", 63, {}, 0, "", 0, -1, 2, 1},
                                  {"self", 6, {1, 2}, trace::kOperandShapeCut}}});
  });
  const OpCall& call = run.calls.at(0);
  CHECK(call.operands[0].dtypes.empty());
  CHECK(call.operands[0].kind == TensorKind::kUndefined);
  CHECK_FALSE(call.operands[1].has_shape);
}

TEST_CASE("a symbolizer turns addresses into lines, each once") {
  struct Fake : Symbolizer {
    SourceLine resolve(const std::string& path, uint64_t begin, uint64_t file_offset,
                       uint64_t address) override {
      ++calls;
      CHECK(
          (path == "/opt/trainer" && begin == 0x1000 && file_offset == 0x400 && address == 0x1234));
      return {"trainer.cpp", 7, "step"};
    }
    int calls = 0;
  } fake;
  const Run run = read(sample_trace(), "x.dtrace", &fake);
  CHECK(run.calls.at(0).site.inner == SourceLine{"trainer.cpp", 7, "step"});
  CHECK(fake.calls == 1);
}

TEST_CASE("an address without a line has that of its nearest caller with one") {
  struct Fake : Symbolizer {
    SourceLine resolve(const std::string&, uint64_t, uint64_t, uint64_t address) override {
      if (address == 0x1200) return {"trainer.cpp", 7, "step"};
      return {"", 0, address == 0x1100 ? "at::matmul" : "operator()"};
    }
  } fake;
  const Run run = written(
      [](TraceBuilder& build, TraceFile&) {
        build.mapping(0x1000, 0x2000, 0, "/opt/trainer");
        const uint32_t step = build.address(0x1200);
        const uint32_t wrapper = build.address(0x1300, step);
        const uint32_t line = build.address(0x1100, wrapper);
        const uint32_t alone = build.address(0x1100);
        const uint32_t own_caller =
            build.address(0x1100, alone + 1);  // no smaller id: not followed
        const uint32_t no_caller = build.address(0x1100, 99);
        for (uint32_t id : {line, alone, own_caller, no_caller}) {
          build.signature({.op = "aten::mm", .site = build.site(id, id, "", "")});
        }
      },
      &fake);
  REQUIRE(run.calls.size() == 4);
  CHECK(run.calls[0].site.line == SourceLine{"trainer.cpp", 7, "step"});
  for (int i : {1, 2, 3}) CHECK(run.calls[i].site.line == SourceLine{"", 0, "at::matmul"});
}

TEST_CASE("ids of several traces do not meet") {
  Run run;
  const std::string bytes = sample_trace();
  read_trace_bytes(bytes.data(), bytes.size(), "a.dtrace", run);
  read_trace_bytes(bytes.data(), bytes.size(), "b.dtrace", run);
  REQUIRE(run.calls.size() == 10);
  CHECK(run.calls[8].operands[0].origin == 6);
  CHECK(run.calls[9].parent == 8);
  CHECK(run.calls[9].process == 1);
  CHECK(run.process_of(run.calls[9]).file == "b.dtrace");
  CHECK((run.times.at(1).call == 9 && run.times[1].process == 1));
  CHECK((run.gpu_times.at(2).call == 9 && run.gpu_times.at(3).call == kNoOpCall));
  for (size_t i = 0; i < run.calls.size(); ++i) CHECK(run.calls[i].id == i + 1);
}

TEST_CASE("samples of a run's health are points of its rows, in the order of the steps") {
  Run run;
  const std::string bytes = sample_trace();
  read_trace_bytes(bytes.data(), bytes.size(), "a.dtrace", run);
  REQUIRE(run.health.size() == 2);
  CHECK(run.health[0] == HealthRow{0,
                                   HealthRole::kActivation,
                                   Dtype::kHalf,
                                   "unet.linear",
                                   run.health[0].call,
                                   {{3, 65504, 0, 1}}});
  CHECK(run.call(run.health[0].call)->op == "aten::addmm");
  CHECK(run.health[1].points == std::vector<HealthPoint>{{1, 0.5, 0, 0}, {3, 1, 0.2, 0}});
  CHECK(run.health_steps == std::vector<HealthStep>{{0, 1, 1, 0, 1024}, {0, 3, 1, 0, 1024}});
}

TEST_CASE("rows and samples of a run's health that cannot be are left out") {
  const Run run = written([](TraceBuilder& build, trace::TraceFile&) {
    const uint32_t call = build.signature({.op = "aten::mm"});
    build.health_row("a", call, 0, 5);
    build.health_row("b", call, 5, 5);
    build.health_row("c", call, 1, 64);
    build.health_row("d", call, 1, 5);
    build.health_sample(1, std::vector<trace::HealthPoint>(6, {0x3f80, 0, 0}));
    for (uint32_t step = 2; step < 12; ++step)  // more than there may be
      build.health_sample(step, std::vector<trace::HealthPoint>(30000, {0x3f80, 0, 0}));
  });
  REQUIRE(run.health.size() == 1);
  CHECK((run.health[0].module == "d" && run.health[0].points.size() == 9));
  CHECK(run.health_steps.size() == 9);
  CHECK(run.processes[0].damaged.find("row 1 of the run's health at byte") == 0);
  CHECK(run.processes[0].damaged.find("4 records left out") != std::string::npos);
}

TEST_CASE("what cannot be read at all is reported with the way out") {
  const std::string whole = sample_trace();
  CHECK(error_of("") ==
        "x.dtrace: empty, expected a dtypecheck trace; the program ended before its first op, or "
        "the disk was full");
  CHECK(error_of("#!/bin/sh\n") ==
        "x.dtrace: not a dtypecheck trace: it begins with \"#!/bin/s\", expected \"DTYPETRC\"; "
        "pass a *.dtrace "
        "file or the folder of a run");
  CHECK(error_of(whole.substr(0, 100)) ==
        "x.dtrace: cut short at byte 100, expected a header of 272 bytes; record it again");
  std::string bytes = whole;
  put<uint32_t>(bytes, offsetof(FileHeader, endian), 0x04030201);
  CHECK(error_of(bytes) ==
        "x.dtrace: recorded on a machine of the other byte order; read it with a dtypecheck on "
        "such a machine");
  bytes = whole;
  put<uint32_t>(bytes, offsetof(FileHeader, version), trace::kTraceVersion + 1);
  CHECK(error_of(bytes) == "x.dtrace: version " + std::to_string(trace::kTraceVersion + 1) +
                               ", this build reads " + std::to_string(trace::kTraceVersion) +
                               "; record it again");
}

TEST_CASE("a trace cut at any byte gives what is left, and says so") {
  const std::string whole = sample_trace();
  const size_t all = read(whole).calls.size();
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO("cut at " << size);
    const std::string bytes = whole.substr(0, size);
    if (size < trace::kHeaderBytes) {
      CHECK(error_of(bytes) != "no error");
      continue;
    }
    const Run run = read(bytes);
    CHECK(run.processes.at(0).damaged.find("cut short: ") == 0);
    CHECK(run.calls.size() >= most);  // nothing is lost that an earlier cut had
    most = run.calls.size();
  }
  CHECK(most == all);
}

// Bits that tell what kind of file it is, and which version; the reader refuses the file.
bool is_refused(const std::string& bytes) {
  try {
    read(bytes);
    return false;
  } catch (const InputError&) {
    return true;
  }
}

std::string with_flipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  return bytes;
}

TEST_CASE("no flipped bit goes unnoticed, and it costs little") {
  const std::string whole = sample_trace();
  const Run sound = read(whole);
  REQUIRE(sound.processes.at(0).damaged.empty());
#ifdef DTYPECHECK_SANITIZED  // a hundred times as slow there; any bit of a byte is flipped in some
  const size_t step = 7;
#else
  const size_t step = 1;
#endif
  for (size_t bit = 0; bit < whole.size() * 8; bit += step) {
    const std::string bytes = with_flipped(whole, bit);
    INFO("bit " << bit % 8 << " of byte " << bit / 8);
    if (is_refused(bytes)) {
      CHECK(bit / 8 < 16);  // magic, byte order, version
      continue;
    }
    const Run run = read(bytes);
    CHECK(run.processes.at(0).damaged != "");
    // Each op call has two signatures and a throw at most.
    CHECK(run.calls.size() + 2 >= sound.calls.size());
    CHECK(parse_trace_text(to_text(run), "dump").run.calls.size() == run.calls.size());
  }
}

TEST_CASE("of a process that was killed no bit goes unnoticed but those that change to the end") {
  const TemporaryFolder folder;
  const auto file = test::new_trace_file();
  REQUIRE(file->create(folder.path().c_str(), "host", 1, -1) == 0);
  TraceBuilder build(*file);
  const uint32_t op = build.signature({.op = "aten::a", .operands = {{"self", 5, {2}}}});
  build.threw(op, "no", "E");
  const std::string killed = test::read_bytes(file->path()).substr(0, file->header()->used_bytes);
  REQUIRE(read(killed).processes.at(0).damaged.empty());
  const size_t signature = record_of(killed, trace::RecordKind::kSignature);
  const size_t changing = signature + offsetof(SignatureRecord, autocast);
  for (size_t bit = trace::kHeaderBytes * 8; bit < killed.size() * 8; ++bit) {
    const size_t byte = bit / 8;
    if (byte >= changing && byte < signature + sizeof(SignatureRecord)) continue;
    if (byte >= trace::result_offset(signature, {.operand_count = 1, .scalar_count = 1}, 0) &&
        byte < signature + get<uint32_t>(killed, signature))
      continue;
    const std::string bytes = with_flipped(killed, bit);
    size_t at = trace::kHeaderBytes;  // of the record that the bit is in
    while (at + get<uint32_t>(killed, at) <= byte) at += get<uint32_t>(killed, at);
    const size_t of_record = byte - at;
    if (of_record >= 6 && of_record < 8 && get<uint16_t>(bytes, at + 6) == trace::kReserved)
      continue;  // as if it had been killed in the middle of it
    if (of_record >= offsetof(trace::RecordHeader, seal) && of_record < sizeof(trace::RecordHeader))
      continue;  // there is no seal
    INFO("bit " << bit % 8 << " of byte " << byte);
    CHECK(read(bytes).processes.at(0).damaged != "");
  }
}

TEST_CASE("what is stored after the end does not reach the file") {
  const TemporaryFolder folder;
  const auto file = test::new_trace_file();
  REQUIRE(file->create(folder.path().c_str(), "host", 1, -1) == 0);
  TraceBuilder build(*file);
  build.signature({.op = "aten::a"});
  auto* late = file->reserve<SignatureRecord>(trace::RecordKind::kSignature);
  auto* signature = reinterpret_cast<SignatureRecord*>(
      reinterpret_cast<char*>(file->header()) +
      record_of(test::read_bytes(file->path()), trace::RecordKind::kSignature));
  file->finish(1);
  signature->count = 77;
  file->header()->steps = 5;
  TraceFile::commit(late->header);
  const Run run = read(test::read_bytes(file->path()));
  CHECK(run.processes.at(0).damaged.empty());
  CHECK(run.processes.at(0).steps == 0);
  REQUIRE(run.calls.size() == 1);
  CHECK(run.calls[0].count == 1);
  file->resume();  // exec failed, and all goes on
  CHECK(build.signature({.op = "aten::b"}) != 0);
  file->finish(1);
  const Run resumed = read(test::read_bytes(file->path()));
  CHECK(resumed.processes.at(0).damaged.empty());
  CHECK(resumed.calls.size() == 2);
}

TEST_CASE("damage costs one record") {
  const std::string whole = sample_trace();
  const size_t cast = record_of(whole, trace::RecordKind::kSignature);
  const auto damaged = [&](size_t offset, auto value) {
    std::string bytes = whole;
    put(bytes, offset, value);
    return read(with_checks(bytes));
  };
  const std::string place = std::to_string(cast);
  Run run = damaged(cast, uint32_t{12});  // a size that is none
  CHECK(run.processes[0].damaged == "a record of 12 bytes, expected at least 80, at byte " + place +
                                        "; 2 of 47 records left out");
  CHECK(run.calls.size() == 4);  // the call itself, and what was noted about it
  run = damaged(cast + 4, uint16_t{77});
  CHECK(run.processes[0].damaged.find("a record of unknown kind 77 at byte " + place) == 0);
  CHECK(run.calls.size() == 4);
  run = damaged(cast + offsetof(SignatureRecord, operand_count), uint16_t{9});
  const size_t by_counts = get<uint32_t>(whole, cast) + 8 * sizeof(OperandRecord);
  CHECK(run.processes[0].damaged.find("expected " + std::to_string(by_counts) +
                                      " by its counts, at byte " + place) != std::string::npos);
  CHECK(run.calls.size() == 4);
  CHECK(run.calls[2].operands[0].origin == kNoOpCall);
  run = damaged(cast + offsetof(SignatureRecord, phase), uint8_t{9});
  CHECK(run.processes[0].damaged.find("an impossible op call at byte " + place) == 0);
  CHECK(run.calls.size() == 4);
  run = damaged(trace::operand_offset(cast, 0) + offsetof(OperandRecord, dtype), uint8_t{64});
  CHECK(run.calls.size() == 4);
}

TEST_CASE("an id without its record is damage, and the op call stays") {
  std::string bytes = sample_trace();
  const size_t cast = record_of(bytes, trace::RecordKind::kSignature);
  put<uint32_t>(bytes, cast + offsetof(SignatureRecord, site), 99);
  const Run run = read(with_checks(bytes));
  CHECK(run.processes[0].damaged == "the site 99 of an op call is not there");
  CHECK(run.calls.size() == 5);
  CHECK_FALSE(run.calls[0].site.line.known());
}

TEST_CASE("a parent is an earlier op call") {
  std::string bytes = sample_trace();
  const size_t addmm = record_of(bytes, trace::RecordKind::kSignature, 2);
  put<uint32_t>(bytes, addmm + offsetof(SignatureRecord, parent), 3);  // itself
  const Run run = read(with_checks(bytes));
  CHECK(run.processes[0].damaged == "op call 3, the parent of op call 3, does not come before it");
  for (const OpCall& call : run.calls) CHECK(call.parent == kNoOpCall);
}

TEST_CASE("a parent comes earlier in the file, whatever its id") {
  std::string bytes = sample_trace();
  const size_t cast = record_of(bytes, trace::RecordKind::kSignature);
  const size_t addmm = record_of(bytes, trace::RecordKind::kSignature, 2);
  put<uint32_t>(bytes, addmm + offsetof(SignatureRecord, id), 1);
  put<uint32_t>(bytes, cast + offsetof(SignatureRecord, id), 3);
  put<uint32_t>(bytes, cast + offsetof(SignatureRecord, parent), 2);
  const Run run = read(with_checks(bytes));
  CHECK(run.processes[0].damaged == "op call 2, the parent of op call 3, does not come before it");
  for (const OpCall& call : run.calls) CHECK(call.parent < call.id);
}

TEST_CASE("a record that was not committed is skipped") {
  std::string bytes = sample_trace();
  const size_t linear = record_of(bytes, trace::RecordKind::kSignature, 1);
  put<uint16_t>(bytes, linear + offsetof(trace::RecordHeader, state), trace::kAbandoned);
  const Run run = read(with_checks(bytes));
  REQUIRE(run.calls.size() == 3);
  CHECK(run.calls[1].op == "aten::addmm");
}

TEST_CASE("used_bytes that lags behind loses nothing, and zeros at the end are fine") {
  const std::string whole = sample_trace();
  std::string bytes = whole;
  put<uint64_t>(bytes, offsetof(FileHeader, used_bytes), trace::kHeaderBytes);
  CHECK(read(with_checks(bytes)) == read(whole));
  CHECK(read(whole + std::string(5000, '\0')) == read(whole));
}

TEST_CASE("a large count in a small file takes no memory") {
  std::string bytes = sample_trace();
  const size_t string = record_of(bytes, trace::RecordKind::kString);
  put<uint32_t>(bytes, string + offsetof(trace::StringRecord, id), 0xfffffff0);
  CHECK(read(with_checks(bytes)).processes[0].damaged.find("string id 4294967280 is impossible") ==
        0);
}

TEST_CASE("a small file cannot become a large run") {
  const Run run = written([](TraceBuilder& build, TraceFile& file) {
    const std::string name(8000, 'x');
    const test::OperandSpec operand = {"self", 6, {}, 0, name.c_str()};
    const test::SignatureSpec spec = {.op = "aten::a", .operands = std::vector(32, operand)};
    for (int i = 0; i < 2000; ++i) build.signature(spec);
    file.finish(1);
  });
  CHECK(run.processes[0].damaged.find("more op calls than a file of ") == 0);
  size_t bytes = 0;
  for (const OpCall& call : run.calls)
    bytes += 32 * (sizeof(Operand) + call.operands[0].parameter.size());
  CHECK(bytes < (size_t{256} << 20));
  CHECK(run.calls.size() > 100);
}

std::string error_of_inputs(const std::vector<std::string>& inputs) {
  try {
    read_traces(inputs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("folders, files and what is neither") {
  const TemporaryFolder folder;
  const std::string a = folder.path() + "/a.1.dtrace", b = folder.path() + "/b.2.dtrace";
  CHECK(error_of_inputs({}).find("no trace given") == 0);
  CHECK(error_of_inputs({folder.path()}) ==
        folder.path() +
            ": a folder without *.dtrace files, expected the folder of a run; record one with "
            "dtypecheck trace -- PROGRAM");
  CHECK(error_of_inputs({a}) == a + ": no such file or folder, expected a trace");
  test::write_bytes(b, sample_trace());
  test::write_bytes(a, sample_trace());
  test::write_bytes(folder.path() + "/notes.txt", "no trace");
  const Run run = read_traces({folder.path(), b});  // b is read once
  REQUIRE(run.processes.size() == 2);
  CHECK(run.processes[0].file == a);
  CHECK(run.processes[1].file == b);
}

TEST_CASE("files that cannot be read are listed, and matter only when all are so") {
  const TemporaryFolder folder;
  const std::string good = folder.path() + "/good.dtrace", bad = folder.path() + "/bad.dtrace";
  const std::string pipe = folder.path() + "/pipe.dtrace";
  test::write_bytes(bad, "");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_of_inputs({folder.path()}).find(" (and 1 more that cannot be read)") !=
        std::string::npos);
  test::write_bytes(good, sample_trace());
  std::vector<std::string> unreadable;
  CHECK(read_traces({folder.path()}, &unreadable).processes.size() == 1);
  REQUIRE(unreadable.size() == 2);
  CHECK(unreadable[0].find(bad + ": empty") == 0);
  CHECK(unreadable[1] == pipe + ": not a regular file, expected a trace");
}

}  // namespace
}  // namespace dtypecheck
