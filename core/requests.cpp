#include "core/requests.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/shell_words.h"
#include "platform/text.h"

namespace dtypecheck {
namespace {

AskingFrame frame_of(std::string_view row) {
  AskingFrame frame;
  std::string_view place = next_piece(row, '\t');
  const size_t colon = place.rfind(':');
  if (colon != place.npos) {
    const std::string_view number = place.substr(colon + 1);
    std::from_chars(number.data(), number.data() + number.size(), frame.line.line);
    frame.line.file = place.substr(0, colon);
  }
  frame.line.function = next_piece(row, '\t');
  while (!row.empty()) {
    const std::string_view entry = next_piece(row, '\t');
    const size_t sign = entry.find('=');
    if (sign != entry.npos) frame.said.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
  }
  return frame;
}

std::vector<AskingFrame> frames_in(std::string_view text) {
  std::vector<AskingFrame> frames;
  while (!text.empty()) {
    const std::string_view row = next_piece(text, '\n');
    if (!row.empty()) frames.push_back(frame_of(row));
  }
  return frames;
}

bool is_part_of_word(char c) { return is_of_name(c) || c == '-'; }

size_t find_word(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const bool begins =
        at == 0 || !is_part_of_word(line[at - 1]) || line.substr(0, at).ends_with("--");
    const size_t end = at + word.size();
    if (begins && (end == line.size() || !is_part_of_word(line[end]))) return at;
  }
  return line.npos;
}

// What stands between a name and its value: `: `, ` = "`, `", type=str, default="`, `=torch.`. Not
// `in ["`, `== "`, or another argument's sign.
bool gives(std::string_view between) {
  if (between.ends_with("torch.")) between.remove_suffix(6);
  while (!between.empty() &&
         (between.back() == ' ' || between.back() == '"' || between.back() == '\''))
    between.remove_suffix(1);
  const bool has_sign = between.ends_with('=') || between.ends_with(':');
  if (!has_sign || between.ends_with("==") || between.ends_with("!=")) return false;
  if (between.find(',') != between.npos) return between.ends_with("default=");
  return between.find_first_of("([{") == between.npos;
}

std::string plain(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  std::string out = lowered(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

}  // namespace

std::vector<AskingFrame> frames_asking(const Process& process, const OpCall& maker, Dtype dtype) {
  const std::string place = recorded_place(maker.site);
  if (place.empty()) return {};
  return frames_in(process.fact(FactKey::kAsked, dtype_name(dtype) + " " + place));
}

std::vector<AskingFrame> frames_of_default(const Process& process, Dtype dtype) {
  return frames_in(process.fact(FactKey::kAsked, "default " + dtype_name(dtype)));
}

std::vector<AskingFrame> all_asking_frames(const Process& process) {
  std::vector<AskingFrame> all;
  for (const auto& [by, frames] : process.facts_of(FactKey::kAsked))
    for (AskingFrame& frame : frames_in(frames)) all.push_back(std::move(frame));
  return all;
}

std::vector<std::string> words_of_command(const Process& process) {
  return split_words(process.fact(FactKey::kPythonArgv));
}

std::vector<std::string> configuration_files(const Process& process) {
  std::set<std::string> paths;
  const std::string& folder = process.fact(FactKey::kFolder);
  const auto add = [&](std::string word) {
    if (const size_t sign = word.find('='); sign != word.npos) word.erase(0, sign + 1);
    if (is_configuration(word)) paths.insert(word.starts_with('/') ? word : folder + "/" + word);
  };
  for (const std::string& word : words_of_command(process)) add(word);
  for (const AskingFrame& frame : all_asking_frames(process))
    for (const auto& [name, value] : frame.said) add(value);
  return {paths.begin(), paths.end()};
}

std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool is_same_name(std::string_view a, std::string_view b) { return plain(a) == plain(b); }

bool says(std::string_view line, std::string_view name, std::string_view value) {
  if (value.starts_with("torch.")) value.remove_prefix(6);
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const size_t at = std::min(find_word(line, name), find_word(line, dashed));
  if (at == line.npos) return false;
  const std::string_view rest = line.substr(at + name.size());
  const size_t end = find_word(rest, value);
  return end != rest.npos && gives(rest.substr(0, end));
}

}  // namespace dtypecheck
