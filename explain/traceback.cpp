#include "explain/traceback.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "platform/text.h"

namespace dtypecheck::explain {

static constexpr size_t kMaxFrames = 64;

static std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find_first_of("\n\r"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// `File "train.py", line 12, in main`, with anything before it: launchers put the rank there.
static std::optional<Frame> frame_in(std::string_view line) {
  const size_t at = line.find("File \"");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 6);
  const size_t quote = rest.find("\", line ");
  if (quote == std::string_view::npos) return std::nullopt;
  Frame frame{std::string(rest.substr(0, quote)), 0, "", ""};
  const std::string_view tail = rest.substr(quote + 8);
  std::from_chars(tail.data(), tail.data() + tail.size(), frame.line);
  const size_t in = tail.find(", in ");
  if (in != std::string_view::npos) frame.function = trimmed(tail.substr(in + 5));
  return frame;
}

std::vector<Frame> frames_of(std::string_view text) {
  std::vector<Frame> frames;
  bool wants_code = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.find("Traceback (most recent call last)") != std::string_view::npos) frames.clear();
    if (std::optional<Frame> frame = frame_in(line)) {
      if (frames.size() == kMaxFrames) frames.erase(frames.begin());
      frames.push_back(std::move(*frame));
      wants_code = true;
    } else if (wants_code) {
      if (line.starts_with("    ")) frames.back().code = trimmed(line);
      wants_code = false;
    }
  }
  return frames;
}

std::string without_frames(std::string_view text) {
  std::string out;
  bool after_frame = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const bool is_frame = frame_in(line).has_value();
    const bool is_code = after_frame && line.starts_with("    ");
    if (!is_frame && !is_code) out.append(line).append("\n");
    after_frame = is_frame || (is_code && after_frame);
  }
  return out;
}

bool is_library(const Frame& frame) {
  for (std::string_view part : {"site-packages", "dist-packages", "/lib/python", "\\lib\\"}) {
    if (frame.file.find(part) != std::string::npos) return true;
  }
  return frame.file.starts_with("<");
}

}  // namespace dtypecheck::explain
