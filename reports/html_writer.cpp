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

HtmlWriter& HtmlWriter::open(const char* tag, const char* classes) {
  const bool plain = *classes == '\0';
  html_ += plain ? fmt::format("<{}>", tag) : fmt::format("<{} class=\"{}\">", tag, classes);
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

HtmlWriter& HtmlWriter::element(const char* tag, const char* classes, std::string_view content) {
  return open(tag, classes).text(content).close(tag);
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

}  // namespace dtypecheck::reports
