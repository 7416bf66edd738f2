// The tables of explain/data/ are read as strictly here as in the program, and a mistake in one is
// an error that says where it is: none of them is silent.
#include <algorithm>
#include <catch2/catch.hpp>

#include "explain/cause_table.h"
#include "explain/data_file.h"
#include "explain/kernel_table.h"
#include "explain/message_table.h"
#include "explain/signal_table.h"
#include "explain/since.h"
#include "platform/error.h"
#include "tests/files.h"

using namespace dtypecheck;
using namespace dtypecheck::explain;

static std::string file_text(const std::string& name) {
  return test::read_bytes(DTYPECHECK_SOURCE_DIR "/explain/data/" + name);
}

template <typename Read>
static std::string error_of(Read read, const std::string& text) {
  try {
    read(text, "table.txt");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("every file is read without an error") {
  CHECK(read_message_table(file_text("messages.txt"), "messages.txt").messages.size() > 80);
  CHECK(read_signal_table(file_text("signals.txt"), "signals.txt").signals.size() > 80);
  CHECK(read_kernel_table(file_text("kernels.txt"), "kernels.txt").cpu.size() > 40);
  CHECK(read_cause_table(file_text("causes.txt"), "causes.txt").size() == kCategoryCount);
}

TEST_CASE("blocks, fields and lines that go on") {
  const auto blocks = read_blocks(
      "# a comment\n\nmessage one\n  means a\n    b\n  # another\n  says c\\nd\nmessage two\n",
      "t.txt");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].head.value == "one");
  REQUIRE(blocks[0].fields.size() == 2);
  CHECK(blocks[0].fields[0].value == "a b");
  CHECK(blocks[0].fields[1].value == "c\nd");
  CHECK(blocks[0].fields[1].line == 7);
  CHECK(blocks[1].fields.empty());
}

TEST_CASE("lines that are neither") {
  for (const char* text : {"  means a\n", "message one\n   means a\n", "message one\n\tmeans a\n",
                           "message one \n", "    goes on\n"}) {
    INFO(text);
    CHECK_THROWS_AS(read_blocks(text, "t.txt"), InputError);
  }
}

TEST_CASE("mistakes in messages.txt") {
  const std::string good = "message one\n  says one two three\n  family own\n  means it\n";
  CHECK(error_of(read_message_table, good).empty());
  const auto error = [&](const std::string& more) {
    return error_of(read_message_table, good + more);
  };
  CHECK(error("  mean it\n") ==
        "table.txt:5: unknown key 'mean', expected one of says, family, "
        "leans, spelled, never, means, op, versions, symptom, vague, dtypes");
  CHECK(error("massage two\n").find("table.txt:5: unknown key 'massage'") == 0);
  CHECK(error(good).find("table.txt:5: message 'one' is listed twice") == 0);
  CHECK(error("  leans norm-mixd 3\n").find("table.txt:5: unknown category 'norm-mixd'") == 0);
  for (const std::string number : {"x", "-1", "nan", "inf", "1e30"}) {
    CHECK(error("  leans norm-mixed " + number + "\n") ==
          "table.txt:5: expected a number from 0 to 100, got '" + number + "'");
  }
  CHECK(error("  leans norm-mixed 3 | | cublas 1\n").find("empty part") != std::string::npos);
  CHECK(error("  family values\n").find("twice") != std::string::npos);
  CHECK(error("  says {} {}\n").find("5 characters in a row") != std::string::npos);
  CHECK(error("  symptom no\n").find("symptom yes") != std::string::npos);
  CHECK(error("  vague no\n").find("vague yes") != std::string::npos);
  CHECK(error("  op\n").find("'op' is empty") != std::string::npos);
  CHECK(error("message two\n").find("table.txt:5: has no field 'says'") == 0);
  CHECK(error_of(read_message_table, "message one\n  says one two\n  means it\n  family ownn\n") ==
        "table.txt:4: unknown family 'ownn'");
}

