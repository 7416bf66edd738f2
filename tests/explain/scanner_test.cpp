// Logs as they come: cut anywhere, coloured, with progress bars, repeated, and bytes that are no
// log.
#include <catch2/catch.hpp>

#include "explain/log_scanner.h"
#include "explain/message_table.h"
#include "explain/normal_text.h"
#include "explain/segments.h"
#include "explain/template_match.h"
#include "explain/traceback.h"
#include "platform/error.h"

using namespace dtypecheck;
using namespace dtypecheck::explain;

static const std::string kMessage = "RuntimeError: expected scalar type Half but found Float";

static std::vector<Sighting> sightings_of(std::string_view log, size_t piece = 1 << 20) {
  LogScanner scanner;
  for (size_t at = 0; at < log.size(); at += piece) scanner.feed(log.substr(at, piece));
  scanner.finish();
  return scanner.sightings();
}

TEST_CASE("each spelling in the table is found in a log") {
  for (const Message& message : messages()) {
    for (std::string_view text : message.texts) {
      INFO(text);
      CHECK(anchor_of(text).size() >= 5);
      CHECK_FALSE(sightings_of(std::string("a\n") + std::string(text) + "\nb\n").empty());
    }
  }
}

TEST_CASE("a log cut anywhere gives the same") {
  const std::string log = "step 1\nstep 2\n" + kMessage + "\nend\n";
  for (size_t piece = 1; piece < 20; ++piece) {
    const auto found = sightings_of(log, piece);
    REQUIRE(found.size() == 1);
    CHECK(found[0].line == 3);
    CHECK(found[0].holes == std::vector<std::string>{"half", "float"});
  }
}

