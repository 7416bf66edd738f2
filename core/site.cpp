#include "core/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/enum_names.h"
#include "core/installed.h"

namespace dtypecheck {

static std::string text_of(const SourceLine& line) {
  return line.known() ? fmt::format("{}:{}", shown_path(line.file), line.line) : "";
}

const char* phase_name(Phase phase) {
  return name_of<kLastPhase>(phase,
                             {"unknown", "load", "forward", "backward", "optimizer", "data"});
}

std::string path_below(std::string folder, const std::string& file) {
  if (folder.empty()) return file;
  if (!folder.ends_with('/')) folder += '/';
  return file.starts_with(folder) ? file.substr(folder.size()) : file;
}

std::string shown_path(const std::string& file) {
  static const std::string folder = [] {
    std::error_code unknown;
    return std::filesystem::current_path(unknown).string();
  }();
  const size_t begin = begin_in_packages(file);
  return begin == file.npos ? path_below(folder, file) : file.substr(begin);
}

const SourceLine& best_line(const Site& site) { return site.line.known() ? site.line : site.inner; }

std::string place(const Site& site) { return text_of(best_line(site)); }

std::string recorded_place(const Site& site) {
  const SourceLine& line = best_line(site);
  return line.known() ? fmt::format("{}:{}", line.file, line.line) : "";
}

bool is_cpp_file(std::string_view file) {
  constexpr std::string_view kEndings[] = {".cpp", ".cc", ".cxx", ".cu", ".h", ".hpp", ".cuh"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return file.ends_with(ending); });
}

bool is_installed(const SourceLine& line) { return is_installed(line.file); }

bool has_inner(const Site& site) { return site.inner != SourceLine{} && site.inner != site.line; }

bool is_users_own(const Site& site) {
  if (!site.inner.known()) return site.line.known();
  return site.line.file == site.inner.file && site.line.line == site.inner.line;
}

std::string at_place(const Site& site) {
  const std::string where = place(site);
  if (where.empty()) return "";
  if (site.caller.known() && is_cpp_file(site.line.file))
    return fmt::format(" at {}, called from {}", where, text_of(site.caller));
  if (!site.line.known() || is_users_own(site)) return " at " + where;
  return fmt::format(" at {}, called from {}", text_of(site.inner), where);
}

}  // namespace dtypecheck
