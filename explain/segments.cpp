#include "explain/segments.h"

#include <algorithm>

#include "explain/log_scanner.h"
#include "explain/normal_text.h"
#include "explain/traceback.h"
#include "platform/text.h"

namespace dtypecheck::explain {
namespace {

constexpr size_t kLongestKey = 48;      // of a "key: value" line
constexpr size_t kMostKeyWords = 7;     // "Using distributed or parallel set-up in script?"
constexpr size_t kWordsOfSentence = 9;  // from here on a line is a sentence
constexpr size_t kLongestHeading = 70;

bool has_one_of(std::string_view text, std::string_view phrases) {  // "a|b|c"
  while (!phrases.empty())
    if (has_phrase(text, next_piece(phrases, '|'))) return true;
  return false;
}

size_t count_words(std::string_view text) {
  size_t count = 0;
  for (std::string_view rest = trimmed(text); !rest.empty(); rest = trimmed(rest)) {
    ++count;
    rest.remove_prefix(std::min(rest.find_first_of(" \t"), rest.size()));
  }
  return count;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "2.4", "v2.4.1+cu121", "12.1.105": how many dots its number has; 0 where it is no version.
size_t dots_of_version(std::string_view text) {
  while (!text.empty() && (text.front() == 'v' || text.front() == '=' || text.front() == '('))
    text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return 0;
  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
  return static_cast<size_t>(std::count(number.begin(), number.end(), '.'));
}

// A "key: value" line, "key==value", "[pip3] key==value", "key  1.2.3" and a row of a table.
struct Pair {
  std::string key;  // in normal form
  std::string_view value;
};

std::string_view without_bullet(std::string_view line) {
  line = trimmed(line);
  for (std::string_view bullet : {"[pip3]", "[conda]", "|", "- ", "* ", "• "}) {
    if (line.starts_with(bullet)) line = trimmed(line.substr(bullet.size()));
  }
  return line;
}

Pair pair_in(std::string_view line) {
  line = without_bullet(line);
  const std::string_view head = line.substr(0, kLongestKey + 1);
  size_t end = head.find_first_of(":=|");
  // "torch    2.4.1" of a list of packages, "Python 3.10.12".
  if (end == std::string_view::npos) {
    end = head.find(' ');
    const bool is_row = end != std::string_view::npos && dots_of_version(trimmed(line.substr(end)));
    if (!is_row || count_words(line) > 4) return {"", line};
  }
  std::string key = normal_text(trimmed(head.substr(0, end)));
  std::erase_if(key, [](char c) { return c == '*' || c == '_'; });
  std::string_view value = line.substr(end);
  value.remove_prefix(std::min(value.find_first_not_of(":=|*> \t"), value.size()));
  if (count_words(key) > kMostKeyWords) return {"", line};
  return {key, value};
}

// What stands before the colon where a form asks for the environment.
bool is_environment_key(std::string_view key) {
  constexpr std::string_view kKeys =
      "version|versions|platform|os|operating system|gpu|gpus|cpu|cpus|ram|vram|cuda|cudnn|nccl|"
      "rocm|python|pytorch|torch|torchvision|triton|transformers|accelerate|diffusers|peft|"
      "xformers|deepspeed|bitsandbytes|flash-attn|flash attn|driver|gcc|hardware|using gpu*|"
      "using dist*|is debug build|machine|graphics card|device name|python platform|"
      "nvidia driver*|torchaudio|numpy|is cuda avail*|total vram|system ram|xpu avail*|"
      "npu avail*|env|compute capability|is xnnpack*|is xpu*|gpu type|gpu model*";
  return has_one_of(key, kKeys);
}

// "torch.cat: does not …" and "with torch.autocast(…):" name functions, "torch.version: 2.4" the
// package.
bool names_a_member(std::string_view key) {
  const size_t dot = key.find('.');
  return dot != std::string_view::npos && dot + 1 < key.size() && key[dot + 1] >= 'a' &&
         key[dot + 1] <= 'z' && key.find("version") == std::string_view::npos;
}

// Lines that say so wherever they stand.
bool is_environment(std::string_view line) {
  const Pair pair = pair_in(line);
  if (pair.key.empty() || pair.value.size() > 160) return false;
  // One with a version of three parts names a package; with fewer it may be a rate or a size.
  if (dots_of_version(pair.value) > 1) return true;
  if (line.find("==") != std::string_view::npos && dots_of_version(pair.value) > 0) return true;
  return is_environment_key(pair.key) && !names_a_member(pair.key) &&
         count_words(pair.value) < kWordsOfSentence;
}

bool is_heading(std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.size() > kLongestHeading) return false;
  return line.starts_with('#') || (line.starts_with("**") && line.ends_with("**")) ||
         line.starts_with("<summary>") || (line.ends_with(':') && count_words(line) <= 4);
}

bool opens_environment(std::string_view line) {
  constexpr std::string_view kTitles =
      "environment*|system info*|optional dependencies*|system information|versions|system "
      "configuration|hardware*|"
      "env info*|env|pip list|pip freeze|platform|collectenv*|my setup|specs|software versions";
  const std::string text = normal_text(line);
  if (has_one_of(text,
                 "collecting environment information*|nvidia-smi|monai version|"
                 "printing system config*|printing gpu config*"))
    return true;
  std::string letters = text;
  std::erase_if(letters, [](char c) { return c == '_'; });
  return is_heading(line) && has_one_of(letters, kTitles);
}

// Of a section about the environment, and no sentence that somebody put there.
bool fits_environment(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with('|') || line.starts_with('+') || line.starts_with('/')) return true;
  const bool has_number = line.find_first_of("0123456789") != std::string_view::npos;
  return !pair_in(line).key.empty() || (has_number && count_words(line) < kWordsOfSentence);
}

// Below a title, or after the first line of collect_env. A blank line ends it, unless what follows
// says by itself that it is of the environment; the blank line below the title does not.
class EnvironmentSection {
 public:
  void open() { state_ = ListingState::kOpened; }
  void close() { state_ = ListingState::kNone; }
  bool takes(std::string_view line) {
    const std::string_view bare = trimmed(line);
    const bool is_fence = bare.starts_with("```") || bare.starts_with("<");
    if (bare.empty() || is_fence) {
      if (state_ == ListingState::kInside && !is_fence) state_ = ListingState::kAfterBlank;
      return state_ != ListingState::kNone;
    }
    const bool is_taken = is_environment(line) ||
                          ((state_ == ListingState::kOpened || state_ == ListingState::kInside) &&
                           fits_environment(line));
    if (state_ == ListingState::kNone) return is_taken;
    state_ = is_taken ? ListingState::kInside : ListingState::kNone;
    return is_taken;
  }

