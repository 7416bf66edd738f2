#include "cures/verdict.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "cures/merit.h"
#include "cures/search.h"

using namespace dtypecheck;
using namespace dtypecheck::cures;
using Catch::Contains;
using Catch::Equals;

namespace {

const Finding kGoal{.rule = "mixed-operands", .message = "Float meets Half"};

Trial ended(std::vector<double> numbers, int status = 0) {
  Trial trial;
  trial.recorded.run.processes.emplace_back();
  trial.recorded.run.calls.push_back({.id = 1, .op = "aten::mm"});
  trial.end = ChildEnd{.exit_status = status};
  trial.numbers = std::move(numbers);
  trial.last_words = "KeyError: 1";
  return trial;
}

Judgement judged(const Trial& repaired, const Trial& trial, const Trial& again = {}) {
  Judge judge([&] { return again; });
  judge.compare_with(std::make_shared<Trial>(repaired));
  const Node node{.trial = std::make_shared<Trial>(repaired), .program = {}};
  return judge.judge(node, kGoal, {.trial = std::make_shared<Trial>(trial), .program = {}},
                     /*is_setting=*/false);
}

}  // namespace

TEST_CASE("A number near that of the repair run proves") {
  CHECK(judged(ended({0.5}), ended({0.51})).words == "it ran to its end, no errors, no warnings");
  const Judgement far = judged(ended({0.5}), ended({0.7}), ended({0.5}));
  CHECK(far.verdict == Verdict::kRefuted);
  CHECK(far.reason == Reason::kNumbers);
}

TEST_CASE("A program that is not the same twice is compared within its own difference") {
  const Judgement within = judged(ended({0.5}), ended({0.7}), ended({0.6}));
  CHECK(within.verdict == Verdict::kProven);
  CHECK_THAT(within.words, Contains("rounding alone makes two runs differ by 20 %"));
  CHECK(judged(ended({0.5}), ended({0.9}), ended({0.51})).reason == Reason::kNumbers);
}

TEST_CASE("A proof says where nothing is compared") {
  CHECK_THAT(judged(ended({}), ended({})).words, Contains("prints no number"));
  const Judgement died = judged(ended({0.5}, 1), ended({0.7}));
  CHECK(died.verdict == Verdict::kProven);
  CHECK_THAT(died.words, Contains("no run of the unchanged program prints a right number"));
}

TEST_CASE("What takes too long is not tried, and what dies is refuted") {
  Trial late = ended({});
  late.end.reset();
  late.is_timed_out = true;
  const Judgement judgement = judged(ended({0.5}), late);
  CHECK(judgement.verdict == Verdict::kNotTried);
  CHECK_THAT(judgement.words, Contains("--timeout"));
  CHECK(judged(ended({0.5}), ended({}, 1)).reason == Reason::kDies);
}

TEST_CASE("A setting in other 16 bits that is refused at the same line gets nowhere") {
  const auto reason = [](int line, bool is_setting) {
    const auto refused = [](int at, const char* message) {
      Trial trial = ended({}, 1);
      trial.recorded.run.calls.front().site.line = {.file = "blocks.py", .line = at};
      trial.findings = {{.rule = "mixed-operands",
                         .severity = Severity::kError,
                         .message = message,
                         .cures = {{.text = "cast the input"}},
                         .call = 1}};
      return std::make_shared<Trial>(trial);
    };
    const Node node{.trial = refused(73, "Float input meets a Half weight"), .program = {}};
    const Node next{.trial = refused(line, "Float input meets a BFloat16 weight"), .program = {}};
    return Judge([] { return Trial(); })
        .judge(node, node.trial->findings.front(), next, is_setting)
        .reason;
  };
  CHECK(reason(73, true) == Reason::kSamePlace);
  CHECK(reason(90, true) == Reason::kFurther);
  CHECK(reason(73, false) == Reason::kFurther);  // the first change: a cast of the other operand
}

