#include "reports/html_writer.h"

#include <fmt/format.h>

#include "platform/printable.h"

namespace dtypecheck::reports {

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

HtmlWriter& HtmlWriter::open(const char* tag, const char* classes,
                             std::initializer_list<Attribute> attributes) {
  html_ += fmt::format("<{}", tag);
  if (*classes != '\0') html_ += fmt::format(" class=\"{}\"", classes);
  for (const Attribute& attribute : attributes) {
    html_ += fmt::format(" {}=\"{}\"", attribute.name, escape_html(printable(attribute.value)));
  }
  html_ += '>';
  return *this;
}

HtmlWriter& HtmlWriter::close(const char* tag) {
  html_ += fmt::format("</{}>", tag);
  return *this;
}

HtmlWriter& HtmlWriter::text(std::string_view text) {
  html_ += escape_html(printable(text));
  return *this;
}

HtmlWriter& HtmlWriter::element(const char* tag, const char* classes, std::string_view content,
                                std::initializer_list<Attribute> attributes) {
  return open(tag, classes, attributes).text(content).close(tag);
}

HtmlWriter& HtmlWriter::line() {
  html_ += '\n';
  return *this;
}

// Inside a script element "</script" and "<!--" have a meaning whatever stands around them, so no
// "<" is left; JSON reads \u003c as the same character.
HtmlWriter& HtmlWriter::data_block(const char* id, const std::string& json) {
  html_ += fmt::format("<script type=\"application/json\" id=\"{}\">", id);
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      html_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      html_ += c;
    }
  }
  html_ += "</script>";
  return *this;
}

HtmlWriter& HtmlWriter::open_section(const char* id, const char* classes, const char* heading) {
  sections_.emplace_back(id, heading);
  open("section", classes, {{"id", id}});
  return element("h2", "", heading).line();
}

std::string HtmlWriter::links() const {
  HtmlWriter links;
  for (const auto& [id, heading] : sections_)
    links.element("a", "", heading, {{"href", std::string("#") + id}}).line();
  return links.html();
}

HtmlWriter& HtmlWriter::open_table(const char* classes, const char* caption,
                                   const std::vector<std::string>& columns) {
  open("div", "scroll", {{"tabindex", "0"}, {"role", "group"}, {"aria-label", caption}});
  open("table", classes).line().element("caption", "", caption).line();
  open("thead").open("tr");
  for (const std::string& column : columns) {
    const bool is_number = column.starts_with('#');
    element("th", is_number ? "number" : "", column.substr(is_number), {{"scope", "col"}});
  }
  return close("tr").close("thead").line().open("tbody").line();
}

HtmlWriter& HtmlWriter::close_table() { return close("tbody").close("table").close("div").line(); }

}  // namespace dtypecheck::reports
