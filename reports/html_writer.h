// html_writer.h: HTML that cannot be broken out of. Tags and classes are ours and literal; every
// string of the report goes through text() and is made printable and escaped there.
#pragma once

#include <string>
#include <string_view>

namespace dtypecheck::reports {

std::string escape_html(std::string_view printable_text);

class HtmlWriter {
 public:
  // `tag` and `classes` must be literals of ours, never data.
  HtmlWriter& open(const char* tag, const char* classes = "");
  HtmlWriter& close(const char* tag);
  HtmlWriter& text(std::string_view text);
  HtmlWriter& element(const char* tag, const char* classes, std::string_view text);
  HtmlWriter& line();  // a line break in the source, for people who read it

  // For data of one type: what it holds goes into a script element that no browser runs.
  HtmlWriter& data_block(const char* id, const std::string& json);

  const std::string& html() const { return html_; }

 private:
  std::string html_;
};

}  // namespace dtypecheck::reports
