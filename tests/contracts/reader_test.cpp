// The reader trusts nothing: what is cut short, of another schema or inconsistent is refused with
// its name and line, and never crashes.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "platform/error.h"
#include "rules/contracts/contracts.h"
#include "rules/contracts/table.h"
#include "table_text.h"

using namespace dtypecheck;
using namespace dtypecheck::contracts;

namespace {

std::string refusal(const std::string& text) {
  try {
    Contracts().add(text, "a.contracts");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string text = kTable;
  const size_t at = text.find(old_text);
  REQUIRE(at != text.npos);
  return text.replace(at, old_text.size(), new_text);
}

void expect_refused(const std::string& text, const std::string& words) {
  CAPTURE(text);
  CHECK_THAT(refusal(text), Catch::Matchers::StartsWith("a.contracts:"));
  CHECK_THAT(refusal(text), Catch::Matchers::Contains(words));
}

}  // namespace

TEST_CASE("the table is read") {
  CHECK(refusal(kTable) == "accepted");
  Contracts contracts;
  contracts.add(kTable, "a.contracts");
  REQUIRE(contracts.runtimes().size() == 2);
  CHECK(contracts.runtimes()[1].to_string() == "cpu:2.11.0");
  CHECK(contracts.runtimes()[0].measured);
  CHECK(contracts.runtimes()[0].has_mode("autocast:BFloat16"));
  CHECK_FALSE(contracts.runtimes()[0].has_mode("autocast:Half"));
}

TEST_CASE("ops above the same rows share them, and each has to fit") {
  const std::string loss = "op aten::mse_loss self,target\n";
  Contracts contracts;
  contracts.add(with(loss, loss + "op aten::l1_loss input,target\n"), "a.contracts");
  for (const std::string line : {"op aten::mse_loss self=Double[4] target=Double[4]",
                                 "op aten::l1_loss input=Double[4] target=Double[4]"}) {
    const Answer answer = contracts.ask(0, call_of(line + " -> Double[] at a.py:1"));
    CHECK(answer.results == std::vector<Dtype>{Dtype::kDouble});
  }
  expect_refused(with(loss, loss + "op aten::alias self\n"), "\"dd\" is no combination of self");
}

TEST_CASE("one message may be of another type in other versions") {
  Contracts contracts;
  contracts.add(with("message 0 RuntimeError", "message 0 RuntimeError|TypeError:1"),
                "a.contracts");
  const OpCall call = call_of(
      "op aten::addmm self=Float[4] mat1=Half[2,4] mat2=Float[4,4] -> Float[2,4] at a.py:1");
  CHECK(contracts.ask(0, call).error_type == "RuntimeError");
  CHECK(contracts.ask(1, call).error_type == "TypeError");
  expect_refused(with("message 0 RuntimeError", "message 0 RuntimeError|TypeError:2"),
                 "numbers of the 2 runtimes");
}

TEST_CASE("other files and schemas are refused") {
  expect_refused("", "cut short");
  expect_refused(
      "\x7f"
      "ELF\n",
      "no contract file");
  expect_refused("dtypecheck contracts 4\nend 0\n", "schema 4, this build reads 3");
  expect_refused("dtypecheck contracts x\nend 0\n", "schema x, this build reads 3");
  expect_refused("dtypecheck contracts 1\nend 0\n", "no runtime");
}

TEST_CASE("what is cut short is refused, wherever it was cut") {
  for (size_t size = 0; size < kTable.size(); ++size) {
    INFO(size);
    CHECK_THAT(refusal(kTable.substr(0, size)), Catch::Matchers::StartsWith("a.contracts:"));
  }
}

TEST_CASE("what contradicts itself is refused with its line") {
  expect_refused(with("end 9", "end 10"), "a.contracts:22: the file says it has 10 rows");
  expect_refused(with("end 9\n", "end 9\nop aten::x self\n"), "nothing after \"end\"");
  expect_refused(with("runtime 1", "runtime 2"), "expected runtime 1");
  expect_refused(with("2.11.0 measured", "2.11.0 guessed"), "\"measured\" or \"read\"");
  expect_refused(with("modes=plain,grad", "modes=grad"), "modes=");
  expect_refused(with("message 1", "message 0"), "twice");
  expect_refused(with("message 1 NotImplementedError", "message one"), "expected a number");
  expect_refused(with("op aten::addmm", "op addmm"), "expected an op's name");
  expect_refused(with("self,mat1,mat2", "self,,mat2"), "operand names");
  expect_refused(with("self,mat1,mat2", "self,mat1,"), "operand names");
  expect_refused(with("plain 0", "plane 0"), "expected plain, grad");
  expect_refused(with("plain 0", "plain 2"), "numbers of the 2 runtimes");
  expect_refused(with("plain 0", "plain 1-0"), "numbers of the 2 runtimes");
  expect_refused(with("m1=hhh", "m7=hhh"), "expected an outcome");
  expect_refused(with("m1=hhh", "m1hhh"), "expected an outcome");
  expect_refused(with("m1=hhh", "m1=hh"), "\"hh\" is no combination of self,mat1,mat2");
  expect_refused(with("m1=hhh", "m1=hxh"), "no combination");
  expect_refused(with("m1=hhh", "m1="), "no combination");
  expect_refused(with("f=f,fh,hf", "f=f,fff"), "no combination of tensors[]");
  expect_refused(with("hff=hfff", "hff=hfbf"), "no combination");
  expect_refused(with("m1=hhh", "m1=[hb]~"), "no combination");
  expect_refused(with("m1=hhh", "m1=[hb~~"), "no combination");
  expect_refused(with("m1=hhh", "m1=[]hh"), "no combination");
  expect_refused(with("self,mat1,mat2", "self,mat1,mat2 mask"), "names with a dtype");
  expect_refused(with("self,mat1,mat2", "self,mat1,mat2 mask:q"), "names with a dtype");
  expect_refused(with("modes=plain", "dtypes=fhq modes=plain"), "letters of dtypes");
  expect_refused(with("op aten::add.Tensor self,other\n", ""), "expected an op, got \"plain\"");
}

TEST_CASE("damaged tables are refused or read, and never crash") {
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::string text = kTable;
    for (int change = 0; change < 3; ++change) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    Contracts contracts;
    try {
      contracts.add(text, "a.contracts");
    } catch (const InputError&) {
      continue;
    }
    const OpCall call =
        call_of("op aten::addmm self=Half[4] mat1=Half[2,4] mat2=Half[4,4] -> Half[2,4] at a.py:1");
    for (size_t i = 0; i < contracts.runtimes().size(); ++i) contracts.ask(i, call);
  }
}

