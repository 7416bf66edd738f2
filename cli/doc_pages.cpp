#include "cli/doc_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "platform/error.h"
#include "platform/nearest.h"
#include "platform/terminal.h"

namespace dtypecheck::cli {

static std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text.substr(text.find_first_not_of('\n')));
  for (std::string line; std::getline(lines, line);) {
    out += line.empty() ? "\n" : fmt::format("  {}\n", line);
  }
  return out;
}

std::string doc_list(const std::vector<Doc>& docs, const std::string& way_to_page) {
  size_t width = 0;
  for (const Doc& doc : docs) width = std::max(width, std::string_view(doc.id).size() + 2);
  std::string text;
  for (const Doc& doc : docs) {
    text += fmt::format("{:<{}}{:<9}{}\n", doc.id, width, severity_name(doc.severity), doc.summary);
  }
  return fmt::format("{}\n{}\n", text, way_to_page);
}

std::string doc_page(const std::vector<Doc>& docs, const std::string& kind, const std::string& id,
                     const std::string& way_to_list) {
  std::vector<std::string> ids;
  for (const Doc& doc : docs) {
    ids.emplace_back(doc.id);
    if (id != doc.id) continue;
    return fmt::format("{} ({})\n{}\nwhy\n{}\nfix\n{}\nexample\n{}", doc.id,
                       severity_name(doc.severity), wrapped(doc.summary, 2), wrapped(doc.why, 2),
                       wrapped(doc.fix, 2), indented(doc.example));
  }
  throw InputError(fmt::format("unknown {} {}{}", kind, id, suggestion(id, ids, way_to_list)));
}

}  // namespace dtypecheck::cli
