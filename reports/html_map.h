// html_map.h: the dtypes of the model's parts: a table that needs no script, and the same as data,
// of which the page's script draws a picture.
#pragma once

#include "reports/html_writer.h"
#include "reports/module_map.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// Nothing where no op call was made in a module.
void write_map(const Report& report, const ModuleNode& root, HtmlWriter& html);

}  // namespace dtypecheck::reports