TEST_CASE("An infinity that a later line gives is the next one to cure") {
  const auto first_at = [](int line) {
    Trial trial = ended({});
    const SourceLine where = {.file = "model.py", .line = line, .function = "forward"};
    trial.recorded.run.calls.front().site.line = where;
    trial.findings = {{.rule = "first-non-finite",
                       .severity = Severity::kWarning,
                       .message = "aten::bmm gave the first infinity of the run",
                       .cures = {{.where = where, .text = "compute it in Float"}},
                       .call = 1}};
    trial.findings.front().site.line = where;
    return std::make_shared<Trial>(trial);
  };
  const Node node{.trial = first_at(252), .program = {}};
  const auto reason = [&](int line) {
    Node next{.trial = first_at(line), .program = {}};
    next.patch.edits = {
        {.file = "model.py", .line = 252, .column = 1, .new_text = "with autocast:\n"}};
    return Judge([] { return Trial(); })
        .judge(node, node.trial->findings.front(), next, /*is_setting=*/false)
        .reason;
  };
  CHECK(reason(254) == Reason::kFurther);
  CHECK(reason(253) == Reason::kStill);  // the same line, below the head of a region
  CHECK(reason(252) == Reason::kStill);
}

TEST_CASE("Weights that stand still as they did in the repair run refute no change") {
  const auto trial = [](Dtype weight, bool is_measured) {
    Trial one = ended({});
    OpCall step{.id = 1, .op = "aten::add_"};
    step.operands = {{.name = "self", .dtypes = weight, .shape = {4}}};
    step.outcome = Outcome::kReturned;
    one.recorded.run.calls = {step};
    if (is_measured)
      one.findings = {{.rule = "lost-update",
                       .severity = Severity::kWarning,
                       .message = "98 % of the BFloat16 weights did not move in 3 steps",
                       .call = 1}};
    return one;
  };
  const auto verdict = [&](Dtype before) {
    Judge judge([] { return Trial(); });
    const Trial repaired = trial(before, false);
    judge.remember(repaired);
    const Node node{.trial = std::make_shared<Trial>(repaired), .program = {}};
    const Node next{.trial = std::make_shared<Trial>(trial(Dtype::kBFloat16, true)), .program = {}};
    return judge.judge(node, kGoal, next, /*is_setting=*/false).verdict;
  };
  CHECK(verdict(Dtype::kBFloat16) == Verdict::kProven);
  CHECK(verdict(Dtype::kFloat) == Verdict::kRefuted);  // the change lowered them
}

TEST_CASE("Another finding of the kind on the next line is not the one that the change was for") {
  const auto at = [](int line) {
    Finding finding = kGoal;
    finding.severity = Severity::kError;
    finding.site.line = {.file = "cache.py", .line = line, .function = "update"};
    return finding;
  };
  Trial both = ended({}, 1), one = ended({}, 1);
  both.findings = {at(16), at(17)};
  const Node node{.trial = std::make_shared<Trial>(both), .program = {}};
  const auto reason = [&](int left, int line_of_edit) {
    one.findings = {at(left)};
    Node next{.trial = std::make_shared<Trial>(one), .program = {}};
    next.patch.edits = {
        {.file = "cache.py", .line = line_of_edit, .column = 1, .new_text = "import torch\n"}};
    return Judge([] { return Trial(); }).judge(node, at(16), next, /*is_setting=*/false).reason;
  };
  CHECK(reason(17, 30) == Reason::kFurther);
  CHECK(reason(16, 30) == Reason::kStill);
  CHECK(reason(18, 1) == Reason::kFurther);  // both were moved
  CHECK(reason(17, 1) == Reason::kStill);
  CHECK(reason(15, 30) == Reason::kFurther);  // what the goal hid
  CHECK(reason(15, 15) == Reason::kStill);    // a line of the change
}

