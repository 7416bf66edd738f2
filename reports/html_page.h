// html_page.h: one page that stands alone: no network, no other file, and nothing in it can run but
// its own script (see html/embed.cmake).
#pragma once

#include <iosfwd>
#include <string>

#include "reports/html_writer.h"

namespace dtypecheck::reports {

void write_page(const std::string& title, const HtmlWriter& content, std::ostream& out);

}  // namespace dtypecheck::reports