TEST_CASE("a combination has a letter for each operand") {
  CHECK(is_combination("self", "h"));
  CHECK(is_combination("a,b,c", "fhb"));
  CHECK_FALSE(is_combination("a,b,c,d", "fhbf"));  // more than three: two dtypes at a time
  CHECK(is_combination("a,b,c,d", "fhfh"));
  CHECK(is_combination("tensors[]", "fh"));  // the only operand is a list: two dtypes in it
  CHECK_FALSE(is_combination("tensors[]", "ff"));
  CHECK_FALSE(is_combination("a[],b[]", "fhb"));
}

TEST_CASE("dtypes beyond the first four stand beside them and Long") {
  CHECK(is_combination("self", "o"));
  CHECK(is_combination("a,b", "hF"));
  CHECK(is_combination("a,b", "uu"));
  CHECK(is_combination("a,b", "ul"));
  CHECK_FALSE(is_combination("a,b", "uF"));
  CHECK(is_combination("a,b", "fF", "grad"));
  CHECK_FALSE(is_combination("a,b", "hF", "grad"));
  CHECK(is_combination("a,b,c", "ffl"));
  CHECK(is_combination("a,b,c,d", "lllf"));
  CHECK_FALSE(is_combination("a,b,c", "hhl"));
  CHECK_FALSE(is_combination("a,b,c,d", "llff"));
}

TEST_CASE("the first part that a combination fits has its outcome") {
  const std::string_view pattern = "m3=[bh]~f,l. ?=.~~,ooo ^0=*";
  CHECK(word_in(pattern, "bbf") == "m3");
  CHECK(word_in(pattern, "bhf") == "^0");
  CHECK(word_in(pattern, "lf") == "m3");
  CHECK(word_in(pattern, "ddd") == "?");
  CHECK(word_in(pattern, "fhd") == "^0");
  CHECK(outcome_in("a,b,c", pattern, "hfd") == "dh");
  CHECK(word_in("f=f h=h", "b").empty());
}

TEST_CASE("symbols stand for what the operands promote to") {
  const auto outcome = [](std::string_view symbol, std::string_view combination,
                          std::string_view operands = "a,b") {
    return outcome_in(operands, std::string(symbol) + "=*", combination);
  };
  CHECK(outcome("^", "hb") == "f");
  CHECK(outcome("^", "uc") == "s");
  CHECK(outcome("%", "lo") == "f");
  CHECK(outcome("+", "uo") == "l");
  CHECK(outcome("+", "hl") == "h");
  CHECK(outcome("|", "Fd") == "d");
  CHECK(outcome("&", "hh") == "H");
  CHECK(outcome("&", "lb") == "F");
  CHECK(outcome("^", "hf", "a,b()") == "h");
  CHECK(outcome("^", "hf", "a(),b()") == "f");
  CHECK(outcome("^", "of", "a,b()") == "f");
  CHECK(outcome("^", "ul", "a,b()") == "u");
  CHECK(outcome("^", "hD", "a,b()") == "H");
  CHECK(outcome("1", "fh") == "h");
  CHECK(outcome("7", "fh") == "?");
  CHECK(outcome("^", "ef") == "?");  // nothing that LibTorch promotes to
}