TEST_CASE(
    "What is read beside a number that was raised against damage costs time, and refutes nothing") {
  OpCall read{.id = 1, .op = "aten::mul"};
  read.outcome = Outcome::kReturned;
  read.site.line = {.file = "table.py", .line = 3};
  Trial before = ended({}), after = ended({});
  read.operands = {{.name = "self", .dtypes = Dtype::kBFloat16}};
  before.recorded.run.calls = {read};
  read.operands.front().dtypes = Dtype::kFloat;
  after.recorded.run.calls = {read};
  std::string follows;  // the id of what it is a consequence of
  const auto verdict = [&](const char* goal_rule, Dtype dtype, const char* left_rule) {
    after.findings = {{.rule = left_rule,
                       .severity = Severity::kWarning,
                       .message = "aten::mul promotes other from BFloat16 to Float",
                       .call = 1,
                       .follows = follows}};
    const Finding goal{.rule = goal_rule, .severity = Severity::kWarning, .message = "the goal"};
    Node next{.trial = std::make_shared<Trial>(after), .program = {}};
    next.changes.push_back({.dtype = dtype});
    const Node node{.trial = std::make_shared<Trial>(before), .program = {}};
    Judge judge([] { return Trial(); });
    judge.remember(before);
    return judge.judge(node, goal, next, /*is_setting=*/false).verdict;
  };
  CHECK(verdict("far-from-float", Dtype::kFloat, "silent-promotion") == Verdict::kProven);
  CHECK(verdict("far-from-float", Dtype::kBFloat16, "silent-promotion") == Verdict::kRefuted);
  CHECK(verdict("cast-churn", Dtype::kFloat, "silent-promotion") == Verdict::kRefuted);
  CHECK(verdict("far-from-float", Dtype::kFloat, "lossy-cast") == Verdict::kRefuted);
  follows = "id";
  CHECK(verdict("far-from-float", Dtype::kFloat, "lossy-cast") == Verdict::kProven);
}

TEST_CASE("A warning of harm beside what an op refused takes a change of its own") {
  const Judge judge([] { return Trial(); });
  Trial trial = ended({}, 1);
  trial.findings = {{.rule = "grad-scaler", .message = "the loss is not scaled"}};
  for (const bool was_refused : {true, false}) {
    Merit merit;
    add_run(merit, trial, {}, judge, was_refused);
    CHECK((merit.left == 0 && merit.left_costs == 1) == was_refused);
    CHECK(is_beside(trial.findings.front(), was_refused) == was_refused);
  }
  trial.findings.front().severity = Severity::kError;
  CHECK_FALSE(is_beside(trial.findings.front(), true));
}

TEST_CASE("16-bit weights that the command line asks for are not what a refusal is mended for") {
  const Judge judge([] { return Trial(); });
  for (const bool is_asked_for : {true, false}) {
    for (const bool was_refused : {true, false}) {
      Trial trial = ended({}, 1);
      trial.findings = {{.rule = "lost-update",
                         .message = "29 % of the BFloat16 weights did not move",
                         .is_asked_for = is_asked_for}};
      Merit merit;
      add_run(merit, trial, {}, judge, was_refused);
      CHECK(merit.loses_steps == !(is_asked_for && was_refused));
      CHECK(merit.has_demerit() == merit.loses_steps);
    }
  }
}

TEST_CASE("What values are worth in a repair run, which looks at none, is no fault of a change") {
  const auto tensor = [](Dtype dtype, OpCallId origin) {
    return Operand{.name = "self", .dtypes = dtype, .shape = {4}, .origin = origin};
  };
  const auto trial = [&](Dtype made, bool is_looked_at, Dtype from = Dtype::kDouble) {
    Trial one = ended({});
    OpCall cast{.id = 1, .op = "aten::_to_copy"}, sub{.id = 2, .op = "aten::sub"};
    cast.operands = {tensor(from, kNoOpCall)};
    cast.results = {tensor(made, 1)};
    sub.operands = {tensor(Dtype::kFloat, 1)};
    sub.outcome = Outcome::kReturned;
    if (is_looked_at) {
      sub.inexact.emplace();
      one.findings = {{.rule = "far-from-float",
                       .severity = Severity::kWarning,
                       .message = "aten::sub gives 1, and 2 in Float",
                       .call = 2}};
    }
    one.recorded.run.calls = {cast, sub};
    return one;
  };
  const Trial repaired = trial(Dtype::kBFloat16, false);
  const auto judged_beside = [&](const Trial& changed) {
    Judge judge([] { return Trial(); });
    judge.remember(repaired);
    const Node node{.trial = std::make_shared<Trial>(repaired), .program = {}};
    const Node next{.trial = std::make_shared<Trial>(changed), .program = {}};
    return judge.judge(node, kGoal, next, /*is_setting=*/false).verdict;
  };
  CHECK(judged_beside(trial(Dtype::kBFloat16, true)) == Verdict::kProven);
  CHECK(judged_beside(trial(Dtype::kHalf, true)) == Verdict::kRefuted);  // the change rounds
  CHECK(judged_beside(trial(Dtype::kFloat, true, Dtype::kBFloat16)) == Verdict::kProven);
}

