#include "explain/log_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "explain/message_table.h"
#include "explain/traceback.h"
#include "platform/error.h"
#include "platform/text.h"

namespace dtypecheck::explain {

static constexpr size_t kBefore = 16 << 10;   // kept of what stands before a message
static constexpr size_t kAfter = 3 << 10;     // and after it
static constexpr size_t kLongestLine = 1024;  // looked at on each side of an anchor
static constexpr size_t kWrapped = 256;       // of the lines before, where a message may begin
static constexpr size_t kAround = 160;        // on each side of an anchor: tells sights apart
static constexpr size_t kMaxSightings = 128;
static constexpr uint64_t kMostPlaces = 8;  // of one sighting, of which one may have a traceback
static constexpr size_t kMaxAlike = 8;      // sightings of one message with other dtypes
static constexpr uint32_t kMaxSeenOfAnchor = 512;  // places that are looked at
static constexpr size_t kShortText = 64 << 10;
static constexpr size_t kPiece = 1 << 20;
static constexpr size_t kLongestCommand = 400;
static constexpr size_t kLongestPrompt = 80;

void EscapeFilter::step(char c) {
  const bool is_final = c >= 0x40 && c <= 0x7e;
  switch (state_) {
    case EscapeState::kText:
      break;
    case EscapeState::kEscape:
      state_ = c == '['   ? EscapeState::kSequence
               : c == ']' ? EscapeState::kString
                          : EscapeState::kText;
      break;
    case EscapeState::kSequence:
      if (is_final || c == '\n') state_ = EscapeState::kText;
      break;
    case EscapeState::kString:
      if (c == '\a' || c == '\n') state_ = EscapeState::kText;
      if (c == '\x1b') state_ = EscapeState::kStringEscape;
      break;
    case EscapeState::kStringEscape:
      state_ = EscapeState::kText;
      break;
  }
}

void EscapeFilter::append(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (state_ == EscapeState::kText) {
      const size_t escape = std::min(bytes.find('\x1b'), bytes.size());
      out.append(bytes.substr(0, escape));
      if (escape < bytes.size()) state_ = EscapeState::kEscape;
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
  const auto odd = std::ranges::count_if(start, [](char c) {
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
  phrases.insert(phrases.end(), std::begin(kLaunchers), std::end(kLaunchers));
  return phrases;
}

// Built once: the tables do not change.
static const PhraseFinder& untouched_finder() {
  static const PhraseFinder finder(finder_phrases());
  return finder;
}

LogScanner::LogScanner() : finder_(untouched_finder()) {
  for (const auto& [anchor, users] : anchors()) messages_of_anchor_.push_back(users);
  seen_of_anchor_.resize(messages_of_anchor_.size());
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
  for (size_t at = buffer_.find('\n'); at < gone; at = buffer_.find('\n', at + 1)) ++line_at_base_;
  buffer_.erase(0, gone);
  base_ += gone;
}

// At most kLongestLine on each side, and no further is looked: a stream may be one line.
static std::string_view line_around(std::string_view text, size_t at) {
  const size_t low = at > kLongestLine ? at - kLongestLine : 0;
  std::string_view before = text.substr(low, at - low);
  for (char end : {'\n', '\r'}) {
    const void* last = memrchr(before.data(), end, before.size());
    if (last) before.remove_prefix(static_cast<const char*>(last) + 1 - before.data());
  }
  std::string_view rest = text.substr(at, kLongestLine);
  rest = rest.substr(0, rest.find('\n'));
  rest = rest.substr(0, rest.find('\r'));
  return {before.data(), before.size() + rest.size()};
}

// Of an anchor and what stands around it in its line. Digits do not count: a warning that each
// step repeats is one.
static uint64_t key_of(size_t anchor, std::string_view line, size_t at) {
  char kept[2 * kAround + 1];
  size_t size = 0;
  const auto add = [&](std::string_view text) {
    for (char c : text) {
      kept[size] = c;
      size += c < '0' || c > '9';
    }
  };
  const size_t low = at > kAround ? at - kAround : 0;
  add(line.substr(low, at - low));
  const size_t split = size;  // where the anchor is: a line may have it twice
  add(line.substr(at, kAround));
  const uint64_t hash = std::hash<std::string_view>()({kept, size});
  return hash ^ (anchor * 1099511628211u + split * 0x9e3779b97f4a7c15u);
}

void LogScanner::look_at(const Hit& hit) {
  const size_t at = hit.end - base_;
  if (hit.anchor == messages_of_anchor_.size())
    return look_for_version(std::string_view(buffer_).substr(at, 32));
  const std::string_view line = line_around(buffer_, at - 1);
  if (hit.anchor > messages_of_anchor_.size()) return look_for_command(line);
  // An anchor that ends in a blank may end in the line's own end, which counts as a blank but is no
  // part of the line.
  const size_t line_begin = static_cast<size_t>(line.data() - buffer_.data());
  const size_t at_in_line = std::min(at - line_begin, line.size());
  const uint64_t key = key_of(hit.anchor, line, at_in_line);
  if (const auto seen = seen_.find(key); seen != seen_.end()) {
    for (uint32_t sighting : seen->second) count(sightings_[sighting], hit.end, line);
    return;
  }
  if (++seen_of_anchor_[hit.anchor] > kMaxSeenOfAnchor) return;
  try_messages(hit, line, seen_[key]);
}

// "torch 2.0.1", "torch==2.0.1", "torch-2.0.1", "PyTorch version: 2.0.1"; "torch>=1.10" asks for
// one.
void LogScanner::look_for_version(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789\n");
  if (digit == std::string_view::npos || digit > 12 || text[digit] == '\n') return;
  for (char c : normal_text(text.substr(0, digit))) {
    if (std::string_view(" =:-_version").find(c) == std::string_view::npos) return;
  }
  const std::string_view number = text.substr(digit);
  const size_t end = std::min(number.find_first_not_of("0123456789."), number.size());
  const bool is_version =
      number.size() > 2 && (number[0] == '1' || number[0] == '2') && number[1] == '.';
  if (is_version) torch_version_ = number.substr(0, end);
}

// "$ python train.py --bf16", "+ torchrun train.py", "(base) me@host:~$ accelerate launch x.py".
// What a sentence says of python is none: a script or a module must follow.
void LogScanner::look_for_command(std::string_view line) {
  constexpr std::string_view kPrompts[] = {"$ ", "# ", "+ ", "> ", "% ", "Command: ", "!"};
  size_t begin = 0;
  for (std::string_view prompt : kPrompts) {
    const size_t at = line.find(prompt);
    if (at != std::string_view::npos && at < kLongestPrompt)
      begin = std::max(begin, at + prompt.size());
  }
  const std::string_view command = trimmed(line.substr(begin));
  const bool is_started = std::ranges::any_of(
      kLaunchers, [&](std::string_view word) { return command.starts_with(word); });
  const bool is_plain = std::ranges::all_of(command, [](char c) {
    return is_of_name(c) || std::string_view(" -./=:,+@%").find(c) != std::string_view::npos;
  });
  const bool has_program = command.find(".py") != std::string_view::npos ||
                           command.find(" -m ") != std::string_view::npos;
  if (is_started && is_plain && has_program && command.size() <= kLongestCommand)
    command_ = command;
}

bool Sighting::count_hit(uint64_t hit_end) {
  if (hit_end < last_hit + (end - begin)) return false;
  last_hit = hit_end;
  ++count;
  return true;
}

std::string_view LogScanner::before(std::string_view line) const {
  const size_t begin = static_cast<size_t>(line.data() - buffer_.data());
  const size_t low = begin > kBefore ? begin - kBefore : 0;
  return std::string_view(buffer_).substr(low, begin - low);
}

std::string_view LogScanner::after(std::string_view line) const {
  const size_t end = static_cast<size_t>(line.data() - buffer_.data()) + line.size();
  return std::string_view(buffer_).substr(end, kAfter);
}

void LogScanner::count(Sighting& sighting, uint64_t hit_end, std::string_view line) const {
  if (!sighting.count_hit(hit_end) || sighting.count > kMostPlaces) return;
  if (!frames_of(sighting.before).empty() || frames_of(before(line)).empty()) return;
  sighting.before = before(line);
  sighting.after = after(line);
}

// The quotation mark that a pattern leaves out, where the sentence has its counterpart.
static void take_in_quotes(std::string_view text, size_t& begin, size_t& end) {
  for (char quote : {'"', '\'', '`'}) {
    const std::string_view inside = text.substr(begin, end - begin);
    if (std::count(inside.begin(), inside.end(), quote) % 2 == 0) continue;
    if (begin > 0 && text[begin - 1] == quote) {
      --begin;
    } else if (end < text.size() && text[end] == quote) {
      ++end;
    }
  }
}

// From a little before the line, for a message that was wrapped, to some lines after it.
void LogScanner::try_messages(const Hit& hit, std::string_view line, std::vector<uint32_t>& found) {
  const size_t line_begin = static_cast<size_t>(line.data() - buffer_.data());
  const size_t begin = line_begin > kWrapped ? line_begin - kWrapped : 0;
  const size_t hit_end = hit.end - base_;
  const PlacedText window =
      placed_normal_text(std::string_view(buffer_).substr(begin, hit_end - begin + kLongestLine));
  const auto place =
      std::lower_bound(window.origins.begin(), window.origins.end(), hit_end - begin);
  const size_t at = static_cast<size_t>(place - window.origins.begin());
  for (size_t message : messages_of_anchor_[hit.anchor]) {
    const std::vector<std::string>& texts = messages()[message].texts;
    for (size_t spelling = 0; spelling < texts.size(); ++spelling) {
      const auto match = find_template_around(window.text, normal_text(texts[spelling]), at);
      if (!match) continue;
      const size_t sighting = sighting_of(message, spelling, window, *match, line, begin, hit.end);
      if (sighting < sightings_.size()) found.push_back(static_cast<uint32_t>(sighting));
      break;
    }
  }
}

// The index of the sighting with these words, which is made when there is none yet; the number of
// sightings when there are too many.
size_t LogScanner::sighting_of(size_t message, size_t spelling, const PlacedText& window,
                               const TemplateMatch& match, std::string_view line,
                               size_t window_begin, uint64_t hit_end) {
  std::string normal = window.text.substr(match.begin, match.end - match.begin);
  size_t alike = 0;
  for (size_t i = 0; i < sightings_.size(); ++i) {
    if (sightings_[i].message != message) continue;
    if (sightings_[i].normal == normal) {
      count(sightings_[i], hit_end, line);
      return i;
    }
    ++alike;
  }
  if (alike == kMaxAlike || sightings_.size() == kMaxSightings) return sightings_.size();
  const std::string_view text = buffer_;
  const size_t line_begin = static_cast<size_t>(line.data() - text.data());
  size_t begin = window_begin + window.origins[match.begin];
  size_t end = window_begin + window.origins[match.end - 1] + 1;
  take_in_quotes(text, begin, end);
  const auto newlines = std::count(text.begin(), text.begin() + line_begin, '\n');
  sightings_.push_back({.message = message,
                        .spelling = spelling,
                        .text = std::string(line),
                        .sentence = std::string(text.substr(begin, end - begin)),
                        .normal = std::move(normal),
                        .holes = match.holes,
                        .before = std::string(before(line)),
                        .after = std::string(after(line)),
                        .line = line_at_base_ + static_cast<uint64_t>(newlines),
                        .begin = base_ + begin,
                        .end = base_ + end,
                        .last_hit = hit_end});
  return sightings_.size() - 1;
}

}  // namespace dtypecheck::explain
