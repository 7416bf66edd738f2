// log_scanner.h: finds dtype messages in a stream of any length, in bounded memory.
// A finder of short literals looks at every byte; templates are tried only where one of them
// stands, and on each distinct line once. A hundred megabytes of log thus cost about as much as
// reading them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "explain/normal_text.h"
#include "explain/phrase_finder.h"
#include "explain/template_match.h"

namespace dtypecheck::explain {

// What starts a training, as people type it and as logs repeat it.
inline constexpr std::string_view kLaunchers[] = {
    "python ",
    "python3 ",
#define LAUNCHER(program, start) start,
#include "platform/launchers.inc"
#undef LAUNCHER
};

// One distinct message of the log.
struct Sighting {
  size_t message = 0;    // index into messages()
  size_t spelling = 0;   // and into its texts
  std::string text;      // the line as it stands there, without terminal colour
  std::string sentence;  // what of it matched
  std::string normal;    // the same in normal form
  std::vector<std::string> holes;
  // What stands around it: where it came first, or where it came below a traceback, of its first
  // places. A title repeats the last line of the traceback below it.
  std::string before, after;
  uint64_t line = 0;            // from 1
  uint64_t begin = 0, end = 0;  // of the sentence, as offsets in the stream without escapes
  uint64_t count = 1;
  uint64_t last_hit = 0;  // offset where the anchor ended that was counted last

  // Counts a hit, but for one in the sentence that was counted last: a sentence may have several
  // anchors.
  // Whether it was counted.
  bool count_hit(uint64_t hit_end);
};

// Takes terminal colour and other escape sequences out of a stream.
class EscapeFilter {
 public:
  void append(std::string_view bytes, std::string& out);

 private:
  enum class EscapeState { kText, kEscape, kSequence, kString, kStringEscape };
  void step(char c);
  EscapeState state_ = EscapeState::kText;
};

class LogScanner {
 public:
  LogScanner();
  // Throws InputError for what is no text.
  void feed(std::string_view bytes);
  void finish();

  const std::vector<Sighting>& sightings() const { return sightings_; }
  // The whole text, when it is no longer than a report that a person writes; else empty.
  const std::string& short_text() const { return short_text_; }
  uint64_t size_bytes() const { return size_bytes_; }
  // The version of torch that the log names last ("2.0.1"), or empty.
  const std::string& torch_version() const { return torch_version_; }
  // The command line that the log shows last ("torchrun train.py"), or empty. It is safe to give to
  // a shell: one with anything but plain words is passed over.
  const std::string& command() const { return command_; }

 private:
  struct Hit {
    size_t anchor;
    uint64_t end;  // from the beginning of the stream, escapes not counted
  };
  void look_at(const Hit& hit);
  void look_for_version(std::string_view text);
  void look_for_command(std::string_view line);
  void try_messages(const Hit& hit, std::string_view line, std::vector<uint32_t>& found);
  void count(Sighting& sighting, uint64_t hit_end, std::string_view line) const;
  std::string_view before(std::string_view line) const;
  std::string_view after(std::string_view line) const;
  void settle_hits(bool all);
  void forget_old();
  size_t sighting_of(size_t message, size_t spelling, const PlacedText& window,
                     const TemplateMatch& match, std::string_view line, size_t window_begin,
                     uint64_t hit_end);

  // The anchor behind those of the messages is that of the version, those that follow begin
  // commands.
  std::vector<std::vector<size_t>> messages_of_anchor_;
  PhraseFinder finder_;
  EscapeFilter escapes_;
  std::string buffer_;  // the stream's end
  uint64_t base_ = 0;   // where in the stream buffer_ begins
  uint64_t line_at_base_ = 1;
  std::vector<Hit> hits_;  // not yet looked at
  // What stood around an anchor, to the sightings that came of it.
  std::unordered_map<uint64_t, std::vector<uint32_t>> seen_;
  std::vector<uint32_t> seen_of_anchor_;
  std::vector<Sighting> sightings_;
  std::string short_text_;
  std::string torch_version_, command_;
  uint64_t size_bytes_ = 0;
};

}  // namespace dtypecheck::explain
