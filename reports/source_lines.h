// source_lines.h: the text of source lines, read from the files as they are now.
#pragma once

#include <filesystem>
#include <string>

#include "reports/report.h"

namespace dtypecheck::reports {

// Answers for regular files below `folder` that did not change after `recorded_at` (the trace's own
// time): a line of a later version would be a lie, and a trace must not be able to make a report
// quote any file of the reader's machine. At most 4 MiB of a file are read; each is read once.
LineText source_lines_below(const std::filesystem::path& folder,
                            std::filesystem::file_time_type recorded_at);

}  // namespace dtypecheck::reports
