#include "core/whole_run.h"

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck {
namespace {

using Sentences = std::vector<std::string>;

std::string rank(int rank, const std::string& folder, const std::string& facts,
                 const char* name = "RANK") {
  const std::string number = std::to_string(rank);
  return "process pid=" + std::to_string(100 + rank) + " rank=" + number + " file=" + folder +
         "/h." + number + ".dtrace fact:env." + name + "=\"" + number + "\" " + facts + "\n";
}

const std::string kOfTwo = "fact:env.WORLD_SIZE=\"2\"";
const std::string kOfFour = "fact:env.WORLD_SIZE=\"4\" fact:env.LOCAL_WORLD_SIZE=\"2\"";

Sentences missing(const std::string& text, const std::vector<ExpectedRun>& expected = {}) {
  return missing_processes(parse_trace_text(text, "t").run, expected);
}

TEST_CASE("all ranks of a launch are expected") {
  CHECK(missing(rank(0, "a", kOfTwo) + rank(1, "a", kOfTwo)).empty());
  CHECK(missing(rank(1, "a", kOfTwo)) == Sentences{"rank 0 of 2 left no trace"});
  CHECK(missing(rank(3, "a", "fact:env.WORLD_SIZE=\"8\"")) ==
        Sentences{"ranks 0-2, 4-7 of 8 left no trace"});
  CHECK(missing(rank(0, "a", "fact:env.SLURM_NTASKS=\"2\"", "SLURM_PROCID")) ==
        Sentences{"rank 1 of 2 left no trace"});
  // Two runs: the ranks of one are none of the other.
  CHECK(missing(rank(0, "a", kOfTwo) + rank(1, "a", kOfTwo) + rank(0, "b", kOfTwo)) ==
        Sentences{"rank 1 of 2 left no trace"});
}

TEST_CASE("nothing is expected where no launcher says how many there are") {
  CHECK(missing("process pid=1\n").empty());
  CHECK(missing(rank(0, "a", "")).empty());
  CHECK(missing(rank(0, "a", "fact:env.WORLD_SIZE=\"two\"")).empty());
  CHECK(missing(rank(0, "a", "fact:env.WORLD_SIZE=\"2000000000\"")).empty());
  CHECK(missing(rank(5, "a", kOfTwo)).empty());  // it cannot be
  // Left in the environment of a process that is no rank.
  CHECK(missing("process pid=1 file=a/h.dtrace fact:env.WORLD_SIZE=\"2\"\n").empty());
  // SLURM's number of tasks says nothing of torchrun's ranks.
  CHECK(missing(rank(0, "a", "fact:env.SLURM_PROCID=\"0\" fact:env.SLURM_NTASKS=\"2\"")).empty());
}

// A rank whose environment says nothing, as of torch.multiprocessing.spawn.
std::string spawned(int rank, int ranks, const std::string& folder = "a", int pid = 100,
                    const std::string& facts = "") {
  const std::string number = std::to_string(rank);
  return "process pid=" + std::to_string(pid + rank) + " rank=" + number + " file=" + folder +
         "/h." + number + ".dtrace fact:distributed.rank=\"" + number +
         "\" fact:distributed.world_size=\"" + std::to_string(ranks) + "\" " + facts + "\n";
}

TEST_CASE("torch.distributed says of how many ranks a program is") {
  CHECK(missing(spawned(0, 2) + spawned(1, 2)).empty());
  CHECK(missing(spawned(0, 2), {{.folder = "a", .pid = 7}}) ==
        Sentences{"rank 1 of 2 left no trace"});
  CHECK(missing(spawned(0, 4) + spawned(1, 4) + spawned(3, 4)) ==
        Sentences{"rank 2 of 4 left no trace"});
  // The variables that all ranks inherited say less than each of them.
  const std::string inherited = "fact:env.RANK=\"0\" fact:env.WORLD_SIZE=\"1\"";
  CHECK(missing(spawned(1, 2, "a", 100, inherited)) == Sentences{"rank 0 of 2 left no trace"});
  // A group of one in each rank of a launch.
  CHECK(missing(rank(0, "a",
                     kOfTwo + " fact:distributed.rank=\"0\" fact:distributed.world_size=\"1\"")) ==
        Sentences{"rank 1 of 2 left no trace"});
}

TEST_CASE("ranks that a program started may be those of one machine") {
  const std::string machine = spawned(2, 4) + spawned(3, 4);
  const Sentences elsewhere = {
      "ranks 0-1 of 4 left no trace here; if they ran on other machines, name the folders of their "
      "traces too"};
  CHECK(missing(machine) == elsewhere);
  CHECK(missing(machine, {{.folder = "a", .is_one_machine = true}}).empty());
  CHECK(missing(machine + spawned(0, 4, "b", 200) + spawned(1, 4, "b", 200)).empty());
  // A rank that was started by hand, under its own dtypecheck.
  CHECK(missing(spawned(1, 2), {{.folder = "a", .pid = 101, .is_one_machine = true}}).empty());
  CHECK(missing(spawned(1, 2), {{.folder = "a", .pid = 7, .is_one_machine = true}}) ==
        Sentences{"rank 0 of 2 left no trace"});
}

TEST_CASE("ranks of several machines lie in several folders") {
  const std::string first = rank(0, "a", kOfFour) + rank(1, "a", kOfFour);
  CHECK(missing(first + rank(2, "b", kOfFour) + rank(3, "b", kOfFour)).empty());
  CHECK(missing(first) ==
        Sentences{"ranks 2-3 of 4 ran on other machines; name the folders of their traces too"});
  CHECK(missing(rank(0, "a", kOfFour) + rank(2, "b", kOfFour) + rank(3, "b", kOfFour)) ==
        Sentences{"rank 1 of 4 left no trace"});
  // What one machine has just recorded cannot hold the others' ranks, but all of its own.
  CHECK(missing(first, {{.folder = "a", .is_one_machine = true}}).empty());
  CHECK(missing(rank(0, "a", kOfFour), {{.folder = "a", .is_one_machine = true}}) ==
        Sentences{"rank 1 of 4 left no trace"});
  // dtypecheck was itself started as a rank.
  CHECK(missing(rank(0, "a", kOfFour), {{.folder = "a/", .is_one_rank = true}}).empty());
}

TEST_CASE("a process without an end is missed, unless another one ended it") {
  const auto has_no_end_beside = [](const std::string& other) {
    const Run run = parse_trace_text("process pid=2 host=h end=running\n" + other, "t").run;
    return has_no_end(run, run.processes[0]);
  };
  CHECK(has_no_end_beside(""));
  CHECK(has_no_end_beside("process pid=1 host=h end=exited\n"));
  CHECK(has_no_end_beside("process pid=1 host=h end=exited fact:\"killed 3\"=\"15\"\n"));
  CHECK(has_no_end_beside("process pid=1 host=i end=exited fact:\"killed 2\"=\"15\"\n"));
  CHECK_FALSE(has_no_end_beside("process pid=1 host=h end=exited fact:\"killed 2\"=\"15\"\n"));
  CHECK_FALSE(has_no_end_beside("process pid=1 host=h end=exited fact:\"killed -2\"=\"9\"\n"));
  // preflight ended the program with all that it had started.
  CHECK_FALSE(has_no_end_beside("process pid=1 host=h end=exited fact:pretended.end=\"steps\"\n"));
  CHECK(has_no_end_beside("process pid=1 host=i end=exited fact:pretended.end=\"steps\"\n"));
}

TEST_CASE("what a run's folder lists has to be there") {
  const std::string one = "process pid=7 file=a/h.7.dtrace\n";
  CHECK(missing(one, {{.folder = "a", .traces = {"h.7.dtrace"}}}).empty());
  CHECK(missing(one, {{.folder = "a", .traces = {"h.7.dtrace", "h.8.dtrace"}}}) ==
        Sentences{"a/h.8.dtrace: was there when the run ended and is missing now"});
}

TEST_CASE("a program that failed without a trace is missed where its children left one") {
  const ExpectedRun failed{.folder = "a", .pid = 7, .status = 1};
  const std::string worker = "process pid=8 parent_pid=7 file=a/h.8.dtrace";
  CHECK(missing(worker + "\n", {failed}) ==
        Sentences{"a: process 7, which was started, ended with status 1 and left no trace, though "
                  "processes that it started did"});
  CHECK(missing(worker + "\n", {{.folder = "a", .pid = 7, .signal = 9}}).size() == 1);
  CHECK(missing(worker + "\n", {{.folder = "a", .pid = 7}}).empty());  // a launcher, as a rule
  // A launcher fails when what it started does, which says so itself.
  CHECK(missing(worker + " fact:uncaught=\"RuntimeError: no\"\n", {failed}).empty());
  CHECK(missing(worker + " fact:exit.status=\"1\"\n", {failed}).empty());
  CHECK(missing(worker + " end=running\n", {failed}).empty());
  CHECK(missing("process pid=7 file=a/h.7.dtrace\n" + worker + "\n", {failed}).empty());
  CHECK(missing("process pid=8 parent_pid=5 file=a/h.8.dtrace\n", {failed}).empty());
}

}  // namespace
}  // namespace dtypecheck