 private:
  enum class ListingState { kNone, kOpened, kInside, kAfterBlank };
  ListingState state_ = ListingState::kNone;
};

bool is_message(std::string_view line) {
  for (std::string_view word : {"Error:", "Exception:", "Warning:", "error:", "ERROR:"}) {
    if (line.find(word) != std::string_view::npos) return true;
  }
  return false;
}

bool is_command(std::string_view line) {
  line = trimmed(line);
  for (std::string_view prompt : {"$ ", "!", "+ ", "> ", "# "}) {
    if (line.starts_with(prompt)) line = trimmed(line.substr(prompt.size()));
  }
  const auto begins = [&](std::string_view word) { return line.starts_with(word); };
  return std::ranges::any_of(kLaunchers, begins) || begins("CUDA_VISIBLE_DEVICES=") ||
         begins("pip install") || begins("--");
}

}  // namespace

std::vector<SegmentLine> segments_of(std::string_view text) {
  std::vector<SegmentLine> lines;
  TracebackLines traceback;
  EnvironmentSection environment;
  const auto segment_of = [&](std::string_view line) {
    const bool is_frame = traceback.takes(line);
    if (is_frame || is_message(line) || is_command(line)) {
      environment.close();
      return is_frame ? Segment::kTraceback : Segment::kText;
    }
    if (opens_environment(line)) {
      environment.open();
      return Segment::kEnvironment;
    }
    if (line.starts_with('#')) environment.close();
    return environment.takes(line) ? Segment::kEnvironment : Segment::kText;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\r"), text.size());
    const std::string_view line = without_prefix(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    lines.push_back({segment_of(line), line});
  }
  return lines;
}

// A link to a line of somebody's code names files and projects that have nothing to do with the
// fault.
static std::string without_links(std::string_view text) {
  std::string left;
  for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://")) {
    size_t begin = at;
    while (begin > 0 && text[begin - 1] >= 'a' && text[begin - 1] <= 'z') --begin;
    left += text.substr(0, begin);
    text.remove_prefix(std::min(text.find_first_of(" \t)>]\"'", at), text.size()));
  }
  return left += text;
}

// "/home/me/envs/vae/bin/python": how somebody calls the environment is no word about the fault.
static std::string without_environment_names(std::string text) {
  for (std::string_view folder : {"envs/", "envs\\"}) {
    for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
      at += folder.size();
      const size_t end = std::min(text.find_first_of("/\\ \t\"'", at), text.size());
      if (end < text.size() && (text[end] == '/' || text[end] == '\\')) text.erase(at, end - at);
    }
  }
  return text;
}

ReadText::ReadText(std::string_view text) {
  for (const SegmentLine& line : segments_of(text)) {
    if (line.segment == Segment::kTraceback) continue;
    if (line.segment == Segment::kEnvironment) {
      environment_ += normal_text(line.text) + " ";
      continue;
    }
    std::string_view normal;
    const std::string normalized = normal_text(without_environment_names(without_links(line.text)));
    normal = normalized;
    if (!words_.empty() && words_.back() == ' ' && normal.starts_with(' ')) normal.remove_prefix(1);
    words_ += normal;
    if (!words_.empty() && words_.back() != ' ') words_ += ' ';
  }
}

void ReadText::hide(std::string_view phrase) {
  // No phrase of the tables has the line end, which normal form does not keep.
  for (size_t at = words_.find(phrase); !phrase.empty() && at != std::string::npos;
       at = words_.find(phrase, at + phrase.size()))
    words_.replace(at, phrase.size(), phrase.size(), '\n');
}

}  // namespace dtypecheck::explain