TEST_CASE("What was not looked at in the run without a change is no new finding") {
  const auto trial = [](uint64_t looked, const char* rule) {
    Trial one = ended({});
    OpCall cast{.id = 1, .op = "aten::_to_copy", .outcome = Outcome::kReturned};
    cast.operands = {{.name = "self", .dtypes = Dtype::kFloat, .shape = {64}}};
    cast.results = {{.dtypes = Dtype::kHalf, .shape = {64}, .origin = 1}};
    cast.cast.emplace();
    cast.cast->looked = looked;
    if (rule != nullptr)
      one.findings = {{.rule = rule,
                       .severity = Severity::kWarning,
                       .message = "100 % of a gradient becomes 0",
                       .call = 1}};
    one.recorded.run.calls = {cast};
    return one;
  };
  const auto verdict = [&](uint64_t looked_before, const char* rule) {
    Judge judge([] { return Trial(); });
    const Trial before = trial(looked_before, nullptr);
    judge.remember(before);
    const Node node{.trial = std::make_shared<Trial>(before), .program = {}};
    const Node next{.trial = std::make_shared<Trial>(trial(64, rule)), .program = {}};
    return judge.judge(node, kGoal, next, /*is_setting=*/false).verdict;
  };
  CHECK(verdict(0, "lossy-cast") == Verdict::kProven);
  CHECK(verdict(64, "lossy-cast") == Verdict::kRefuted);
  CHECK(verdict(0, "low-precision-index") == Verdict::kRefuted);  // every cast is asked
}

TEST_CASE("Merits compare in the order of what a maintainer minds") {
  const Merit none, setting{.is_setting = true}, doubled{.doubled = 1, .edits = 1};
  const Merit literal{.literals = 1}, float_model{.given_up = 1}, large{.edits = 9};
  CHECK(none < setting);
  CHECK(large < setting);
  CHECK(setting < Merit{.left_costs = 1});
  CHECK_FALSE(Merit{.left_costs = 1}.has_demerit());
  CHECK_THAT(cost_words({.loses_steps = true, .left = 1}), Equals("weights still do not move"));
  CHECK_THAT(cost_words({.left = 1}), Equals("it leaves a warning of harm"));
  CHECK(setting < literal);
  CHECK(literal < doubled);
  CHECK(doubled < float_model);
  CHECK(doubled < Merit{.left = 1});
  CHECK(Merit{.left = 1} < float_model);
  CHECK(Merit{.given_up = 0.5, .left = 1} < float_model);
  CHECK(Merit{.loses_steps = true} < float_model);
  CHECK(doubled < Merit{.promotes = true});
  CHECK(Merit{.promotes = true}.has_demerit());
  CHECK(Merit{.left = 1} < Merit{.in_double = true});
  CHECK_THAT(cost_words({.in_double = true}), Equals("a workaround: layers compute in Double"));
  CHECK_FALSE(setting.has_demerit());
  CHECK_FALSE(large.has_demerit());
  CHECK(float_model.has_demerit());
  CHECK_THAT(cost_words(float_model), Contains("a workaround: 100 %"));
  CHECK(cost_words(large).empty());
}

