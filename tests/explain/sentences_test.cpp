// LibTorch's own sentences about dtypes, taken from the libraries and sources of several versions
// (rules/contracts/probe/sentences.py), against the table of messages. A new version brings new
// ones: those that no spelling shares words with stand in unknown_sentences.txt, on purpose, and
// nowhere else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "explain/message_table.h"
#include "explain/normal_text.h"
#include "tests/files.h"

using namespace dtypecheck;
using namespace dtypecheck::explain;

static constexpr size_t kShortest = 12;  // what is shorter is in any text

static std::string in_folder(const std::string& name) {
  return DTYPECHECK_SOURCE_DIR "/tests/explain/" + name;
}

static std::string trimmed_of(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// What a spelling says between the places where dtypes are put in. A check is a string literal
// there, so that a sentence is known by any of them.
static std::vector<std::string> pieces_of(std::string text) {
  std::vector<std::string> pieces;
  for (size_t hole = text.find("{}"); !text.empty(); hole = text.find("{}")) {
    const std::string piece = trimmed_of(text.substr(0, hole));
    if (piece.size() >= kShortest) pieces.push_back(piece);
    text = hole == std::string::npos ? "" : text.substr(hole + 2);
  }
  return pieces;
}

static bool is_known(const std::string& sentence) {
  for (const Message& message : messages()) {
    for (const std::string& spelling : message.texts) {
      const std::string text = normal_text(spelling);
      if (sentence.size() >= kShortest && text.find(sentence) != std::string::npos) return true;
      for (const std::string& piece : pieces_of(text)) {
        if (sentence.find(piece) != std::string::npos) return true;
      }
    }
  }
  return false;
}

static std::vector<std::string> lines_of(const std::string& name) {
  std::vector<std::string> lines;
  const std::string text = test::read_bytes(in_folder(name));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (text[begin] != '#') lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST_CASE("each sentence of LibTorch is known, or listed as unknown") {
  const std::vector<std::string> listed = lines_of("unknown_sentences.txt");
  std::set<std::string> left(listed.begin(), listed.end());
  CHECK(left.size() == listed.size());
  size_t sentences = 0, known = 0;
  for (const std::string& line : lines_of("libtorch_sentences.txt")) {
    const std::string sentence = line.substr(0, line.find(" | "));
    INFO(line);
    ++sentences;
    const bool is_listed = left.erase(sentence) > 0;
    CHECK(is_known(sentence) != is_listed);
    known += !is_listed;
  }
  for (const std::string& sentence : left) FAIL_CHECK("no sentence of LibTorch: " << sentence);
  CHECK(sentences > 700);
  CHECK(known * 10 >= sentences * 7);
}
