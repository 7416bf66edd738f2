// edit.h: a change of a source as data, from where it is written to where it is applied, taken back
// or shown. Offsets are found in the text when they are asked for; a diff is made last, for eyes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck {

// The old text goes from the place on, over a line's end or more; where nothing is replaced, it is
// empty. An edit applies only where the old text still stands.
struct SourceEdit {
  std::string file;
  int line = 0;
  int column = 0;  // from 1, in bytes
  std::string old_text;
  std::string new_text;
  int step = 0;  // which change it belongs to, of several that were made one after another

  bool operator==(const SourceEdit&) const = default;
};

// One past the last character of the old text: {line, column}.
std::pair<int, int> end_of(const SourceEdit& edit);

// The edit in a text, in bytes from its begin.
struct Splice {
  size_t begin = 0, end = 0;
  std::string text;
  int step = 0;

  bool operator==(const Splice&) const = default;
};
// Nothing where the old text does not stand there.
std::optional<Splice> splice_of(std::string_view text, const SourceEdit& edit);
// They want the same bytes, or both replace what begins at one place. Two that insert stand beside
// one another, and the first comes first.
bool overlap(const Splice& a, const Splice& b);
std::string spliced(std::string_view text, std::vector<Splice> splices);

// The text with all of its file's edits; nothing where one has no place, or two overlap.
std::optional<std::string> edited(std::string_view text, const std::vector<SourceEdit>& edits);
// What takes the edits back from the text that has them.
std::vector<SourceEdit> inverted(std::string_view text, const std::vector<SourceEdit>& edits);
// Edits `then` of a text that has `first`, with those as one: edits of the text as it was. Where
// they touch, they become one edit, of the earlier step. All apply.
std::vector<SourceEdit> joined(std::string_view text, const std::vector<SourceEdit>& first,
                               const std::vector<SourceEdit>& then);

// Where a line of the text stands in the text with all edits.
int moved_line(const std::string& file, int line, const std::vector<SourceEdit>& edits);

std::map<std::string, std::vector<SourceEdit>> by_file(const std::vector<SourceEdit>& edits);

// Unified, with a line around each change; "" where nothing changes. All edits apply.
std::string unified_diff(const std::string& name, std::string_view text,
                         const std::vector<SourceEdit>& edits);

}  // namespace dtypecheck
