// html_writer.h: HTML that cannot be broken out of. Tags, classes and names of attributes are ours
// and literal; every string of the report goes through text() or is an attribute's value, and is
// made printable and escaped there.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtypecheck::reports {

std::string escape_html(std::string_view printable_text);

class HtmlWriter {
 public:
  struct Attribute {
    const char* name;
    std::string value;
  };

  // `tag` and `classes` must be literals of ours, never data.
  HtmlWriter& open(const char* tag, const char* classes = "",
                   std::initializer_list<Attribute> attributes = {});
  HtmlWriter& close(const char* tag);
  HtmlWriter& text(std::string_view text);
  HtmlWriter& element(const char* tag, const char* classes, std::string_view text,
                      std::initializer_list<Attribute> attributes = {});
  HtmlWriter& line();  // a line break in the source, for people who read it

  // For data of one type: what it holds goes into a script element that no browser runs.
  HtmlWriter& data_block(const char* id, const std::string& json);

  // Where a part of the page begins: <section id="…"> with its heading.
  HtmlWriter& open_section(const char* id, const char* classes, const char* heading);
  // <table> in a box that scrolls, up to <tbody>; a column whose name begins with '#' has numbers.
  HtmlWriter& open_table(const char* classes, const char* caption,
                         const std::vector<std::string>& columns);
  HtmlWriter& close_table();

  const std::string& html() const { return html_; }
  std::string links() const;  // to the sections

 private:
  std::string html_;
  std::vector<std::pair<const char*, const char*>> sections_;  // id and heading
};

}  // namespace dtypecheck::reports
