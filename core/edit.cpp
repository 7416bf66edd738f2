#include "core/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dtypecheck {
namespace {

std::vector<size_t> line_begins(std::string_view text) {
  std::vector<size_t> begins = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') begins.push_back(i + 1);
  return begins;
}

// Index of the line that has the byte.
size_t line_of(const std::vector<size_t>& begins, size_t at) {
  return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), at) - begins.begin()) -
         1;
}

void sort_splices(std::vector<Splice>& splices) {
  std::stable_sort(splices.begin(), splices.end(), [](const Splice& a, const Splice& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
}

std::optional<std::vector<Splice>> splices_of(std::string_view text,
                                              const std::vector<SourceEdit>& edits) {
  std::vector<Splice> all;
  for (const SourceEdit& edit : edits) {
    auto splice = splice_of(text, edit);
    if (!splice) return std::nullopt;
    all.push_back(*std::move(splice));
  }
  sort_splices(all);
  for (size_t i = 1; i < all.size(); ++i)
    if (overlap(all[i - 1], all[i])) return std::nullopt;
  return all;
}

SourceEdit edit_at(const std::string& file, std::string_view text,
                   const std::vector<size_t>& begins, const Splice& splice) {
  const size_t line = line_of(begins, splice.begin);
  return {file,
          static_cast<int>(line) + 1,
          static_cast<int>(splice.begin - begins[line]) + 1,
          std::string(text.substr(splice.begin, splice.end - splice.begin)),
          splice.text,
          splice.step};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// Lines that change: from `first` on, those of `before` become those of `after`.
struct Hunk {
  size_t first = 0;
  std::vector<std::string_view> before;
  std::string text;  // that `after` looks into
  std::vector<std::string_view> after;

  size_t last() const { return first + before.size(); }
};

void leave_out_what_stays(Hunk& hunk) {
  auto &before = hunk.before, &after = hunk.after;
  while (!before.empty() && !after.empty() && before.back() == after.back())
    before.pop_back(), after.pop_back();
  size_t same = 0;
  while (same < before.size() && same < after.size() && before[same] == after[same]) ++same;
  before.erase(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(same));
  after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(same));
  hunk.first += same;
}

std::vector<Hunk> hunks_of(std::string_view text, const std::vector<Splice>& splices) {
  const std::vector<size_t> begins = line_begins(text);
  const auto begin_of = [&](size_t line) {
    return line < begins.size() ? begins[line] : text.size();
  };
  const auto last_line = [&](const Splice& splice) {  // one past it
    const size_t line = line_of(begins, splice.end);
    const bool is_whole = splice.text.empty()
                              ? splice.begin == begin_of(line_of(begins, splice.begin))
                              : splice.text.back() == '\n';
    return splice.end == begins[line] && is_whole ? line : line + 1;
  };
  std::vector<Hunk> hunks;
  for (size_t i = 0; i < splices.size();) {
    const size_t first = line_of(begins, splices[i].begin);
    size_t last = last_line(splices[i]);
    std::vector<Splice> inside;
    for (; i < splices.size() && (inside.empty() || line_of(begins, splices[i].begin) <= last);
         ++i) {
      last = std::max(last, last_line(splices[i]));
      inside.push_back(splices[i]);
      inside.back().begin -= begins[first];
      inside.back().end -= begins[first];
    }
    const std::string_view before = text.substr(begins[first], begin_of(last) - begins[first]);
    hunks.push_back({first, lines_of(before), spliced(before, std::move(inside)), {}});
  }
  for (Hunk& hunk : hunks) hunk.after = lines_of(hunk.text);
  for (Hunk& hunk : hunks) leave_out_what_stays(hunk);
  std::erase_if(hunks, [](const Hunk& hunk) { return hunk.before.empty() && hunk.after.empty(); });
  return hunks;
}

void write_line(std::string& out, char sign, std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  out += fmt::format("{}{}\n", sign, line);
}

std::string range_text(size_t first, size_t count) {
  return count == 1 ? fmt::format("{}", first + 1)
                    : fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

}  // namespace

std::pair<int, int> end_of(const SourceEdit& edit) {
  const auto lines = std::count(edit.old_text.begin(), edit.old_text.end(), '\n');
  const size_t length = edit.old_text.size() - (edit.old_text.rfind('\n') + 1);
  return {edit.line + static_cast<int>(lines),
          (lines == 0 ? edit.column : 1) + static_cast<int>(length)};
}

std::optional<Splice> splice_of(std::string_view text, const SourceEdit& edit) {
  if (edit.line < 1 || edit.column < 1) return std::nullopt;
  size_t begin = 0;
  for (int line = 1; line < edit.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == text.npos) return std::nullopt;
    ++begin;
  }
  begin += static_cast<size_t>(edit.column) - 1;
  if (begin > text.size() || !text.substr(begin).starts_with(edit.old_text)) return std::nullopt;
  return Splice{begin, begin + edit.old_text.size(), edit.new_text, edit.step};
}

bool overlap(const Splice& a, const Splice& b) {
  const bool inserts = a.begin == a.end || b.begin == b.end;
  return (a.begin == b.begin && !inserts) || (a.begin < b.end && b.begin < a.end);
}

std::string spliced(std::string_view text, std::vector<Splice> splices) {
  sort_splices(splices);
  std::string out;
  size_t at = 0;
  for (const Splice& splice : splices) {
    out.append(text.substr(at, splice.begin - at)).append(splice.text);
    at = splice.end;
  }
  return out.append(text.substr(at));
}

std::optional<std::string> edited(std::string_view text, const std::vector<SourceEdit>& edits) {
  auto splices = splices_of(text, edits);
  if (!splices) return std::nullopt;
  return spliced(text, *std::move(splices));
}

std::vector<SourceEdit> inverted(std::string_view text, const std::vector<SourceEdit>& edits) {
  const auto splices = splices_of(text, edits);
  if (!splices || edits.empty()) return {};
  const std::string after = spliced(text, *splices);
  const std::vector<size_t> begins = line_begins(after);
  std::vector<SourceEdit> back;
  size_t grown = 0, shrunk = 0;
  for (const Splice& splice : *splices) {
    const size_t begin = splice.begin + grown - shrunk;
    const std::string old(text.substr(splice.begin, splice.end - splice.begin));
    back.push_back(edit_at(edits.front().file, after, begins,
                           {begin, begin + splice.text.size(), old, splice.step}));
    grown += splice.text.size();
    shrunk += old.size();
  }
  return back;
}

std::vector<SourceEdit> joined(std::string_view text, const std::vector<SourceEdit>& first,
                               const std::vector<SourceEdit>& then) {
  if (first.empty()) return then;
  const std::string middle = edited(text, first).value_or(std::string(text));
  const auto early = splices_of(middle, inverted(text, first));
  auto late = splices_of(middle, then);
  if (!early || !late) return first;
  // What changes in the middle text: an early edit stands there, or a late one goes there.
  std::vector<Splice> spans = *early;
  spans.insert(spans.end(), late->begin(), late->end());
  sort_splices(spans);
  const std::vector<size_t> begins = line_begins(text);
  std::vector<SourceEdit> all;
  size_t grown = 0, shrunk = 0;  // by the early edits, up to here
  for (size_t i = 0; i < spans.size();) {
    Splice whole = spans[i];
    for (; i < spans.size() && spans[i].begin <= whole.end; ++i) {
      whole.end = std::max(whole.end, spans[i].end);
      whole.step = std::min(whole.step, spans[i].step);
    }
    std::vector<Splice> inside;
    for (const Splice& splice : *late) {
      if (splice.begin < whole.begin || splice.end > whole.end) continue;
      inside.push_back(splice);
      inside.back().begin -= whole.begin;
      inside.back().end -= whole.begin;
    }
    const size_t begin = whole.begin + shrunk - grown;
    for (const Splice& splice : *early) {
      if (splice.begin < whole.begin || splice.end > whole.end) continue;
      grown += splice.end - splice.begin;
      shrunk += splice.text.size();
    }
    const std::string_view here =
        std::string_view(middle).substr(whole.begin, whole.end - whole.begin);
    all.push_back(edit_at(first.front().file, text, begins,
                          {begin, whole.end + shrunk - grown, spliced(here, inside), whole.step}));
  }
  return all;
}

int moved_line(const std::string& file, int line, const std::vector<SourceEdit>& edits) {
  const auto lines = [](const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  };
  int moved = line;
  for (const SourceEdit& edit : edits) {
    const int end = edit.line + lines(edit.old_text);
    const bool is_above = edit.file == file && (end < line || (end == line && edit.column == 1));
    if (is_above) moved += lines(edit.new_text) - lines(edit.old_text);
  }
  return moved;
}

std::map<std::string, std::vector<SourceEdit>> by_file(const std::vector<SourceEdit>& edits) {
  std::map<std::string, std::vector<SourceEdit>> files;
  for (const SourceEdit& edit : edits) files[edit.file].push_back(edit);
  return files;
}

std::string unified_diff(const std::string& name, std::string_view text,
                         const std::vector<SourceEdit>& edits) {
  constexpr size_t kAround = 1;
  const auto splices = splices_of(text, edits);
  const std::vector<Hunk> hunks = splices ? hunks_of(text, *splices) : std::vector<Hunk>();
  const std::vector<std::string_view> lines = lines_of(text);
  std::string out = hunks.empty() ? "" : fmt::format("--- {}\n+++ {}\n", name, name);
  size_t added = 0, removed = 0;
  for (size_t i = 0; i < hunks.size();) {
    const size_t begin = hunks[i].first - std::min(hunks[i].first, kAround);
    const size_t new_begin = begin + added - removed;
    std::string body;
    size_t at = begin;
    do {
      for (; at < hunks[i].first; ++at) write_line(body, ' ', lines[at]);
      for (const auto line : hunks[i].before) write_line(body, '-', line);
      for (const auto line : hunks[i].after) write_line(body, '+', line);
      at = hunks[i].last();
      added += hunks[i].after.size();
      removed += hunks[i].before.size();
      ++i;
    } while (i < hunks.size() && hunks[i].first <= at + 2 * kAround);
    for (const size_t end = std::min(at + kAround, lines.size()); at < end; ++at)
      write_line(body, ' ', lines[at]);
    out += fmt::format("@@ -{} +{} @@\n{}", range_text(begin, at - begin),
                       range_text(new_begin, at + added - removed - new_begin), body);
  }
  return out;
}

}  // namespace dtypecheck
