// segments.h: what each line of a paste is. People paste a message, a traceback, a log, the command
// and, because forms ask for it, their environment. A cause is argued from all of it but the
// environment: a line that says which Triton is installed says nothing about why an op threw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

enum class Segment {
  kTraceback,    // frames, with their source
  kEnvironment,  // versions, hardware, collect_env, pip list, nvidia-smi
  kText,         // messages, logs, commands, configuration and prose
};

struct SegmentLine {
  Segment segment;
  std::string_view text;  // without what launchers and loggers put before it
};
std::vector<SegmentLine> segments_of(std::string_view text);

// What a cause is argued from beside the frames: the lines that are neither of a traceback nor of
// the environment, in normal form.
class ReadText {
 public:
  explicit ReadText(std::string_view text);

  const std::string& words() const { return words_; }
  const std::string& environment() const { return environment_; }  // in normal form
  // Makes a phrase unreadable wherever it stands.
  void hide(std::string_view phrase);

 private:
  std::string words_, environment_;
};

}  // namespace dtypecheck::explain
