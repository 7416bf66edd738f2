#include "reports/source_lines.h"

#include <map>
#include <memory>
#include <vector>

#include "platform/files.h"
#include "platform/text.h"

namespace dtypecheck::reports {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

class SourceLines {
 public:
  SourceLines(const fs::path& folder, fs::file_time_type recorded_at) : recorded_at_(recorded_at) {
    std::error_code error;
    folder_ = fs::canonical(folder, error);
  }

  std::string line(const std::string& file, int number) {
    auto found = files_.find(file);
    if (found == files_.end()) found = files_.emplace(file, read(file)).first;
    const std::vector<std::string>& lines = found->second;
    if (number < 1 || static_cast<size_t>(number) > lines.size()) return "";
    return lines[number - 1];
  }

 private:
  std::vector<std::string> read(const std::string& file) const {
    std::error_code error;
    const fs::path path = fs::canonical(fs::path(folder_ / file), error);
    if (error || !may_quote(path)) return {};
    const std::string text = read_file_if_any(path.string(), kMaxFileBytes).value_or("");
    std::vector<std::string> lines;
    for (std::string_view rest = text; !rest.empty();) lines.emplace_back(next_piece(rest, '\n'));
    return lines;
  }

  bool may_quote(const fs::path& path) const {
    std::error_code error;
    if (folder_.empty() || !is_below(path)) return false;
    const fs::file_time_type changed_at = fs::last_write_time(path, error);
    return !error && changed_at <= recorded_at_;
  }

  bool is_below(const fs::path& path) const {
    auto at = path.begin();
    for (const fs::path& part : folder_) {
      if (at == path.end() || *at != part) return false;
      ++at;
    }
    return at != path.end();
  }

  fs::path folder_;
  fs::file_time_type recorded_at_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace

LineText source_lines_below(const fs::path& folder, fs::file_time_type recorded_at) {
  auto lines = std::make_shared<SourceLines>(folder, recorded_at);
  return [lines](const std::string& file, int line) { return lines->line(file, line); };
}

}  // namespace dtypecheck::reports
