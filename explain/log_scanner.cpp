#include "explain/log_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "explain/message_table.h"
#include "explain/normal_text.h"
#include "explain/template_match.h"

namespace dtypecheck::explain {

static constexpr size_t kBefore = 16 << 10;   // kept of what stands before a message
static constexpr size_t kAfter = 3 << 10;     // and after it
static constexpr size_t kLongestLine = 1024;  // looked at on each side of an anchor
static constexpr size_t kMaxSightings = 64;
static constexpr size_t kMaxSeenLines = 4096;
static constexpr size_t kShortText = 64 << 10;
static constexpr size_t kPiece = 1 << 20;

void EscapeFilter::step(char c) {
  const bool is_final = c >= 0x40 && c <= 0x7e;
  switch (state_) {
    case State::kText:
      break;
    case State::kEscape:
      state_ = c == '[' ? State::kSequence : c == ']' ? State::kString : State::kText;
      break;
    case State::kSequence:
      if (is_final || c == '\n') state_ = State::kText;
      break;
    case State::kString:
      if (c == '\a' || c == '\n') state_ = State::kText;
      if (c == '\x1b') state_ = State::kStringEscape;
      break;
    case State::kStringEscape:
      state_ = State::kText;
      break;
  }
}

void EscapeFilter::append(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (state_ == State::kText) {
      const size_t escape = std::min(bytes.find('\x1b'), bytes.size());
      out.append(bytes.substr(0, escape));
      if (escape < bytes.size()) state_ = State::kEscape;
      bytes.remove_prefix(std::min(escape + 1, bytes.size()));
    } else {
      step(bytes.front());
      bytes.remove_prefix(1);
    }
  }
}

// UTF-16 is what a Windows shell writes when its output is redirected.
static void require_text(std::string_view start) {
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) {
    throw InputError("the log is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8 LOG");
  }
  const auto odd = std::count_if(start.begin(), start.end(), [](char c) {
    return c >= 0 && c < 32 &&
           std::string_view("\t\n\r\b\f\v\a\x1b").find(c) == std::string_view::npos;
  });
  const bool has_zero = start.substr(0, 4096).find('\0') != std::string_view::npos;
  if (has_zero || static_cast<size_t>(odd) * 50 > start.size()) {
    throw InputError(
        "the input is binary data, expected the text of a message, a traceback or a log; give the "
        "log file itself");
  }
}

static std::map<std::string_view, std::vector<size_t>> anchors() {
  std::map<std::string_view, std::vector<size_t>> anchors;
  for (size_t i = 0; i < messages().size(); ++i) {
    for (std::string_view text : messages()[i].texts) {
      std::vector<size_t>& users = anchors[anchor_of(text)];
      if (users.empty() || users.back() != i) users.push_back(i);
    }
  }
  return anchors;
}

static std::vector<std::string_view> finder_phrases() {
  std::vector<std::string_view> phrases;
  for (const auto& [anchor, users] : anchors()) phrases.push_back(anchor);
  phrases.push_back("torch");
  return phrases;
}

LogScanner::LogScanner() : finder_(finder_phrases()) {
  for (const auto& [anchor, users] : anchors()) messages_of_anchor_.push_back(users);
}

void LogScanner::feed(std::string_view bytes) {
  if (size_bytes_ == 0) require_text(bytes.substr(0, kShortText));
  size_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    const size_t begin = buffer_.size();
    escapes_.append(piece, buffer_);
    const uint64_t position = base_ + begin;
    finder_.feed(std::string_view(buffer_).substr(begin),
                 [&](size_t anchor, size_t end) { hits_.push_back({anchor, position + end}); });
    settle_hits(false);
    forget_old();
  }
}

void LogScanner::finish() {
  settle_hits(true);
  if (base_ == 0 && buffer_.size() <= kShortText) short_text_ = buffer_;
}

// A hit can be judged when what stands after it is there.
void LogScanner::settle_hits(bool all) {
  const uint64_t end = base_ + buffer_.size();
  size_t settled = 0;
  while (settled < hits_.size() && (all || hits_[settled].end + kAfter <= end))
    look_at(hits_[settled++]);
  hits_.erase(hits_.begin(), hits_.begin() + static_cast<ptrdiff_t>(settled));
}

