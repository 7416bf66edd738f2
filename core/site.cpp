#include "core/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/enum_names.h"
#include "core/installed.h"

namespace dtypecheck {

static std::string text_of(const SourceLine& line) {
  return line.known() ? fmt::format("{}:{}", line.file, line.line) : "";
}

const char* phase_name(Phase phase) {
  return name_of<kLastPhase>(phase,
                             {"unknown", "load", "forward", "backward", "optimizer", "data"});
}

std::string place(const Site& site) { return text_of(site.line.known() ? site.line : site.inner); }

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