TEST_CASE("What a run computes in 16 bits is counted by calls and bytes, without casts") {
  const auto tensor = [](Dtype dtype) {
    return Operand{.name = "self", .dtypes = dtype, .shape = {4}};
  };
  const auto call = [&](const char* op, Dtype from, Dtype to) {
    OpCall one{.op = op};
    one.operands = {tensor(from)};
    one.results = {tensor(to)};
    return one;
  };
  Run run;
  run.calls = {call("aten::mm", Dtype::kHalf, Dtype::kHalf),
               call("aten::mm", Dtype::kFloat, Dtype::kFloat),
               call("aten::_to_copy", Dtype::kFloat, Dtype::kHalf)};
  CHECK(low_share(run).calls == 0.5);
  CHECK(low_share(run).bytes == 16.0 / 48);
  CHECK(low_share(Run()).calls == 0);
  run.calls.push_back(call("aten::mul", Dtype::kHalf, Dtype::kHalf));  // beside products
  CHECK(low_share(run).calls == 0.5);
  run.calls = {call("aten::mul", Dtype::kHalf, Dtype::kHalf),
               call("aten::_to_copy", Dtype::kFloat, Dtype::kHalf)};
  CHECK(low_share(run).calls == 1);
  // Data in Half that meet a weight in Float were never computed with.
  OpCall mixed = call("aten::mm", Dtype::kHalf, Dtype::kFloat);
  mixed.operands.push_back(tensor(Dtype::kFloat));
  mixed.operands.back().parameter = "net.weight";
  run.calls = {mixed};
  CHECK(low_share(run).calls == 0);
  // Nor were those that a repaired call gave.
  OpCall next = call("aten::mm", Dtype::kHalf, Dtype::kHalf);
  next.operands.front().origin = mixed.id = 1;
  next.id = 2;
  run.calls = {mixed, next};
  CHECK(low_share(run).calls == 0.5);
  run.calls.front().outcome = Outcome::kRepaired;
  CHECK(low_share(run).calls == 0);
  // A small adapter that is trained beside a frozen model counts for neither; one as large does.
  const auto layer = [&](const char* name, int64_t size, Dtype dtype, bool is_trained) {
    OpCall one = call("aten::mm", dtype, dtype);
    one.operands.push_back({.name = "mat2", .dtypes = dtype, .shape = {size}});
    one.operands.back().parameter = name;
    one.operands.back().requires_grad = is_trained;
    return one;
  };
  for (const int64_t size : {10, 40}) {
    run.calls = {layer("net.base", 40, Dtype::kHalf, false),
                 layer("net.lora", size, Dtype::kHalf, true)};
    const auto adapters = adapters_of(run);
    run.calls.back() = layer("net.lora", size, Dtype::kFloat, true);
    CHECK(low_share(run, adapters).calls == (size == 10 ? 1 : 0.5));
  }
}

TEST_CASE("Nothing of a program in C++ is tried whose build is not told") {
  judging::RecordedRun recorded;
  recorded.run = ended({}).recorded.run;
  const Search found = search(recorded, {kGoal}, {}, {});
  CHECK(found.tries.empty());
  CHECK(found.runs == 0);
  CHECK_THAT(found.impossible, Contains("say how it is built"));
}

TEST_CASE("A NaN that came with the data is there once an infinity is no more") {
  const auto trial = [](bool is_given, bool has_inf) {
    Trial one = ended({});
    OpCall cat{.id = 1, .op = "aten::cat"};
    cat.results = {{.name = "", .dtypes = Dtype::kFloat, .shape = {4}}};
    cat.outcome = Outcome::kReturned;
    if (!has_inf) {
      cat.non_finite = {{.is_nan = true, .operands_had_no_nan = !is_given}};
      one.findings = {{.rule = "first-non-finite",
                       .severity = Severity::kError,
                       .message = "aten::cat received the first NaN of the run",
                       .call = 1}};
    }
    one.recorded.run.calls = {cat};
    return one;
  };
  for (const bool is_given : {true, false}) {
    Judge judge([] { return Trial(); });
    const Trial before = trial(is_given, true);
    judge.remember(before);
    const Node node{.trial = std::make_shared<Trial>(before), .program = {}};
    const auto changed = std::make_shared<Trial>(trial(is_given, false));
    const Node next{.trial = changed, .program = {}};
    CHECK(judge.judge(node, kGoal, next, /*is_setting=*/false).verdict == Verdict::kProven);
    Merit merit;
    add_run(merit, *changed, {}, judge, false);
    CHECK(merit.left == (is_given ? 0 : 1));
    Trial lost = before;
    lost.findings.push_back({.rule = "non-finite-loss", .severity = Severity::kError});
    judge.remember(lost);
    const auto verdict = judge.judge(node, kGoal, next, /*is_setting=*/false).verdict;
    CHECK((verdict == Verdict::kProven) == is_given);
  }
}