TEST_CASE("mistakes in signals.txt") {
  const auto error = [](const std::string& text) { return error_of(read_signal_table, text); };
  const std::string words = "\n  words a | b\n";
  CHECK(error("signal cublas 1 beside prose" + words).empty());
  CHECK(error("signal cublass 1 beside prose" + words).find("unknown category") !=
        std::string::npos);
  CHECK(error("signal cublas 1 prose" + words).find("beside") != std::string::npos);
  CHECK(error("signal cublas 1 beside" + words).find("beside") != std::string::npos);
  CHECK(error("signal cublas 1 beside owns" + words).find("no family") != std::string::npos);
  CHECK(error("signal cublas 1 beside prose\n  words a |\n").find("ends in |") !=
        std::string::npos);
  CHECK(error("signal cublas 1 beside prose\n  dtypes Hlaf" + words).find("no dtype") !=
        std::string::npos);
  CHECK(error("signal cublas 1 beside prose\n  word a\n").find("unknown key") != std::string::npos);
  CHECK(error("signal cublas 1 beside prose\n  words a | a\n").find("'a' is listed twice") !=
        std::string::npos);
  CHECK(error("list silent words" + words).find("unknown list") != std::string::npos);
  const std::string faults = "\n  faults cublas | norm-mixed\n";
  CHECK(error("usual mismatch" + faults).empty());
  CHECK(error("usual mismatches" + faults).find("unknown family") != std::string::npos);
  CHECK(error("usual own" + faults + "usual own" + faults) ==
        "table.txt:3: usual 'own' is listed twice");
  CHECK(error("usual own\n  faults cublass\n").find("unknown category") != std::string::npos);
}

TEST_CASE("how unknown errors are put") {
  const auto error = [](const std::string& text) {
    return error_of(read_message_table, "unknown one\n  family mismatch\n" + text);
  };
  CHECK(error("  leans cublas 1\n  words same dtype\n").empty());
  CHECK(error("  leans cublas 1\n  dtypes 2\n").empty());
  CHECK(error("  leans cublas 1\n") ==
        "table.txt:1: it would be any line: expected words or dtypes");
  CHECK(error("  words same dtype\n").find("has no field 'leans'") != std::string::npos);
  CHECK(error("  says same dtype\n").find("unknown key 'says'") != std::string::npos);
}

TEST_CASE("a sentence is known without what stands in its brackets") {
  const auto table = read_message_table(
      "message one\n  says Input type ({input}) and bias type ({}) differ\n"
      "  says Tensor ({}) has {}\n  family own\n  means it\n",
      "t.txt");
  CHECK(table.messages[0].texts ==
        std::vector<std::string>{"Input type ({}) and bias type ({}) differ",
                                 "Input type and bias type differ", "Tensor ({}) has {}"});
  CHECK(table.messages[0].operands[1].empty());
}

TEST_CASE("phrases are compared as texts are: without quotation marks, in lower case") {
  const SignalTable table =
      read_signal_table("signal cublas 1 beside prose\n  words Don't Move\n", "t.txt");
  CHECK(table.signals[0].words == std::vector<std::string>{"dont move"});
}

TEST_CASE("mistakes in causes.txt") {
  const auto error = [](const std::string& text) {
    return error_of(read_cause_table, "fault cublas\n  means it\n  shown so\n  asks x\n" + text);
  };
  CHECK(error("  cause a\n  cure b\n").find("table.txt: no fault 'input-weight-mismatch'") == 0);
  CHECK(error("  cure b\n").find("table.txt:5: 'cure' stands before any cause") == 0);
  CHECK(error("  cause a\n  cause b\n  cure c\n").find("table.txt:6: the cause above it has no") ==
        0);
  CHECK(error("  cause a\n  cure b\n  cause c\n").find("its last cause has no cure") !=
        std::string::npos);
  CHECK(error("  cause a\n  cure b\n  sings c\n").find("unknown key 'sings'") != std::string::npos);
  CHECK(error("  cause a\n  cure b\nfault cublas\n  means it\n").find("twice") !=
        std::string::npos);
  CHECK(error_of(read_cause_table, "fault cublas\n  means it\n  cause a\n  cure b\n") ==
        "table.txt:1: has no field 'shown'");
  CHECK(error_of(read_cause_table, "fault cublas\n  means it\n  shown so\n  cause a\n  cure b\n") ==
        "table.txt:1: has no field 'asks'");
}

TEST_CASE("each fault has a cause that needs no word of the text") {
  for (size_t i = 0; i < kCategoryCount; ++i) {
    const Fault& fault = fault_of(static_cast<Category>(i));
    INFO(fault.meaning);
    CHECK(std::any_of(fault.causes.begin(), fault.causes.end(),
                      [](const Cause& cause) { return cause.when.empty(); }));
  }
}