void LogScanner::forget_old() {
  constexpr size_t kKept = kBefore + 2 * kAfter;
  if (buffer_.size() < kPiece) return;
  const size_t gone = buffer_.size() - kKept;
  line_at_base_ += static_cast<uint64_t>(std::count(buffer_.begin(), buffer_.begin() + gone, '\n'));
  buffer_.erase(0, gone);
  base_ += gone;
}

// Lines that differ in digits alone are one: a warning that each step repeats.
bool LogScanner::is_new_line(size_t anchor, std::string_view line) {
  if (seen_lines_.size() >= kMaxSeenLines) return false;
  uint64_t hash = 14695981039346656037u + anchor;
  for (char c : line) {
    if (c >= '0' && c <= '9') continue;
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return seen_lines_.insert(hash).second;
}

static std::string_view line_around(std::string_view text, size_t at) {
  const size_t low = at > kLongestLine ? at - kLongestLine : 0;
  const size_t before = text.substr(0, at).find_last_of("\n\r");
  const size_t begin = before == std::string_view::npos ? low : std::max(low, before + 1);
  const size_t end =
      std::min(text.find_first_of("\n\r", at), std::min(at + kLongestLine, text.size()));
  return text.substr(begin, end - begin);
}

void LogScanner::look_at(const Hit& hit) {
  const size_t at = hit.end - base_;
  if (hit.anchor == messages_of_anchor_.size())
    return look_for_version(std::string_view(buffer_).substr(at, 32));
  const std::string_view line = line_around(buffer_, at - 1);
  const std::vector<size_t>& candidates = messages_of_anchor_[hit.anchor];
  if (is_new_line(hit.anchor, line)) {
    for (size_t message : candidates) try_message(message, hit, line);
    return;
  }
  for (Sighting& seen : sightings_) {
    if (std::find(candidates.begin(), candidates.end(), seen.message) == candidates.end()) continue;
    ++seen.count;
    return;
  }
}

// "torch 2.0.1", "torch==2.0.1", "torch-2.0.1", "PyTorch version: 2.0.1".
void LogScanner::look_for_version(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789\n");
  if (digit == std::string_view::npos || digit > 12 || text[digit] == '\n') return;
  for (char c : normal_text(text.substr(0, digit))) {
    if (std::string_view(" =:-_version<>").find(c) == std::string_view::npos) return;
  }
  const std::string_view number = text.substr(digit);
  const size_t end = std::min(number.find_first_not_of("0123456789."), number.size());
  const bool is_version =
      number.size() > 2 && (number[0] == '1' || number[0] == '2') && number[1] == '.';
  if (is_version) torch_version_ = number.substr(0, end);
}

void LogScanner::try_message(size_t message, const Hit& hit, std::string_view line) {
  const std::string_view text = buffer_;
  const size_t begin = static_cast<size_t>(line.data() - text.data());
  // From a little before the line, for a message that was wrapped, to some lines after it.
  const size_t wrapped = begin > 256 ? begin - 256 : 0;
  const std::string window =
      normal_text(text.substr(wrapped, hit.end - base_ - wrapped + kLongestLine));
  for (std::string_view pattern : messages()[message].texts) {
    std::optional<TemplateMatch> match = find_template(window, normal_text(pattern));
    if (!match) continue;
    std::string said = window.substr(match->begin, match->end - match->begin);
    for (Sighting& seen : sightings_) {
      if (seen.message != message || seen.said != said) continue;
      ++seen.count;
      return;
    }
    if (sightings_.size() == kMaxSightings) return;
    const size_t low = begin > kBefore ? begin - kBefore : 0;
    const size_t after = begin + line.size();
    sightings_.push_back(
        {message, std::string(line), std::move(said), std::move(match->holes),
         std::string(text.substr(low, begin - low)), std::string(text.substr(after, kAfter)),
         line_at_base_ +
             static_cast<uint64_t>(std::count(text.begin(), text.begin() + begin, '\n')),
         1});
    return;
  }
}

}  // namespace dtypecheck::explain