TEST_CASE("An infinity that another op of the line gives first is the same infinity") {
  const auto trial = [](const char* op, bool is_nan) {
    Trial one = ended({});
    OpCall call{.id = 1, .op = op};
    call.non_finite = {{.is_nan = is_nan}};
    one.recorded.run.calls = {call};
    one.findings = {
        {.rule = "first-non-finite",
         .severity = Severity::kWarning,
         .message = std::string(op) + " gave the first " + (is_nan ? "NaN" : "infinity"),
         .call = 1,
         .site = {.line = {.file = "vae.py", .line = 14}}}};
    return one;
  };
  const Trial before = trial("aten::conv2d", false);
  const Node node{.trial = std::make_shared<Trial>(before), .program = {}};
  const auto is_left = [&](const char* op, bool is_nan) {
    const Node next{.trial = std::make_shared<Trial>(trial(op, is_nan)), .program = {}};
    return Judge::left_of(node, before.findings.front(), next) != nullptr;
  };
  CHECK(is_left("aten::_slow_conv2d_forward", false));
  CHECK_FALSE(is_left("aten::native_group_norm", true));  // behind an infinity that is gone
}

namespace {

// A table is rounded to 16 bits, read in Float, and two of what is computed of it are compared.
Run rounded_table(Dtype read_in) {
  const auto tensor = [](Dtype dtype, OpCallId origin) {
    Operand operand;
    operand.dtypes = dtype;
    operand.origin = origin;
    return operand;
  };
  OpCall cast{.id = 1, .op = "aten::_to_copy", .results = {tensor(Dtype::kBFloat16, 0)}};
  OpCall read{.id = 2,
              .op = "aten::_to_copy",
              .operands = {tensor(read_in, read_in == Dtype::kBFloat16 ? 1 : 0)},
              .results = {tensor(Dtype::kFloat, 0)}};
  OpCall difference{.id = 3, .op = "aten::sub", .operands = {tensor(Dtype::kFloat, 2)}};
  difference.inexact = InexactValue{.from = 1e-6, .to = 0.2, .rounded_at = 1};
  Run run;
  run.calls = {cast, read, difference};
  return run;
}

}  // namespace

TEST_CASE("Integers that are cast no more, and promoted all the same, are as they were") {
  const auto run_of = [](Dtype read_in, Dtype result) {
    const auto tensor = [](Dtype dtype, OpCallId origin) {
      Operand operand;
      operand.dtypes = dtype;
      operand.origin = origin;
      return operand;
    };
    OpCall cast{.id = 1,
                .op = "aten::_to_copy",
                .operands = {tensor(Dtype::kLong, 0)},
                .results = {tensor(Dtype::kFloat, 0)}};
    cast.inexact = InexactValue{.from = 20000001, .to = 20000000};
    OpCall stack{.id = 2,
                 .op = "aten::stack",
                 .operands = {tensor(read_in, 1), tensor(Dtype::kFloat, 0)},
                 .results = {tensor(result, 0)}};
    Run run;
    run.calls = {cast, stack};
    return run;
  };
  const Run before = run_of(Dtype::kFloat, Dtype::kFloat);
  const Finding goal{.rule = "far-from-float", .call = 1};
  CHECK(promoted_again(before, goal, run_of(Dtype::kLong, Dtype::kFloat)) != nullptr);
  CHECK(promoted_again(before, goal, run_of(Dtype::kLong, Dtype::kDouble)) == nullptr);
  CHECK(promoted_again(before, goal, run_of(Dtype::kDouble, Dtype::kDouble)) == nullptr);
  CHECK(promoted_again(before, {.rule = "far-from-float", .call = 2}, before) == nullptr);
}