// Long texts are followed at several places at once, wherever a message lies across two of them.
TEST_CASE("a message is found once at each place of a long log") {
  const std::string filler = "step 12 of many, expected nothing\n";
  for (size_t before = 0; before < 900; before += 7) {
    std::string log;
    for (size_t i = 0; i < before; ++i) log += filler;
    log += kMessage + "\n";
    while (log.size() < 30'000) log += filler;
    const auto found = sightings_of(log);
    REQUIRE(found.size() == 1);
    CHECK(found[0].count == 1);
    CHECK(found[0].line == before + 1);
  }
}

TEST_CASE("colour, progress bars and wrapped lines") {
  CHECK(sightings_of("\x1b[31mexpected scalar \x1b[1mtype\x1b[0m Half but found Float\x1b[0m\n")
            .size() == 1);
  CHECK(sightings_of(" 10%|#  | 1/9\r 20%|## | 2/9\r" + kMessage + "\n").size() == 1);
  CHECK(sightings_of("expected scalar type Half but\nfound Float\n").size() == 1);
}

TEST_CASE("repeated messages are one, counted") {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "step " + std::to_string(i) + " " + kMessage + "\n";
  const auto found = sightings_of(log);
  REQUIRE(found.size() == 1);
  CHECK(found[0].count == 1000);
}

TEST_CASE("the place of a repeated message is the first with a traceback") {
  const std::string frame = "  File \"a.py\", line 1, in ";
  const auto found = sightings_of(kMessage + "\nstep 1\n" + frame + "f\n" + kMessage + "\n" +
                                  frame + "g\n" + kMessage + "\nend\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 1);
  CHECK(found[0].before.ends_with("in f\n"));
  CHECK(sightings_of(kMessage + "\nstep 1\n" + kMessage + "\n")[0].before.empty());
}

static TracebackFrame last_frame(std::string_view text) {
  const auto frames = frames_of(text);
  return frames.empty() ? TracebackFrame{} : frames.back();
}

TEST_CASE("frames as Python, IPython, rich and pytest print them") {
  for (const char* text : {
           "  File \"/v/norm.py\", line 190, in forward\n    return F.norm(x)\n",
           "[rank1]:   File \"/v/norm.py\", line 190, in forward\n[rank1]:     y\n    return "
           "F.norm(x)\n",
           "File /v/norm.py:190, in forward(self, x)\n    189 a = b\n--> 190 return F.norm(x)\n",
           "File [/v/norm.py:190](https://host/norm.py:190), in forward(x)\n-> 190 return "
           "F.norm(x)\n",
           "│ /v/norm.py:190 in forward        │\n│                  │\n│   189 │   a = b │\n"
           "│ ❱ 190 │   return F.norm(x)   │\n",
           "/v/norm.py:190: in forward\n    return F.norm(x)\n",
       }) {
    INFO(text);
    const TracebackFrame frame = last_frame(text);
    CHECK(frame.file == "/v/norm.py");
    CHECK(frame.line == 190);
    CHECK(frame.function == "forward");
  }
  const TracebackFrame old =
      last_frame("~/lib/norm.py in forward(self, x)\n    189 a\n--> 190 return F.norm(x)\n");
  CHECK(old.file == "~/lib/norm.py");
  CHECK(old.code == "return F.norm(x)");
  CHECK(last_frame("Cell In[5], line 3, in go(x)\n----> 3     go()\n").function == "go");
  CHECK(last_frame("<ipython-input-7-6275> in <module>()\n").function == "<module>");
  for (const char* prose : {"see train.py:12 in the folder", "train.py in the folder fails",
                            "run train.py:12 in main", "train.py:12: warning: x"})
    CHECK(frames_of(prose).empty());
}

static std::string without_frames(std::string_view text) {
  std::string out;
  for (const SegmentLine& line : segments_of(text)) {
    if (line.segment != Segment::kTraceback) out.append(line.text).append("\n");
  }
  return out;
}

TEST_CASE("source lines that are printed with a frame are no words around it") {
  CHECK(without_frames("a\nFile /v/n.py:2, in f(x)\n      1 autocast\n----> 2 backward\nb\n") ==
        "a\nb\n");
  CHECK(without_frames("│ /v/n.py:2 in f │\n│ ❱ 2 │   autocast │\nb\n") == "b\n");
  CHECK(without_frames("2 autocast\n") == "2 autocast\n");
}

TEST_CASE("several messages on one line") {
  const auto found = sightings_of(
      "expected scalar type Half but found Float, then expected scalar type Float but found Half: "
      "\"addmm_impl_cpu_\" not implemented for 'Half'\n");
  REQUIRE(found.size() == 3);
  CHECK(found[0].sentence == "expected scalar type Half but found Float");
  CHECK(found[1].sentence == "expected scalar type Float but found Half");
  CHECK(found[2].sentence == "\"addmm_impl_cpu_\" not implemented for 'Half'");
  for (const Sighting& sighting : found) CHECK(sighting.line == 1);
}

TEST_CASE("a message does not reach into the next one") {
  const auto found = sightings_of(
      "Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the "
      "same\nInput type (float) and bias type (c10::Half) should be the same\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].holes[0] == "torch.cuda.halftensor");
  CHECK(found[1].holes[0] == "float");
}

TEST_CASE("a message right below another one is another one") {
  const auto found = sightings_of(
      "expected scalar type Half but found Float\nexpected scalar type Double but found Int\n");
  REQUIRE(found.size() == 2);
  CHECK(found[1].holes == std::vector<std::string>{"double", "int"});
  CHECK(found[1].line == 2);
}

TEST_CASE("each message has its own count") {
  std::string log;
  for (int i = 0; i < 10; ++i) {
    log += "expected scalar type Half but found Float\n";
    if (i % 2 == 0) log += "expected scalar type Float but found Half\n";
  }
  const auto found = sightings_of(log);
  REQUIRE(found.size() == 2);
  CHECK(found[0].count == 10);
  CHECK(found[1].count == 5);
}

TEST_CASE("no amount of one message hides another") {
  std::string log;
  for (int i = 0; i < 5000; ++i) {
    const std::string word(1 + i % 100, static_cast<char>('a' + i / 100 % 26));
    log += word + std::to_string(i) + ": expected scalar type " + word + " but found Float\n";
  }
  const auto found = sightings_of(log + "Attempting to unscale FP16 gradients.\n");
  CHECK(found.size() < 64);
  CHECK(found.back().normal.find("unscale fp16") != std::string::npos);
}

TEST_CASE("a long log keeps what is near its end") {
  const std::string noise = "epoch 3 step 17 loss 0.25 lr 1e-5\n";
  std::string log;
  while (log.size() < (5 << 20)) log += noise;
  const uint64_t line = log.size() / noise.size() + 1;
  const auto found = sightings_of(log + kMessage, 1 << 16);
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == line);
  CHECK(found[0].before.size() <= 16 << 10);
}

TEST_CASE("a message that its line cuts before the last word") {
  const std::string cut = "mixed dtype (CPU): expect parameter to have scalar type of";
  for (const std::string end : {"\n", "\r\n", "\t", " ", "\n\n", "\nHalf\n"}) {
    INFO(end);
    const auto found = sightings_of("step 1\nRuntimeError: " + cut + end);
    REQUIRE(found.size() == 1);
    CHECK(found[0].line == 2);
  }
}

TEST_CASE("bytes that are no text") {
  CHECK_THROWS_AS(sightings_of(std::string("\x7f"
                                           "ELF\2\1\0\0\0\0",
                                           10)),
                  InputError);
  CHECK_THROWS_AS(sightings_of(std::string("\xff\xfe"
                                           "a\0b\0",
                                           6)),
                  InputError);
  CHECK_NOTHROW(sightings_of("\xb4\xed\xce\xf3 in GBK\n"));
}
