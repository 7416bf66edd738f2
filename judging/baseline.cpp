#include "judging/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "platform/error.h"
#include "platform/files.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

static constexpr size_t kIdLength = 16;

static bool is_id(const std::string& word) {
  return word.size() == kIdLength && word.find_first_not_of("0123456789abcdef") == word.npos;
}

Baseline Baseline::read(const std::string& path) {
  std::istringstream text(read_given_file(path, "--write-baseline makes one"));
  Baseline baseline;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::string word = line.substr(0, line.find(' '));
    if (!is_id(word)) {
      throw InputError(
          fmt::format("{}:{}: expected the 16 hexadecimal digits of a finding; write it "
                      "again with --write-baseline",
                      path, number));
    }
    baseline.ids_.insert(word);
  }
  return baseline;
}

size_t Baseline::drop_known(std::vector<Finding>& findings) const {
  return std::erase_if(findings, [&](const Finding& finding) { return ids_.contains(finding.id); });
}

std::string baseline_text(const std::vector<Finding>& findings, const std::string& base_folder) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    const SourceLine& line = finding.site.line;
    const fs::path shown = fs::path(line.file).lexically_proximate(base_folder);
    lines.push_back(
        fmt::format("{} {} {}:{}\n", finding.id, finding.rule, shown.string(), line.line));
  }
  std::sort(lines.begin(), lines.end());
  std::string text = "# dtypecheck lint: findings that are accepted as they are; id, rule, place\n";
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace dtypecheck::judging
