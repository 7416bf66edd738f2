#include "reports/html_page.h"

#include <fmt/format.h>

#include <map>
#include <ostream>

#include "reports/html/page.h"

namespace dtypecheck::reports {

namespace {

// The page's own sources, each with the hash by which its policy allows it.
struct Source {
  std::string_view text, hash;
};
constexpr Source kStyles[] = {{page::kStyle, page::kStyleHash},
                              {page::kFindings, page::kFindingsHash},
                              {page::kFigures, page::kFiguresHash},
                              {page::kPrint, page::kPrintHash}};
constexpr Source kScripts[] = {{page::kPage, page::kPageHash},
                               {page::kMap, page::kMapHash},
                               {page::kFilters, page::kFiltersHash},
                               {page::kOpCalls, page::kOpCallsHash},
                               {page::kLinks, page::kLinksHash}};

// Fills {{name}} in one pass: what is filled in is never looked at again.
std::string fill(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (true) {
    const size_t begin = text.find("{{");
    const size_t end = text.find("}}", begin);
    out += text.substr(0, begin);
    if (begin == text.npos || end == text.npos) return out;
    out += values.at(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
  }
}

}  // namespace

void write_page(const std::string& title, const HtmlWriter& content, std::ostream& out) {
  std::map<std::string_view, std::string> values = {
      {"title", escape_html(title)}, {"nav", content.links()}, {"content", content.html()}};
  for (const Source& source : kStyles) {
    values["style_hashes"] += fmt::format(" '{}'", source.hash);
    values["styles"] += fmt::format("<style>{}</style>\n", source.text);
  }
  for (const Source& source : kScripts) {
    values["script_hashes"] += fmt::format(" '{}'", source.hash);
    values["scripts"] += fmt::format("<script>{}</script>\n", source.text);
  }
  out << fill(page::kTemplate, values);
}

}  // namespace dtypecheck::reports