TEST_CASE("What is rounded and read as before is not cured, though nothing is found any more") {
  const Run before = rounded_table(Dtype::kBFloat16);
  const Finding goal{.rule = "far-from-float", .call = 3};
  CHECK(is_read_as_before(before, goal, rounded_table(Dtype::kBFloat16)));
  CHECK_FALSE(is_read_as_before(before, goal, rounded_table(Dtype::kFloat)));
  CHECK_FALSE(is_read_as_before(before, {.rule = "silent-promotion", .call = 3}, before));
  Run of_weight = before;
  of_weight.calls[1].operands[0].parameter = "model.table";
  CHECK_FALSE(is_read_as_before(of_weight, goal, of_weight));
  Run of_infinity = before;
  of_infinity.calls[2].inexact->to = INFINITY;
  CHECK_FALSE(is_read_as_before(of_infinity, goal, before));
}

TEST_CASE("A finding with another cure is of another cause") {
  Finding goal{.rule = "far-from-float"}, left = goal;
  goal.cures = {{.where = {.file = "net.py", .line = 3}, .text = "keep it in Float"}};
  left.cures = {{.where = {.file = "net.py", .line = 9}, .text = "keep the buffer"}};
  CHECK(has_further_cause(goal, left));
  CHECK_FALSE(has_further_cause(goal, goal));
  left.rule = "mixed-operands";
  CHECK_FALSE(has_further_cause(goal, left));
}

TEST_CASE("A cast of the change's own that cuts fractions off refutes it") {
  const auto reason = [](int edited, Dtype dtype) {
    Trial trial = ended({});
    OpCall cast{.id = 1, .op = "aten::_to_copy"};
    cast.site.line = {.file = "batch.py", .line = 58, .function = "mapping"};
    cast.operands = {{.name = "self", .dtypes = Dtype::kFloat}};
    cast.results = {{.dtypes = dtype}};
    cast.outcome = Outcome::kReturned;
    trial.recorded.run.calls = {cast};
    trial.findings = {{.rule = "far-from-float",
                       .severity = Severity::kWarning,
                       .message = "-0.02 became 0 in a cast to Long",
                       .call = 1}};
    trial.findings.front().site = cast.site;
    const Node node{.trial = std::make_shared<Trial>(ended({}, 1)), .program = {}};
    Node next{.trial = std::make_shared<Trial>(trial), .program = {}};
    next.patch.edits = {
        {.file = "batch.py", .line = edited, .column = 1, .new_text = ".to(torch.int64)"}};
    return Judge([] { return Trial(); }).judge(node, kGoal, next, /*is_setting=*/false).reason;
  };
  CHECK(reason(58, Dtype::kLong) == Reason::kWorse);
  CHECK(reason(20, Dtype::kLong) == Reason::kEnd);  // the program's own
  CHECK(reason(58, Dtype::kFloat) == Reason::kEnd);
}

TEST_CASE("A promotion that was an error for what came of it is left, or is not") {
  const auto left = [](int line, Severity goal_severity) {
    Finding goal{.rule = "silent-promotion", .severity = goal_severity, .message = "cat promotes"};
    goal.site.line = {.file = "deepar.py", .line = 27, .function = "loss"};
    Trial before = ended({}, 1), after = ended({});
    before.findings = {goal};
    goal.severity = Severity::kWarning;
    goal.site.line.line = line;
    after.findings = {goal};
    const Node node{.trial = std::make_shared<Trial>(before), .program = {}};
    const Node next{.trial = std::make_shared<Trial>(after), .program = {}};
    return Judge::leaves_cause(node, before.findings.front(), next);
  };
  CHECK(left(27, Severity::kError));
  CHECK_FALSE(left(90, Severity::kError));
  CHECK_FALSE(left(27, Severity::kWarning));
  Merit with_cause;
  with_cause.leaves_cause = true;
  CHECK(Merit() < with_cause);
  CHECK(with_cause.has_demerit());
}
