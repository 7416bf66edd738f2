#include "core/provenance.h"

#include <catch2/catch.hpp>

#include "trace/text.h"

namespace dtypecheck {
namespace {

// Of the first operand of the last call, or of the one that is named.
struct Asked {
  explicit Asked(const std::string& text, const std::string& operand = "")
      : run(parse_trace_text(text, "test").run) {
    const OpCall& call = run.calls.back();
    way = ProvenanceIndex(run).trace_back(
        call, operand.empty() ? call.operands.front() : *call.operand(operand));
  }

  std::vector<OpCallId> ids() const {
    std::vector<OpCallId> out;
    for (const ProvenanceStep& step : way.steps) out.push_back(step.call->id);
    return out;
  }
  OpCallId maker() const { return way.maker == nullptr ? kNoOpCall : way.maker->id; }

  Run run;
  Provenance way;
};

using Ids = std::vector<OpCallId>;

TEST_CASE("provenance goes back to the cast that made the dtype") {
  const Asked asked(
      "op aten::randn -> Float[2]\n"
      "op aten::_to_copy self=Float[2]<#1 -> Half[2] at train.py:7\n"
      "op aten::mul self=Half[2]<#2 other=Float[2]<#1 -> Half[2]\n"
      "op aten::add self=Half[2]<#3\n");
  CHECK(asked.ids() == Ids{3, 2});
  CHECK(asked.maker() == 2);
  CHECK(how_made(asked.way) == "was cast to Half by aten::_to_copy at train.py:7");
  CHECK(made_from(asked.way) == " (from aten::_to_copy at train.py:7)");
}

TEST_CASE("a function that computes in another dtype and casts back made nothing new") {
  const std::string made =
      "op python::torch.from_numpy ndarray:=Double -> Double[2,8] at data.py:3\n"
      "op aten::_to_copy self=Double[2,8]<#1 -> Float[2,8] at norm.py:19 Norm.forward\n";
  const Asked asked(made +
                    "op aten::layer_norm input=Float[2,8]<#2 -> Float[2,8] at norm.py:19 "
                    "Norm.forward\n"
                    "op aten::_to_copy self=Float[2,8]<#3 -> Double[2,8] at norm.py:20 "
                    "Norm.forward\n"
                    "op aten::linear input=Double[2,8]<#4\n");
  CHECK(asked.ids() == Ids{4, 1});
  CHECK(asked.maker() == 1);
  const Asked elsewhere(made +
                        "op aten::layer_norm input=Float[2,8]<#2 -> Float[2,8] at norm.py:19 "
                        "Norm.forward\n"
                        "op aten::_to_copy self=Float[2,8]<#3 -> Double[2,8] at net.py:7\n"
                        "op aten::linear input=Double[2,8]<#4\n");
  CHECK(elsewhere.maker() == 4);
  const Asked rounds(made +
                     "op aten::_to_copy self=Float[2,8]<#2 -> Double[2,8] at norm.py:19 "
                     "Norm.forward\n"
                     "op aten::linear input=Double[2,8]<#3\n");
  CHECK(rounds.maker() == 3);
}

TEST_CASE("a gradient has the dtype of what it is of, whatever it is computed of") {
  const Asked asked(
      "op aten::randn -> BFloat16[2,2] at train.py:4\n"
      "op aten::mm self=BFloat16[2,2]<#1 mat2=BFloat16[2,2] -> BFloat16[2,2] at train.py:6 phase "
      "backward\n"
      "op aten::_foreach_addcmul_ self=BFloat16[2,2]<#2,\n",
      "self[0]");
  CHECK(asked.ids() == Ids{2});
  CHECK(asked.maker() == kNoOpCall);
  CHECK(how_made(asked.way) == "is a gradient, and has the dtype of what it is of");
  const Asked own(
      "op aten::randn -> BFloat16[2,2] at train.py:4\n"
      "op aten::mm self=BFloat16[2,2]<#1 mat2=BFloat16[2,2] -> BFloat16[2,2] at train.py:6 "
      "Own.backward"
      " phase backward\n"
      "op aten::add self=BFloat16[2,2]<#2\n");
  CHECK(own.maker() == 1);
}

TEST_CASE("a dtype is followed through complex numbers of it") {
  const Asked asked(
      "op python::torch.from_numpy ndarray:=Double -> Double[8] at data.py:3\n"
      "op aten::stft self=Double[8]<#1 -> ComplexDouble[5,2] at train.py:4\n"
      "op aten::view_as_real self=ComplexDouble[5,2]<#2 -> Double[5,2,2] at train.py:5\n"
      "op aten::add self=Double[5,2,2]<#3\n");
  CHECK(asked.ids() == Ids{3, 2, 1});
  CHECK(asked.maker() == 1);
  const Asked cast(
      "op aten::randn -> Float[8] at data.py:3\n"
      "op aten::_to_copy self=Float[8]<#1 -> ComplexFloat[8] at train.py:4\n"
      "op aten::view_as_real self=ComplexFloat[8]<#2 -> Float[8,2] at train.py:5\n"
      "op aten::add self=Float[8,2]<#3\n");
  CHECK(how_made(cast.way) == "was cast to ComplexFloat by aten::_to_copy at train.py:4");
}

TEST_CASE("provenance follows the operand that brought the dtype into a promotion") {
  const Asked asked(
      "op aten::zeros -> Half[2]\n"
      "op aten::ones -> Float[2] at data.py:3\n"
      "op aten::cat tensors=Half[2]<#1,Float[2]<#2 -> Float[4]\n"
      "op aten::add self=Float[4]<#3\n");
  CHECK(asked.ids() == Ids{3, 2});
  REQUIRE(asked.way.promotion != nullptr);
  CHECK(asked.way.promotion->id == 3);
  CHECK(asked.way.promoted_by->name == "tensors[1]");
  CHECK(how_made(asked.way) == "was made in Float by aten::ones at data.py:3");
  CHECK(step_sentence(asked.way, asked.way.steps[0]) ==
        "aten::cat promotes to Float because of tensors[1]");
}

TEST_CASE("an activation explains more than the parameter it meets") {
  const Asked asked(
      "op aten::_to_copy self=Half[4] -> Float[4] at load.py:5 phase load\n"
      "op aten::ones -> Float[2,4] at user.py:17\n"
      "op aten::mul self=Float[4]%norm.weight<#1 other=Float[2,4]<#2 -> Float[2,4]\n"
      "op aten::add self=Float[2,4]<#3\n");
  CHECK(asked.ids() == Ids{3, 2});
  CHECK(asked.way.parameter == nullptr);
}

TEST_CASE("a dtype that comes down from a parameter ends at the maker of the parameter") {
  const Asked asked(
      "op aten::_to_copy self=Half[9,4] -> Float[9,4] at load.py:5 phase load\n"
      "op aten::embedding weight=Float[9,4]%te.shared.weight<#1 indices=Long[2] -> Float[2,4]\n"
      "op aten::add self=Float[2,4]<#2\n");
  CHECK(asked.ids() == Ids{2, 1});
  REQUIRE(asked.way.parameter != nullptr);
  CHECK(how_made(asked.way) ==
        "is Float because te.shared.weight is, which was cast to Float by aten::_to_copy at "
        "load.py:5");
  CHECK(step_name(asked.way.steps[1]) == "load (aten::_to_copy)");
}

TEST_CASE("what is written in place keeps its dtype, whoever is better known") {
  const Asked asked(
      "op aten::ones -> Half[2]\n"
      "op aten::mul_ self=Half[2]!out other=Half[2]<#1 -> Half[2]\n"
      "op aten::add self=Half[2]<#2\n");
  CHECK(asked.ids() == Ids{2});
  CHECK(asked.maker() == kNoOpCall);
}

TEST_CASE("a tensor without dimensions hands on a dtype only where nothing else has it") {
  const std::string makers = "op aten::full -> Half[]\nop aten::rand -> Half[2]\n";
  CHECK(Asked(makers + "op aten::mul self=Half[]<#1 other=Half[2]<#2 -> Half[2]\n"
                       "op aten::add self=Half[2]<#3\n")
            .ids() == Ids{3, 2});
  CHECK(Asked(makers + "op aten::neg self=Half[]<#1 -> Half[]\nop aten::add self=Half[]<#3\n")
            .ids() == Ids{3, 1});
}

TEST_CASE("a factory that is told its dtype makes it") {
  const std::string begin = "op aten::rand -> Half[2] at train.py:1\n";
  CHECK(Asked(begin + "op aten::zeros_like self=Half[2]<#1 dtype:=Half -> Half[2]\n"
                      "op aten::add self=Half[2]<#2\n")
            .ids() == Ids{2});
  CHECK(Asked(begin + "op aten::zeros_like self=Half[2]<#1 -> Half[2]\n"
                      "op aten::add self=Half[2]<#2\n")
            .ids() == Ids{2, 1});
}

TEST_CASE("a cast to the dtype that was there makes nothing") {
  const Asked asked(
      "op aten::ones -> Half[2]\n"
      "op aten::_to_copy self=Half[2]<#1 -> Half[2]@cuda:0\n"
      "op aten::add self=Half[2]@cuda:0<#2\n");
  CHECK(asked.maker() == 1);
}

TEST_CASE("provenance never loops") {
  CHECK(Asked("op aten::sub_ self=Half[2]<#2\n"
              "op aten::mul_ self=Half[2]<#1\n")
            .ids() == Ids{1, 2});
  CHECK(Asked("op aten::sub_ self=Half[2]<#1\n").ids() == Ids{1});
}

TEST_CASE("an origin outside of the run ends the way") {
  Run run = parse_trace_text("op aten::add self=Half", "test").run;
  run.calls[0].operands[0].origin = 99;
  CHECK(ProvenanceIndex(run).trace_back(run.calls[0], run.calls[0].operands[0]).steps.empty());
}

TEST_CASE("of a long way the nearest steps and the last are shown") {
  std::string text = "op aten::ones -> Half[2]\n";
  for (int i = 1; i <= 20; ++i)
    text += "op aten::neg self=Half[2]<#" + std::to_string(i) + " -> Half[2]\n";
  const Asked asked(text);
  const std::vector<ShownStep> shown = shown_steps(asked.way);
  REQUIRE(shown.size() == 8);
  CHECK(shown[6].step->call->id == 14);
  CHECK(shown[7].step->call->id == 1);
  CHECK(shown[7].left_out_before == 12);
}

// A program with one worker. The worker's calls are those of `worker`, the program reads `operand`.
Asked from_worker(const std::string& worker, const std::string& operand,
                  const std::string& process = "process pid=11 parent_pid=10\n") {
  std::string text = process;
  text += worker;
  text += "process pid=10 parent_pid=1\nop aten::mm self=" + operand +
          " mat2=Float[4,4] at train.py:20 phase forward\n";
  return Asked(text);
}

const std::string kFull = "op aten::full -> Double[3,4] at data.py:11 phase data\n";
const std::string kStack =
    "op aten::stack tensors=Double[3,4]<#1,Double[3,4]<#1 -> Double[2,3,4] at train.py:18 "
    "phase data\n";

TEST_CASE("a batch leads to the line of the worker that made it") {
  const Asked asked = from_worker(kFull + kStack, "Double[2,3,4]");
  CHECK(asked.ids() == Ids{2, 1});
  CHECK_FALSE(asked.way.is_probable);
  CHECK(how_made(asked.way) ==
        "was made in Double by aten::full at data.py:11 in a DataLoader worker");
  CHECK(step_name(asked.way.steps[0]) == "worker's aten::stack");
}

TEST_CASE("a batch is found behind what the program itself did with it") {
  const Asked asked(
      "process pid=10 parent_pid=1\n"
      "op aten::_pin_memory self=Double[2,3,4] -> Double[2,3,4] at train.py:19 phase data\n"
      "op aten::mul self=Double[2,3,4]<#1 other=Float[3,4] -> Double[2,3,4] at train.py:20\n"
      "process pid=11 parent_pid=10\n"
      "op aten::full -> Double[2,3,4] at data.py:11 phase data\n"
      "process pid=10 parent_pid=1\n"
      "op aten::add self=Double[2,3,4]<#2 at train.py:21\n");
  CHECK(asked.ids() == Ids{2, 1, 3});
}

TEST_CASE("nothing is said of a tensor that no worker made") {
  CHECK(from_worker(kFull + kStack, "Half[2,3,4]").ids().empty());      // another dtype
  CHECK(from_worker(kFull + kStack, "Double[2,5,4]").ids().empty());    // another size
  CHECK(from_worker(kFull + kStack, "Double[2,3,4]%w").ids().empty());  // a parameter
  CHECK(
      from_worker(kFull + kStack, "Double[2,3,4]", "process pid=11 parent_pid=9\n").ids().size() ==
      2);  // a fork server stands between: the only reader there is
  const std::string host = "process pid=11 parent_pid=10 host=other\n";
  CHECK(from_worker(kFull + kStack, "Double[2,3,4]", host).ids().empty());
  const std::string trained = "op aten::mm self=Double[3,4] phase forward\n";
  CHECK(from_worker(kFull + kStack + trained, "Double[2,3,4]").ids().empty());  // no worker
}

TEST_CASE("where several results fit the order decides, and it is probable") {
  const std::string two =
      "op aten::full -> Double[2,4] at data.py:11 phase data\n"
      "op aten::rand -> Double[2,4] at data.py:12 phase data\n";
  const Asked first = from_worker(two, "Double[2,4]");
  CHECK(first.ids() == Ids{1});
  CHECK(how_made(first.way) ==
        "was probably made in Double by aten::full at data.py:11 in a DataLoader worker");
  const Asked second(
      "process pid=11 parent_pid=10\n" + two +
          "process pid=10 parent_pid=1\nop aten::mse_loss self=Double[2,4] target=Double[2,4]\n",
      "target");
  CHECK(second.ids() == Ids{2});
}

TEST_CASE("what the worker did not use itself fits before what it did") {
  const Asked asked = from_worker(
      "op aten::full -> Double[2,4] at data.py:11 phase data\n"
      "op aten::neg self=Double[2,4]<#1 -> Double[2,4] at data.py:12 phase data\n",
      "Double[2,4]");
  CHECK(asked.ids() == Ids{2, 1});
  CHECK_FALSE(asked.way.is_probable);
}

TEST_CASE("a view of the batch probably is the batch") {
  const Asked asked = from_worker(kFull + kStack, "Double[6,4]");
  CHECK(asked.ids() == Ids{2, 1});
  CHECK(asked.way.is_probable);
  const Asked inner(
      "process pid=11 parent_pid=10\n" + kFull + kStack +
      "process pid=10 parent_pid=1\n"
      "op aten::linear input=Double[2,3,4] weight=Float[4,4]%net.weight phase forward id #3\n"
      "op aten::addmm mat1=Double[6,4] mat2=Float[4,4]%net.weight phase forward parent #3\n");
  CHECK(inner.ids() == Ids{2, 1});
  CHECK_FALSE(inner.way.is_probable);  // the op around it has the shape of the batch
}

TEST_CASE("a worker that makes nothing of known provenance is named all the same") {
  const Asked asked = from_worker(
      "op aten::stack tensors=Double[3,4], -> Double[1,3,4] at train.py:18 phase data\n",
      "Double[1,3,4]");
  CHECK(asked.maker() == kNoOpCall);
  CHECK(how_made(asked.way) == "came from a DataLoader worker, from aten::stack at train.py:18");
}

TEST_CASE("what torch.tensor and its like were given is named") {
  const auto made = [](const std::string& call) {
    return how_made(Asked("op python::torch." + call + "op aten::add self=Double[2]<#1\n").way);
  };
  CHECK(made("tensor \"list[float64]\":=Double -> Double[2] at data.py:3\n") ==
        "was made in Double by torch.tensor at data.py:3, from a list of np.float64");
  CHECK(made("from_numpy ndarray:=Double -> Double[2] at data.py:4\n") ==
        "was made in Double by torch.from_numpy at data.py:4, from an ndarray of Double");
  CHECK(made("tensor -> Double[2] at data.py:5\n") ==
        "was made in Double by torch.tensor at data.py:5");
}

}  // namespace
}  // namespace dtypecheck
