// segments.h: what each line of a paste is. People paste a message, a traceback, a log, the command
// and, because forms ask for it, their environment. A cause is argued from all of it but the
// environment: a line that says which Triton is installed says nothing about why an op threw.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

enum class Segment {
  kMessage,        // "RuntimeError: …", and what else an exception or a warning says
  kTraceback,      // frames, with their source
  kLog,            // below a time stamp, a level or a progress bar
  kCommand,        // "$ python train.py --fp16"
  kConfiguration,  // "lr = 1e-4", "--fp16", a line of YAML or JSON
  kEnvironment,    // versions, hardware, collect_env, pip list, nvidia-smi
  kProse,
  kCount
};

inline constexpr std::array<std::string_view, static_cast<size_t>(Segment::kCount)> kSegmentNames =
    {"message", "traceback", "log", "command", "configuration", "environment", "prose"};
constexpr std::string_view segment_name(Segment segment) {
  return kSegmentNames[static_cast<size_t>(segment)];
}

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
  Segment segment_at(size_t place) const;

 private:
  std::string words_, environment_;
  std::vector<std::pair<size_t, Segment>> begins_;
};

}  // namespace dtypecheck::explain