TEST_CASE("mistakes in kernels.txt") {
  const auto error = [](const std::string& text) { return error_of(read_kernel_table, text); };
  const std::string good = "kernel mm_ | mm | aten::mm self,mat2\n";
  CHECK(error(good).empty());
  CHECK(error("kernel mm_ | mm\n") == "table.txt:1: expected 3 parts between |");
  CHECK(error("kernel mm_ | mm | mm\n") == "table.txt:1: 'mm' is no op with operands");
  CHECK(error("kernel mm_ | mm | aten::mm self=Hlaf\n").find("names no dtype") !=
        std::string::npos);
  CHECK(error("kernel MM_ | mm | aten::mm self,mat2\n").find("upper case") != std::string::npos);
  CHECK(error(good + "kernel mm_impl | mm | aten::mm self,mat2\n")
            .find("table.txt:2: 'mm_impl' is never meant: 'mm_' above fits first") == 0);
}

TEST_CASE("mistakes in causes' messages, dtypes and in the calibration") {
  const auto cause = [](const std::string& text) {
    return error_of(read_cause_table,
                    "fault cublas\n  means it\n  shown so\n  cause a\n  cure b\n" + text);
  };
  CHECK(cause("  dtypes Half | Hlaf\n") == "table.txt:6: 'Hlaf' is no dtype");
  const auto signals = [](const std::string& text) { return error_of(read_signal_table, text); };
  CHECK(signals("calibration messages 1.2 0.5 0.8 0.9\n").empty());
  CHECK(signals("calibration messages 1.2 0.5\n").find("expected a number") != std::string::npos);
  CHECK(signals("calibration messages 1.2 0.5 1.5 0.9\n").find("at most 1") != std::string::npos);
  CHECK(signals("calibration message 1.2 0.5 1 0\n").find("expected: calibration") !=
        std::string::npos);
  CHECK(signals("calibration words 0 0.5 1 0\n").find("above 0") != std::string::npos);
  CHECK(signals("calibration words 1 x 1 0\n").find("expected a number") != std::string::npos);
}

TEST_CASE("an operand's name in a sentence is no part of its text") {
  const auto table = read_message_table(
      "message one\n  says got {mat1} and {} of {'a': {}} in all\n  family own\n  means it\n",
      "t.txt");
  CHECK(table.messages[0].texts[0] == "got {} and {} of {'a': {}} in all");
  CHECK(table.messages[0].operands[0] == std::vector<std::string>{"mat1", "", ""});
}

TEST_CASE("each message that a cause belongs to exists, and each message has a cause") {
  const auto messages = read_message_table(file_text("messages.txt"), "messages.txt").messages;
  for (const Fault& fault : read_cause_table(file_text("causes.txt"), "causes.txt")) {
    for (const Cause& cause : fault.causes) {
      for (const std::string& id : cause.messages) {
        INFO(id);
        CHECK((id == "words" || std::any_of(messages.begin(), messages.end(),
                                            [&](const Message& one) { return one.id == id; })));
      }
    }
  }
  for (const Message& message : messages) {
    for (const auto& [category, weight] : message.leans) {
      INFO(message.id << " " << category_name(category));
      const auto& causes = fault_of(category).causes;
      CHECK(std::any_of(causes.begin(), causes.end(), [&](const Cause& cause) {
        return cause.messages.empty() || std::find(cause.messages.begin(), cause.messages.end(),
                                                   message.id) != cause.messages.end();
      }));
    }
  }
}

// Of causes and messages, not of the comments above them.
static void check_dates_in(const std::string& name) {
  for (const DataBlock& block : read_blocks(file_text(name), name)) {
    for (const Field& field : block.fields) {
      INFO(name << ":" << field.line);
      std::string dated;
      REQUIRE_NOTHROW(dated = with_dates(field.value));
      CHECK(dated.find("{since") == std::string::npos);
    }
  }
}

TEST_CASE("each date that a text asks for is in the contracts") {
  check_dates_in("causes.txt");
  check_dates_in("messages.txt");
  CHECK(with_dates("from {since cpu Half aten::mm self,mat2} on") == "from 2.2 on");
  CHECK(with_dates("{since cpu Half aten::scaled_dot_product_attention "
                   "query,key,value,attn_mask=Float}") == "2.4");
  CHECK_THROWS_AS(with_dates("{since cpu Half aten::no_such_op self}"), InputError);
  CHECK_THROWS_AS(with_dates("{since cpu Hlaf aten::mm self,mat2}"), InputError);
}
